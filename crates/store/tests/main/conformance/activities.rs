//! Claims, states and bodies.

use super::{Engine, fresh};
use model::{
    AccountName, Activity, ActivityId, Body, Comments, Entry, EntryReason, EntryReasons, Millis, Object,
    Order, Service, ServiceName, State, Thumbnail, Uid, Version, Visibility,
};
use store::{Acceptance, Accepted, Claim, ExternalKey, Store};

fn claim_of(item: &Acceptance) -> Claim {
    let state = &item.activity.state;
    Claim { id: state.id, version: state.version, fingerprint: item.fingerprint, deleted: state.deleted }
}

async fn state(store: &dyn Store, id: ActivityId) -> Option<State> {
    store.states(&[id]).await.unwrap().pop().unwrap()
}

async fn body(store: &dyn Store, id: ActivityId) -> Option<(Version, Body)> {
    let found = store.activities(&[id]).await.unwrap().pop().unwrap();
    found.map(|activity| (activity.state.version, activity.body))
}

async fn own_entries(store: &dyn Store, actor: Uid) -> Vec<Entry> {
    fresh::all(store, actor, EntryReasons::ALL, Order::Received).await
}

pub(crate) async fn an_accepted_activity_is_stored(store: Engine) {
    let actor = fresh::uid(&*store).await;
    let item = fresh::acceptance(actor, "1", fresh::NOON);
    assert_eq!(store.claim(&item.source).await.unwrap(), None);
    let position = fresh::accept(&*store, &item).await;
    let Activity { state: expected, body: shown } = item.activity.clone();
    assert_eq!(store.claim(&item.source).await.unwrap(), Some(claim_of(&item)));
    assert_eq!(state(&*store, expected.id).await, Some(expected.clone()));
    assert_eq!(body(&*store, expected.id).await, Some((expected.version, shown)));
    let own = Entry {
        id: expected.id,
        reasons: fresh::reasons(&[EntryReason::Authored]),
        facet: expected.facet,
        received: expected.received,
        published: expected.published,
        actor,
        version: expected.version,
        visibility: Visibility::Public,
        retracted: false,
        prior: None,
        arrived: Some(position),
        pulled: false,
    };
    for order in [Order::Received, Order::Published] {
        assert_eq!(fresh::all(&*store, actor, EntryReasons::ALL, order).await, std::slice::from_ref(&own));
    }
    assert!(store.accept(Vec::new()).await.unwrap().is_empty());
}

pub(crate) async fn stored_activities_are_returned_unchanged(store: Engine) {
    let (actor, other) = (fresh::uid(&*store).await, fresh::uid(&*store).await);
    let object = Object {
        title: Some("nul \0 quote ' \u{1d11e}".to_owned()),
        description: Some("x".repeat(70_000)),
        thumbnail: Some(Thumbnail {
            url: "https://example.org/t.png".to_owned(),
            height: Some(u32::MAX),
            width: None,
        }),
        url: Some(String::new()),
        alternate: Some("https://example.org/é".to_owned()),
    };
    let shown = Body {
        source_id: "tag:\u{1f600}/\u{0}?".to_owned(),
        title: "e\u{301}\r\n".to_owned(),
        summary: Some("\u{2028} \"own\"".to_owned()),
        service: Service {
            name: ServiceName::parse("Škoda & Co").unwrap(),
            icon: Some("i".to_owned()),
            website: None,
        },
        comments: Comments::Counted { comments: u64::MAX, likes: 0 },
        object,
        imported_by: Some("photos".to_owned()),
        to: vec![AccountName::parse("unknown").unwrap()],
    };
    for (number, (visibility, addressed)) in [
        (Visibility::Public, vec![]),
        (Visibility::Followers, vec![other]),
        (Visibility::Direct, vec![other, actor, Uid(i64::MAX), Uid(1)]),
    ]
    .into_iter()
    .enumerate()
    {
        let mut item = fresh::acceptance(actor, &number.to_string(), fresh::NOON);
        item.source = ExternalKey {
            actor,
            service: "škoda & co".to_owned(),
            id: format!("{}{number}", shown.source_id),
        };
        item.fingerprint = [0, 255, 1, 0, 0, 0, 0, 0, 7, 7, 7, 7, 7, 7, 7, 0];
        item.activity.body = shown.clone();
        let before = State {
            facet: fresh::facet("škoda & co", "top-hat", "doff-twice"),
            published: Millis::MIN,
            received: Millis(-1),
            updated: Millis::MAX,
            version: Version(1 << 60),
            visibility,
            addressed,
            ..item.activity.state.clone()
        };
        item.activity.state = before.clone();
        fresh::accept(&*store, &item).await;
        assert_eq!(store.claim(&item.source).await.unwrap(), Some(claim_of(&item)));
        assert_eq!(body(&*store, before.id).await, Some((before.version, shown.clone())));
        assert_eq!(state(&*store, before.id).await, Some(before));
    }
}

