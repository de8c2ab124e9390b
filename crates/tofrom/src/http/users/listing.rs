//! `GET /200909/user/{user}/following` and `/followers`.

use super::super::authenticated::Caller;
use super::super::writing::address::{segments, user};
use super::super::writing::parameters::Parameters;
use super::super::{Problem, Service};
use super::cursor::After;
use super::representation::{OFFERS, users};
use axum::extract::{Extension, Request, State};
use axum::response::{IntoResponse, Response};
use axum::routing::{MethodRouter, get};
use http::header::{CACHE_CONTROL, CONTENT_TYPE, LINK};
use model::{Account, DEFAULT_COUNT, Format, MAX_PAGE, ParameterError, Reader, Uid};
use std::sync::Arc;

/// The maximum number of edges scanned for a page. Other callers see only public accounts, which may be few. The page
/// may then be short, and its `next` link continues.
const MAX_SCANNED: usize = 2_000;

/// The list of followees or of followers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum AccountList {
    Following,
    Followers,
}

impl AccountList {
    fn as_str(self) -> &'static str {
        match self {
            AccountList::Following => "following",
            AccountList::Followers => "followers",
        }
    }
}

pub(in crate::http) fn methods() -> MethodRouter<Arc<Service>> {
    get(list).fallback(|| async { Problem::method_not_allowed("GET, HEAD") })
}

/// The parsed parameters.
struct ListQuery {
    list: AccountList,
    after: Option<Uid>,
    count: Option<u32>,
    format: Option<Format>,
}

/// A page of accounts, and the account after which the next page starts.
struct Page {
    accounts: Vec<Account>,
    next: Option<Uid>,
}

async fn list(
    State(service): State<Arc<Service>>,
    Extension(caller): Caller,
    request: Request,
) -> Result<Response, Problem> {
    let path = request.uri().path();
    let name = user(path).ok_or_else(Problem::not_found)?;
    let followers =
        segments(path).nth(1).flatten().is_some_and(|word| word == AccountList::Followers.as_str());
    let list = if followers { AccountList::Followers } else { AccountList::Following };
    let (owner, reader) = service.open_collection(&caller, &name).await?;
    let parameters = Parameters::of(request.uri());
    let query = ListQuery {
        list,
        after: parameters.scalar("cursor")?.map(|text| after(text, owner.uid, list)).transpose()?,
        count: parameters.number("count")?,
        format: parameters.format()?,
    };
    let format = parameters.choose(request.headers(), OFFERS)?;
    let page = service.accounts_of(owner.uid, reader, &query).await?;
    let body = users(&service.site, &page.accounts, format);
    let links = service.links_of(&owner, &query, page.next);
    let headers = [
        (CONTENT_TYPE, format.media_type().to_owned()),
        (CACHE_CONTROL, "private, no-cache".to_owned()),
        (LINK, links),
    ];
    Ok((headers, body).into_response())
}

fn after(text: &str, owner: Uid, list: AccountList) -> Result<Uid, ParameterError> {
    let decoded = After::decode(text, owner, list);
    let After(uid) =
        decoded.map_err(|why| ParameterError { parameter: "cursor", detail: why.to_string() })?;
    Ok(uid)
}

impl Service {
    /// Reads a page. Only the account itself and operators see private accounts in it.
    async fn accounts_of(&self, owner: Uid, reader: Reader, query: &ListQuery) -> Result<Page, Problem> {
        let size = query.count.unwrap_or(DEFAULT_COUNT).min(MAX_PAGE) as usize;
        let mut accounts: Vec<Account> = Vec::with_capacity(size + 1);
        let (mut after, mut scanned, mut ended) = (query.after, 0, size == 0);
        let shown = |account: &Account| !account.removed && (reader == Reader::Owner || account.public);
        // One more than the page size, to know whether there is a next page.
        while !ended && accounts.len() <= size && scanned < MAX_SCANNED {
            let uids = self.uids_of(owner, query.list, after, size + 1).await?;
            accounts.extend(self.store.accounts(&uids).await?.into_iter().flatten().filter(shown));
            scanned += uids.len();
            ended = uids.len() <= size;
            after = uids.last().copied().or(after);
        }
        let more = accounts.len() > size;
        accounts.truncate(size);
        let next = match (more, ended) {
            (true, _) => accounts.last().map(|account| account.uid),
            (false, true) => None,
            (false, false) => after,
        };
        Ok(Page { accounts, next })
    }

    async fn uids_of(
        &self,
        owner: Uid,
        list: AccountList,
        after: Option<Uid>,
        limit: usize,
    ) -> Result<Vec<Uid>, Problem> {
        Ok(match list {
            AccountList::Following => {
                self.store.following(owner, after, limit).await?.into_iter().map(|(uid, _)| uid).collect()
            }
            AccountList::Followers => self
                .store
                .followers(owner, after, limit)
                .await?
                .into_iter()
                .map(|follower| follower.uid)
                .collect(),
        })
    }

    fn links_of(&self, owner: &Account, query: &ListQuery, next: Option<Uid>) -> String {
        let to = |rel: &str, after: Option<Uid>| {
            let mut pairs = Vec::new();
            pairs.extend(query.format.map(|format| format!("format={}", format.as_str())));
            pairs.extend(query.count.map(|count| format!("count={count}")));
            pairs.extend(after.map(|uid| format!("cursor={}", After(uid).encode(owner.uid, query.list))));
            let parameters = if pairs.is_empty() { String::new() } else { format!("?{}", pairs.join("&")) };
            let (base, list) = (self.site.base(), query.list.as_str());
            format!("<{base}/200909/user/{}/{list}{parameters}>; rel=\"{rel}\"", owner.name)
        };
        let mut links = vec![to("self", query.after), to("first", None)];
        links.extend(next.map(|next| to("next", Some(next))));
        links.join(", ")
    }
}
