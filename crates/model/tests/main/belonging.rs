//! The rule of belonging, by example; the service's tests hold every read to it.

use model::{
    Account, AccountName, ActivityId, Collection, Edge, Facet, Kind, Millis, Reader, SortKey, State, Uid,
    Verb, Version, Visibility, belongs, may_see,
};

const ACTOR: Uid = Uid(1);
const OWNER: Uid = Uid(2);
const STRANGER: Uid = Uid(3);

fn state(received: i64, visibility: Visibility, addressed: &[Uid]) -> State {
    State {
        id: ActivityId::new(Millis(received), [0; 10]),
        version: Version(received),
        actor: ACTOR,
        facet: Facet {
            service: "flickr".to_owned(),
            kind: Kind::parse("photo").unwrap(),
            verb: Verb::parse("posted").unwrap(),
        },
        received: Millis(received),
        published: Millis(received),
        updated: Millis(received),
        deleted: false,
        visibility,
        addressed: addressed.to_vec(),
        pulled: false,
    }
}

fn account(uid: Uid, public: bool) -> Account {
    Account {
        uid,
        name: AccountName::parse("somebody").unwrap(),
        version: Version(1),
        given_name: None,
        family_name: None,
        public,
        operator: false,
        password: None,
        created: Millis(0),
        removed: false,
        disabled: false,
        credential_epoch: 0,
    }
}

fn edge(from: Option<i64>, since: i64) -> Edge {
    let from = from.map(|time| SortKey { time: Millis(time), id: ActivityId::new(Millis(time), [0; 10]) });
    Edge { following: true, version: Version(1), since: Millis(since), from }
}

#[test]
fn following_brings_what_comes_after_and_the_newest_public_ones_before() {
    use Visibility::{Direct, Followers, Public};
    for (received, visibility, comes) in [
        (100, Public, true),
        (100, Followers, true),
        (100, Direct, false),
        (99, Public, true),
        (99, Followers, false),
        (50, Public, true),
        (49, Public, false),
    ] {
        let state = state(received, visibility, &[]);
        let came = belongs(&state, OWNER, Some(&edge(Some(50), 100)), false);
        assert_eq!(came.to, comes, "{received} {visibility:?}");
    }
    assert!(
        belongs(&state(1, Public, &[]), OWNER, Some(&edge(None, 100)), false).to,
        "fewer than 50: all of them"
    );
}

#[test]
fn addressed_deleted_removed_unfollowed() {
    let direct = state(1, Visibility::Direct, &[OWNER]);
    assert!(belongs(&direct, OWNER, None, false).to);
    assert!(!belongs(&direct, OWNER, None, true).to, "removed by the recipient");
    assert!(!belongs(&State { deleted: true, ..direct.clone() }, ACTOR, None, false).from);
    let unfollowed = Edge { following: false, ..edge(None, 0) };
    assert!(!belongs(&state(1, Visibility::Public, &[]), OWNER, Some(&unfollowed), false).to);
}

#[test]
fn an_actor_who_is_addressed_keeps_it_when_removing() {
    let own = state(1, Visibility::Public, &[ACTOR]);
    let membership = belongs(&own, ACTOR, None, true);
    assert!(membership.from && !membership.to);
    assert!(membership.is_in(Collection::ToFrom));
}

#[test]
fn who_sees_what_in_a_public_collection() {
    use Visibility::{Direct, Followers, Public};
    let other = |uid, follows_owner| Reader::Other { uid, follows_owner };
    for (visibility, addressed, actor_public, reader, sees) in [
        (Public, vec![], true, other(STRANGER, false), true),
        (Public, vec![], false, other(STRANGER, false), false),
        (Followers, vec![], true, other(STRANGER, false), false),
        (Followers, vec![], true, other(STRANGER, true), true),
        (Direct, vec![], true, other(STRANGER, true), false),
        (Direct, vec![STRANGER], false, other(STRANGER, false), true),
        (Direct, vec![], false, Reader::Owner, true),
    ] {
        let state = state(1, visibility, &addressed);
        let came = may_see(reader, ACTOR, &state, &account(ACTOR, actor_public));
        assert_eq!(came, sees, "{visibility:?} {addressed:?} {actor_public} {reader:?}");
    }
    let others_followers_only = state(1, Followers, &[]);
    assert!(
        !may_see(other(STRANGER, true), OWNER, &others_followers_only, &account(ACTOR, true)),
        "the owner's followers are not the actor's"
    );
    let removed = Account { removed: true, ..account(ACTOR, true) };
    assert!(!may_see(Reader::Owner, OWNER, &state(1, Public, &[]), &removed));
}
