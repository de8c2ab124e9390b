//! Notices between the processes of one service.

use crate::Result;
use crate::bytes::{WireReader, WireWriter};
use model::{Position, Uid};
use tokio::sync::mpsc;

/// A notice to other processes. It only saves time: they detect the same by themselves later.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Notice {
    /// Entries arrived for these accounts, at this position or before.
    Arrived(Position, Vec<Uid>),
    /// An authentication failed; it is counted under this key.
    Failed(Vec<u8>),
}

/// A stream of notices.
pub type Notices = mpsc::Receiver<Notice>;

impl Notice {
    pub(crate) fn encode(&self) -> Vec<u8> {
        match self {
            Notice::Arrived(at, uids) => {
                WireWriter::new().byte(0).number(at.0).many(uids, |writer, uid| writer.signed(uid.0)).finish()
            }
            Notice::Failed(key) => WireWriter::new().byte(1).blob(key).finish(),
        }
    }

    pub(crate) fn decode(bytes: &[u8]) -> Result<Option<Notice>> {
        let mut reader = WireReader::new(bytes);
        Ok(match reader.byte()? {
            0 => Some(Notice::Arrived(reader.position()?, reader.many(WireReader::uid)?)),
            1 => Some(Notice::Failed(reader.blob()?.to_vec())),
            // From a node with a later version.
            _ => None,
        })
    }
}
