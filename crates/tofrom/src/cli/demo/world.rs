//! Everything that the demo's store holds besides accounts and secrets: who follows whom, what everybody did, and whom that
//! reached.

use super::data::{HISTORY, life_of};
use super::people::{PEOPLE, Person};
use super::random::Random;
use crate::fanout::first_entries;
use crate::ingest::{Randomness, first_versions};
use anyhow::Context;
use model::{AccountName, Edge, Entry, Millis, Uid, Version};
use std::collections::{BTreeMap, HashMap};
use std::sync::{Mutex, PoisonError};
use store::ActivityRecord;

/// The same for the same time and the same numbers of the accounts.
pub(super) struct World {
    pub(super) edges: Vec<(Uid, Vec<(Uid, Edge)>)>,
    /// Those of one actor together.
    pub(super) activities: Vec<Vec<ActivityRecord>>,
    pub(super) entries: BTreeMap<Uid, Vec<Entry>>,
}

impl World {
    /// What everybody did until `now`.
    pub(super) fn new(numbers: &HashMap<AccountName, Uid>, now: Millis) -> anyhow::Result<World> {
        let number = |name: &str| -> anyhow::Result<Uid> {
            let found = numbers.get(&AccountName::parse(name)?).copied();
            found.with_context(|| format!("the demo has no account {name}"))
        };
        let numbers_of =
            |names: &[&str]| names.iter().map(|name| number(name)).collect::<Result<Vec<_>, _>>();
        let edge = Edge { following: true, version: Version::next(now, None), since: since(now), from: None };
        let mut world = World { edges: Vec::new(), activities: Vec::new(), entries: BTreeMap::new() };
        for person in PEOPLE.iter().filter(|person| !person.operator) {
            let actor = number(person.name)?;
            let followees = numbers_of(person.follows)?;
            world.edges.push((actor, followees.into_iter().map(|uid| (uid, edge)).collect()));
            let followers = numbers_of(&followers_of(person))?;
            let drafts = life_of(person, &others_of(person), now)?;
            let activities = first_versions(actor, &drafts, numbers, &identifiers_of(person), now)?;
            let states = activities.iter().map(|whole| &whole.activity.state);
            for (owner, entry) in states.flat_map(|state| first_entries(state, &followers)) {
                world.entries.entry(owner).or_default().push(entry);
            }
            world.activities.push(activities);
        }
        Ok(world)
    }
}

/// A day before the oldest activity: since then there are accounts and edges.
pub(super) fn since(now: Millis) -> Millis {
    Millis(now.0 - HISTORY - 24 * 60 * 60 * 1_000)
}

/// Whom a person writes to: everybody else but the operator, and alice more than the others.
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

/// The random part of a person's identifiers, the same every time.
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

    fn world() -> World {
        let names = PEOPLE.iter().map(|person| AccountName::parse(person.name).unwrap());
        let numbers = names.zip((1..).map(Uid)).collect();
        World::new(&numbers, NOW).unwrap()
    }

    #[test]
    fn it_is_the_same_every_time() {
        let (one, other) = (world(), world());
        let activities = |world: &World| format!("{:?}", world.activities);
        assert_eq!(activities(&one), activities(&other));
        assert_eq!((one.edges, one.entries), (other.edges, other.entries));
    }

    #[test]
    fn everybody_finds_their_own_and_what_reaches_them() {
        let world = world();
        assert_eq!(world.edges.iter().map(|(_, edges)| edges.len()).sum::<usize>(), 10);
        let alice = &world.entries[&Uid(1)];
        let own = alice.iter().filter(|entry| entry.actor == Uid(1)).count();
        assert_eq!(own, world.activities[0].len());
        assert!(alice.len() >= own + 200, "{} of {own}", alice.len());
        assert!(!world.entries.contains_key(&Uid(7)), "nothing reaches the operator");
    }

    #[test]
    fn activities_of_one_millisecond_keep_their_order() {
        for all in world().activities {
            let keys = all.iter().map(|whole| (whole.activity.state.received, whole.activity.state.id));
            assert!(keys.is_sorted_by(|a, b| a < b));
        }
    }
}
