//! The encoder's vocabulary tables: from a string to its slot.

use std::collections::HashMap;

use crate::event::Name;

/// The maximum size of a table (X.891 7.2.9); a full table does not change.
const CAPACITY: u32 = 1 << 20;

/// Strings by slot, counted from 0. Finding a known string allocates nothing.
#[derive(Debug, Default)]
pub(super) struct Table {
    slots: HashMap<Box<str>, u32>,
}

impl Table {
    /// A table with a predefined first slot.
    pub(super) fn with(first: &str) -> Self {
        Self { slots: HashMap::from([(first.into(), 0)]) }
    }

    pub(super) fn find(&self, text: &str) -> Option<u32> {
        self.slots.get(text).copied()
    }

    /// Gives the string the next slot, unless the table is full. The string must be new.
    pub(super) fn add(&mut self, text: &str) -> bool {
        match u32::try_from(self.slots.len()) {
            Ok(slot) if slot < CAPACITY => {
                self.slots.insert(text.into(), slot);
                true
            }
            _ => false,
        }
    }
}

/// Qualified names by slot.
#[derive(Debug, Default)]
pub(super) struct NameTable {
    names: Table,
    key: String,
}

impl NameTable {
    /// The slot of a known name. A new name is added and gives `None`.
    pub(super) fn find_or_add(&mut self, name: Name<'_>) -> Option<u32> {
        // Names contain no NUL and the namespace comes last, so different names have different keys.
        self.key.clear();
        for part in [name.local, "\0", name.prefix, "\0", name.namespace] {
            self.key.push_str(part);
        }
        let found = self.names.find(&self.key);
        if found.is_none() {
            self.names.add(&self.key);
        }
        found
    }
}
