//! `/feed`: the collection as a page. `/feed/live` is the live stream for the page's script, `/feed/raw` the API response
//! for the same selection. All three take the parameters of the API, and `collection`.

use crate::live;
use crate::negotiate::Accept;
use crate::pages::form::field;
use crate::pages::people::suggested;
use crate::pages::{Person, get_only, go};
use crate::problem::Problem;
use crate::service::{Collections, Service};
use crate::site::Site;
use crate::views::feed::{Choices, FeedPage, Selection};
use crate::views::first_steps::FirstSteps;
use crate::views::item::{ItemView, Viewer};
use crate::views::{Policy, compressed_html, frame, group};
use auth::session::SignedIn;
use axum::extract::{Request, State};
use axum::response::Response;
use axum::routing::{MethodRouter, get};
use domain::feed::{Item, Page, ReadError};
use domain::sources::Sources;
use http::header::{CONTENT_SECURITY_POLICY, HeaderValue};
use http::{HeaderMap, StatusCode, Uri};
use model::{
    Account, Collection, FeedQuery, Filter, Order, PICTURE_SIZES, ParameterError, RawQuery, Reader, Start,
    SyncToken,
};
use std::sync::Arc;

/// Maximum items of a page.
pub(super) const MAX_COUNT: u32 = 50;
/// Accounts that the first steps suggest to follow.
const MAX_SUGGESTED: usize = 4;
/// Parameters that take a time. Pages also accept a date, which means midnight UTC.
const TIME_PARAMETERS: [&str; 4] = ["receivedsince", "receivedbefore", "publishedsince", "publishedbefore"];

pub(crate) fn page_methods() -> MethodRouter<Service> {
    get_only(get(page))
}

pub(crate) fn live_methods() -> MethodRouter<Service> {
    get_only(get(watch))
}

pub(crate) fn raw_methods() -> MethodRouter<Service> {
    get_only(get(raw))
}

/// The parsed query of a page address.
struct FeedRequest {
    collection: Collection,
    raw: RawQuery,
}

impl FeedRequest {
    fn of(uri: &Uri) -> FeedRequest {
        let query = uri.query().unwrap_or_default().as_bytes();
        let collection = field(query, "collection").and_then(|word| Collection::parse(&word));
        let mut serializer = url::form_urlencoded::Serializer::new(String::new());
        for (name, value) in url::form_urlencoded::parse(query) {
            let date = TIME_PARAMETERS.iter().any(|time| name.eq_ignore_ascii_case(time))
                && value.len() == "2026-11-15".len();
            let value = if date { format!("{value}T00:00:00Z") } else { value.into_owned() };
            serializer.append_pair(&name, &value);
        }
        FeedRequest {
            collection: collection.unwrap_or(Collection::ToFrom),
            raw: RawQuery::parse(serializer.finish().as_bytes()),
        }
    }

    fn query(&self, site: &Site, person: &SignedIn) -> Result<FeedQuery, ParameterError> {
        site.query(&self.raw, person.account.uid, self.collection)
    }
}

