//! The progress of a copy, as recorded in the target.

use model::{Position, Uid};
use serde::{Deserialize, Serialize};

/// The source and the last complete account.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Progress {
    /// The end of the source's log, to detect later changes of the source.
    source: u64,
    /// All accounts up to this one are complete.
    done: Option<i64>,
    /// Whether the copy is complete.
    pub(super) finished: bool,
}

impl Progress {
    /// A new copy of a source whose log ends at this position.
    pub(super) fn begin(source: Position) -> Progress {
        Progress { source: source.0, done: None, finished: false }
    }

    pub(super) fn read(text: &str) -> Option<Progress> {
        serde_json::from_str(text).ok()
    }

    pub(super) fn text(self) -> String {
        serde_json::json!(self).to_string()
    }

    pub(super) fn source(self) -> Position {
        Position(self.source)
    }

    pub(super) fn done(self) -> Option<Uid> {
        self.done.map(Uid)
    }

    pub(super) fn up_to(self, uid: Uid) -> Progress {
        Progress { done: Some(uid.0), ..self }
    }

    pub(super) fn finish(self) -> Progress {
        Progress { finished: true, ..self }
    }
}
