//! `/200909/user/{user}/blocked` and `/muted`: the accounts that an account blocks or mutes.
//! `/200909/user/{user}/followers/{other}`: removes a follower.
//!
//! Nothing here says whether another account exists: a well-formed name is enough.

use super::fields::{OFFERS, Row, list};
use crate::accounts::Accounts;
use crate::extract::{MemberPath, Parameters, PrivateAccount, WritableAccount};
use crate::problem::Problem;
use crate::respond::Representation;
use crate::service::Service;
use crate::site::Site;
use axum::extract::State;
use axum::response::Response;
use axum::routing::{MethodRouter, delete, get, put};
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use domain::ingest::Refused;
use domain::{following, relations};
use http::header::LINK;
use http::{HeaderMap, HeaderValue, StatusCode};
use model::{Account, AccountName, CursorError, DEFAULT_COUNT, Decision, MAX_PAGE, ParameterError};
use std::sync::Arc;
use store::Store;

pub(crate) fn blocked_list_methods() -> MethodRouter<Service> {
    get(show_blocked).fallback(|| async { Problem::method_not_allowed("GET, HEAD") })
}

pub(crate) fn muted_list_methods() -> MethodRouter<Service> {
    get(show_muted).fallback(|| async { Problem::method_not_allowed("GET, HEAD") })
}

pub(crate) fn blocked_methods() -> MethodRouter<Service> {
    put(block).delete(unblock).fallback(|| async { Problem::method_not_allowed("PUT, DELETE") })
}

pub(crate) fn muted_methods() -> MethodRouter<Service> {
    put(mute).delete(unmute).fallback(|| async { Problem::method_not_allowed("PUT, DELETE") })
}

pub(crate) fn follower_methods() -> MethodRouter<Service> {
    delete(remove_follower).fallback(|| async { Problem::method_not_allowed("DELETE") })
}

/// The last segment of the list's path.
fn segment(decision: Decision) -> &'static str {
    match decision {
        Decision::Block => "blocked",
        Decision::Mute => "muted",
    }
}

async fn block(
    State(accounts): State<Accounts>,
    WritableAccount(owner): WritableAccount,
    path: MemberPath,
) -> Result<StatusCode, Problem> {
    decide(&accounts, &owner, Decision::Block, path).await
}

async fn mute(
    State(accounts): State<Accounts>,
    WritableAccount(owner): WritableAccount,
    path: MemberPath,
) -> Result<StatusCode, Problem> {
    decide(&accounts, &owner, Decision::Mute, path).await
}

async fn unblock(
    State(accounts): State<Accounts>,
    WritableAccount(owner): WritableAccount,
    path: MemberPath,
) -> Result<StatusCode, Problem> {
    accounts.lift(&owner, Decision::Block, &path.account_name()?).await?;
    Ok(StatusCode::NO_CONTENT)
}

async fn unmute(
    State(accounts): State<Accounts>,
    WritableAccount(owner): WritableAccount,
    path: MemberPath,
) -> Result<StatusCode, Problem> {
    accounts.lift(&owner, Decision::Mute, &path.account_name()?).await?;
    Ok(StatusCode::NO_CONTENT)
}

async fn decide(
    accounts: &Accounts,
    owner: &Account,
    decision: Decision,
    path: MemberPath,
) -> Result<StatusCode, Problem> {
    let other = path.account_name()?;
    if other == owner.name {
        let detail = "expected another account than its own".to_owned();
        return Err(Refused { field: segment(decision).to_owned(), detail }.into());
    }
    accounts.decide(owner, decision, &other).await?;
    Ok(StatusCode::NO_CONTENT)
}

impl Accounts {
    /// Blocks or mutes an account. Continues if the client disconnects: a block has several steps.
    pub(crate) async fn decide(
        &self,
        owner: &Account,
        decision: Decision,
        other: &AccountName,
    ) -> Result<(), Problem> {
        let (this, owner, other) = (self.clone(), owner.clone(), other.clone());
        let decided = tokio::spawn(async move {
            let (store, clock) = (this.store.as_ref(), &this.clock);
            relations::decide(store, clock, &owner, decision, &other, &this.quotas).await?;
            this.hub.wrote();
            Ok(())
        });
        decided.await.map_err(|_| Problem::internal())?
    }

    /// Ends a block or mute.
    pub(crate) async fn lift(
        &self,
        owner: &Account,
        decision: Decision,
        other: &AccountName,
    ) -> Result<(), Problem> {
        relations::lift(self.store.as_ref(), &self.clock, owner, decision, other).await?;
        self.hub.wrote();
        Ok(())
    }