pub(crate) async fn a_claim_on_another_version_is_refused(store: Engine) {
    let actor = fresh::uid(&*store).await;
    let first = fresh::acceptance(actor, "1", fresh::NOON);
    let mut on_nothing = fresh::next(&first, "builds on a missing version", false);
    let refused = store.accept(vec![on_nothing.clone()]).await.unwrap();
    assert_eq!(refused, [Accepted::Conflict(None)]);
    assert_eq!(state(&*store, first.activity.state.id).await, None, "nothing was changed");
    assert_eq!(own_entries(&*store, actor).await, []);

    fresh::accept(&*store, &first).await;
    on_nothing.before = None;
    let before = own_entries(&*store, actor).await;
    let mut wrong_version = fresh::next(&first, "wrong", false);
    wrong_version.before = Some(Version(first.activity.state.version.0 - 1));
    let mut other_id = fresh::acceptance(actor, "1", fresh::NOON + 1);
    other_id.activity.state.version = Version(fresh::NOON + 99);
    for item in [on_nothing, wrong_version, other_id] {
        let refused = store.accept(vec![item]).await.unwrap();
        assert_eq!(refused, [Accepted::Conflict(Some(claim_of(&first)))]);
    }
    assert_eq!(own_entries(&*store, actor).await, before, "nothing was changed");
    assert_eq!(state(&*store, first.activity.state.id).await, Some(first.activity.state.clone()));
    assert_eq!(body(&*store, first.activity.state.id).await.unwrap().1, first.activity.body);
}

pub(crate) async fn of_concurrent_claims_of_an_external_key_one_is_stored(store: Engine) {
    let actor = fresh::uid(&*store).await;
    let new = (1..=50).map(|number| fresh::acceptance(actor, "new", fresh::NOON + number));
    race(&store, new.collect()).await;
    let first = fresh::acceptance(actor, "not new", fresh::NOON);
    fresh::accept(&*store, &first).await;
    let newer = (1..=50).map(|number| {
        let mut item = fresh::next(&first, &number.to_string(), false);
        item.activity.state.version = Version(fresh::NOON + number);
        item
    });
    race(&store, newer.collect()).await;
    assert_eq!(own_entries(&*store, actor).await.len(), 2, "losing acceptances have no effect");
}

/// Sends all concurrently. One must win, and the stored activity must be the winner's.
async fn race(store: &Engine, items: Vec<Acceptance>) {
    let send = |item: Acceptance| {
        let store = store.clone();
        tokio::spawn(async move { store.accept(vec![item]).await.unwrap().pop().unwrap() })
    };
    let calls: Vec<_> = items.iter().cloned().map(send).collect();
    let mut winners = Vec::new();
    for (item, call) in items.iter().zip(calls) {
        if let Accepted::Stored(_) = call.await.unwrap() {
            winners.push(item);
        }
    }
    assert_eq!(winners.len(), 1);
    let winner = winners[0];
    assert_eq!(store.claim(&winner.source).await.unwrap(), Some(claim_of(winner)));
    assert_eq!(state(&**store, winner.activity.state.id).await, Some(winner.activity.state.clone()));
    assert_eq!(body(&**store, winner.activity.state.id).await.unwrap().1, winner.activity.body);
}

