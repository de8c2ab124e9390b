//! The header: XML declaration, magic number and optional components.

use super::Decoder;
use super::vocabulary::{Content, Identifying, Named};
use crate::error::Reason;
use crate::event::Name;

impl<'a> Decoder<'a> {
    pub(super) fn header(&mut self) -> Result<(), Reason> {
        self.xml_declaration()?;
        if !self.reader.skip(&[0xE0, 0x00, 0x00, 0x01]) {
            return Err(Reason::NotFastInfoset);
        }
        let present = self.reader.octet()?;
        if present & 0x80 != 0 {
            return Err(Reason::Padding);
        }
        if present & 0x40 != 0 {
            self.additional_data()?;
        }
        if present & 0x20 != 0 {
            self.initial_vocabulary()?;
        }
        if present & 0x10 != 0 {
            return Err(Reason::Notations);
        }
        if present & 0x08 != 0 {
            return Err(Reason::UnparsedEntities);
        }
        if present & 0x04 != 0 {
            // The original encoding of the XML text.
            self.skip_octets()?;
        }
        if present & 0x02 != 0 && self.reader.octet()? > 1 {
            return Err(Reason::Padding);
        }
        if present & 0x01 != 0 && !matches!(&*self.value(Content::Other)?, "1.0" | "1.1") {
            return Err(Reason::XmlVersion);
        }
        Ok(())
    }

    /// The nine declarations that X.891 allows, compared literally.
    fn xml_declaration(&mut self) -> Result<(), Reason> {
        if !self.reader.skip(b"<?xml ") {
            return Ok(());
        }
        let _ = self.reader.skip(b"version='1.0' ") || self.reader.skip(b"version='1.1' ");
        let finf = self.reader.skip(b"encoding='finf'");
        let _ = self.reader.skip(b" standalone='yes'") || self.reader.skip(b" standalone='no'");
        if finf && self.reader.skip(b"?>") { Ok(()) } else { Err(Reason::NotFastInfoset) }
    }

    /// Pairs of a URI and octets whose meaning the URI defines. X.891 allows readers to skip them.
    fn additional_data(&mut self) -> Result<(), Reason> {
        for _ in 0..self.reader.count()? {
            self.skip_octets()?;
            self.skip_octets()?;
        }
        Ok(())
    }

    /// X.891 C.2.5: the initial content of the tables.
    fn initial_vocabulary(&mut self) -> Result<(), Reason> {
        let first = self.reader.octet()?;
        let second = self.reader.octet()?;
        if first & 0xE0 != 0 {
            return Err(Reason::Padding);
        }
        if first & 0x10 != 0 {
            return Err(Reason::ExternalVocabulary);
        }
        // Private alphabets and algorithms are harmless until they are used, and their use is rejected.
        for flag in [0x08, 0x04] {
            if first & flag != 0 {
                self.skipped_table()?;
            }
        }
        if first & 0x02 != 0 {
            self.identifying_table(Identifying::Prefix)?;
        }
        if first & 0x01 != 0 {
            self.identifying_table(Identifying::Namespace)?;
        }
        if second & 0x80 != 0 {
            self.identifying_table(Identifying::Local)?;
        }
        if second & 0x40 != 0 {
            self.identifying_table(Identifying::Other)?;
        }
        if second & 0x20 != 0 {
            // URIs of document types and entities, which are rejected anyway.
            self.skipped_table()?;
        }
        for (flag, table) in [(0x10, Content::Value), (0x08, Content::Chunk), (0x04, Content::Other)] {
            if second & flag != 0 {
                self.content_table(table)?;
            }
        }
        for (flag, table) in [(0x02, Named::Element), (0x01, Named::Attribute)] {
            if second & flag != 0 {
                self.name_table(table)?;
            }
        }
        Ok(())
    }

    fn skipped_table(&mut self) -> Result<(), Reason> {
        for _ in 0..self.reader.count()? {
            self.skip_octets()?;
        }
        Ok(())
    }

    fn identifying_table(&mut self, table: Identifying) -> Result<(), Reason> {
        for _ in 0..self.reader.count()? {
            let lead = self.reader.octet()?;
            if lead & 0x80 != 0 {
                return Err(Reason::Padding);
            }
            self.identifying_literal(table, lead)?;
        }
        Ok(())
    }

    fn content_table(&mut self, table: Content) -> Result<(), Reason> {
        for _ in 0..self.reader.count()? {
            let lead = self.reader.octet()?;
            if lead & 0xC0 != 0 {
                return Err(Reason::Padding);
            }
            let text = self.value_literal(table, lead)?;
            self.vocabulary.add_content(table, text)?;
        }
        Ok(())
    }

    /// X.891 C.16: names as indexes into the preceding tables.
    fn name_table(&mut self, table: Named) -> Result<(), Reason> {
        for _ in 0..self.reader.count()? {
            let lead = self.reader.octet()?;
            if lead & 0xFC != 0 {
                return Err(Reason::Padding);
            }
            if lead == 0x02 {
                return Err(Reason::IllegalOctet(lead));
            }
            let prefix = if lead & 0x02 != 0 { self.surrogate(Identifying::Prefix)? } else { "" };
            let namespace = if lead & 0x01 != 0 { self.surrogate(Identifying::Namespace)? } else { "" };
            let local = self.surrogate(Identifying::Local)?;
            self.vocabulary.add_name(table, Name::qualified(prefix, namespace, local))?;
        }
        Ok(())
    }

    fn surrogate(&mut self, table: Identifying) -> Result<&'a str, Reason> {
        let lead = self.reader.octet()?;
        if lead & 0x80 != 0 {
            return Err(Reason::Padding);
        }
        let index = self.reader.index2(lead)?;
        self.vocabulary.identifying(table, index)
    }
}
