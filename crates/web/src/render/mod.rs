//! Rendering of pages and activities in five formats.
//!
//! `document` defines the fields of an activity once; XML, JSON and Fast Infoset are three encodings of them, so they
//! cannot diverge. Atom and ActivityStreams 2.0 have their own vocabularies. Pages are assembled from cached fragments, one for each version of an
//! activity. Fast Infoset has tables that span the whole document, so it is always rendered as a whole.

mod activity_streams;
mod atom;
pub mod document;
mod page;

pub use page::{Links, PageView, Renderer};

use document::{Elements, Fields, Object};
use infoset::{FastInfosetWriter, Sink, XmlWriter};
use model::{Account, Body, Format, State};

impl Renderer {
    /// The activity alone, in the form that can be sent back with PUT: an object in JSON, the root element `Activity` in
    /// XML and Fast Infoset, an entry in Atom. It is not cached: single activities are seldom read twice.
    pub fn single(&self, state: &State, actor: &Account, body: &Body, format: Format) -> Vec<u8> {
        match format {
            Format::Json => {
                let mut object = Object::new();
                document::activity(&self.site, state, body, actor, &mut object);
                object.finish()
            }
            Format::Xml => {
                let mut writer = XmlWriter::new();
                self.root(state, actor, body, &mut writer);
                writer.finish()
            }
            Format::FastInfoset => {
                let mut writer = FastInfosetWriter::new();
                self.root(state, actor, body, &mut writer);
                writer.finish()
            }
            Format::ActivityStreams => activity_streams::activity(&self.site, state, body, actor),
            Format::Atom => {
                let mut writer = XmlWriter::new();
                atom::entry(&self.site, state, body, actor, &mut writer);
                writer.finish()
            }
        }
    }

    fn root(&self, state: &State, actor: &Account, body: &Body, sink: &mut impl Sink) {
        let mut fields = Elements(sink);
        fields.group("Activity");
        document::activity(&self.site, state, body, actor, &mut fields);
        fields.end();
    }
}
