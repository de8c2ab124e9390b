use super::*;
use crate::sqlite::{Options, SqliteStore};
use crate::{Accounts, Log, NewAccount, Work};
use model::{Account, AccountName, Millis, Uid, Version};
use std::path::PathBuf;

struct TempFolder(PathBuf);

impl TempFolder {
    fn new(name: &str) -> (TempFolder, Faulty) {
        let folder = std::env::temp_dir().join(format!("tofrom-faulty-{name}-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let options = Options { synchronous_off: true, ..Options::default() };
        let store = SqliteStore::open(&folder.join("test.db"), options).unwrap();
        (TempFolder(folder), Faulty::new(Arc::new(store)))
    }
}

impl Drop for TempFolder {
    fn drop(&mut self) {
        drop(std::fs::remove_dir_all(&self.0));
    }
}

async fn create_ann(store: &Faulty) -> Account {
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
fn plan_next<const N: usize>(store: &Faulty, faults: [Option<Fault>; N]) {
    let mut faults = faults.into_iter();
    store.plan(move |_| faults.next().flatten());
}

#[tokio::test]
async fn a_write_fails_before_it_happens_after_it_or_lands_late() {
    let (_folder, store) = TempFolder::new("writes");
    let nameless = create_ann(&store).await;
    let uid = nameless.uid;
    let named = Account { given_name: Some("Ann".to_owned()), version: Version(2), ..nameless.clone() };

    plan_next(&store, [Some(Fault::Before)]);
    assert!(matches!(store.replace_account(nameless.version, &named).await, Err(StoreError::Unavailable(_))));
    assert!(!is_named(&store, uid).await);
    plan_next(&store, [Some(Fault::After)]);
    assert!(matches!(store.replace_account(nameless.version, &named).await, Err(StoreError::Unknown(_))));
    assert!(is_named(&store, uid).await);

    let nameless_again = Account { version: Version(3), ..nameless.clone() };
    plan_next(&store, [Some(Fault::Late), None, Some(Fault::Late)]);
    assert!(matches!(
        store.replace_account(named.version, &nameless_again).await,
        Err(StoreError::Unknown(_))
    ));
    assert!(is_named(&store, uid).await && store.late() == 1);
    assert!(store.accounts(&[uid]).await.is_err(), "a late read fails");
    assert_eq!((store.land().await, store.late()), (1, 0));
    assert!(!is_named(&store, uid).await);
    assert!(!store.land_one(0).await);
}

#[tokio::test]
async fn after_a_crash_only_late_writes_take_effect() {
    let (_folder, store) = TempFolder::new("crash");
    let nameless = create_ann(&store).await;
    let named = Account { given_name: Some("Ann".to_owned()), version: Version(2), ..nameless.clone() };
    plan_next(&store, [Some(Fault::Late), Some(Fault::CrashAfter)]);
    assert!(store.replace_account(nameless.version, &named).await.is_err());
    let work = Work::Account { uid: nameless.uid, after: None };
    assert!(matches!(store.append(&work).await, Err(StoreError::Unknown(_))));
    assert!(
        store.ping().await.is_err() && store.append(&work).await.is_err() && store.floor().await.is_err()
    );
    store.calm();
    assert!(store.ping().await.is_err(), "calm does not end a crash");
    assert_eq!(store.land().await, 1);
    store.restart();
    assert!(is_named(&store, nameless.uid).await);
    assert_eq!(store.pending(10).await.unwrap().len(), 1, "writes during the crash had no effect");
    store.crash();
    assert!(store.ping().await.is_err());
}

#[tokio::test]
async fn pending_tasks_pass_through_the_task_function() {
    let (_folder, store) = TempFolder::new("deal");
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
async fn failures_without_a_planned_fault_are_counted() {
    let (_folder, inner) = TempFolder::new("unplanned");
    let inner = Arc::new(inner);
    let store = Faulty::new(inner.clone());
    let nameless = create_ann(&store).await;
    let named = Account { given_name: Some("Ann".to_owned()), version: Version(2), ..nameless.clone() };

    plan_next(&store, [Some(Fault::Before), Some(Fault::After), Some(Fault::Late)]);
    for _ in 0..3 {
        assert!(store.replace_account(nameless.version, &named).await.is_err());
    }
    assert_eq!(store.unplanned(), 0);

    plan_next(&inner, [Some(Fault::Before), Some(Fault::After), None, Some(Fault::Before)]);
    assert!(store.ping().await.is_err() && store.replace_account(nameless.version, &named).await.is_err());
    assert_eq!((store.unplanned(), inner.unplanned()), (2, 0));
    assert!(store.replace_account(nameless.version, &named).await.is_ok());
    store.land().await;
    assert_eq!(store.unplanned(), 3, "a late write counts when it lands");
}
