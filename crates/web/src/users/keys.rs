//! `/200909/user/{user}/keys` and `/200909/user/{user}/keys/{id}`: the keys of an account.
//!
//! Short-lived keys are how a back end lets a browser or a phone read directly.

use super::fields::{OFFERS, Row, Texts, format_of, list, one, refused, texts};
use crate::accounts::Accounts;
use crate::body;
use crate::extract::{Caller, MemberPath, Parameters, PrivateAccount, WritableAccount};
use crate::problem::Problem;
use crate::respond::{Caching, Representation};
use crate::service::Service;
use crate::site::Site;
use auth::audit::{Actor, AuditLog, Event};
use auth::key::{self, NewKey};
use auth::{AuthError, Method, Principal};
use axum::extract::{Request, State};
use axum::response::Response;
use axum::routing::{MethodRouter, delete, get};
use domain::ingest::{MAX_BODY, Refused};
use http::header::LOCATION;
use http::{HeaderMap, HeaderValue, StatusCode};
use model::{Clock, Key, KeyId, Millis, Scopes};
use std::sync::Arc;
use std::time::Duration;
use store::Store;

pub(crate) fn all_methods() -> MethodRouter<Service> {
    get(show_all).post(add).fallback(|| async { Problem::method_not_allowed("GET, HEAD, POST") })
}

pub(crate) fn one_methods() -> MethodRouter<Service> {
    delete(revoke).fallback(|| async { Problem::method_not_allowed("DELETE") })
}

/// The keys that work, without their secrets.
async fn show_all(
    State(store): State<Arc<dyn Store>>,
    State(clock): State<Clock>,
    Caller(caller): Caller,
    PrivateAccount(account): PrivateAccount,
    parameters: Parameters,
    headers: HeaderMap,
) -> Result<Response, Problem> {
    reject_token(&caller)?;
    let format = parameters.choose(&headers, OFFERS)?;
    let keys = key::live(store.as_ref(), account.uid, clock.now()).await?;
    let rows: Vec<Row> = keys.iter().map(row).collect();
    Representation::private(format).respond(|| list(("Keys", "Key"), &rows, format))
}

/// Creates a key. The response is the only one that contains it.
async fn add(
    State(accounts): State<Accounts>,
    State(audit): State<Arc<AuditLog>>,
    State(site): State<Site>,
    Caller(caller): Caller,
    WritableAccount(account): WritableAccount,
    parameters: Parameters,
    request: Request,
) -> Result<Response, Problem> {
    reject_token(&caller)?;
    let format = parameters.choose(request.headers(), OFFERS)?;
    let (head, sent) = request.into_parts();
    let form = format_of(&head.headers)?;
    let fields = texts(&body::read(sent, MAX_BODY).await?, form, "Key")?;
    let now = accounts.clock.now();
    let new = within(&caller, requested(&fields, now)?)?;
    let max = accounts.quotas.keys;
    let (key, text) = key::add(accounts.store.as_ref(), account.uid, new, max, now).await?;
    let event = Event::new("key-added", Actor::Account(&caller.account)).on(&account);
    audit.record(event.about(format!("key {}", key.id))).await;
    let address = format!("{}/200909/user/{}/keys/{}", site.base(), account.name, key.id);
    let address = HeaderValue::from_str(&address).map_err(|_| Problem::internal())?;
    let mut row = row(&key);
    // After the identifier.
    row.insert(1, ("Key".to_owned(), text.as_str().into()));
    let created = Representation::new(format.media_type(), Caching::Never).header((LOCATION, address));
    let mut response = created.respond(|| one("Key", &row, format))?;
    *response.status_mut() = StatusCode::CREATED;
    Ok(response)
}

/// Revokes a key, and with it the keys that it created. A read-only key can revoke itself.
async fn revoke(
    State(store): State<Arc<dyn Store>>,
    State(clock): State<Clock>,
    State(audit): State<Arc<AuditLog>>,
    Caller(caller): Caller,
    PrivateAccount(account): PrivateAccount,
    path: MemberPath,
) -> Result<StatusCode, Problem> {
    reject_token(&caller)?;
    let id = path.text().and_then(|text| KeyId::parse(&text));
    if creating_key(&caller).is_none_or(|own| Some(own.id) != id) {
        caller.must_write()?;
    }
    let now = clock.now();
    let keys = key::live(store.as_ref(), account.uid, now).await?;
    let found = keys.iter().find(|key| Some(key.id) == id).ok_or_else(Problem::not_found)?;
    store.revoke_key(account.uid, found.id, now).await?;
    let event = Event::new("key-revoked", Actor::Account(&caller.account)).on(&account);
    audit.record(event.about(format!("key {}", found.id))).await;
    Ok(StatusCode::NO_CONTENT)
}

