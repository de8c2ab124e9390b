//! Acceptance of drafts, against a real store.

use super::*;
use crate::ingest::testing::{IngestFixture, NOW, draft};
use model::{Body, Collection, State, Visibility};
use serde_json::{Value, json};
use store::Activities;

/// Accepts an activity with these additional fields.
async fn put(fixture: &IngestFixture, actor: &Account, id: &str, more: Value) -> Outcome {
    fixture.ingest.accept(actor, vec![draft(id, more)]).await.unwrap().remove(0)
}

async fn state(fixture: &IngestFixture, id: ActivityId) -> State {
    fixture.store.states(&[id]).await.unwrap().remove(0).unwrap()
}

fn created(outcome: &Outcome) -> ActivityId {
    match outcome {
        Outcome::Created(id) => *id,
        other => panic!("expected a new activity, got {other:?}"),
    }
}

#[tokio::test]
async fn equal_content_is_unchanged_and_different_content_is_a_new_version() {
    let fixture = IngestFixture::new();
    let (alice, bob) = (fixture.account("alice").await, fixture.account("bob").await);
    let more =
        json!({"To": ["bob", "nobody"], "Visibility": "followers", "PublishedDate": "2009-10-01T00:00:00Z"});
    let id = created(&put(&fixture, &alice, "1", more.clone()).await);
    let first = state(&fixture, id).await;
    assert_eq!((first.received, first.updated, first.published.0), (NOW, NOW, 1_254_355_200_000));
    assert_eq!((first.addressed.as_slice(), first.visibility), ([bob.uid].as_slice(), Visibility::Followers));

    let spelled =
        json!({"SourceService": {"Name": "Delicious"}, "To": ["Nobody", "BOB", "nobody", "no name"]});
    for same in [more.clone(), json!({}), spelled] {
        assert_eq!(put(&fixture, &alice, "1", same).await, Outcome::Unchanged(id));
    }
    // Within the same millisecond, and with another spelling of the service.
    let changed = json!({"Title": "y", "SourceService": {"Name": "DELICIOUS"}});
    assert_eq!(put(&fixture, &alice, "1", changed).await, Outcome::Updated(id));
    let second = state(&fixture, id).await;
    let expected = State { version: second.version, updated: second.updated, ..first.clone() };
    assert_eq!(second, expected, "other fields changed");
    assert!(second.version > first.version && second.updated > first.updated);

    assert_eq!(
        put(&fixture, &alice, "1", json!({"To": [], "Visibility": "direct"})).await,
        Outcome::Updated(id)
    );
    let third = state(&fixture, id).await;
    assert_eq!((third.addressed.len(), third.visibility), (0, Visibility::Direct));
    assert_eq!(fixture.ids(&alice, Collection::From.reasons()).await, [id]);
}

/// The outcomes do not reveal whether an account with the name exists.
#[tokio::test]
async fn recipients_count_by_the_names_sent() {
    let fixture = IngestFixture::new();
    let (alice, bob) = (fixture.account("alice").await, fixture.account("bob").await);
    for (sid, name, reaches) in [("1", "bob", vec![bob.uid]), ("2", "nobody", vec![])] {
        let id = created(&put(&fixture, &alice, sid, json!({})).await);
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
            assert_eq!(&put(&fixture, &alice, sid, to.clone()).await, expected, "{name}: {to}");
        }
        assert_eq!(state(&fixture, id).await.addressed, reaches);
    }
    // The name gets an account later. That must not be visible, and the account does not receive the old version.
    (0..100).for_each(|_| fixture.tick());
    let later = fixture.account("nobody").await;
    let again = put(&fixture, &alice, "2", json!({"Title": "y", "To": ["nobody"]})).await;
    assert!(matches!(again, Outcome::Unchanged(_)), "{again:?}");
    let Outcome::Updated(id) = put(&fixture, &alice, "2", json!({"Title": "z", "To": ["nobody"]})).await
    else {
        panic!("expected a new version");
    };
    assert_eq!(state(&fixture, id).await.addressed, [later.uid], "a new version resolves its names again");
}

