//! Accounts and their pictures.

use super::{Engine, fresh};
use model::{Account, AccountName, Millis, Picture, Uid, Version};
use std::collections::HashSet;
use store::Store;

pub(crate) async fn a_new_account_is_found(store: Engine) {
    let name = fresh::name();
    assert_eq!(store.account_by_name(&name).await.unwrap(), None);
    let mut new = fresh::new_account(name.clone());
    new.family_name = Some("Lovelace \u{1f9ee}".to_owned());
    new.operator = true;
    let created = store.create_account(new).await.unwrap().expect("a fresh name");
    let expected = Account {
        uid: created.uid,
        name: name.clone(),
        version: Version(fresh::NOON),
        given_name: Some("Ada".to_owned()),
        family_name: Some("Lovelace \u{1f9ee}".to_owned()),
        public: true,
        operator: true,
        password: Some("$argon2id$…".to_owned()),
        created: Millis(fresh::NOON),
        removed: false,
        disabled: false,
        credential_epoch: 0,
        addressable_by: model::AddressableBy::Everyone,
    };
    assert!(created == expected);
    assert!(store.account_by_name(&name).await.unwrap() == Some(expected.clone()));
    let other = fresh::account(&*store).await;
    assert_ne!(created.uid, other.uid);
    let found = store.accounts(&[other.uid, Uid(i64::MAX), created.uid, other.uid]).await.unwrap();
    assert!(found == [Some(other.clone()), None, Some(expected), Some(other)]);
    assert_eq!(store.accounts(&[]).await.unwrap(), []);
}

pub(crate) async fn a_name_is_never_reused(store: Engine) {
    let name = fresh::name();
    let created = store.create_account(fresh::new_account(name.clone())).await.unwrap().unwrap();
    assert_eq!(store.create_account(fresh::new_account(name.clone())).await.unwrap(), None);
    let upper = AccountName::parse(&name.as_str().to_uppercase()).unwrap();
    assert_eq!(store.create_account(fresh::new_account(upper)).await.unwrap(), None);
    let removed = Account { removed: true, version: Version(created.version.0 + 1), ..created };
    fresh::put(&*store, &removed).await;
    assert_eq!(store.create_account(fresh::new_account(name)).await.unwrap(), None, "not even after removal");
}

pub(crate) async fn of_concurrent_claims_of_a_name_one_wins(store: Engine) {
    let name = fresh::name();
    let calls: Vec<_> = (0..50)
        .map(|number| {
            let (store, mut new) = (store.clone(), fresh::new_account(name.clone()));
            new.given_name = Some(number.to_string());
            tokio::spawn(async move { store.create_account(new).await.unwrap() })
        })
        .collect();
    let mut created = Vec::new();
    for call in calls {
        created.extend(call.await.unwrap());
    }
    assert_eq!(created.len(), 1);
    assert!(store.account_by_name(&name).await.unwrap() == created.pop());
}

pub(crate) async fn an_account_is_replaced_by_compare_and_set(store: Engine) {
    let created = fresh::account(&*store).await;
    let next = |number: i64| Account {
        version: Version(created.version.0 + number),
        given_name: Some(number.to_string()),
        family_name: (number == 3).then(|| "Last".to_owned()),
        public: number != 3,
        operator: number == 3,
        password: None,
        // Name and time of creation never change, even if the new state differs.
        name: fresh::name(),
        created: Millis(0),
        ..created.clone()
    };
    let replace = async |before: i64, number: i64| {
        store.replace_account(Version(created.version.0 + before), &next(number)).await.unwrap()
    };
    assert!(!replace(1, 2).await, "a version that does not exist yet");
    assert!(replace(0, 2).await);
    assert!(!replace(0, 3).await, "a version that was replaced");
    assert!(!replace(1, 3).await, "a version that never existed");
    assert!(replace(2, 3).await);
    let missing = Account { uid: Uid(i64::MAX), ..next(4) };
    assert!(!store.replace_account(missing.version, &missing).await.unwrap());
    let expected = Account { name: created.name.clone(), created: created.created, ..next(3) };
    assert!(store.accounts(&[created.uid]).await.unwrap() == [Some(expected.clone())]);
    assert!(store.account_by_name(&created.name).await.unwrap() == Some(expected));
}

