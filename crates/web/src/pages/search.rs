//! `/search`: people by prefix, and the activities of the account's own collection by their words. A store without an
//! index of texts finds people only, and the page says so.

use crate::pages::form::field;
use crate::pages::{Person, get_only};
use crate::problem::Problem;
use crate::service::{Collections, Service};
use crate::views::frame::{Frame, Section};
use crate::views::item::Viewer;
use crate::views::search::SearchPage;
use crate::views::{Policy, group, html};
use axum::extract::State;
use axum::response::Response;
use axum::routing::{MethodRouter, get};
use domain::feed::{Found, ReadError};
use http::{StatusCode, Uri};
use model::{Collection, FeedQuery, Order, RawQuery, Reader};
use std::sync::Arc;

/// Activities and people that a search shows.
const MAX_ITEMS: u32 = 50;
const MAX_PEOPLE: usize = 5;
/// Maximum characters of a search.
const MAX_WORDS: usize = 200;

pub(crate) fn methods() -> MethodRouter<Service> {
    get_only(get(show))
}

async fn show(
    State(collections): State<Arc<Collections>>,
    Person(person): Person,
    uri: Uri,
) -> Result<Response, Problem> {
    let words = field(uri.query().unwrap_or_default().as_bytes(), "q").unwrap_or_default();
    let words: String = words.trim().chars().take(MAX_WORDS).collect();
    let query = collections.site.query(&RawQuery::default(), person.account.uid, Collection::ToFrom)?;
    let query = FeedQuery { count: MAX_ITEMS, ..query };
    let (now, order) = (collections.clock.now(), Order::Received);
    let (found, is_too_broad) = match collections.feed.search(Reader::Owner, &query, &words).await {
        Err(ReadError::TooBroad) => (Found::default(), true),
        found => (found?, false),
    };
    let Found { mut items, more } = found;
    items.sort_by_key(|item| std::cmp::Reverse((item.state.received, item.state.id)));
    let viewer = Viewer { site: &collections.site, person: &person, now, order, media: &collections.media };
    let items =
        items.iter().filter_map(|item| Some(viewer.item(&item.state, &item.actor, item.body.as_ref()?)));
    let page = SearchPage {
        site: &collections.site,
        frame: Frame::new(&collections.site, &person, Section::Other, &uri),
        people: collections.store.find_accounts(&words, MAX_PEOPLE).await?,
        days: group::by_day(group::of(items.collect()), now),
        words: &words,
        searches_text: collections.feed.searches_text(),
        is_too_broad,
        more,
    };
    Ok(html(StatusCode::OK, &page, Policy::SAME_ORIGIN))
}
