//! Examples of belonging. The tests of the server check every read against it.

use model::{
    Account, AccountName, ActivityId, AddressableBy, Collection, Edge, EdgeFilter, Facet, Kind, Millis,
    Reader, Relation, SortKey, State, Uid, Verb, Version, Visibility, belongs, may_see,
};

const ACTOR: Uid = Uid(1);
const OWNER: Uid = Uid(2);
const STRANGER: Uid = Uid(3);
const NONE: Relation = Relation { blocks: false, mutes: false, blocked_by: false };

fn state(received: i64, visibility: Visibility, addressed: &[Uid]) -> State {
    State {
        id: ActivityId::new(Millis(received), [0; 10]),
        version: Version(received),
        actor: ACTOR,
        facet: Facet {
            service: "flickr".to_owned(),
            kind: Kind::parse("photo").unwrap(),
            verb: Verb::parse("posted").unwrap(),
        }
        .into(),
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
        name: AccountName::parse("ada").unwrap(),
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
        addressable_by: AddressableBy::Everyone,
    }
}

fn edge(from: Option<i64>, since: i64) -> Edge {
    let from = from.map(|time| SortKey { time: Millis(time), id: ActivityId::new(Millis(time), [0; 10]) });
    Edge::new(Version(1), Millis(since), from)
}

#[test]
fn following_includes_later_activities_and_the_newest_earlier_public_ones() {
    use Visibility::{Direct, Followers, Public};
    for (received, visibility, expected) in [
        (100, Public, true),
        (100, Followers, true),
        (100, Direct, false),
        (99, Public, true),
        (99, Followers, false),
        (50, Public, true),
        (49, Public, false),
    ] {
        let state = state(received, visibility, &[]);
        let membership = belongs(&state, OWNER, Some(&edge(Some(50), 100)), false, NONE);
        assert_eq!(membership.to, expected, "{received} {visibility:?}");
    }
    assert!(
        belongs(&state(1, Public, &[]), OWNER, Some(&edge(None, 100)), false, NONE).to,
        "with fewer than 50, all are backfilled"
    );
}

#[test]
fn deleting_removing_and_unfollowing_end_membership() {
    let direct = state(1, Visibility::Direct, &[OWNER]);
    assert!(belongs(&direct, OWNER, None, false, NONE).to);
    assert!(!belongs(&direct, OWNER, None, true, NONE).to, "removed by the recipient");
    assert!(!belongs(&State { deleted: true, ..direct.clone() }, ACTOR, None, false, NONE).from);
    let unfollowed = Edge { following: false, ..edge(None, 0) };
    assert!(!belongs(&state(1, Visibility::Public, &[]), OWNER, Some(&unfollowed), false, NONE).to);
}

#[test]
fn an_actor_who_removes_an_activity_from_to_keeps_it_in_from() {
    let own = state(1, Visibility::Public, &[ACTOR]);
    let membership = belongs(&own, ACTOR, None, true, NONE);
    assert!(membership.from && !membership.to);
    assert!(membership.is_in(Collection::ToFrom));
}

#[test]
fn visibility_in_a_public_collection() {
    use Visibility::{Direct, Followers, Public};
    let other = |uid, follows_owner| Reader::Other { uid, follows_owner, blocks: Version(0) };
    for (visibility, addressed, actor_public, reader, expected) in [
        (Public, vec![], true, other(STRANGER, false), true),
        (Public, vec![], false, other(STRANGER, false), false),
        (Followers, vec![], true, other(STRANGER, false), false),
        (Followers, vec![], true, other(STRANGER, true), true),
        (Direct, vec![], true, other(STRANGER, true), false),
        (Direct, vec![STRANGER], false, other(STRANGER, false), true),
        (Direct, vec![], false, Reader::Owner, true),
    ] {
        let state = state(1, visibility, &addressed);
        let visible = may_see(reader, ACTOR, &state, &account(ACTOR, actor_public), false);
        assert_eq!(visible, expected, "{visibility:?} {addressed:?} {actor_public} {reader:?}");
    }
    let others_followers_only = state(1, Followers, &[]);
    assert!(
        !may_see(other(STRANGER, true), OWNER, &others_followers_only, &account(ACTOR, true), false),
        "followers of the owner are not followers of the actor"
    );
    let removed = Account { removed: true, ..account(ACTOR, true) };
    assert!(!may_see(Reader::Owner, OWNER, &state(1, Public, &[]), &removed, false));
}

#[test]
fn blocks_and_mutes_hide_in_to_and_a_block_ends_edges_in_both_directions() {
    let addressed = state(1, Visibility::Direct, &[OWNER]);
    let followed = state(100, Visibility::Public, &[]);
    for (relation, has_addressed, has_followed) in [
        (NONE, true, true),
        (Relation { mutes: true, ..NONE }, false, false),
        (Relation { blocks: true, ..NONE }, false, false),
        // What the blocking account addressed to the owner stays.
        (Relation { blocked_by: true, ..NONE }, true, false),
    ] {
        assert_eq!(belongs(&addressed, OWNER, None, false, relation).to, has_addressed, "{relation:?}");
        let edge = edge(None, 0);
        assert_eq!(belongs(&followed, OWNER, Some(&edge), false, relation).to, has_followed, "{relation:?}");
        assert!(belongs(&followed, ACTOR, None, false, relation).from);
    }
}

#[test]
fn an_edge_filter_selects_what_is_followed_and_not_what_addresses() {
    let words = |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect::<Vec<_>>();
    for (filter, expected) in [
        (EdgeFilter::of(&words(&["FLICKR", "delicious"]), &[], &[]), true),
        (EdgeFilter::of(&[], &words(&["photo"]), &words(&["share"])), false),
        (EdgeFilter::of(&words(&["flickr"]), &words(&["photo"]), &words(&["posted"])), true),
        (EdgeFilter::of(&words(&["delicious"]), &[], &[]), false),
    ] {
        let edge = Edge { filter, ..edge(None, 0) };
        assert_eq!(belongs(&state(1, Visibility::Public, &[]), OWNER, Some(&edge), false, NONE).to, expected);
        assert!(belongs(&state(1, Visibility::Public, &[OWNER]), OWNER, Some(&edge), false, NONE).to);
    }
}

#[test]
fn an_account_looks_private_to_an_account_that_it_blocks() {
    use Visibility::{Direct, Followers, Public};
    let reader = Reader::Other { uid: STRANGER, follows_owner: true, blocks: Version(1) };
    for (visibility, addressed, expected) in
        [(Public, vec![], false), (Followers, vec![], false), (Direct, vec![STRANGER], true)]
    {
        let visible = may_see(reader, ACTOR, &state(1, visibility, &addressed), &account(ACTOR, true), true);
        assert_eq!(visible, expected, "{visibility:?}");
    }
}