pub(crate) async fn a_removed_account_is_found_by_name(store: Engine) {
    let created = fresh::account(&*store).await;
    let removed =
        Account { removed: true, version: Version(created.version.0 + 1), password: None, ..created.clone() };
    fresh::put(&*store, &removed).await;
    assert!(store.account_by_name(&created.name).await.unwrap() == Some(removed.clone()));
    assert!(store.accounts(&[created.uid]).await.unwrap() == [Some(removed)]);
    assert!(!listed(&*store, 100).await.iter().any(|account| account.uid == created.uid));
}

pub(crate) async fn a_disabled_account_is_still_found(store: Engine) {
    let created = fresh::account(&*store).await;
    assert!(created.may_act());
    let disabled = Account {
        disabled: true,
        credential_epoch: 7,
        version: Version(created.version.0 + 1),
        ..created.clone()
    };
    fresh::put(&*store, &disabled).await;
    assert!(store.account_by_name(&created.name).await.unwrap() == Some(disabled.clone()));
    assert!(store.accounts(&[created.uid]).await.unwrap() == [Some(disabled.clone())]);
    assert!(listed(&*store, 100).await.contains(&disabled));
    let enabled = Account { version: Version(created.version.0 + 2), ..created };
    fresh::put(&*store, &enabled).await;
    assert!(store.accounts(&[enabled.uid]).await.unwrap() == [Some(enabled)]);
}

/// A picture with sizes of very different lengths.
fn picture(version: i64) -> Picture {
    let byte = version.to_le_bytes()[0];
    Picture { version: Version(version), sizes: [vec![byte], vec![0, 255, byte], vec![byte; 100_000]] }
}

pub(crate) async fn the_later_picture_wins(store: Engine) {
    for order in [[1, 2, 3], [1, 3, 2], [2, 1, 3], [2, 3, 1], [3, 1, 2], [3, 2, 1]] {
        let uid = fresh::uid(&*store).await;
        assert_eq!(store.picture(uid).await.unwrap(), None);
        for number in order {
            let picture = picture(fresh::NOON + number);
            store.put_picture(uid, &picture).await.unwrap();
            store.put_picture(uid, &picture).await.unwrap();
        }
        assert_eq!(store.picture(uid).await.unwrap(), Some(picture(fresh::NOON + 3)), "{order:?}");
    }
}

pub(crate) async fn a_picture_without_sizes_deletes_it(store: Engine) {
    let (uid, other) = (fresh::uid(&*store).await, fresh::uid(&*store).await);
    for owner in [uid, other] {
        store.put_picture(owner, &picture(10)).await.unwrap();
    }
    store.put_picture(uid, &Picture::none(Version(20))).await.unwrap();
    assert_eq!(store.picture(uid).await.unwrap(), None);
    store.put_picture(uid, &picture(15)).await.unwrap();
    assert_eq!(store.picture(uid).await.unwrap(), None, "an earlier picture does not restore it");
    store.put_picture(uid, &picture(30)).await.unwrap();
    assert_eq!(store.picture(uid).await.unwrap(), Some(picture(30)));
    assert_eq!(store.picture(other).await.unwrap(), Some(picture(10)));
}

pub(crate) async fn all_accounts_are_listed_once(store: Engine) {
    let mut created = HashSet::new();
    for _ in 0..7 {
        created.insert(fresh::uid(&*store).await);
    }
    for limit in [2, 3, 100] {
        let listed = listed(&*store, limit).await;
        let numbers: HashSet<Uid> = listed.iter().map(|account| account.uid).collect();
        assert_eq!(numbers.len(), listed.len(), "an account is listed twice");
        assert!(created.is_subset(&numbers));
    }
    assert_eq!(store.list_accounts(None, 0).await.unwrap(), []);
}

