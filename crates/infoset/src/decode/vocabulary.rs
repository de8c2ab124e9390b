//! The decoder's vocabulary tables: from a slot to its string.
//!
//! Duplicates are kept: a string that is added twice has two slots, as the format requires. Names are always
//! UTF-8, so their entries borrow from the input.

use std::ops::Deref;
use std::rc::Rc;

use crate::error::Reason;
use crate::event::{Name, XML_NAMESPACE};
use crate::limits::Limit;

/// A value or text; borrows from the input if that is UTF-8.
#[derive(Clone)]
pub(super) enum Text<'a> {
    Input(&'a str),
    Converted(Rc<str>),
}

impl Deref for Text<'_> {
    type Target = str;

    fn deref(&self) -> &str {
        match self {
            Self::Input(text) => text,
            Self::Converted(text) => text,
        }
    }
}

/// The tables of identifying strings.
#[derive(Clone, Copy, PartialEq)]
pub(super) enum Identifying {
    Prefix,
    Namespace,
    Local,
    /// Targets of processing instructions.
    Other,
}

/// The tables of other strings.
#[derive(Clone, Copy, PartialEq)]
pub(super) enum Content {
    Value,
    Chunk,
    /// Comments and other skipped strings.
    Other,
}

/// The tables of qualified names.
#[derive(Clone, Copy)]
pub(super) enum Named {
    Element,
    Attribute,
}

pub(super) struct Vocabulary<'a> {
    /// The remaining number of entries.
    room: usize,
    prefixes: Vec<&'a str>,
    namespaces: Vec<&'a str>,
    locals: Vec<&'a str>,
    other_names: Vec<&'a str>,
    values: Vec<Text<'a>>,
    chunks: Vec<Text<'a>>,
    other_strings: Vec<Text<'a>>,
    elements: Vec<Name<'a>>,
    attributes: Vec<Name<'a>>,
}

impl<'a> Vocabulary<'a> {
    pub(super) fn new(room: usize) -> Self {
        Self {
            room,
            prefixes: vec!["xml"],
            namespaces: vec![XML_NAMESPACE],
            locals: Vec::new(),
            other_names: Vec::new(),
            values: Vec::new(),
            chunks: Vec::new(),
            other_strings: Vec::new(),
            elements: Vec::new(),
            attributes: Vec::new(),
        }
    }

    pub(super) fn identifying(&self, table: Identifying, index: u32) -> Result<&'a str, Reason> {
        let table = match table {
            Identifying::Prefix => &self.prefixes,
            Identifying::Namespace => &self.namespaces,
            Identifying::Local => &self.locals,
            Identifying::Other => &self.other_names,
        };
        find(table, index)
    }

    pub(super) fn add_identifying(&mut self, table: Identifying, text: &'a str) -> Result<(), Reason> {
        let table = match table {
            Identifying::Prefix => &mut self.prefixes,
            Identifying::Namespace => &mut self.namespaces,
            Identifying::Local => &mut self.locals,
            Identifying::Other => &mut self.other_names,
        };
        add(table, &mut self.room, text)
    }

    pub(super) fn content(&self, table: Content, index: u32) -> Result<Text<'a>, Reason> {
        let table = match table {
            Content::Value => &self.values,
            Content::Chunk => &self.chunks,
            Content::Other => &self.other_strings,
        };
        find(table, index)
    }

    pub(super) fn add_content(&mut self, table: Content, text: Text<'a>) -> Result<(), Reason> {
        let table = match table {
            Content::Value => &mut self.values,
            Content::Chunk => &mut self.chunks,
            Content::Other => &mut self.other_strings,
        };
        add(table, &mut self.room, text)
    }

    pub(super) fn name(&self, table: Named, index: u32) -> Result<Name<'a>, Reason> {
        match table {
            Named::Element => find(&self.elements, index),
            Named::Attribute => find(&self.attributes, index),
        }
    }

    pub(super) fn add_name(&mut self, table: Named, name: Name<'a>) -> Result<(), Reason> {
        match table {
            Named::Element => add(&mut self.elements, &mut self.room, name),
            Named::Attribute => add(&mut self.attributes, &mut self.room, name),
        }
    }
}

fn find<T: Clone>(table: &[T], index: u32) -> Result<T, Reason> {
    let entry = usize::try_from(index).ok().and_then(|index| table.get(index));
    entry.cloned().ok_or(Reason::Index(index.saturating_add(1)))
}

fn add<T>(table: &mut Vec<T>, room: &mut usize, entry: T) -> Result<(), Reason> {
    /// The maximum size of a table (X.891 7.2.9). Later entries are not added, which is not an error.
    const CAPACITY: usize = 1 << 20;
    if table.len() < CAPACITY {
        *room = room.checked_sub(1).ok_or(Reason::Limit(Limit::TableEntries))?;
        table.push(entry);
    }
    Ok(())
}
