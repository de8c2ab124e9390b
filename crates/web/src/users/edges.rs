//! `/200909/user/{user}/following/{other}`: follow, with an optional filter, and unfollow. `GET /200909/user/{user}/following` and `/followers`: the
//! lists of accounts.

use super::fields::{OFFERS, format_of, lists, refused, users};
use crate::account_cursor::AccountList;
use crate::accounts::Accounts;
use crate::body;
use crate::extract::{Caller, MemberPath, Parameters, ReadableAccount, WritableAccount};
use crate::problem::Problem;
use crate::respond::Representation;
use crate::service::Service;
use crate::site::Site;
use auth::Principal;
use axum::extract::{Request, State};
use axum::response::Response;
use axum::routing::{MethodRouter, get, put};
use domain::following;
use domain::ingest::Refused;
use http::header::LINK;
use http::{HeaderMap, HeaderValue, StatusCode};
use model::{Account, AccountName, DEFAULT_COUNT, EdgeFilter, Format, MAX_PAGE, Reader, Uid};
use std::sync::Arc;
use store::Store;

/// The maximum number of edges scanned for a page. Other callers see only public accounts, which may be few. The page
/// may then be short, and its `next` link continues.
const MAX_SCANNED: usize = 2_000;

/// The maximum number of words in each list of a filter, and their maximum length.
const MAX_WORDS: usize = 100;
const MAX_WORD: usize = 200;

pub(crate) fn edge_methods() -> MethodRouter<Service> {
    put(follow).delete(unfollow).fallback(|| async { Problem::method_not_allowed("PUT, DELETE") })
}

pub(crate) fn following_methods() -> MethodRouter<Service> {
    get(following_list).fallback(|| async { Problem::method_not_allowed("GET, HEAD") })
}

pub(crate) fn follower_methods() -> MethodRouter<Service> {
    get(follower_list).fallback(|| async { Problem::method_not_allowed("GET, HEAD") })
}

/// An account may follow public accounts; operators may create any edge. To other callers a private account looks like
/// an absent one.
async fn follow(
    State(accounts): State<Accounts>,
    Caller(caller): Caller,
    WritableAccount(follower): WritableAccount,
    path: MemberPath,
    request: Request,
) -> Result<StatusCode, Problem> {
    let other = followee_name(&follower, path)?;
    let found = accounts.store.account_by_name(&other).await?.filter(|other| !other.removed);
    let followee =
        found.filter(|followee| followee.public || caller.is_operator()).ok_or_else(Problem::not_found)?;
    let filter = read_filter(request).await?;
    let (store, clock) = (accounts.store.as_ref(), &accounts.clock);
    following::follow(store, clock, &follower, &followee, &filter, &accounts.quotas).await?;
    accounts.hub.wrote();
    Ok(StatusCode::NO_CONTENT)
}

/// The filter in the body; without a body there is none.
async fn read_filter(request: Request) -> Result<EdgeFilter, Problem> {
    let (head, sent) = request.into_parts();
    let body = body::read(sent, body::MAX_FORM).await?;
    if body.is_empty() {
        return Ok(EdgeFilter::default());
    }
    let mut lists = lists(&body, format_of(&head.headers)?, "Filter")?;
    let mut words = |name: &str| {
        let words: Vec<String> = lists.remove(name).unwrap_or_default();
        let fits = |word: &String| (1..=MAX_WORD).contains(&word.chars().count());
        match words.len() <= MAX_WORDS && words.iter().all(fits) {
            true => Ok(words),
            false => Err(refused(name, "expected at most 100 words of 1 to 200 characters")),
        }
    };
    Ok(EdgeFilter::of(&words("Service")?, &words("Type")?, &words("Verb")?))
}

/// Unfollowing works even if the other account has become private since.
async fn unfollow(
    State(accounts): State<Accounts>,
    Caller(caller): Caller,
    WritableAccount(follower): WritableAccount,
    path: MemberPath,
) -> Result<StatusCode, Problem> {
    let other = followee_name(&follower, path)?;
    let followee = accounts.store.account_by_name(&other).await?.ok_or_else(Problem::not_found)?;
    let edge = following::edge(accounts.store.as_ref(), follower.uid, followee.uid).await?;
    let visible =
        !followee.removed && (caller.is_operator() || accounts.looks_public(&follower, &followee).await?);
    if edge.is_none() && !visible {
        return Err(Problem::not_found());
    }
    following::unfollow(accounts.store.as_ref(), &accounts.clock, follower.uid, followee.uid).await?;
    accounts.hub.wrote();
    Ok(StatusCode::NO_CONTENT)
}