async fn listed(store: &dyn Store, limit: usize) -> Vec<Account> {
    let mut all = Vec::new();
    loop {
        let page = store.list_accounts(all.last().map(|last: &Account| last.uid), limit).await.unwrap();
        assert!(page.len() <= limit);
        if page.is_empty() {
            return all;
        }
        all.extend(page);
    }
}

/// The names of the accounts that are found, among those of this test.
async fn found(store: &Engine, prefix: &str, among: &[&Account]) -> Vec<String> {
    let found = store.find_accounts(prefix, 1_000).await.unwrap();
    let found = found.iter().filter(|account| among.iter().any(|one| one.uid == account.uid));
    found.map(|account| account.name.to_string()).collect()
}

pub(crate) async fn public_accounts_are_found_by_prefix(store: Engine) {
    // A word that no other test has.
    let word = format!("Öre{}", fresh::name());
    let with = |given: &str, family: &str, public| {
        let mut new = fresh::new_account(fresh::name());
        (new.given_name, new.family_name, new.public) =
            (Some(given.to_owned()), Some(family.to_owned()), public);
        new
    };
    let first = store.create_account(with(&word, "Lovelace", true)).await.unwrap().unwrap();
    let second = store.create_account(with("Mary Jane", &word, true)).await.unwrap().unwrap();
    let hidden = store.create_account(with(&word, "Private", false)).await.unwrap().unwrap();
    let all = [&first, &second, &hidden];
    let both = |mut names: Vec<String>| {
        names.sort();
        names
    };
    let mut expected = [first.name.to_string(), second.name.to_string()];
    expected.sort();
    for prefix in [word.as_str(), &word.to_lowercase(), &word.to_uppercase(), &format!("  {word} ")] {
        assert_eq!(both(found(&store, prefix, &all).await), expected, "{prefix}");
    }
    assert_eq!(found(&store, &format!("{word} love"), &all).await, [first.name.to_string()]);
    assert_eq!(found(&store, &format!("jane {word}"), &all).await, [second.name.to_string()]);
    assert_eq!(found(&store, first.name.as_str(), &all).await, [first.name.to_string()]);
    assert_eq!(found(&store, hidden.name.as_str(), &all).await, [""; 0]);
    let inside: String = word.chars().skip(1).collect();
    assert_eq!(found(&store, &inside, &all).await, [""; 0], "not inside a word");
    assert_eq!(store.find_accounts(" ", 10).await.unwrap(), []);
    assert_eq!(store.find_accounts(&word, 1).await.unwrap().len(), 1);
}

pub(crate) async fn a_changed_account_is_found_by_its_new_words_only(store: Engine) {
    let before = fresh::account(&*store).await;
    let name = before.name.to_string();
    let version = |by: i64| Version(before.version.0 + by);
    let found = async |prefix: &str| found(&store, prefix, &[&before]).await;
    let (old, new) = (format!("old{name}"), format!("new{name}"));
    let renamed =
        Account { given_name: Some(old.clone()), public: true, version: version(1), ..before.clone() };
    fresh::put(&*store, &renamed).await;
    assert_eq!(found(&old).await, [name.as_str()]);
    let again = Account { given_name: Some(new.clone()), version: version(2), ..renamed.clone() };
    fresh::put(&*store, &again).await;
    assert_eq!((found(&old).await.len(), found(&new).await.len()), (0, 1));
    for (by, hidden) in [
        (3, Account { public: false, ..again.clone() }),
        (5, Account { disabled: true, ..again.clone() }),
        (7, Account { removed: true, ..again.clone() }),
    ] {
        fresh::put(&*store, &Account { version: version(by), ..hidden }).await;
        assert_eq!((found(&new).await.len(), found(&name).await.len()), (0, 0), "{by}");
        if by < 7 {
            fresh::put(&*store, &Account { version: version(by + 1), ..again.clone() }).await;
            assert_eq!((found(&new).await.len(), found(&name).await.len()), (1, 1), "{by}");
        }
    }
}