#[tokio::test]
async fn fixed_fields_cannot_change() {
    let fixture = IngestFixture::new();
    let alice = fixture.account("alice").await;
    put(&fixture, &alice, "1", json!({})).await;
    for (more, field) in [
        (json!({"PublishedDate": "2009-10-01T00:00:00Z"}), "PublishedDate"),
        (json!({"Category": "BookmarkLiked"}), "Verb"),
        (json!({"Category": "PhotoShared", "Photo": {"Title": "p"}}), "Type"),
    ] {
        match put(&fixture, &alice, "1", more).await {
            Outcome::Refused(refused) => assert_eq!(refused.field, field),
            other => panic!("{field}: {other:?}"),
        }
    }
    let as_it_is = json!({"PublishedDate": NOW.with_offset()});
    assert!(matches!(put(&fixture, &alice, "1", as_it_is).await, Outcome::Unchanged(_)));
}

#[tokio::test]
async fn atom_only_fields_stay_if_omitted() {
    let fixture = IngestFixture::new();
    let alice = fixture.account("alice").await;
    let with_fields = json!({
        "EntrySummary": "own", "Bookmark": {"Url": "https://example.org/", "AlternateUrl": "https://example.org/about"},
    });
    let id = created(&put(&fixture, &alice, "1", with_fields.clone()).await);
    let stored = || async {
        let body = fixture.store.activities(&[id]).await.unwrap().remove(0).unwrap().body;
        (body.summary, body.object.alternate)
    };
    let both = || (Some("own".to_owned()), Some("https://example.org/about".to_owned()));
    assert_eq!(stored().await, both());
    let without_fields = json!({"Bookmark": {"Url": "https://example.org/"}});
    assert_eq!(
        put(&fixture, &alice, "1", without_fields).await,
        Outcome::Unchanged(id),
        "the content is unchanged"
    );
    assert_eq!(put(&fixture, &alice, "1", json!({"Title": "y"})).await, Outcome::Updated(id));
    assert_eq!(stored().await, both());
    // A value that equals the field shown in its place is dropped.
    let same = json!({"Bookmark": {"Url": "https://example.org/about", "Description": "own"}});
    assert_eq!(put(&fixture, &alice, "1", same.clone()).await, Outcome::Updated(id));
    assert_eq!(stored().await, (None, None));
    assert_eq!(put(&fixture, &alice, "1", same).await, Outcome::Unchanged(id));
    // A deletion removes the content.
    put(&fixture, &alice, "1", with_fields).await;
    assert_eq!(stored().await, both());
    assert!(fixture.ingest.delete(&external_key(alice.uid, &draft("1", json!({})))).await.unwrap());
    assert_eq!(stored().await, (None, None));
    created(&put(&fixture, &alice, "1", json!({})).await);
    assert_eq!(stored().await, (None, None));
}

/// Submits the activity `1` as written.
async fn submit(
    fixture: &IngestFixture,
    actor: &Account,
    unknown: UnknownRecipients,
    mut body: Value,
) -> Outcome {
    body["SourceId"] = json!("1");
    let raw = crate::ingest::json::read(body.to_string().as_bytes()).unwrap();
    let submission = Submission { raw, format: model::Format::Json };
    fixture.ingest.submit(actor, vec![submission], unknown).await.unwrap().remove(0)
}

#[tokio::test]
async fn a_submission_keeps_omitted_facets_and_the_first_spelling() {
    let fixture = IngestFixture::new();
    let alice = fixture.account("alice").await;
    let without_facets = |title: &str| json!({"Title": title, "SourceService": {"Name": "DELICIOUS"}, "Bookmark": {"Title": "t"}});
    match submit(&fixture, &alice, UnknownRecipients::Skip, without_facets("y")).await {
        Outcome::Refused(refused) => assert_eq!(refused.field, "Category"),
        other => panic!("{other:?}"),
    }
    let id = created(&put(&fixture, &alice, "1", json!({})).await);
    for expected in [Outcome::Updated(id), Outcome::Unchanged(id)] {
        assert_eq!(submit(&fixture, &alice, UnknownRecipients::Skip, without_facets("y")).await, expected);
    }
    let key = external_key(alice.uid, &draft("1", json!({})));
    let stored = fixture.ingest.activity(&key).await.unwrap().unwrap();
    assert_eq!((stored.body.title.as_str(), stored.body.service.name.as_str()), ("y", "Delicious"));
}

