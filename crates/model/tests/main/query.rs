//! A rendered query is parsed to the same query.

use super::cursor::{ids, keys, sync_tokens};
use model::{Collection, FeedQuery, Filter, Format, Millis, Order, Range, RawQuery, SortKey, Start, Uid};
use proptest::collection::btree_set;
use proptest::option;
use proptest::prelude::*;

pub(crate) fn instants() -> impl Strategy<Value = Millis> {
    (Millis::MIN.0..=Millis::MAX.0).prop_map(Millis)
}

fn ranges() -> impl Strategy<Value = Range> {
    (option::of(instants()), option::of(instants())).prop_map(|(since, before)| Range { since, before })
}

fn filters() -> impl Strategy<Value = Filter> {
    let services = btree_set("[a-z0-9 .+&=%é☕-]{0,6}[a-z☕]", 0..3);
    let kinds = btree_set("photo|photo-album|book|hat|top-hat", 0..3);
    let verbs = btree_set("share|like|doff|play", 0..3);
    (services, kinds, verbs, ranges(), ranges()).prop_map(|(services, kinds, verbs, received, published)| {
        let services = services.into_iter().map(|s| s.trim().to_lowercase()).collect();
        Filter { services, kinds, verbs, received, published }
    })
}

fn starts() -> impl Strategy<Value = Start> {
    prop_oneof![
        (0u32..=i32::MAX as u32).prop_map(Start::Skip),
        (instants(), ids(), sync_tokens())
            .prop_map(|(time, id, sync_token)| Start::After { sort_key: SortKey { time, id }, sync_token }),
        sync_tokens().prop_map(Start::Updates),
    ]
}

pub(crate) fn queries() -> impl Strategy<Value = FeedQuery> {
    let collections = prop::sample::select(vec![Collection::To, Collection::From, Collection::ToFrom]);
    let orders = prop::sample::select(vec![Order::Received, Order::Published]);
    let formats = option::of(prop::sample::select(Format::ALL.to_vec()));
    let counts = 0u32..=i32::MAX as u32;
    (any::<i64>(), collections, filters(), orders, starts(), counts, formats).prop_map(
        |(owner, collection, filter, order, start, count, format)| FeedQuery {
            owner: Uid(owner),
            collection,
            filter,
            order,
            start,
            count,
            format,
        },
    )
}

#[test]
fn names_are_recognised_in_any_case() {
    let written =
        "Type=photo&VERB=liked&orderBy=pubDate&Count=3&receivedSince=2026-11-14T00:00:00Z&Format=json";
    assert_eq!(
        resolve(written),
        resolve(&written.replace("pubDate", "PUBDATE").to_lowercase().replace("t00:", "T00:"))
    );
    for twice in ["count=1&Count=1", "start=1&START=2", "Format=xml&format=xml", "cursor=x&Cursor=x"] {
        let error = resolve(twice).unwrap_err();
        assert!(error.detail.contains("twice") && twice.contains(error.parameter), "{twice}: {error}");
    }
    assert_eq!(resolve("verb=liked&Verb=shared").unwrap().filter.verbs.len(), 2);
}

#[test]
fn a_stream_begins_with_at_most_200_activities() {
    let count = |text: &str| {
        let raw = RawQuery::parse(text.as_bytes());
        FeedQuery::resolve_live(&raw, Uid(1), Collection::ToFrom, None, &keys([1])).unwrap().count
    };
    assert_eq!(["", "count=7", "count=201", "count=2147483647"].map(count), [0, 7, 200, 200]);
}

fn resolve(text: &str) -> Result<FeedQuery, model::ParameterError> {
    FeedQuery::resolve(&RawQuery::parse(text.as_bytes()), Uid(1), Collection::ToFrom, &keys([1]))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1_000))]

    #[test]
    fn a_rendered_query_is_parsed_to_the_same_query(query in queries()) {
        let (rendered, keys) = (query.render(&keys([1])), keys([2, 1]));
        let raw = RawQuery::parse(rendered.as_bytes());
        let again = FeedQuery::resolve(&raw, query.owner, query.collection, &keys);
        prop_assert_eq!(again, Ok(query), "{}", rendered);
    }

    #[test]
    fn any_bytes_are_a_query_or_name_an_invalid_parameter(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        if let Err(error) = FeedQuery::resolve(&RawQuery::parse(&bytes), Uid(1), Collection::To, &keys([1])) {
            prop_assert!(!error.parameter.is_empty() && !error.detail.is_empty());
        }
    }
}

#[test]
fn defaults_are_applied_and_left_out() {
    let query = resolve("").unwrap();
    assert_eq!((query.start.clone(), query.count, query.order), (Start::Skip(0), 20, Order::Received));
    assert_eq!(query.render(&keys([1])), "");
    assert_eq!(resolve("start=0&count=20&orderby=RECEIVEDDATE&x=1&service=&cursor=").unwrap(), query);
}

#[test]
fn a_parameter_takes_several_values_in_any_spelling() {
    let query =
        resolve("verb=shared,Like&verb=&verb=http://activitystrea.ms/schema/1.0/play&type=PHOTO").unwrap();
    assert_eq!(query.filter.verbs.iter().map(String::as_str).collect::<Vec<_>>(), ["like", "play", "share"]);
    assert_eq!(query.filter.kinds.iter().map(String::as_str).collect::<Vec<_>>(), ["photo"]);
}

#[test]
fn errors_name_the_parameter() {
    for (text, name) in [
        ("start=-1", "start"),
        ("start=%2B1", "start"),
        ("count=2147483648", "count"),
        ("count=1&count=1", "count"),
        ("orderby=title", "orderby"),
        ("format=html", "format"),
        ("receivedsince=2026-11-14", "receivedsince"),
        ("publishedbefore=2026-11-14T00:00:00", "publishedbefore"),
        ("cursor=abc", "cursor"),
        ("cursor=abc&start=0", "cursor"),
        ("service=%FF", "service"),
    ] {
        assert_eq!(resolve(text).unwrap_err().parameter, name, "{text}");
    }
}

#[test]
fn a_plus_decoded_to_a_space_is_accepted_in_a_time() {
    let query = resolve("receivedsince=1970-01-01T02:00:00.000+02:00").unwrap();
    assert_eq!(query.filter.received.since, Some(Millis(0)));
}
