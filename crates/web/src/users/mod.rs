//! `/200909/user/{user}`: an account. `/200909/whoami`: the authenticated account, and its token.

pub(crate) mod edges;
pub(crate) mod fields;
pub(crate) mod hooks;
pub(crate) mod keys;
pub(crate) mod relations;
pub(crate) mod sources;

use crate::accounts::{Accounts, Changes};
use crate::body;
use crate::extract::{AccountPath, Caller, Parameters, ReadableAccount, WritableAccount};
use crate::negotiate::Accept;
use crate::problem::Problem;
use crate::render::Renderer;
use crate::respond::Representation;
use crate::service::Service;
use crate::site::Site;
use auth::audit::{Actor, AuditLog, Event};
use auth::{Auth, AuthError, Method};
use axum::extract::{Request, State};
use axum::response::{IntoResponse, Response};
use axum::routing::{MethodRouter, delete, get};
use domain::ingest::{MAX_BODY, Refused};
use fields::{OFFERS, account_fields, flag, format_of, one, refused, texts};
use http::header::LOCATION;
use http::{HeaderMap, StatusCode};
use model::{AddressableBy, Format, Reader, person_name};
use std::sync::Arc;

pub(crate) fn account_methods() -> MethodRouter<Service> {
    get(show)
        .put(put)
        .delete(remove)
        .fallback(|| async { Problem::method_not_allowed("GET, HEAD, PUT, DELETE") })
}

pub(crate) fn whoami_methods() -> MethodRouter<Service> {
    get(whoami).fallback(|| async { Problem::method_not_allowed("GET, HEAD") })
}

pub(crate) fn token_methods() -> MethodRouter<Service> {
    delete(revoke_token).fallback(|| async { Problem::method_not_allowed("DELETE") })
}

/// For callers that may read the account's collections.
async fn show(
    State(site): State<Site>,
    ReadableAccount { account, reader }: ReadableAccount,
    parameters: Parameters,
    headers: HeaderMap,
) -> Result<Response, Problem> {
    let format = parameters.choose(&headers, OFFERS)?;
    let mut row = account_fields(&site, &account);
    row.push(("Public".to_owned(), if account.public { "true" } else { "false" }.into()));
    if reader == Reader::Owner {
        row.push(("AddressableBy".to_owned(), account.addressable_by.as_str().into()));
    }
    Representation::private(format).respond(|| one("User", &row, format))
}

/// Operators create and change any account; an account changes itself.
async fn put(
    State(site): State<Site>,
    State(accounts): State<Accounts>,
    State(audit): State<Arc<AuditLog>>,
    Caller(caller): Caller,
    name: Result<AccountPath, Problem>,
    request: Request,
) -> Result<Response, Problem> {
    caller.must_write()?;
    let AccountPath(name) = name?;
    let (head, sent) = request.into_parts();
    // Rights are checked before the body is read.
    accounts.open_for_update(&caller, &name).await?;
    let form = format_of(&head.headers)?;
    let changes = read_changes(&body::read(sent, MAX_BODY).await?, form)?;
    let created = match accounts.open_for_update(&caller, &name).await? {
        None => accounts.create(&name, &changes).await?,
        Some(_) => None,
    };
    if let Some(account) = created {
        audit.record(Event::new("account-added", Actor::Account(&caller.account)).on(&account)).await;
        let address = format!("{}/200909/user/{name}", site.base());
        return Ok((StatusCode::CREATED, [(LOCATION, address)]).into_response());
    }
    // The account exists, or another request has just created it.
    let account = accounts.open_for_update(&caller, &name).await?.ok_or_else(Problem::busy)?;
    accounts.change(account.uid, &changes).await?;
    if account.uid != caller.account.uid {
        audit.record(Event::new("account-changed", Actor::Account(&caller.account)).on(&account)).await;
    }
    Ok(StatusCode::OK.into_response())
}

/// For the account itself and operators, but not for a token of the account.
async fn remove(
    State(accounts): State<Accounts>,
    State(audit): State<Arc<AuditLog>>,
    Caller(caller): Caller,
    WritableAccount(account): WritableAccount,
) -> Result<StatusCode, Problem> {
    if matches!(caller.method, Method::OAuth(_)) {
        return Err(AuthError::Lent.into());
    }
    accounts.remove(account.uid).await?;
    audit.record(Event::new("account-removed", Actor::Account(&caller.account)).on(&account)).await;
    Ok(StatusCode::NO_CONTENT)
}

