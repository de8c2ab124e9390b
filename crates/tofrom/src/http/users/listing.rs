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

/// How many edges are looked at for a page: others see only public accounts, and there may be few of them. A page may
/// then be short, and its `next` goes on.
const LOOKED_AT: usize = 2_000;

/// Which of the two lists.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Which {
    Following,
    Followers,
}

impl Which {
    fn as_str(self) -> &'static str {
        match self {
            Which::Following => "following",
            Which::Followers => "followers",
        }
    }
}

pub(in crate::http) fn methods() -> MethodRouter<Arc<Service>> {
    get(list).fallback(|| async { Problem::method_not_allowed("GET, HEAD") })
}

/// What is asked of a list.
struct Asked {
    which: Which,
    after: Option<Uid>,
    count: Option<u32>,
    format: Option<Format>,
}

/// Some accounts of a list, and after whom it goes on, if it does.
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
    let followers = segments(path).nth(1).flatten().is_some_and(|word| word == Which::Followers.as_str());
    let which = if followers { Which::Followers } else { Which::Following };
    let (owner, reader) = service.open_collection(&caller, &name).await?;
    let parameters = Parameters::of(request.uri());
    let asked = Asked {
        which,
        after: parameters.scalar("cursor")?.map(|text| after(text, owner.uid, which)).transpose()?,
        count: parameters.number("count")?,
        format: parameters.format()?,
    };
    let format = parameters.choose(request.headers(), OFFERS)?;
    let page = service.accounts_of(owner.uid, reader, &asked).await?;
    let body = users(&service.site, &page.accounts, format);
    let links = service.links_of(&owner, &asked, page.next);
    let headers = [
        (CONTENT_TYPE, format.media_type().to_owned()),
        (CACHE_CONTROL, "private, no-cache".to_owned()),
        (LINK, links),
    ];
    Ok((headers, body).into_response())
}

fn after(text: &str, owner: Uid, which: Which) -> Result<Uid, ParameterError> {
    let decoded = After::decode(text, owner, which);
    let After(uid) =
        decoded.map_err(|why| ParameterError { parameter: "cursor", detail: why.to_string() })?;
    Ok(uid)
}

impl Service {
    /// A page of a list: others than the account and operators see only public accounts there.
    async fn accounts_of(&self, owner: Uid, reader: Reader, asked: &Asked) -> Result<Page, Problem> {
        let size = asked.count.unwrap_or(DEFAULT_COUNT).min(MAX_PAGE) as usize;
        let mut accounts: Vec<Account> = Vec::with_capacity(size + 1);
        let (mut after, mut looked_at, mut ended) = (asked.after, 0, size == 0);
        let shown = |account: &Account| !account.removed && (reader == Reader::Owner || account.public);
        // One more than the page has, to know whether there is a next one.
        while !ended && accounts.len() <= size && looked_at < LOOKED_AT {
            let uids = self.uids_of(owner, asked.which, after, size + 1).await?;
            accounts.extend(self.store.accounts(&uids).await?.into_iter().flatten().filter(shown));
            looked_at += uids.len();
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
        which: Which,
        after: Option<Uid>,
        limit: usize,
    ) -> Result<Vec<Uid>, Problem> {
        Ok(match which {
            Which::Following => {
                self.store.following(owner, after, limit).await?.into_iter().map(|(uid, _)| uid).collect()
            }
            Which::Followers => {
                self.store.followers(owner, after, limit).await?.into_iter().map(|one| one.uid).collect()
            }
        })
    }

    fn links_of(&self, owner: &Account, asked: &Asked, next: Option<Uid>) -> String {
        let to = |rel: &str, after: Option<Uid>| {
            let mut pairs = Vec::new();
            pairs.extend(asked.format.map(|format| format!("format={}", format.as_str())));
            pairs.extend(asked.count.map(|count| format!("count={count}")));
            pairs.extend(after.map(|uid| format!("cursor={}", After(uid).encode(owner.uid, asked.which))));
            let query = if pairs.is_empty() { String::new() } else { format!("?{}", pairs.join("&")) };
            let (base, list) = (self.site.base(), asked.which.as_str());
            format!("<{base}/200909/user/{}/{list}{query}>; rel=\"{rel}\"", owner.name)
        };
        let mut links = vec![to("self", asked.after), to("first", None)];
        links.extend(next.map(|next| to("next", Some(next))));
        links.join(", ")
    }
}