/// A token granted to an application does not manage the account's own credentials.
fn reject_token(caller: &Principal) -> Result<(), AuthError> {
    if matches!(caller.method, Method::OAuth(_)) { Err(AuthError::Lent) } else { Ok(()) }
}

fn creating_key(caller: &Principal) -> Option<&Key> {
    match &caller.method {
        Method::Psk(key) => Some(key),
        Method::Basic | Method::OAuth(_) | Method::Session(_) => None,
    }
}

/// Limits the requested key to what the caller has. Its scope needs no check: only a caller with all scopes gets here.
fn within(caller: &Principal, new: NewKey) -> Result<NewKey, Problem> {
    let Some(parent) = creating_key(caller) else { return Ok(new) };
    let expires = match (new.expires, parent.expires) {
        (Some(asked), Some(limit)) if asked > limit => {
            let detail = format!(
                "The new key would expire after the key that creates it, which expires at {}. Ask for an earlier time.",
                limit.zulu()
            );
            return Err(Problem::key_limit(&detail));
        }
        (asked, limit) => asked.or(limit),
    };
    Ok(NewKey { expires, parent: Some(parent.hash), ..new })
}

/// The key that the body asks for.
fn requested(fields: &Texts, now: Millis) -> Result<NewKey, Refused> {
    let name = match fields.get("Name") {
        None => "key".to_owned(),
        Some(text) => text
            .as_deref()
            .and_then(key::name)
            .ok_or_else(|| refused("Name", "expected 1 to 100 characters on one line"))?,
    };
    let scopes = match fields.get("Scope").map(Option::as_deref) {
        None | Some(Some("read")) => Scopes::Read,
        Some(Some("write")) => Scopes::ReadWrite,
        Some(_) => return Err(refused("Scope", "expected read or write")),
    };
    Ok(NewKey { name, scopes, expires: expiry(fields, now)?, parent: None })
}

fn expiry(fields: &Texts, now: Millis) -> Result<Option<Millis>, Refused> {
    let text = |name: &str| fields.get(name).filter(|value| value.as_deref() != Some(""));
    match (text("Expires"), text("ExpiresIn")) {
        (None, None) => Ok(None),
        (Some(_), Some(_)) => Err(refused("Expires", "expected only one of Expires and ExpiresIn")),
        (Some(at), None) => {
            let at = at.as_deref().and_then(|text| Millis::parse(text).ok());
            let at = at.ok_or_else(|| {
                refused("Expires", "expected a time with offset, like 2030-01-01T00:00:00Z")
            })?;
            if at > now { Ok(Some(at)) } else { Err(refused("Expires", "expected a time in the future")) }
        }
        (None, Some(seconds)) => {
            let seconds =
                seconds.as_deref().and_then(|text| text.parse::<u32>().ok()).filter(|seconds| *seconds > 0);
            let seconds = seconds
                .ok_or_else(|| refused("ExpiresIn", "expected a number of seconds from 1 to 4294967295"))?;
            Ok(Some(now.later(Duration::from_secs(u64::from(seconds)))))
        }
    }
}

/// The fields of a key, without its secret.
fn row(key: &Key) -> Row {
    let scope = if key.scopes.can_write() { "write" } else { "read" };
    let mut row = vec![
        ("Id".to_owned(), key.id.to_string().into()),
        ("Name".to_owned(), key.name.as_str().into()),
        ("Scope".to_owned(), scope.into()),
    ];
    row.extend(key.expires.map(|at| ("Expires".to_owned(), at.with_offset().into())));
    row.push(("CreatedDate".to_owned(), key.created.with_offset().into()));
    row.extend(key.used.map(|at| ("UsedDate".to_owned(), at.with_offset().into())));
    row
}