pub(crate) async fn a_batch_sees_its_own_claims(store: Engine) {
    let actor = fresh::uid(&*store).await;
    let first = fresh::acceptance(actor, "twice", fresh::NOON);
    let again = fresh::acceptance(actor, "twice", fresh::NOON + 1);
    let newer = fresh::next(&first, "newer", false);
    let other = fresh::acceptance(actor, "other", fresh::NOON);
    let batch = vec![first.clone(), again.clone(), other.clone(), newer.clone()];
    let outcomes = store.accept(batch).await.unwrap();
    assert!(matches!(outcomes[0], Accepted::Stored(_)));
    assert_eq!(
        outcomes[1],
        Accepted::Conflict(Some(claim_of(&first))),
        "a conflict does not affect the other items"
    );
    assert!(matches!(outcomes[2], Accepted::Stored(_)));
    assert!(matches!(outcomes[3], Accepted::Stored(_)));
    assert_eq!(outcomes.len(), 4);
    assert_eq!(store.claim(&first.source).await.unwrap(), Some(claim_of(&newer)));
    assert_eq!(state(&*store, again.activity.state.id).await, None);
    assert_eq!(own_entries(&*store, actor).await.len(), 2);
}

pub(crate) async fn a_new_version_replaces_the_old(store: Engine) {
    let (actor, addressed) = (fresh::uid(&*store).await, fresh::uid(&*store).await);
    let first = fresh::acceptance(actor, "1", fresh::NOON);
    let mut second = fresh::next(&first, "second", false);
    second.activity.state.visibility = Visibility::Direct;
    second.activity.state.addressed = vec![addressed];
    let first_position = fresh::accept(&*store, &first).await;
    let second_position = fresh::accept(&*store, &second).await;
    assert!(first_position < second_position);
    let expected = second.activity.state.clone();
    assert_eq!(store.claim(&first.source).await.unwrap(), Some(claim_of(&second)));
    assert_eq!(body(&*store, expected.id).await, Some((expected.version, fresh::body("second"))));
    let own = own_entries(&*store, actor).await;
    assert_eq!(own.len(), 1);
    let hint = (own[0].version, own[0].visibility, own[0].retracted, own[0].arrived);
    assert_eq!(hint, (expected.version, Visibility::Direct, false, Some(second_position)));
    assert_eq!(state(&*store, expected.id).await, Some(expected));
}

pub(crate) async fn a_deleted_activity_is_marked_as_deleted(store: Engine) {
    let actor = fresh::uid(&*store).await;
    let first = fresh::acceptance(actor, "1", fresh::NOON);
    let deletion = fresh::next(&first, "retracted", true);
    fresh::accept(&*store, &first).await;
    let position = fresh::accept(&*store, &deletion).await;
    let claimed = store.claim(&first.source).await.unwrap().unwrap();
    assert!(claimed.deleted && claimed == claim_of(&deletion));
    assert!(state(&*store, first.activity.state.id).await.unwrap().deleted);
    let own = own_entries(&*store, actor).await;
    assert!(own.len() == 1 && own[0].retracted && own[0].arrived == Some(position), "{own:?}");
}

pub(crate) async fn an_external_key_can_be_reused_after_deletion(store: Engine) {
    let actor = fresh::uid(&*store).await;
    let first = fresh::acceptance(actor, "1", fresh::NOON);
    let deletion = fresh::next(&first, "retracted", true);
    let mut anew = fresh::acceptance(actor, "1", fresh::NOON + 5_000);
    anew.before = Some(deletion.activity.state.version);
    for item in [&first, &deletion, &anew] {
        fresh::accept(&*store, item).await;
    }
    assert_eq!(store.claim(&first.source).await.unwrap(), Some(claim_of(&anew)));
    let ids = [first.activity.state.id, anew.activity.state.id];
    let deleted: Vec<bool> =
        store.states(&ids).await.unwrap().into_iter().map(|state| state.unwrap().deleted).collect();
    assert_eq!(deleted, [true, false], "the old activity stays deleted");
    let own: Vec<_> =
        own_entries(&*store, actor).await.iter().map(|entry| (entry.id, entry.retracted)).collect();
    assert_eq!(own, [(ids[1], false), (ids[0], true)]);
}

