//! The audit log and second factors.

use super::{Engine, fresh};
use model::{AuditHead, AuditOffset, AuditRecord, Millis, SecondFactor, Uid, Version};

const HOUR: i64 = 3_600_000;

pub(crate) fn shard() -> [u8; 16] {
    let mut shard = [0x80; 16];
    shard[..8].copy_from_slice(&fresh::number().to_be_bytes());
    shard
}

pub(crate) fn record(time: i64, shard: [u8; 16], number: u64, accounts: &[Uid]) -> AuditRecord {
    AuditRecord {
        at: AuditOffset { time: Millis(time), shard, number },
        event: "sign-in".to_owned(),
        details: Some("{\"actor\":\"ada\"}".to_owned()),
        salt: Some([1; 16]),
        digest: [255; 32],
        mac: [u8::try_from(number).unwrap(); 32],
        accounts: accounts.to_vec(),
    }
}

/// As it is read: without the accounts.
fn stored(record: &AuditRecord) -> AuditRecord {
    AuditRecord { accounts: Vec::new(), ..record.clone() }
}

/// The records of these shards, newest first, read page by page.
async fn of_shards(store: &Engine, now: i64, shards: &[[u8; 16]]) -> Vec<AuditRecord> {
    let (mut all, mut before) = (Vec::new(), None);
    loop {
        let page = store.audit_before(before, Millis(now), 3).await.unwrap();
        assert!(page.len() <= 3 && page.is_sorted_by(|a, b| a.at > b.at), "newest first");
        before = page.last().map(|last| last.at);
        let full = page.len() == 3;
        all.extend(page.into_iter().filter(|record| shards.contains(&record.at.shard)));
        // Other tests write earlier records.
        if !full || before.is_some_and(|at| at.time.0 < now - 100 * HOUR) {
            return all;
        }
    }
}

pub(crate) async fn records_are_paged_newest_first(store: Engine) {
    let (one, two, now) = (shard(), shard(), fresh::NOON + 500 * HOUR);
    let mut all = vec![
        record(now, one, 4, &[]),
        record(now, two, 1, &[]),
        record(now - 1, one, 3, &[]),
        record(now - 2 * HOUR, one, 2, &[]),
        record(now - 60 * HOUR, one, 1, &[]),
    ];
    all.sort_by_key(|record| std::cmp::Reverse(record.at));
    for record in all.iter().rev().chain(&all) {
        store.append_audit(record).await.unwrap();
    }
    assert_eq!(of_shards(&store, now, &[one, two]).await, all);
}

pub(crate) async fn records_are_found_by_account(store: Engine) {
    let (ada, bob) = (fresh::uid(&*store).await, fresh::uid(&*store).await);
    let (shard, now) = (shard(), fresh::NOON);
    let first = record(now - 5 * HOUR, shard, 1, &[ada]);
    let both = record(now, shard, 2, &[ada, bob]);
    for one in [&both, &first] {
        store.append_audit(one).await.unwrap();
    }
    assert_eq!(store.audit_of(ada, 10).await.unwrap(), [stored(&both), stored(&first)]);
    assert_eq!(store.audit_of(ada, 1).await.unwrap(), [stored(&both)]);
    assert_eq!(store.audit_of(bob, 10).await.unwrap(), [stored(&both)]);
}

pub(crate) async fn erased_details_do_not_return(store: Engine) {
    let (ada, bob) = (fresh::uid(&*store).await, fresh::uid(&*store).await);
    let (shard, now) = (shard(), fresh::NOON + 900 * HOUR);
    let (hers, his) = (record(now, shard, 2, &[ada]), record(now - 1, shard, 1, &[bob]));
    for one in [&hers, &his] {
        store.append_audit(one).await.unwrap();
    }
    for _ in 0..2 {
        store.erase_audit_details(ada).await.unwrap();
        store.append_audit(&AuditRecord { accounts: Vec::new(), ..hers.clone() }).await.unwrap();
    }
    assert_eq!(store.audit_of(ada, 10).await.unwrap(), []);
    let erased = AuditRecord { details: None, salt: None, ..stored(&hers) };
    assert_eq!(of_shards(&store, now, &[shard]).await, [erased, stored(&his)]);
}

pub(crate) async fn the_latest_head_wins(store: Engine) {
    let shard = shard();
    let head = |number| AuditHead {
        at: AuditOffset { time: Millis(fresh::NOON + 7), shard, number },
        mac: [u8::try_from(number).unwrap(); 32],
        tag: [9; 32],
    };
    for number in [2, 5, 3] {
        store.put_audit_head(&head(number)).await.unwrap();
    }
    let heads = store.audit_heads().await.unwrap();
    let mine: Vec<_> = heads.into_iter().filter(|found| found.at.shard == shard).collect();
    assert_eq!(mine, [head(5)]);
}

pub(crate) async fn a_second_factor_is_replaced_by_compare_and_set(store: Engine) {
    let owner = fresh::uid(&*store).await;
    assert_eq!(store.second_factor(owner).await.unwrap(), None);
    let first = SecondFactor {
        version: Version(1),
        sealed_secret: Some(vec![0, 255]),
        last_step: u64::MAX,
        recovery_codes: vec![[1; 32], [2; 32]],
        wrong: 3,
        wrong_since: Millis(-1),
        refuses_basic: true,
        ..SecondFactor::none(owner)
    };
    assert!(store.replace_second_factor(None, &first).await.unwrap());
    assert!(
        !store
            .replace_second_factor(None, &SecondFactor { version: Version(2), ..first.clone() })
            .await
            .unwrap()
    );
    assert_eq!(store.second_factor(owner).await.unwrap(), Some(first));
    let removed = SecondFactor { version: Version(2), ..SecondFactor::none(owner) };
    assert!(!store.replace_second_factor(Some(Version(5)), &removed).await.unwrap());
    assert!(store.replace_second_factor(Some(Version(1)), &removed).await.unwrap());
    assert_eq!(store.second_factor(owner).await.unwrap(), Some(removed));
}
