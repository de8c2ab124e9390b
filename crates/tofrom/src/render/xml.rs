//! Fields as elements without a namespace: XML text and Fast Infoset from the same events.

use super::document::Fields;
use infoset::{Name, Sink};

/// Writes fields as elements into a sink.
pub(super) struct Elements<'a, S: Sink>(pub(super) &'a mut S);

impl<S: Sink> Fields for Elements<'_, S> {
    fn text(&mut self, name: &str, value: &str) {
        self.0.leaf(Name::local(name), value);
    }

    fn group(&mut self, name: &str) {
        self.0.open(Name::local(name));
    }

    fn end(&mut self) {
        self.0.end();
    }
}