pub(crate) async fn external_keys_are_compared_exactly(store: Engine) {
    let (actor, other) = (fresh::uid(&*store).await, fresh::uid(&*store).await);
    let mut items = vec![fresh::acceptance(other, "a", fresh::NOON)];
    for id in ["a", "A", "a ", "", "a\0", "á", "a\u{301}"] {
        items.push(fresh::acceptance(actor, id, fresh::NOON));
    }
    let mut elsewhere = fresh::acceptance(actor, "a", fresh::NOON);
    elsewhere.source.service = "delicious".to_owned();
    items.push(elsewhere);
    let outcomes = store.accept(items.clone()).await.unwrap();
    assert!(outcomes.iter().all(|outcome| matches!(outcome, Accepted::Stored(_))), "{outcomes:?}");
    for item in &items {
        assert_eq!(store.claim(&item.source).await.unwrap(), Some(claim_of(item)), "{:?}", item.source);
    }
}

pub(crate) async fn activities_are_returned_in_request_order(store: Engine) {
    let actor = fresh::uid(&*store).await;
    let items: Vec<Acceptance> =
        (0..4).map(|number| fresh::acceptance(actor, &number.to_string(), fresh::NOON + number)).collect();
    store.accept(items.clone()).await.unwrap();
    let mut ids: Vec<ActivityId> = items.iter().map(|item| item.activity.state.id).collect();
    ids.insert(2, fresh::id(fresh::NOON));
    ids.push(ids[1]);
    ids.push(ids[0]);
    let states = store.states(&ids).await.unwrap();
    let activities = store.activities(&ids).await.unwrap();
    assert_eq!((states.len(), activities.len()), (ids.len(), ids.len()));
    for (number, id) in ids.iter().enumerate() {
        let item = items.iter().find(|item| item.activity.state.id == *id);
        assert_eq!(states[number], item.map(|item| item.activity.state.clone()));
        assert_eq!(activities[number], item.map(|item| item.activity.clone()));
    }
    assert_eq!(store.states(&[]).await.unwrap(), []);
    assert_eq!(store.activities(&[]).await.unwrap(), []);
}

pub(crate) async fn repeating_an_acceptance_changes_nothing(store: Engine) {
    let actor = fresh::uid(&*store).await;
    let item = fresh::acceptance(actor, "1", fresh::NOON);
    fresh::accept(&*store, &item).await;
    let before = own_entries(&*store, actor).await;
    // A caller without a response repeats the call and finds its own version claimed.
    let again = store.accept(vec![item.clone()]).await.unwrap();
    assert_eq!(again, [Accepted::Conflict(Some(claim_of(&item)))]);
    assert_eq!(own_entries(&*store, actor).await, before);
    assert_eq!(state(&*store, item.activity.state.id).await, Some(item.activity.state));
}

pub(crate) async fn positions_follow_the_order_of_acceptance(store: Engine) {
    let actor = fresh::uid(&*store).await;
    let mut last = store.floor().await.unwrap();
    for number in 0..10 {
        let batch: Vec<Acceptance> = (0..3)
            .map(|part| fresh::acceptance(actor, &format!("{number}-{part}"), fresh::NOON + number))
            .collect();
        for outcome in store.accept(batch).await.unwrap() {
            let Accepted::Stored(position) = outcome else { panic!("{outcome:?}") };
            assert!(position > last, "a later acceptance has a larger position");
            last = position;
        }
    }
}
