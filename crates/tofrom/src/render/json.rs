//! Fields as JSON: groups are objects, every value is a string.

use super::document::Fields;

/// Writes fields into a JSON object.
pub(super) struct Object {
    text: Vec<u8>,
    /// Whether the current object has a member already.
    begun: bool,
}

impl Object {
    pub(super) fn new() -> Object {
        Object { text: vec![b'{'], begun: false }
    }

    pub(super) fn finish(mut self) -> Vec<u8> {
        self.text.push(b'}');
        self.text
    }

    fn name(&mut self, name: &str) {
        if self.begun {
            self.text.push(b',');
        }
        self.string(name);
        self.text.push(b':');
        self.begun = true;
    }

    fn string(&mut self, value: &str) {
        // Writing to memory cannot fail.
        let _ = crate::json::write(&mut self.text, value);
    }
}

impl Fields for Object {
    fn text(&mut self, name: &str, value: &str) {
        self.name(name);
        self.string(value);
    }

    fn group(&mut self, name: &str) {
        self.name(name);
        self.text.push(b'{');
        self.begun = false;
    }

    fn end(&mut self) {
        self.text.push(b'}');
        self.begun = true;
    }
}