#[tokio::test]
async fn unknown_recipients_are_skipped_or_refused() {
    let fixture = IngestFixture::new();
    let (alice, bob) = (fixture.account("alice").await, fixture.account("bob").await);
    let body = json!({
        "Title": "x", "Category": "BookmarkShared", "SourceService": {"Name": "Delicious"},
        "Bookmark": {"Title": "t"}, "To": ["bob", "Stranger", "no name"],
    });
    let refused = submit(&fixture, &alice, UnknownRecipients::Refuse, body.clone()).await;
    assert_eq!(refused, Outcome::Refused(Refused::new("To", "unknown accounts: Stranger, no name")));
    let id = created(&submit(&fixture, &alice, UnknownRecipients::Skip, body).await);
    assert_eq!(state(&fixture, id).await.addressed, [bob.uid]);
}

#[tokio::test]
async fn a_deleted_activity_is_gone_and_a_later_put_creates_another() {
    let fixture = IngestFixture::new();
    let alice = fixture.account("alice").await;
    let source = external_key(alice.uid, &draft("1", json!({})));
    assert!(!fixture.ingest.delete(&source).await.unwrap());
    let id = created(&put(&fixture, &alice, "1", json!({})).await);
    assert!(fixture.ingest.delete(&source).await.unwrap());
    assert!(!fixture.ingest.delete(&source).await.unwrap(), "deleted twice");
    assert!(state(&fixture, id).await.deleted);
    let stored = fixture.store.activities(&[id]).await.unwrap();
    assert!(stored.iter().flatten().all(|one| one.body.title.is_empty()), "the content was stored");
    fixture.tick();
    let next = created(&put(&fixture, &alice, "1", json!({})).await);
    assert_ne!(next, id);
    assert_eq!(fixture.ids(&alice, Collection::From.reasons()).await, [next]);
}

#[tokio::test]
async fn a_batch_keeps_its_order_and_an_external_key_is_one_activity() {
    let fixture = IngestFixture::new();
    let alice = fixture.account("alice").await;
    let mut drafts: Vec<_> = (0..300).map(|n| draft(&n.to_string(), json!({}))).collect();
    drafts.extend((0..5).map(|n| draft("7", json!({"Title": format!("{}", n / 2)}))));
    let outcomes = fixture.ingest.accept(&alice, drafts).await.unwrap();
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
    assert_eq!(fixture.ids(&alice, Collection::From.reasons()).await, newest_first);
}

#[tokio::test]
async fn concurrent_writers_create_one_activity() {
    let fixture = IngestFixture::new();
    let alice = fixture.account("alice").await;
    let tasks: Vec<_> = (0..16)
        .map(|_| {
            let (ingest, alice) = (fixture.ingest.clone(), alice.clone());
            tokio::spawn(async move {
                ingest.accept(&alice, vec![draft("1", json!({}))]).await.unwrap().remove(0)
            })
        })
        .collect();
    let mut created_count = 0;
    for task in tasks {
        created_count += usize::from(matches!(task.await.unwrap(), Outcome::Created(_)));
    }
    assert_eq!((created_count, fixture.ids(&alice, Collection::From.reasons()).await.len()), (1, 1));
}

#[tokio::test]
async fn a_source_changes_only_the_content() {
    let fixture = IngestFixture::new();
    let alice = fixture.account("alice").await;
    let id = created(&put(&fixture, &alice, "1", json!({})).await);
    let before = state(&fixture, id).await;
    fixture.tick();
    let again = |title: &str| Draft {
        published: Some(Millis(1)),
        verb: model::Verb::parse("liked").unwrap(),
        body: Body { title: title.to_owned(), ..draft("1", json!({})).body },
        ..draft("1", json!({}))
    };
    let import = |title: &'static str| {
        let (ingest, alice, draft) = (fixture.ingest.clone(), alice.clone(), again(title));
        async move { ingest.import(&alice, vec![draft]).await.unwrap().remove(0) }
    };
    assert_eq!(import("Corrected").await, Outcome::Updated(id));
    assert_eq!(import("Corrected").await, Outcome::Unchanged(id), "new dates are no change");
    let after = state(&fixture, id).await;
    assert_eq!((after.published, &after.facet), (before.published, &before.facet));
    assert!(fixture.ingest.delete(&external_key(alice.uid, &draft("1", json!({})))).await.unwrap());
    assert_eq!(import("Once more").await, Outcome::Unchanged(id), "a deleted activity came back");
    assert!(state(&fixture, id).await.deleted);
}
