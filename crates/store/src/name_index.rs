//! The index of the names of public accounts: the words under which an account is found by prefix. Every engine stores these
//! words, so that all engines find the same.

use model::Account;
use std::collections::BTreeSet;

/// Maximum characters of a word.
const MAX_LENGTH: usize = 64;
/// Maximum words of a display name.
const MAX_WORDS: usize = 8;
/// Rows that one search reads at most. Rows are hints, so some of them may be outdated.
pub(crate) const MAX_ROWS: usize = 1_000;

/// A word as stored and compared: lower-case, with single spaces.
pub(crate) fn folded(text: &str) -> String {
    let text = text.to_lowercase();
    let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
    text.chars().take(MAX_LENGTH).collect()
}

/// The words of an account: its name, and its display name from each of its words on. Empty if it is not listed.
pub(crate) fn words(account: &Account) -> BTreeSet<String> {
    if !is_listed(account) {
        return BTreeSet::new();
    }
    let names = [account.given_name.as_deref(), account.family_name.as_deref()];
    let display_name = names.into_iter().flatten().collect::<Vec<_>>().join(" ").to_lowercase();
    let parts: Vec<&str> = display_name.split_whitespace().collect();
    let from_each = (0..parts.len().min(MAX_WORDS)).filter_map(|at| parts.get(at..));
    let from_each = from_each.map(|rest| folded(&rest.join(" ")));
    from_each.chain([folded(account.name.as_str())]).collect()
}

/// Whether the index lists the account.
fn is_listed(account: &Account) -> bool {
    account.public && !account.removed && !account.disabled
}

/// Whether the account is found under this prefix, which is folded.
pub(crate) fn is_found(account: &Account, prefix: &str) -> bool {
    words(account).iter().any(|word| word.starts_with(prefix))
}

/// The first word after all that begin with the prefix.
pub(crate) fn end_of(prefix: &str) -> String {
    format!("{prefix}{}", char::MAX)
}

/// The partition of a word on engines that need one: its first character.
pub(crate) fn initial(word: &str) -> String {
    word.chars().take(1).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::{AccountName, AddressableBy, Millis, Uid, Version};

    fn account(name: &str, given: Option<&str>, family: Option<&str>) -> Account {
        Account {
            uid: Uid(1),
            name: AccountName::parse(name).unwrap(),
            version: Version(1),
            given_name: given.map(str::to_owned),
            family_name: family.map(str::to_owned),
            public: true,
            operator: false,
            password: None,
            created: Millis(0),
            removed: false,
            disabled: false,
            credential_epoch: 0,
            addressable_by: AddressableBy::default(),
        }
    }

    #[test]
    fn every_part_of_a_name_is_a_word() {
        let found = words(&account("mj", Some("Mary  Jane"), Some("Ölund")));
        assert_eq!(found, ["mary jane ölund", "jane ölund", "ölund", "mj"].map(str::to_owned).into());
        assert!(is_found(&account("mj", Some("Mary  Jane"), Some("Ölund")), &folded(" JANE  öl")));
        assert!(!is_found(&account("mj", Some("Mary"), None), "ary"));
        assert_eq!(words(&account("x", None, None)), ["x".to_owned()].into());
    }

    #[test]
    fn only_public_accounts_are_listed() {
        let shown = account("mj", Some("Mary"), None);
        for hidden in [
            Account { public: false, ..shown.clone() },
            Account { removed: true, ..shown.clone() },
            Account { disabled: true, ..shown },
        ] {
            assert!(words(&hidden).is_empty());
        }
    }

    #[test]
    fn long_names_are_cut() {
        let long = "ab ".repeat(100);
        let found = words(&account("x", Some(&long), None));
        assert!(found.len() <= MAX_WORDS + 1);
        assert!(found.iter().all(|word| word.chars().count() <= MAX_LENGTH));
    }
}
