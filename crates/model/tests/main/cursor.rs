//! Cursors are decoded unchanged, and no other text is accepted.

use super::query::instants;
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use model::{
    ActivityId, ArrivalOffset, Binding, Collection, Cursor, CursorError, CursorKeys, Filter, Millis, Order,
    Position, SortKey, SyncToken, Uid, Version,
};
use proptest::prelude::*;

pub(crate) fn ids() -> impl Strategy<Value = ActivityId> {
    (0i64..1 << 48, any::<[u8; 10]>()).prop_map(|(time, random)| ActivityId::new(Millis(time), random))
}

pub(crate) fn sync_tokens() -> impl Strategy<Value = SyncToken> {
    let shown = prop::collection::vec((ids(), any::<i64>()), 0..8);
    (any::<u64>(), prop::option::of(ids()), shown).prop_map(|(position, inside, shown)| {
        let mut sync_token = SyncToken::at(Position(position));
        sync_token.offset = ArrivalOffset { position: Position(position), inside };
        shown.into_iter().for_each(|(id, version)| sync_token.shown(id, Version(version), None, None));
        sync_token
    })
}

fn cursors() -> impl Strategy<Value = Cursor> {
    let orders = prop::sample::select(vec![Order::Received, Order::Published]);
    prop_oneof![
        (orders, instants(), ids(), sync_tokens()).prop_map(|(order, time, id, sync_token)| Cursor::Page {
            order,
            after: SortKey { time, id },
            sync_token
        }),
        sync_tokens().prop_map(Cursor::Updates),
    ]
}

fn order_of(cursor: &Cursor) -> Order {
    match cursor {
        Cursor::Page { order, .. } => *order,
        Cursor::Updates(_) => Order::Received,
    }
}

pub(crate) fn keys<const N: usize>(keys: [u8; N]) -> CursorKeys {
    CursorKeys::new(&keys.map(|key| [key; 32]))
}

fn binding(owner: i64) -> Binding {
    Binding::new(Uid(owner), Collection::To, &Filter::default())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1_000))]

    #[test]
    fn an_encoded_cursor_is_decoded_unchanged(cursor in cursors()) {
        let text = cursor.encode(binding(1), &keys([1]));
        prop_assert_eq!(Cursor::decode(&text, binding(1), order_of(&cursor), &keys([1])), Ok(cursor));
    }

    #[test]
    fn a_sync_token_is_valid_under_any_filters_of_its_collection(token in sync_tokens()) {
        let filtered = Filter { services: ["a".to_owned()].into(), ..Filter::default() };
        let bound = |owner, collection| Binding::new(Uid(owner), collection, &filtered);
        let text = Cursor::Updates(token.clone()).encode(binding(1), &keys([1]));
        prop_assert_eq!(Cursor::decode_sync_token(&text, bound(1, Collection::To), &keys([1])), Ok(token));
        for (owner, collection) in [(1, Collection::From), (1, Collection::ToFrom), (2, Collection::To)] {
            let foreign = Cursor::decode_sync_token(&text, bound(owner, collection), &keys([1]));
            prop_assert_eq!(foreign, Err(CursorError::Foreign));
        }
        let foreign = Cursor::decode(&text, bound(1, Collection::To), Order::Received, &keys([1]));
        prop_assert_eq!(foreign, Err(CursorError::Foreign));
    }

    #[test]
    fn joined_tokens_only_move_forward_and_forget_nothing(one in sync_tokens(), other in sync_tokens()) {
        prop_assert_eq!(SyncToken::from_bytes(&one.to_bytes()), Some(one.clone()));
        prop_assert_eq!(one.joined(&one), None);
        match one.joined(&other) {
            Some(joined) => {
                prop_assert_eq!(joined.offset, other.offset);
                prop_assert_eq!(joined.joined(&one), None, "there is no way back");
                prop_assert_eq!(joined.joined(&other), None, "twice adds nothing");
                prop_assert_eq!(SyncToken::from_bytes(&joined.to_bytes()), Some(joined));
            }
            None => prop_assert!(other.joined(&one).is_some() || other.offset == one.offset),
        }
    }

    #[test]
    fn a_token_covers_what_had_arrived_or_was_shown(
        token in sync_tokens(),
        after in 0_u64..3,
        id in ids(),
    ) {
        let version = Version(7);
        let at = Position(token.offset.position.0.saturating_add(after).saturating_sub(1));
        let covers = |token: &SyncToken, arrived| token.covers(id, version, None, arrived);
        prop_assert_eq!(covers(&token, Some(at)), !token.offset.is_before(at, id));
        prop_assert!(!covers(&token, None));
        let mut showing = token.clone();
        showing.shown(id, version, None, None);
        prop_assert!(covers(&showing, None));
        prop_assert!(!showing.covers(id, Version(8), None, None) && !showing.covers(id, version, Some(version), None));
    }

    #[test]
    fn a_cursor_of_another_collection_is_foreign(cursor in cursors()) {
        let text = cursor.encode(binding(1), &keys([1]));
        prop_assert_eq!(Cursor::decode(&text, binding(2), order_of(&cursor), &keys([1])), Err(CursorError::Foreign));
    }

    #[test]
    fn any_change_is_detected(cursor in cursors(), at in any::<prop::sample::Index>(), to in "[A-Za-z0-9_-]") {
        let text = cursor.encode(binding(1), &keys([1]));
        let at = at.index(text.len());
        let changed = format!("{}{to}{}", &text[..at], &text[at + 1..]);
        if changed != text {
            let decoded = Cursor::decode(&changed, binding(1), order_of(&cursor), &keys([1]));
            prop_assert_eq!(decoded, Err(CursorError::Altered));
        }
        prop_assert!(Cursor::decode(&text[..at], binding(1), order_of(&cursor), &keys([1])).is_err());
    }
}

