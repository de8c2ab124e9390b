use super::*;
use crate::sqlite::{Options, SqliteStore};
use crate::{Accounts, Log, NewAccount, Work};
use model::{Account, AccountName, Millis, Uid, Version};
use std::path::PathBuf;

struct ArrivalOffset(PathBuf);

impl ArrivalOffset {
    fn new(name: &str) -> (ArrivalOffset, Faulty) {
        let folder = std::env::temp_dir().join(format!("tofrom-faulty-{name}-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let options = Options { synchronous_off: true, ..Options::default() };
        let store = SqliteStore::open(&folder.join("test.db"), options).unwrap();
        (ArrivalOffset(folder), Faulty::new(Arc::new(store)))
    }
}

impl Drop for ArrivalOffset {
    fn drop(&mut self) {
        drop(std::fs::remove_dir_all(&self.0));
    }
}

async fn ann(store: &Faulty) -> Account {
    let new = NewAccount {
        name: AccountName::parse("ann").unwrap(),
        version: Version(1),
        given_name: None,
        family_name: None,
        public: false,
        operator: false,
        password: None,
        created: Millis(1),
    };
    store.create_account(new).await.unwrap().unwrap()
}

async fn is_named(store: &Faulty, uid: Uid) -> bool {
    store.accounts(&[uid]).await.unwrap().remove(0).unwrap().given_name.is_some()
}

/// Plans these faults for the next calls, one each.
fn next<const N: usize>(store: &Faulty, faults: [Option<Fault>; N]) {
    let mut faults = faults.into_iter();
    store.plan(move |_| faults.next().flatten());
}

#[tokio::test]
async fn a_write_fails_before_it_happens_after_it_or_lands_late() {
    let (_place, store) = ArrivalOffset::new("writes");
    let nameless = ann(&store).await;
    let uid = nameless.uid;
    let named = Account { given_name: Some("Ann".to_owned()), version: Version(2), ..nameless.clone() };

    next(&store, [Some(Fault::Before)]);
    assert!(matches!(store.replace_account(nameless.version, &named).await, Err(StoreError::Unavailable(_))));
    assert!(!is_named(&store, uid).await);
    next(&store, [Some(Fault::After)]);
    assert!(matches!(store.replace_account(nameless.version, &named).await, Err(StoreError::Unknown(_))));
    assert!(is_named(&store, uid).await);

    let nameless_again = Account { version: Version(3), ..nameless.clone() };
    next(&store, [Some(Fault::Late), None, Some(Fault::Late)]);
    assert!(matches!(
        store.replace_account(named.version, &nameless_again).await,
        Err(StoreError::Unknown(_))
    ));
    assert!(is_named(&store, uid).await && store.late() == 1);
    assert!(store.accounts(&[uid]).await.is_err(), "a read has nothing to do late");
    assert_eq!((store.land().await, store.late()), (1, 0));
    assert!(!is_named(&store, uid).await);
    assert!(!store.land_one(0).await);
}

#[tokio::test]
async fn after_a_crash_nothing_goes_through_but_what_is_on_its_way() {
    let (_place, store) = ArrivalOffset::new("crash");
    let nameless = ann(&store).await;
    let named = Account { given_name: Some("Ann".to_owned()), version: Version(2), ..nameless.clone() };
    next(&store, [Some(Fault::Late), Some(Fault::CrashAfter)]);
    assert!(store.replace_account(nameless.version, &named).await.is_err());
    let work = Work::Account { uid: nameless.uid, after: None };
    assert!(matches!(store.append(&work).await, Err(StoreError::Unknown(_))));
    assert!(
        store.ping().await.is_err() && store.append(&work).await.is_err() && store.floor().await.is_err()
    );
    store.calm();
    assert!(store.ping().await.is_err(), "calm starts nothing");
    assert_eq!(store.land().await, 1);
    store.restart();
    assert!(is_named(&store, nameless.uid).await);
    assert_eq!(
        store.pending(10).await.unwrap().len(),
        1,
        "what was asked of it when it was down never happened"
    );
    store.crash();
    assert!(store.ping().await.is_err());
}

#[tokio::test]
async fn tasks_are_dealt_as_the_test_says() {
    let (_place, store) = ArrivalOffset::new("deal");
    let positions: Vec<_> = {
        let mut positions = Vec::new();
        for uid in 1..4 {
            positions.push(store.append(&Work::Account { uid: Uid(uid), after: None }).await.unwrap());
        }
        positions
    };
    store.deal(|tasks| tasks.into_iter().rev().take(2).collect());
    let dealt: Vec<_> = store.pending(10).await.unwrap().into_iter().map(|task| task.position).collect();
    assert_eq!(dealt, [positions[2], positions[1]]);
    store.calm();
    assert_eq!(store.pending(10).await.unwrap().len(), 3);
}

#[tokio::test]
async fn what_nobody_planned_is_counted() {
    let (_place, inner) = ArrivalOffset::new("unplanned");
    let inner = Arc::new(inner);
    let store = Faulty::new(inner.clone());
    let nameless = ann(&store).await;
    let named = Account { given_name: Some("Ann".to_owned()), version: Version(2), ..nameless.clone() };

    next(&store, [Some(Fault::Before), Some(Fault::After), Some(Fault::Late)]);
    for _ in 0..3 {
        assert!(store.replace_account(nameless.version, &named).await.is_err());
    }
    assert_eq!(store.unplanned(), 0);

    next(&inner, [Some(Fault::Before), Some(Fault::After), None, Some(Fault::Before)]);
    assert!(store.ping().await.is_err() && store.replace_account(nameless.version, &named).await.is_err());
    assert_eq!((store.unplanned(), inner.unplanned()), (2, 0));
    assert!(store.replace_account(nameless.version, &named).await.is_ok());
    store.land().await;
    assert_eq!(store.unplanned(), 3, "what is late counts when it lands");
}
