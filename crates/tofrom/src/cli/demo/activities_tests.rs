//! Properties of the demo data that users of the demo may rely on.

use super::*;
use crate::cli::demo::dataset::others_of;
use crate::cli::demo::people::PEOPLE;
use model::{Comments, Visibility, category};
use std::collections::{BTreeMap, BTreeSet};

const NOW: Millis = Millis(1_794_696_243_123);

fn life(name: &str) -> Vec<Draft> {
    let person = PEOPLE.iter().find(|person| person.name == name).unwrap();
    activities_of(person, &others_of(person), NOW).unwrap()
}

/// Alice's feed: her own activities and those that reach her.
fn alices() -> Vec<Draft> {
    let reaches = |draft: &Draft| draft.visibility != Some(Visibility::Direct);
    let addresses = |draft: &Draft| draft.to.iter().flatten().any(|name| name.as_str() == "alice");
    let mut all = life("alice");
    for person in PEOPLE.iter().filter(|person| person.name != "alice") {
        let followed = ["bob", "erin"].contains(&person.name);
        all.extend(
            life(person.name).into_iter().filter(|draft| followed && reaches(draft) || addresses(draft)),
        );
    }
    all
}

fn counted<T: Ord>(of: impl IntoIterator<Item = T>) -> BTreeMap<T, usize> {
    let mut counts = BTreeMap::new();
    for value in of {
        *counts.entry(value).or_default() += 1;
    }
    counts
}

#[test]
fn the_data_is_deterministic() {
    assert_eq!(life("bob"), life("bob"));
    assert_ne!(life("bob").len(), life("erin").len());
}

#[test]
fn alice_has_many_own_and_received_activities() {
    let (from, all) = (life("alice").len(), alices().len());
    assert!(from >= 300 && all - from >= 200, "{from} of {all}");
}

#[test]
fn the_data_has_many_services_types_and_verbs() {
    let all = alices();
    let services = counted(all.iter().map(|draft| draft.body.service.name.as_str()));
    let kinds = counted(all.iter().map(|draft| draft.kind.as_str()));
    let verbs = counted(all.iter().map(|draft| draft.verb.as_str()));
    assert!(services.len() >= 8, "{services:?}");
    for kind in ["photo", "video", "book", "note", "bookmark"] {
        assert!(kinds.contains_key(kind), "{kind}: {kinds:?}");
    }
    for verb in ["post", "like", "play", "share"] {
        assert!(verbs.contains_key(verb), "{verb}: {verbs:?}");
    }
    assert!(verbs.values().all(|count| *count >= 2), "{verbs:?}");
    assert!(verbs.values().any(|count| (2..200).contains(count)), "{verbs:?}");
    assert!(verbs.values().any(|count| *count > 14), "{verbs:?}");
    let pairs: BTreeSet<_> =
        all.iter().map(|draft| (draft.body.service.name.as_str(), draft.verb.as_str())).collect();
    let apart = pairs.iter().any(|(service, verb)| {
        pairs.iter().any(|(s, v)| s == service && v != verb)
            && pairs.iter().any(|(s, v)| s != service && v == verb)
    });
    assert!(apart, "a service and a verb that occur together and apart: {pairs:?}");
}

#[test]
fn every_category_is_made_of_letters() {
    for draft in alices() {
        let category = category(&draft.kind, &draft.verb);
        assert!(category.bytes().all(|b| b.is_ascii_alphabetic()), "{category}");
        assert!(category.len() > draft.kind.element().len() + 1, "{category}");
    }
}

#[test]
fn the_two_orders_differ_and_have_ties() {
    let mut all = alices();
    let received = |draft: &Draft| draft.received.unwrap();
    let published = |draft: &Draft| draft.published.unwrap();
    assert!(all.iter().all(|draft| published(draft) < received(draft) && received(draft) < NOW));
    assert!(counted(all.iter().map(received)).values().any(|count| *count > 1), "ties");
    assert!(all.iter().any(|draft| received(draft).0 < NOW.0 - HISTORY / 2), "years of it");
    assert!(all.iter().any(|draft| received(draft).0 > NOW.0 - 7 * DAY), "up to now");
    assert!(all.iter().filter(|draft| received(draft).0 % 1_000 != 0).count() > all.len() / 2);
    all.sort_by_key(|draft| std::cmp::Reverse(received(draft)));
    let newest: Vec<_> = all.iter().take(20).map(|draft| draft.body.source_id.clone()).collect();
    all.sort_by_key(|draft| std::cmp::Reverse(published(draft)));
    assert_ne!(newest, all.iter().take(20).map(|draft| draft.body.source_id.clone()).collect::<Vec<_>>());
}

#[test]
fn optional_fields_are_sometimes_present() {
    let all = alices();
    let both = |what: &str, has: &dyn Fn(&Draft) -> bool| {
        let with = all.iter().filter(|draft| has(draft)).count();
        assert!(with > 5 && with + 5 < all.len(), "{what}: {with} of {}", all.len());
    };
    both("description", &|draft| draft.body.object.description.is_some());
    both("thumbnail", &|draft| draft.body.object.thumbnail.is_some());
    both("counts", &|draft| matches!(draft.body.comments, Comments::Counted { .. }));
    both("icon", &|draft| draft.body.service.icon.is_some());
    both("non-ASCII", &|draft| !draft.body.title.is_ascii());
    both("markup", &|draft| draft.body.title.contains(['&', '<', '>', '"', '\'']));
    both("addressed", &|draft| draft.to.as_ref().is_some_and(|to| !to.is_empty()));
    for visibility in [None, Some(Visibility::Followers), Some(Visibility::Direct)] {
        assert!(
            life("bob").iter().filter(|draft| draft.visibility == visibility).count() > 1,
            "{visibility:?}"
        );
    }
}

#[test]
fn every_account_has_both_names_and_follows_public_accounts() {
    for person in PEOPLE {
        assert!(!person.given_name.is_empty() && !person.family_name.is_empty());
        for followed in person.follows {
            assert!(PEOPLE.iter().any(|other| other.name == *followed && other.public), "{followed}");
        }
    }
    assert!(PEOPLE.last().is_some_and(|person| person.operator), "the operator comes last");
}
