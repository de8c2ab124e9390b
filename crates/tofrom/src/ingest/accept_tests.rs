//! Against a real store.

use super::*;
use crate::ingest::testing::{NOW, Place, draft};
use model::{Collection, Visibility};
use serde_json::{Value, json};
use store::Activities;

/// One activity with these fields beside the needed ones.
async fn put(place: &Place, actor: &Account, id: &str, more: Value) -> Outcome {
    place.ingest.accept(actor, vec![draft(id, more)]).await.unwrap().remove(0)
}

async fn state(place: &Place, id: ActivityId) -> State {
    place.store.states(&[id]).await.unwrap().remove(0).unwrap()
}

fn created(outcome: &Outcome) -> ActivityId {
    match outcome {
        Outcome::Created(id) => *id,
        other => panic!("expected a new activity, came {other:?}"),
    }
}

#[tokio::test]
async fn the_same_content_changes_nothing_and_other_content_is_a_new_version() {
    let place = Place::new();
    let (alice, bob) = (place.account("alice").await, place.account("bob").await);
    let more =
        json!({"To": ["bob", "nobody"], "Visibility": "followers", "PublishedDate": "2009-10-01T00:00:00Z"});
    let id = created(&put(&place, &alice, "1", more.clone()).await);
    let first = state(&place, id).await;
    assert_eq!((first.received, first.updated, first.published.0), (NOW, NOW, 1_254_355_200_000));
    assert_eq!((first.addressed.as_slice(), first.visibility), ([bob.uid].as_slice(), Visibility::Followers));

    let spelled =
        json!({"SourceService": {"Name": "Delicious"}, "To": ["Nobody", "BOB", "nobody", "no name"]});
    for same in [more.clone(), json!({}), spelled] {
        assert_eq!(put(&place, &alice, "1", same).await, Outcome::Unchanged(id));
    }
    // Within the same millisecond, and spelling the service in another way.
    let changed = json!({"Title": "y", "SourceService": {"Name": "DELICIOUS"}});
    assert_eq!(put(&place, &alice, "1", changed).await, Outcome::Updated(id));
    let second = state(&place, id).await;
    let expected = State { version: second.version, updated: second.updated, ..first.clone() };
    assert_eq!(second, expected, "all else is as it was");
    assert!(second.version > first.version && second.updated > first.updated);

    assert_eq!(
        put(&place, &alice, "1", json!({"To": [], "Visibility": "direct"})).await,
        Outcome::Updated(id)
    );
    let third = state(&place, id).await;
    assert_eq!((third.addressed.len(), third.visibility), (0, Visibility::Direct));
    assert_eq!(place.ids(&alice, Collection::From.reasons()).await, [id]);
}

/// Every sequence gives the same outcomes whether an account has the name or not.
#[tokio::test]
async fn names_count_as_they_were_sent() {
    let place = Place::new();
    let (alice, bob) = (place.account("alice").await, place.account("bob").await);
    for (sid, name, reaches) in [("1", "bob", vec![bob.uid]), ("2", "nobody", vec![])] {
        let id = created(&put(&place, &alice, sid, json!({})).await);
        let (same, other) = (Outcome::Unchanged(id), Outcome::Updated(id));
        for (to, expected) in [
            (json!({"To": [name]}), &other),
            (json!({"To": [name, name.to_uppercase()]}), &same),
            (json!({}), &same),
            (json!({"Title": "y"}), &other),
            (json!({"Title": "y", "To": [name]}), &same),
            (json!({"Title": "y", "To": []}), &other),
            (json!({"Title": "y", "To": [name, name]}), &other),
        ] {
            assert_eq!(&put(&place, &alice, sid, to.clone()).await, expected, "{name}: {to}");
        }
        assert_eq!(state(&place, id).await.addressed, reaches);
    }
    // The name gets an account later: that must not show, and the account is not reached by the old version.
    let nobody = place.account("nobody").await;
    let again = put(&place, &alice, "2", json!({"Title": "y", "To": ["nobody"]})).await;
    assert!(matches!(again, Outcome::Unchanged(_)), "{again:?}");
    let Outcome::Updated(id) = put(&place, &alice, "2", json!({"Title": "z", "To": ["nobody"]})).await else {
        panic!("expected a new version");
    };
    assert_eq!(state(&place, id).await.addressed, [nobody.uid], "a new version resolves its names anew");
}

#[tokio::test]
async fn what_the_first_version_fixed_stays() {
    let place = Place::new();
    let alice = place.account("alice").await;
    put(&place, &alice, "1", json!({})).await;
    for (more, field) in [
        (json!({"PublishedDate": "2009-10-01T00:00:00Z"}), "PublishedDate"),
        (json!({"Category": "BookmarkLiked"}), "Verb"),
        (json!({"Category": "PhotoShared", "Photo": {"Title": "p"}}), "Type"),
    ] {
        match put(&place, &alice, "1", more).await {
            Outcome::Refused(refused) => assert_eq!(refused.field, field),
            other => panic!("{field}: {other:?}"),
        }
    }
    let as_it_is = json!({"PublishedDate": NOW.with_offset()});
    assert!(matches!(put(&place, &alice, "1", as_it_is).await, Outcome::Unchanged(_)));
}