/// The authenticated account and its credential.
async fn whoami(Caller(caller): Caller, headers: HeaderMap) -> Result<Response, Problem> {
    let format = Accept::of(&headers).choose(OFFERS).ok_or_else(|| Problem::not_acceptable(OFFERS))?;
    let body = Renderer::fields("WhoAmI", format, |field| {
        field("Account", caller.account.name.as_str());
        field("Method", caller.method.as_str());
        field("Scopes", caller.scopes.as_str());
        if let Some(consumer) = &caller.consumer {
            field("Consumer", &consumer.key);
        }
    });
    let body = body.ok_or_else(|| Problem::not_acceptable(OFFERS))?;
    Representation::private(format).respond(|| body)
}

/// Revokes the token that signs the request.
async fn revoke_token(State(auth): State<Arc<Auth>>, Caller(caller): Caller) -> Result<StatusCode, Problem> {
    let Method::OAuth(token) = &caller.method else { return Err(AuthError::NotAToken.into()) };
    auth.oauth.revoke(token).await?;
    auth.audit.record(Event::own("token-revoked", &caller.account).about(&token.consumer)).await;
    Ok(StatusCode::NO_CONTENT)
}

/// The fields of a request body: given name, family name, `Public`, `AddressableBy`. Absent fields keep their value, an empty name
/// is removed, and unknown fields are ignored, so that the body of a response can be sent back.
fn read_changes(body: &[u8], form: Format) -> Result<Changes, Problem> {
    let fields = texts(body, form, "User")?;
    Ok(Changes {
        given_name: fields.get("GivenName").map(|value| name("GivenName", value)).transpose()?,
        family_name: fields.get("FamilyName").map(|value| name("FamilyName", value)).transpose()?,
        public: fields.get("Public").map(|value| flag("Public", value)).transpose()?.flatten(),
        addressable_by: fields.get("AddressableBy").map(addressable_by).transpose()?.flatten(),
    })
}

/// A name of a person; `None` if it is empty.
fn name(field: &str, value: &Option<String>) -> Result<Option<String>, Refused> {
    let text = value.as_deref().ok_or_else(|| refused(field, "expected a string"))?;
    person_name(text).map_err(|why| refused(field, &why.to_string()))
}

/// Who may address the account; `None` if the text is empty.
fn addressable_by(value: &Option<String>) -> Result<Option<AddressableBy>, Refused> {
    match value.as_deref() {
        Some("") => Ok(None),
        Some(text) if AddressableBy::parse(text).is_some() => Ok(AddressableBy::parse(text)),
        _ => Err(refused("AddressableBy", "expected everyone, following or nobody")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read_json(text: &str) -> Result<Changes, Problem> {
        read_changes(text.as_bytes(), Format::Json)
    }

    #[test]
    fn absent_fields_are_unchanged() {
        assert_eq!(read_json("{}").unwrap(), Changes::default());
        let value =
            read_json(r#"{"GivenName":" Ann ","FamilyName":null,"Public":true,"Other":[1]}"#).unwrap();
        assert_eq!(value.given_name, Some(Some("Ann".to_owned())));
        assert_eq!((value.family_name, value.public), (Some(None), Some(true)));
        let shown = r#"{"User":{"UserIdentifier":"ann","GivenName":"Ann","Public":"false"}}"#;
        assert_eq!(read_json(shown).unwrap().public, Some(false));
    }

    #[test]
    fn xml_is_parsed_like_json() {
        let text = "<User><UserIdentifier>ann</UserIdentifier><GivenName>Ann</GivenName><FamilyName/></User>";
        let value = read_changes(text.as_bytes(), Format::Xml).unwrap();
        assert_eq!(value, read_json(r#"{"GivenName":"Ann","FamilyName":""}"#).unwrap());
        for wrong in ["<Missing/>", "<User>", "<User><GivenName>a</GivenName><GivenName>b</GivenName></User>"]
        {
            assert!(read_changes(wrong.as_bytes(), Format::Xml).is_err(), "{wrong}");
        }
    }

    #[test]
    fn invalid_bodies_are_rejected() {
        let long = format!(r#"{{"GivenName":"{}"}}"#, "x".repeat(101));
        for wrong in
            ["", "[]", "{\"GivenName\":[]}", "{\"Public\":\"maybe\"}", "{\"FamilyName\":\"a\\nb\"}", &long]
        {
            assert!(read_json(wrong).is_err(), "{wrong:.30}");
        }
    }
}