/// The name of the other account.
fn followee_name(follower: &Account, path: MemberPath) -> Result<AccountName, Problem> {
    let other = path.account_name()?;
    if other == follower.name {
        let detail =
            "an account cannot follow itself: its own activities are in its collections anyway".to_owned();
        return Err(Refused { field: "following".to_owned(), detail }.into());
    }
    Ok(other)
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

async fn following_list(
    State(store): State<Arc<dyn Store>>,
    State(site): State<Site>,
    Caller(caller): Caller,
    account: ReadableAccount,
    parameters: Parameters,
    headers: HeaderMap,
) -> Result<Response, Problem> {
    list(AccountList::Following, store.as_ref(), &site, (&caller, account), &parameters, &headers).await
}

async fn follower_list(
    State(store): State<Arc<dyn Store>>,
    State(site): State<Site>,
    Caller(caller): Caller,
    account: ReadableAccount,
    parameters: Parameters,
    headers: HeaderMap,
) -> Result<Response, Problem> {
    list(AccountList::Followers, store.as_ref(), &site, (&caller, account), &parameters, &headers).await
}

async fn list(
    list: AccountList,
    store: &dyn Store,
    site: &Site,
    (caller, ReadableAccount { account: owner, reader }): (&Principal, ReadableAccount),
    parameters: &Parameters,
    headers: &HeaderMap,
) -> Result<Response, Problem> {
    let cursor = parameters.scalar("cursor")?;
    let query = ListQuery {
        list,
        after: cursor.map(|text| list.decode(owner.uid, text, site.cursor_keys())).transpose()?,
        count: parameters.number("count")?,
        format: parameters.format()?,
    };
    let format = parameters.choose(headers, OFFERS)?;
    let page = accounts_of(store, &owner, (reader, &caller.account), &query).await?;
    let links = HeaderValue::from_str(&links_of(site, &owner, &query, page.next));
    let links = links.map_err(|_| Problem::internal())?;
    Representation::private(format).header((LINK, links)).respond(|| users(site, &page.accounts, format))
}

/// Reads a page. Only the account itself and operators see private accounts in it.
async fn accounts_of(
    store: &dyn Store,
    owner: &Account,
    (reader, caller): (Reader, &Account),
    query: &ListQuery,
) -> Result<Page, Problem> {
    let size = query.count.unwrap_or(DEFAULT_COUNT).min(MAX_PAGE) as usize;
    let mut accounts: Vec<Account> = Vec::with_capacity(size + 1);
    let (mut after, mut scanned, mut ended) = (query.after, 0, size == 0);
    // One more than the page size, to know whether there is a next page.
    while !ended && accounts.len() <= size && scanned < MAX_SCANNED {
        let uids = uids_of(store, owner.uid, query.list, after, size + 1).await?;
        let found = store.accounts(&uids).await?.into_iter().flatten().filter(|account| !account.removed);
        let found: Vec<Account> = match reader {
            Reader::Owner => found.collect(),
            Reader::Other { .. } => visible(store, caller, found.filter(|account| account.public)).await?,
        };
        accounts.extend(found);
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

/// The accounts that do not block the caller.
async fn visible(
    store: &dyn Store,
    caller: &Account,
    accounts: impl Iterator<Item = Account>,
) -> Result<Vec<Account>, Problem> {
    let accounts: Vec<Account> = accounts.collect();
    let names: Vec<AccountName> = accounts.iter().map(|account| account.name.clone()).collect();
    let relations = store.relations(&caller.name, &names).await?;
    let visible = accounts.into_iter().zip(relations).filter(|(_, relation)| !relation.blocked_by);
    Ok(visible.map(|(account, _)| account).collect())
}

async fn uids_of(
    store: &dyn Store,
    owner: Uid,
    list: AccountList,
    after: Option<Uid>,
    limit: usize,
) -> Result<Vec<Uid>, Problem> {
    Ok(match list {
        AccountList::Following => {
            store.following(owner, after, limit).await?.into_iter().map(|(uid, _)| uid).collect()
        }
        AccountList::Followers => {
            store.followers(owner, after, limit).await?.into_iter().map(|follower| follower.uid).collect()
        }
    })
}

fn links_of(site: &Site, owner: &Account, query: &ListQuery, next: Option<Uid>) -> String {
    let to = |rel: &str, after: Option<Uid>| {
        let mut pairs = Vec::new();
        pairs.extend(query.format.map(|format| format!("format={}", format.as_str())));
        pairs.extend(query.count.map(|count| format!("count={count}")));
        let cursor = |uid| query.list.encode(owner.uid, uid, site.cursor_keys());
        pairs.extend(after.map(|uid| format!("cursor={}", cursor(uid))));
        let parameters = if pairs.is_empty() { String::new() } else { format!("?{}", pairs.join("&")) };
        let (base, list) = (site.base(), query.list.as_str());
        format!("<{base}/200909/user/{}/{list}{parameters}>; rel=\"{rel}\"", owner.name)
    };
    let mut links = vec![to("self", query.after), to("first", None)];
    links.extend(next.map(|next| to("next", Some(next))));
    links.join(", ")
}
