//! The demo's data besides accounts and secrets: edges, activities and entries.

use super::activities::{HISTORY, activities_of};
use super::people::{PEOPLE, Person};
use anyhow::Context;
use domain::fanout::first_entries;
use domain::ingest::{Randomness, first_versions};
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
        let edge = Edge::new(Version::next(now, None), since(now), None);
        let mut dataset = Dataset { edges: Vec::new(), activities: Vec::new(), entries: BTreeMap::new() };
        for person in PEOPLE.iter().filter(|person| !person.operator) {
            let actor = uid(person.name)?;
            let followees = uids_of(person.follows)?;
            dataset
                .edges
                .push((actor, followees.into_iter().map(|followee| (followee, edge.clone())).collect()));
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

/// A deterministic generator: the demo's data depends only on seeds and the time of the first start. SplitMix64: small and
/// uniform, not for secrets.
pub(super) struct Random(u64);

impl Random {
    /// A separate sequence for each name.
    pub(super) fn seeded(name: &str) -> Random {
        let seed = name.bytes().fold(0x7066_726f_6d5f_3039, |seed: u64, byte| {
            (seed ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3)
        });
        Random(seed)
    }

    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// Fills the buffer.
    pub(super) fn fill(&mut self, bytes: &mut [u8]) {
        for part in bytes.chunks_mut(size_of::<u64>()) {
            let next = self.next().to_be_bytes();
            part.iter_mut().zip(next).for_each(|(byte, next)| *byte = next);
        }
    }

    /// A number from 0 up to, but not including, `end` (0 if that is 0).
    pub(super) fn below(&mut self, end: u64) -> u64 {
        self.next().checked_rem(end).unwrap_or(0)
    }

    /// A number from `low` up to, but not including, `high`.
    pub(super) fn between(&mut self, low: i64, high: i64) -> i64 {
        let span = u64::try_from(high.saturating_sub(low)).unwrap_or(0);
        low.saturating_add(i64::try_from(self.below(span)).unwrap_or(0))
    }

    /// True with this probability in percent.
    pub(super) fn percent(&mut self, probability: u64) -> bool {
        self.below(100) < probability
    }

    /// A random element; `None` if there are none.
    pub(super) fn pick<'a, T>(&mut self, all: &'a [T]) -> Option<&'a T> {
        let at = usize::try_from(self.below(all.len() as u64)).ok()?;
        all.get(at)
    }
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
