//! The audit log.

use super::*;
use crate::audit::{Actor, AuditLog, Event, Origin, as_json, verify, within};
use model::{AuditRecord, Uid};
use seal::SecretKeys;
use serde_json::Value;
use store::Audit as _;

fn keys() -> SecretKeys {
    SecretKeys::parse(["00".repeat(32)]).unwrap()
}

impl Fixture {
    async fn records(&self) -> Vec<AuditRecord> {
        let now = Millis(self.now.load(Ordering::Relaxed));
        let mut records = self.store.audit_before(None, now, 1_000).await.unwrap();
        records.reverse();
        records
    }

    async fn findings(&self) -> Vec<String> {
        let now = Millis(self.now.load(Ordering::Relaxed));
        verify(self.store.as_ref(), &keys(), now).await.unwrap().findings
    }

    /// Alters the file behind the back of the program.
    fn alter(&self, statement: &str) {
        let file = rusqlite::Connection::open(self.folder.join("store")).unwrap();
        file.execute_batch("DROP TRIGGER IF EXISTS audit_is_append_only").unwrap();
        file.execute_batch(statement).unwrap();
    }
}

#[tokio::test]
async fn a_record_has_who_whom_what_and_the_network() {
    let fixture = Fixture::new();
    let (ops, alice) = (fixture.account("ops", None).await, fixture.account("alice", None).await);
    let origin = Origin { remote: "198.51.100.77".parse().unwrap(), request: "r1".to_owned() };
    let event = Event::new("account-disabled", Actor::Account(&ops)).on(&alice).about("x");
    within(origin, fixture.auth.audit.record(event)).await;
    let json = as_json(&fixture.records().await[0]);
    for (member, value) in [
        ("event", "account-disabled"),
        ("actor", "ops"),
        ("target", "alice"),
        ("outcome", "done"),
        ("network", "198.51.100.0/24"),
        ("request", "r1"),
        ("about", "x"),
    ] {
        assert_eq!(json[member], value, "{json}");
    }
    for uid in [ops.uid, alice.uid] {
        assert_eq!(fixture.store.audit_of(uid, 10).await.unwrap().len(), 1);
    }
    assert!(fixture.store.audit_of(Uid(i64::MAX), 10).await.unwrap().is_empty());
}

#[tokio::test]
async fn refused_passwords_are_aggregated_and_unknown_names_not_recorded() {
    let fixture = Fixture::new();
    fixture.account("alice", Some("secret")).await;
    for name in ["alice", "alice", "alice", "my-password-in-the-wrong-field"] {
        fixture.basic(name, "hunter2 is wrong").await.map(drop).unwrap_err();
    }
    while fixture.records().await.is_empty() {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    fixture.auth.audit.flush().await.unwrap();
    let records = fixture.records().await;
    let counts: Vec<Value> = records.iter().map(|record| as_json(record)["count"].clone()).collect();
    assert_eq!(counts, [1, 2]);
    let text: String = records.iter().map(|record| as_json(record).to_string()).collect();
    assert!(text.contains("sign-in-refused") && text.contains("\"target\":\"alice\""), "{text}");
    assert!(!text.contains("hunter2") && !text.contains("my-password") && !text.contains(&HERE.to_string()));
    fixture.auth.audit.flush().await.unwrap();
    assert_eq!(fixture.records().await.len(), 2, "nothing new");
}

/// Records by several processes; every alteration is found, and erased details are none.
#[tokio::test]
async fn alterations_are_found_and_erasing_is_none() {
    let fixture = Fixture::new();
    let (alice, bob) = (fixture.account("alice", None).await, fixture.account("bob", None).await);
    for shard in 0..3 {
        let current = Arc::clone(&fixture.now);
        let clock = Clock::from(move || Millis(current.load(Ordering::Relaxed)));
        let log = AuditLog::new(Arc::clone(&fixture.store) as Arc<dyn Store>, clock, &keys(), false).unwrap();
        for number in 0..4 {
            let who = if number % 2 == 0 { &alice } else { &bob };
            log.try_record(Event::own("key-added", who).about(format!("{shard} {number}"))).await.unwrap();
        }
        log.flush().await.unwrap();
    }
    assert_eq!(fixture.findings().await, [""; 0]);
    fixture.store.erase_audit_details(alice.uid).await.unwrap();
    assert_eq!(fixture.findings().await, [""; 0]);
    let now = Millis(fixture.now.load(Ordering::Relaxed));
    let verified = verify(fixture.store.as_ref(), &keys(), now).await.unwrap();
    assert_eq!((verified.records, verified.erased, verified.shards), (12, 6, 3));
    let erased = fixture.records().await.into_iter().find(|record| record.details.is_none()).unwrap();
    assert_eq!(as_json(&erased)["erased"], true);

    for alteration in [
        "UPDATE audit SET details = replace(details, 'bob', 'eve') WHERE number = 2",
        "UPDATE audit SET event = 'sign-in' WHERE number = 3",
        "UPDATE audit SET time_ms = time_ms - 1 WHERE number = 1",
        "DELETE FROM audit WHERE number = 2",
        "DELETE FROM audit WHERE number = 4",
        "DELETE FROM audit WHERE number = 1",
        "DELETE FROM audit",
        "UPDATE audit_head SET number = 3",
    ] {
        fixture.alter(
            "CREATE TABLE kept AS SELECT * FROM audit; CREATE TABLE kept_head AS SELECT * FROM audit_head",
        );
        fixture.alter(alteration);
        assert!(!fixture.findings().await.is_empty(), "{alteration}");
        fixture.alter(
            "DELETE FROM audit; INSERT INTO audit SELECT * FROM kept; DROP TABLE kept;
             DELETE FROM audit_head; INSERT INTO audit_head SELECT * FROM kept_head; DROP TABLE kept_head",
        );
        assert_eq!(fixture.findings().await, [""; 0]);
    }
    let other = SecretKeys::parse(["11".repeat(32)]).unwrap();
    assert!(!verify(fixture.store.as_ref(), &other, now).await.unwrap().findings.is_empty());
    let rotated = SecretKeys::parse(["11".repeat(32), "00".repeat(32)]).unwrap();
    assert!(verify(fixture.store.as_ref(), &rotated, now).await.unwrap().findings.is_empty());
}

#[tokio::test]
async fn records_expire_after_400_days() {
    let fixture = Fixture::new();
    let alice = fixture.account("alice", None).await;
    const HOUR: i64 = 60 * 60 * 1_000;
    // Two records within a day are of one shard, the third begins another one.
    for hours in [0, 20, 300 * 24] {
        fixture.now.store(START.0 + hours * HOUR, Ordering::Relaxed);
        fixture.auth.audit.record(Event::own("sign-in", &alice)).await;
    }
    fixture.auth.audit.flush().await.unwrap();
    for (hours, left) in
        [(400 * 24, 3), (400 * 24 + 1, 2), (400 * 24 + 21, 1), (700 * 24, 1), (700 * 24 + 1, 0)]
    {
        fixture.now.store(START.0 + hours * HOUR, Ordering::Relaxed);
        fixture.store.forget_expired(Millis(START.0 + hours * HOUR)).await.unwrap();
        assert_eq!(fixture.records().await.len(), left, "{hours} h");
        assert_eq!(fixture.findings().await, [""; 0], "an expired record is no finding");
    }
}
