//! What processes of one service tell each other in passing.

use crate::Result;
use crate::bytes::{WireReader, WireWriter};
use model::{Position, Uid};
use tokio::sync::mpsc;

/// Something that other processes may like to know at once. They find out by themselves later.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Notice {
    /// Something arrived for these accounts, at that position or before.
    Arrived(Position, Vec<Uid>),
    /// Somebody tried something with wrong credentials: whatever that is counted under.
    Failed(Vec<u8>),
}

/// Notices as they come.
pub type Notices = mpsc::Receiver<Notice>;

impl Notice {
    pub(crate) fn encode(&self) -> Vec<u8> {
        match self {
            Notice::Arrived(at, uids) => {
                WireWriter::new().byte(0).number(at.0).many(uids, |put, uid| put.signed(uid.0)).finish()
            }
            Notice::Failed(what) => WireWriter::new().byte(1).blob(what).finish(),
        }
    }

    pub(crate) fn decode(bytes: &[u8]) -> Result<Option<Notice>> {
        let mut take = WireReader::new(bytes);
        Ok(match take.byte()? {
            0 => Some(Notice::Arrived(take.position()?, take.many(WireReader::uid)?)),
            1 => Some(Notice::Failed(take.blob()?.to_vec())),
            // Of a later version of this service.
            _ => None,
        })
    }
}
