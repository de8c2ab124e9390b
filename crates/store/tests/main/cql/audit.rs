//! The cost of the audit log: a young or quiet service has records in few of the hours that it may keep.

use super::super::conformance::audit::{record, shard};
use super::super::conformance::fresh;
use super::{RUNTIME, open_beside_others, shared};
use model::Millis;
use store::Audit;

const HOUR: i64 = 3_600_000;
/// The latest hours, the scan of the others, and the hours of the records.
const MAX_STATEMENTS: u64 = 12;

#[tokio::test]
async fn a_page_of_few_records_is_a_few_statements() {
    if shared().await.is_none() {
        return;
    }
    let task = RUNTIME.spawn(async {
        // A separate store counts no other test's statements; no other test writes records of these years.
        let store = open_beside_others().await;
        let (shard, now) = (shard(), fresh::NOON + 100_000 * HOUR);
        let records = [now - HOUR, now - 7_000 * HOUR].map(|time| record(time, shard, 1, &[]));
        for record in &records {
            store.append_audit(record).await.unwrap();
        }
        let before = store.counted().0;
        let page = store.audit_before(None, Millis(now), 100).await.unwrap();
        let statements = store.counted().0 - before;
        assert!(records.iter().all(|record| page.contains(record)), "{page:?}");
        assert!(statements <= MAX_STATEMENTS, "{statements} statements");
    });
    task.await.unwrap();
}