#[tokio::test]
async fn what_only_atom_shows_stays_until_it_is_said() {
    let place = Place::new();
    let alice = place.account("alice").await;
    let said = json!({
        "EntrySummary": "own", "Bookmark": {"Url": "https://example.org/", "AlternateUrl": "https://example.org/about"},
    });
    let id = created(&put(&place, &alice, "1", said.clone()).await);
    let kept = || async {
        let body = place.store.activities(&[id]).await.unwrap().remove(0).unwrap().body;
        (body.summary, body.object.alternate)
    };
    let both = || (Some("own".to_owned()), Some("https://example.org/about".to_owned()));
    assert_eq!(kept().await, both());
    let unsaid = json!({"Bookmark": {"Url": "https://example.org/"}});
    assert_eq!(
        put(&place, &alice, "1", unsaid).await,
        Outcome::Unchanged(id),
        "it says what is said already"
    );
    assert_eq!(put(&place, &alice, "1", json!({"Title": "y"})).await, Outcome::Updated(id));
    assert_eq!(kept().await, both());
    // What is shown for the other anyway is not kept.
    let same = json!({"Bookmark": {"Url": "https://example.org/about", "Description": "own"}});
    assert_eq!(put(&place, &alice, "1", same.clone()).await, Outcome::Updated(id));
    assert_eq!(kept().await, (None, None));
    assert_eq!(put(&place, &alice, "1", same).await, Outcome::Unchanged(id));
    // Nothing of it is left where it was deleted.
    put(&place, &alice, "1", said).await;
    assert_eq!(kept().await, both());
    assert!(place.ingest.delete(&source_of(alice.uid, &draft("1", json!({})))).await.unwrap());
    assert_eq!(kept().await, (None, None));
    created(&put(&place, &alice, "1", json!({})).await);
    assert_eq!(kept().await, (None, None));
}

#[tokio::test]
async fn what_was_deleted_is_gone_and_comes_again_as_another() {
    let place = Place::new();
    let alice = place.account("alice").await;
    let source = source_of(alice.uid, &draft("1", json!({})));
    assert!(!place.ingest.delete(&source).await.unwrap());
    let id = created(&put(&place, &alice, "1", json!({})).await);
    assert!(place.ingest.delete(&source).await.unwrap());
    assert!(!place.ingest.delete(&source).await.unwrap(), "once");
    assert!(state(&place, id).await.deleted);
    let kept = place.store.activities(&[id]).await.unwrap();
    assert!(kept.iter().flatten().all(|one| one.body.title.is_empty()), "what it said is not kept");
    place.tick();
    let next = created(&put(&place, &alice, "1", json!({})).await);
    assert_ne!(next, id);
    assert_eq!(place.ids(&alice, Collection::From.reasons()).await, [next]);
}

#[tokio::test]
async fn a_batch_keeps_its_order_and_one_address_is_one_activity() {
    let place = Place::new();
    let alice = place.account("alice").await;
    let mut drafts: Vec<_> = (0..300).map(|n| draft(&n.to_string(), json!({}))).collect();
    drafts.extend((0..5).map(|n| draft("7", json!({"Title": format!("{}", n / 2)}))));
    let outcomes = place.ingest.accept(&alice, drafts).await.unwrap();
    let ids: Vec<_> = outcomes[..300].iter().map(created).collect();
    let seven = ids[7];
    let expected = [
        Outcome::Updated(seven),
        Outcome::Unchanged(seven),
        Outcome::Updated(seven),
        Outcome::Unchanged(seven),
        Outcome::Updated(seven),
    ];
    assert_eq!(outcomes[300..], expected);
    let newest_first: Vec<_> = ids.into_iter().rev().collect();
    assert_eq!(place.ids(&alice, Collection::From.reasons()).await, newest_first);
}

#[tokio::test]
async fn of_two_at_once_one_makes_it() {
    let place = Place::new();
    let alice = place.account("alice").await;
    let tasks: Vec<_> = (0..16)
        .map(|_| {
            let (ingest, alice) = (place.ingest.clone(), alice.clone());
            tokio::spawn(async move {
                ingest.accept(&alice, vec![draft("1", json!({}))]).await.unwrap().remove(0)
            })
        })
        .collect();
    let mut made = 0;
    for task in tasks {
        made += usize::from(matches!(task.await.unwrap(), Outcome::Created(_)));
    }
    assert_eq!((made, place.ids(&alice, Collection::From.reasons()).await.len()), (1, 1));
}

#[tokio::test]
async fn a_source_changes_what_is_said_and_nothing_else() {
    let place = Place::new();
    let alice = place.account("alice").await;
    let id = created(&put(&place, &alice, "1", json!({})).await);
    let before = state(&place, id).await;
    place.tick();
    let again = |title: &str| Draft {
        published: Some(Millis(1)),
        verb: model::Verb::parse("liked").unwrap(),
        body: Body { title: title.to_owned(), ..draft("1", json!({})).body },
        ..draft("1", json!({}))
    };
    let bring = |title: &'static str| {
        let (ingest, alice, draft) = (place.ingest.clone(), alice.clone(), again(title));
        async move { ingest.import(&alice, vec![draft]).await.unwrap().remove(0) }
    };
    assert_eq!(bring("Corrected").await, Outcome::Updated(id));
    assert_eq!(bring("Corrected").await, Outcome::Unchanged(id), "new dates are no news");
    let after = state(&place, id).await;
    assert_eq!((after.published, &after.facet), (before.published, &before.facet));
    assert!(place.ingest.delete(&source_of(alice.uid, &draft("1", json!({})))).await.unwrap());
    assert_eq!(bring("Once more").await, Outcome::Unchanged(id), "what was deleted stays deleted");
    assert!(state(&place, id).await.deleted);
}
