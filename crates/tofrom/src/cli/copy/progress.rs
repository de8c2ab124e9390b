//! How far a copy has come, as the target notes it.

use model::{Position, Uid};
use serde::{Deserialize, Serialize};

/// Of which source, and up to where.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Progress {
    /// Where the source's log had ended: it tells whether that has changed since.
    source: u64,
    /// Up to this account everything is there.
    done: Option<i64>,
    /// All of it.
    pub(super) finished: bool,
}

impl Progress {
    /// A copy of a source whose log has ended there.
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