    /// Ends the other account's follow of this one, if there is one.
    pub(crate) async fn remove_follower(&self, owner: &Account, other: &AccountName) -> Result<(), Problem> {
        if let Some(other) = self.store.account_by_name(other).await? {
            following::unfollow(self.store.as_ref(), &self.clock, other.uid, owner.uid).await?;
            self.hub.wrote();
        }
        Ok(())
    }
}

async fn remove_follower(
    State(accounts): State<Accounts>,
    WritableAccount(owner): WritableAccount,
    path: MemberPath,
) -> Result<StatusCode, Problem> {
    accounts.remove_follower(&owner, &path.account_name()?).await?;
    Ok(StatusCode::NO_CONTENT)
}

async fn show_blocked(
    State(store): State<Arc<dyn Store>>,
    State(site): State<Site>,
    PrivateAccount(owner): PrivateAccount,
    parameters: Parameters,
    headers: HeaderMap,
) -> Result<Response, Problem> {
    show(store.as_ref(), &site, &owner, Decision::Block, &parameters, &headers).await
}

async fn show_muted(
    State(store): State<Arc<dyn Store>>,
    State(site): State<Site>,
    PrivateAccount(owner): PrivateAccount,
    parameters: Parameters,
    headers: HeaderMap,
) -> Result<Response, Problem> {
    show(store.as_ref(), &site, &owner, Decision::Mute, &parameters, &headers).await
}

/// A page of names, in order.
async fn show(
    store: &dyn Store,
    site: &Site,
    owner: &Account,
    decision: Decision,
    parameters: &Parameters,
    headers: &HeaderMap,
) -> Result<Response, Problem> {
    let format = parameters.choose(headers, OFFERS)?;
    let after = parameters.scalar("cursor")?.map(|text| decode(text, owner, decision)).transpose()?;
    let count = parameters.number("count")?;
    let size = count.unwrap_or(DEFAULT_COUNT).min(MAX_PAGE) as usize;
    let mut names = store.decided(&owner.name, decision, after.as_ref(), size + 1).await?;
    let more = names.len() > size && size > 0;
    names.truncate(size);
    let link = |rel: &str, after: Option<&AccountName>| {
        let mut pairs: Vec<String> = Vec::new();
        pairs.extend(parameters.format().ok().flatten().map(|format| format!("format={}", format.as_str())));
        pairs.extend(count.map(|count| format!("count={count}")));
        pairs.extend(after.map(|name| format!("cursor={}", encode(name, owner, decision))));
        let query = if pairs.is_empty() { String::new() } else { format!("?{}", pairs.join("&")) };
        let (base, segment) = (site.base(), segment(decision));
        format!("<{base}/200909/user/{}/{segment}{query}>; rel=\"{rel}\"", owner.name)
    };
    let mut links = vec![link("self", after.as_ref()), link("first", None)];
    links.extend(names.last().filter(|_| more).map(|last| link("next", Some(last))));
    let links = HeaderValue::from_str(&links.join(", ")).map_err(|_| Problem::internal())?;
    let rows: Vec<Row> = names.iter().map(|name| row(site, name)).collect();
    Representation::private(format).header((LINK, links)).respond(|| list(("Users", "User"), &rows, format))
}

/// The fields that follow from the name alone.
fn row(site: &Site, name: &AccountName) -> Row {
    vec![
        ("UserIdentifier".to_owned(), name.as_str().into()),
        ("ProfileUrl".to_owned(), format!("{}/user/{name}", site.base()).into()),
    ]
}

/// The text of a cursor: the list that it belongs to, and the name after which the next page starts. It needs no secret,
/// because it grants nothing and shows nothing that the page did not.
fn encode(name: &AccountName, owner: &Account, decision: Decision) -> String {
    URL_SAFE_NO_PAD.encode(format!("{}/{}/{name}", segment(decision), owner.name))
}

fn decode(text: &str, owner: &Account, decision: Decision) -> Result<AccountName, ParameterError> {
    let refuse = |why: CursorError| ParameterError { parameter: "cursor", detail: why.to_string() };
    let bytes = URL_SAFE_NO_PAD.decode(text).map_err(|_| refuse(CursorError::Altered))?;
    let text = String::from_utf8(bytes).map_err(|_| refuse(CursorError::Altered))?;
    let (list, name) = text.rsplit_once('/').ok_or_else(|| refuse(CursorError::Altered))?;
    if list != format!("{}/{}", segment(decision), owner.name) {
        return Err(refuse(CursorError::Foreign));
    }
    AccountName::parse(name).map_err(|_| refuse(CursorError::Altered))
}