async fn page(
    State(collections): State<Arc<Collections>>,
    State(sources): State<Sources>,
    Person(person): Person,
    headers: HeaderMap,
    uri: Uri,
) -> Result<Response, Problem> {
    let selected = FeedRequest::of(&uri);
    let (query, complaint) = match selected.query(&collections.site, &person) {
        Ok(query) => (query, None),
        Err(error) => {
            let (none, me) = (RawQuery::default(), person.account.uid);
            let all = collections.site.query(&none, me, selected.collection)?;
            (FeedQuery { count: 0, ..all }, Some(error.to_string()))
        }
    };
    let query = FeedQuery { count: query.count.min(MAX_COUNT), format: None, ..query };
    // One's own activities are no news.
    let seen = match query.collection {
        Collection::From => None,
        Collection::To | Collection::ToFrom => collections.seen(&person.account).await?,
    };
    let (page, mut items) = match collections.items(Reader::Owner, &query, &person, seen.as_ref()).await {
        Err(ReadError::Expired) => return Ok(go(&collections.site, "/feed")),
        read => read?,
    };
    let selection = Selection::new(&collections.site, &person.account.name, &query);
    let is_first = query.start == Start::Skip(0) && complaint.is_none();
    let is_new = is_first && items.is_empty() && !selection.is_narrowed();
    let steps = match query.collection {
        Collection::ToFrom if is_new => Some(collections.first_steps(&sources, &person.account).await?),
        _ => None,
    };
    let choices = if query.filter == Filter::default() && complaint.is_none() {
        Choices::of(&collections.site, &items, &query.filter)
    } else {
        // The filtered items would offer only what is chosen already.
        let all = FeedQuery { filter: Filter::default(), count: MAX_COUNT, ..query.from(Start::Skip(0)) };
        let (_, recent) = collections.items(Reader::Owner, &all, &person, None).await?;
        Choices::of(&collections.site, &recent, &query.filter)
    };
    let is_newest = is_first && query.order == Order::Received;
    let sync_token =
        is_newest.then(|| query.sync_token_text(&page.sync_token, collections.site.cursor_keys()));
    let is_whole = query.collection == Collection::ToFrom && !selection.is_narrowed() && !is_new;
    let unread = match sync_token.as_deref().filter(|_| is_whole) {
        Some(cursor) => {
            Some(collections.page_unread(&person.account, &page, seen.as_ref(), &items, cursor).await?)
        }
        None => None,
    };
    let line = unread.as_ref().and_then(|unread| unread.line);
    for item in &mut items {
        item.is_labelled = item.is_unread && line.is_none();
        // Before the position was first set, no activity is set apart: all are shown, or some may be unread elsewhere.
        item.is_unread |= unread.is_some() && seen.is_none() && page.next.is_none();
    }
    let groups = match line {
        Some(line) => group::with_line(items, line),
        None => group::of(items),
    };
    let section = frame::Section::Feed(query.collection);
    let shown = FeedPage {
        site: &collections.site,
        frame: frame::Frame::new(&collections.site, &person, section, &uri)
            .counting(unread.as_ref().map(|unread| unread.badge)),
        selection,
        complaint: complaint.as_deref(),
        days: group::by_day(groups, collections.clock.now()),
        choices,
        next: page.next.map(|next| query.from(next)),
        sync_token,
        unread: unread.filter(|unread| !unread.is_none()),
        steps,
    };
    let status = if complaint.is_some() { StatusCode::BAD_REQUEST } else { StatusCode::OK };
    Ok(compressed_html(&headers, status, &shown, Policy::SAME_ORIGIN))
}

async fn watch(
    State(service): State<Service>,
    Person(person): Person,
    request: Request,
) -> Result<Response, Problem> {
    let selected = FeedRequest::of(request.uri());
    let (caller, owner) = (Arc::new(person.principal()), Arc::clone(&person.account));
    live::open(service, caller, owner, Reader::Owner, selected.collection, &selected.raw, request.headers())
        .await
}

async fn raw(
    State(collections): State<Arc<Collections>>,
    Person(person): Person,
    uri: Uri,
    headers: HeaderMap,
) -> Result<Response, Problem> {
    let selected = FeedRequest::of(&uri);
    let mut response = collections
        .read(
            &person.account,
            Reader::Owner,
            selected.collection,
            selected.raw,
            &Accept::of(&headers),
            &headers,
        )
        .await?;
    // Browsers open the response as a page of this origin, so it must not run or load anything.
    let policy = HeaderValue::from_static("default-src 'none'; sandbox");
    response.headers_mut().insert(CONTENT_SECURITY_POLICY, policy);
    Ok(response)
}

impl Collections {
    /// Reads a page and renders its items for the user. Those that arrived after the position `seen` are unread.
    pub(super) async fn items(
        &self,
        reader: Reader,
        query: &FeedQuery,
        person: &SignedIn,
        seen: Option<&SyncToken>,
    ) -> Result<(Page, Vec<ItemView>), ReadError> {
        let (now, order) = (self.clock.now(), query.order);
        let viewer = Viewer { site: &self.site, person, now, order, media: &self.media };
        let (page, ()) = match self.feed.hydrated_page(reader, query, |_| (), |(), _| true).await {
            Err(ReadError::Changed) => return Err(ReadError::TooBroad),
            read => read?,
        };
        let view = |item: &Item| {
            let view = viewer.item(&item.state, &item.actor, item.body.as_ref()?);
            Some(ItemView { is_unread: seen.is_some_and(|seen| !item.is_seen(seen)), ..view })
        };
        let items = page.items.iter().filter_map(view).collect();
        Ok((page, items))
    }

    /// Which of the first steps the account has taken.
    async fn first_steps(&self, sources: &Sources, account: &Account) -> Result<FirstSteps, Problem> {
        let picture = self.store.picture(account.uid).await?;
        let [smallest, ..] = PICTURE_SIZES;
        let follows = !self.store.following(account.uid, None, 1).await?.is_empty();
        let people = match follows {
            true => Vec::new(),
            false => suggested(self.store.as_ref(), account, MAX_SUGGESTED).await?,
        };
        Ok(FirstSteps {
            connected: !sources.list(account).await?.is_empty(),
            pictured: picture.is_some_and(|picture| picture.sized(smallest).is_some()),
            follows,
            people,
        })
    }
}
