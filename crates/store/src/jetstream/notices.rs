//! Notices between processes. Each carries its time and an identifier under the MAC, so that a recorded notice cannot be
//! sent again: enough repeated failures would lock a user out.

use super::keys::MessageKeys;
use crate::Notice;
use crate::codec::{Encoded, take};
use model::Millis;
use moka::sync::Cache;
use std::time::Duration;
use uuid::Uuid;

/// Notices that are older than this are ignored, or from a clock that is ahead by as much.
const MAX_AGE: i64 = 60_000;
/// Identifiers are remembered for as long as a notice can be accepted.
const REMEMBERED: Duration = Duration::from_secs(120);
const MAX_REMEMBERED: u64 = 200_000;

/// A notice as it is sent.
pub(super) fn signed(keys: &MessageKeys, subject: &str, notice: &Notice, now: Millis) -> Option<Vec<u8>> {
    let notice = Some(notice.clone()).encoded();
    let payload = [&now.0.to_be_bytes()[..], Uuid::new_v4().as_bytes(), &notice].concat();
    keys.sign(subject, &payload)
}

/// Accepts each genuine notice once.
pub(super) struct Receiver {
    keys: MessageKeys,
    seen: Cache<[u8; 16], ()>,
}

impl Receiver {
    pub(super) fn new(keys: MessageKeys) -> Receiver {
        let seen = Cache::builder().max_capacity(MAX_REMEMBERED).time_to_live(REMEMBERED).build();
        Receiver { keys, seen }
    }

    /// The notice, unless it is forged, too old, repeated, or of a kind that a later version added.
    pub(super) fn accept(&self, subject: &str, signed: &[u8], now: Millis) -> Option<Notice> {
        let mut payload = self.keys.verify(subject, signed)?;
        let sent = i64::from_be_bytes(take(&mut payload).ok()?);
        let id = take::<16>(&mut payload).ok()?;
        if now.0.saturating_sub(sent).saturating_abs() > MAX_AGE
            || !self.seen.entry(id).or_insert(()).is_fresh()
        {
            return None;
        }
        <Option<Notice>>::decoded(payload).ok().flatten()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use aws_lc_rs::hmac;

    #[test]
    fn a_notice_is_accepted_once_while_it_is_new() {
        let keys = |seed| MessageKeys::new(vec![hmac::Key::new(hmac::HMAC_SHA256, &[seed; 32])]);
        let (receiver, now) = (Receiver::new(keys(1)), Millis(1_000_000));
        let failed = Notice::Failed(vec![7]);
        let sent = |seed, at| signed(&keys(seed), "log.notices", &failed, Millis(at)).unwrap();

        let notice = sent(1, now.0);
        assert_eq!(receiver.accept("log.notices", &notice, now), Some(failed.clone()));
        assert_eq!(receiver.accept("log.notices", &notice, now), None, "a repetition");
        assert_eq!(receiver.accept("log.notices", &sent(1, now.0), now), Some(failed.clone()));
        for (forged, reason) in [
            (sent(2, now.0), "another key"),
            (sent(1, now.0 - MAX_AGE - 1), "too old"),
            (sent(1, now.0 + MAX_AGE + 1), "too far ahead"),
            (Some(failed.clone()).encoded(), "no MAC"),
            (keys(1).sign("log.notices", b"short").unwrap(), "no time"),
        ] {
            assert_eq!(receiver.accept("log.notices", &forged, now), None, "{reason}");
        }
        assert_eq!(receiver.accept("log.1.task", &sent(1, now.0), now), None, "another subject");
    }
}