/// Rotation: the new key seals, cursors of a listed key stay valid, those of a dropped key do not.
#[test]
fn a_cursor_is_valid_while_its_key_is_listed() {
    let cursor = Cursor::Updates(SyncToken::at(Position(5)));
    let decode = |text: &str, keys: &CursorKeys| Cursor::decode(text, binding(1), Order::Received, keys);
    let old = cursor.encode(binding(1), &keys([1]));
    let new = cursor.encode(binding(1), &keys([2, 1]));
    assert_ne!(old, new);
    assert_eq!(new, cursor.encode(binding(1), &keys([2])), "equal pages have equal links");
    assert_eq!(decode(&old, &keys([2, 1])), Ok(cursor.clone()));
    assert_eq!(decode(&new, &keys([1, 2])), Ok(cursor));
    assert_eq!(decode(&old, &keys([2])), Err(CursorError::Altered));
    assert_eq!(decode(&old, &CursorKeys::default()), Err(CursorError::Altered));
}

/// The bytes of a link contain neither the account number nor the position nor an identifier.
#[test]
fn a_cursor_shows_nothing_of_its_content() {
    let id = ActivityId::new(Millis(0x0123_4567_89ab), [0x5a; 10]);
    let mut sync_token = SyncToken::at(Position(0x1122_3344_5566_7788));
    sync_token.offset.inside = Some(id);
    let after = SortKey { time: Millis(0x0102_0304_0506), id };
    let cursor = Cursor::Page { order: Order::Received, after, sync_token };
    let text = cursor.encode(binding(0x7766_5544_3322_1100), &keys([1]));
    let bytes = URL_SAFE_NO_PAD.decode(text).unwrap();
    let contents: [&[u8]; 3] = [&0x1122_3344_5566_7788_u64.to_be_bytes(), id.as_bytes(), &[1, 2, 3, 4, 5, 6]];
    for content in contents {
        assert!(!bytes.windows(content.len().min(4)).any(|window| content.starts_with(window)));
    }
}

#[test]
fn a_sync_token_remembers_items_shown_before_they_arrived() {
    let (old, new) = (ActivityId::new(Millis(1), [0; 10]), ActivityId::new(Millis(2), [0; 10]));
    let mut sync_token = SyncToken::at(Position(5));
    sync_token.shown(old, Version(1), None, Some(Position(5)));
    sync_token.shown(new, Version(1), None, Some(Position(6)));
    assert!(!sync_token.forget(old, Version(1), None), "it had arrived at the offset");
    assert!(sync_token.forget(new, Version(1), None));
    assert!(!sync_token.forget(new, Version(1), None), "it arrives once");
}

#[test]
fn an_item_shown_early_arrives_again_by_an_edge_after_a_change() {
    let (id, version, edge, later) =
        (ActivityId::new(Millis(1), [0; 10]), Version(1), Some(Version(7)), Some(Version(8)));
    let mut sync_token = SyncToken::at(Position(5));
    sync_token.shown(id, version, edge, None);
    assert!(!sync_token.clone().forget(id, Version(2), edge), "another version");
    assert!(
        sync_token.clone().forget(id, version, later),
        "the arrival of the first edge, read after a refollow"
    );
    assert!(!sync_token.covers(id, version, later, None));
    sync_token.pass_change();
    let mut sync_token = SyncToken::from_bytes(&sync_token.to_bytes()).unwrap();
    assert!(!sync_token.forget(id, version, later), "the arrival of the later edge");
    assert!(sync_token.covers(id, version, edge, None));
    assert!(sync_token.forget(id, version, edge));
    assert!(!sync_token.forget(id, version, edge), "it arrives once");
}

#[test]
fn a_joined_sync_token_has_passed_the_changes_before_the_later_one() {
    let (id, version, edge, later) =
        (ActivityId::new(Millis(1), [0; 10]), Version(1), Some(Version(7)), Some(Version(8)));
    let mut earlier = SyncToken::at(Position(5));
    earlier.shown(id, version, edge, None);
    let mut past = earlier.clone();
    past.pass_change();
    past.advance(ArrivalOffset::after(Position(9)));
    for other in [past, SyncToken::at(Position(9))] {
        let mut joined = earlier.joined(&other).unwrap();
        assert!(!joined.forget(id, version, later), "the arrival of the later edge");
        assert!(joined.forget(id, version, edge));
        assert!(!joined.forget(id, version, edge), "remembered once");
    }
}

#[test]
fn a_sync_token_never_goes_back() {
    let (a, b) = (ActivityId::new(Millis(1), [0; 10]), ActivityId::new(Millis(2), [0; 10]));
    let inside = |id| ArrivalOffset { position: Position(5), inside: Some(id) };
    let mut sync_token = SyncToken::at(Position(4));
    for (to, offset) in [
        (inside(a), inside(a)),
        (ArrivalOffset::after(Position(4)), inside(a)),
        (inside(b), inside(b)),
        (inside(a), inside(b)),
        (ArrivalOffset::after(Position(5)), ArrivalOffset::after(Position(5))),
        (inside(b), ArrivalOffset::after(Position(5))),
        (ArrivalOffset::after(Position(6)), ArrivalOffset::after(Position(6))),
    ] {
        sync_token.advance(to);
        assert_eq!(sync_token.offset, offset);
    }
    assert!(inside(a).is_before(Position(5), b) && !inside(a).is_before(Position(5), a));
    assert!(!ArrivalOffset::after(Position(5)).is_before(Position(5), b));
}
