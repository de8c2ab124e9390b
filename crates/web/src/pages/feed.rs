//! `/feed`: the collection as a page. `/feed/live` is the live stream for the page's script, `/feed/raw` the API response
//! for the same selection. All three take the parameters of the API, and `collection`.

use crate::live;
use crate::pages::form::field;
use crate::pages::{Person, get_only, go};
use crate::problem::Problem;
use crate::service::{Collections, Service};
use crate::site::Site;
use crate::views::feed::{FeedPage, Selection};
use crate::views::item::{ItemView, Viewer};
use crate::views::{Policy, frame, group, html};
use auth::session::SignedIn;
use axum::extract::{Request, State};
use axum::response::Response;
use axum::routing::{MethodRouter, get};
use domain::feed::{Item, Page, ReadError};
use http::header::{CONTENT_SECURITY_POLICY, HeaderValue};
use http::{HeaderMap, StatusCode, Uri};
use model::{Collection, FeedQuery, Order, ParameterError, RawQuery, Reader, Start};
use std::sync::Arc;

/// Maximum items of a page.
pub(super) const MAX_COUNT: u32 = 50;
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
    pictures: bool,
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
            pictures: field(query, "pictures").is_some_and(|value| !value.is_empty()),
            raw: RawQuery::parse(serializer.finish().as_bytes()),
        }
    }

    fn query(&self, site: &Site, person: &SignedIn) -> Result<FeedQuery, ParameterError> {
        site.query(&self.raw, person.account.uid, self.collection)
    }
}

async fn page(
    State(collections): State<Arc<Collections>>,
    Person(person): Person,
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
    let (page, items) = match collections.items(Reader::Owner, &query, &person).await {
        Err(ReadError::Expired) => return Ok(go(&collections.site, "/feed")),
        read => read?,
    };
    let is_newest = query.start == Start::Skip(0) && query.order == Order::Received && complaint.is_none();
    let sync_token =
        is_newest.then(|| query.sync_token_text(&page.sync_token, collections.site.cursor_keys()));
    let shown = FeedPage {
        site: &collections.site,
        frame: frame::Frame::new(&collections.site, &person, frame::Section::Feed, &uri),
        selection: Selection::new(&collections.site, &person.account.name, &query, selected.pictures),
        complaint: complaint.as_deref(),
        groups: group::of(items),
        next: page.next.map(|next| query.from(next)),
        sync_token,
        pictures: selected.pictures,
    };
    let status = if complaint.is_some() { StatusCode::BAD_REQUEST } else { StatusCode::OK };
    Ok(html(status, &shown, Policy::SAME_ORIGIN.with_pictures(selected.pictures)))
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
        .read(&person.account, Reader::Owner, selected.collection, &selected.raw, &headers)
        .await?;
    // Browsers open the response as a page of this origin, so it must not run or load anything.
    let policy = HeaderValue::from_static("default-src 'none'; sandbox");
    response.headers_mut().insert(CONTENT_SECURITY_POLICY, policy);
    Ok(response)
}

impl Collections {
    /// Reads a page and renders its items for the user.
    pub(super) async fn items(
        &self,
        reader: Reader,
        query: &FeedQuery,
        person: &SignedIn,
    ) -> Result<(Page, Vec<ItemView>), ReadError> {
        let viewer = Viewer { site: &self.site, person, now: self.clock.now() };
        let (page, ()) = match self.feed.hydrated_page(reader, query, |_| (), |(), _| true).await {
            Err(ReadError::Changed) => return Err(ReadError::TooBroad),
            read => read?,
        };
        let view = |item: &Item| Some(viewer.item(&item.state, &item.actor, item.body.as_ref()?));
        let items = page.items.iter().filter_map(view).collect();
        Ok((page, items))
    }
}
