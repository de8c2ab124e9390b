//! The demo's data besides accounts and secrets: edges, activities and entries.

use super::activities::{HISTORY, activities_of};
use super::people::{PEOPLE, Person};
use super::random::Random;
use crate::fanout::first_entries;
use crate::ingest::{Randomness, first_versions};
use anyhow::Context;
use model::{AccountName, Edge, Entry, Millis, Uid, Version};
use std::collections::{BTreeMap, HashMap};
use std::sync::{Mutex, PoisonError};
use store::ActivityRecord;

/// Edges, activities and entries. Deterministic for a given time and given uids.
pub(super) struct Dataset {
    pub(super) edges: Vec<(Uid, Vec<(Uid, Edge)>)>,
    /// Grouped by actor.
    pub(super) activities: Vec<Vec<ActivityRecord>>,
    pub(super) entries: BTreeMap<Uid, Vec<Entry>>,
}

impl Dataset {
    /// The data until `now`.
    pub(super) fn new(uids: &HashMap<AccountName, Uid>, now: Millis) -> anyhow::Result<Dataset> {
        let uid = |name: &str| -> anyhow::Result<Uid> {
            let found = uids.get(&AccountName::parse(name)?).copied();
            found.with_context(|| format!("the demo has no account {name}"))
        };
        let uids_of = |names: &[&str]| names.iter().map(|name| uid(name)).collect::<Result<Vec<_>, _>>();
        let edge = Edge { following: true, version: Version::next(now, None), since: since(now), from: None };
        let mut dataset = Dataset { edges: Vec::new(), activities: Vec::new(), entries: BTreeMap::new() };
        for person in PEOPLE.iter().filter(|person| !person.operator) {
            let actor = uid(person.name)?;
            let followees = uids_of(person.follows)?;
            dataset.edges.push((actor, followees.into_iter().map(|followee| (followee, edge)).collect()));
            let followers = uids_of(&followers_of(person))?;
            let drafts = activities_of(person, &others_of(person), now)?;
            let activities = first_versions(actor, &drafts, uids, &identifiers_of(person), now)?;
            let states = activities.iter().map(|record| &record.activity.state);
            for (owner, entry) in states.flat_map(|state| first_entries(state, &followers)) {
                dataset.entries.entry(owner).or_default().push(entry);
            }
            dataset.activities.push(activities);
        }
        Ok(dataset)
    }
}

/// The creation time of accounts and edges: a day before the oldest activity.
pub(super) fn since(now: Millis) -> Millis {
    Millis(now.0 - HISTORY - 24 * 60 * 60 * 1_000)
}

/// Possible recipients of a person's activities: all accounts but the person and the operator. Alice is more likely.
pub(super) fn others_of(person: &Person) -> Vec<&'static str> {
    let others = PEOPLE.iter().filter(|other| other.name != person.name && !other.operator);
    others
        .flat_map(|other| std::iter::repeat_n(other.name, if other.name == "alice" { 3 } else { 1 }))
        .collect()
}

fn followers_of(person: &Person) -> Vec<&'static str> {
    let follow = PEOPLE.iter().filter(|other| other.follows.contains(&person.name));
    follow.map(|other| other.name).collect()
}

/// The random part of a person's activity identifiers, deterministic.
fn identifiers_of(person: &Person) -> Randomness {
    let random = Mutex::new(Random::seeded(&format!("identifiers of {}", person.name)));
    Randomness::from(move |bytes| {
        random.lock().unwrap_or_else(PoisonError::into_inner).fill(bytes);
        Ok(())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: Millis = Millis(1_794_696_243_123);

    fn dataset() -> Dataset {
        let names = PEOPLE.iter().map(|person| AccountName::parse(person.name).unwrap());
        let uids = names.zip((1..).map(Uid)).collect();
        Dataset::new(&uids, NOW).unwrap()
    }

    #[test]
    fn the_dataset_is_deterministic() {
        let (first, second) = (dataset(), dataset());
        let activities = |dataset: &Dataset| format!("{:?}", dataset.activities);
        assert_eq!(activities(&first), activities(&second));
        assert_eq!((first.edges, first.entries), (second.edges, second.entries));
    }

    #[test]
    fn every_account_has_its_own_and_received_entries() {
        let dataset = dataset();
        assert_eq!(dataset.edges.iter().map(|(_, edges)| edges.len()).sum::<usize>(), 10);
        let alice = &dataset.entries[&Uid(1)];
        let own = alice.iter().filter(|entry| entry.actor == Uid(1)).count();
        assert_eq!(own, dataset.activities[0].len());
        assert!(alice.len() >= own + 200, "{} of {own}", alice.len());
        assert!(!dataset.entries.contains_key(&Uid(7)), "nothing reaches the operator");
    }

    #[test]
    fn activities_of_one_millisecond_keep_their_order() {
        for all in dataset().activities {
            let keys = all.iter().map(|record| (record.activity.state.received, record.activity.state.id));
            assert!(keys.is_sorted_by(|a, b| a < b));
        }
    }
}
