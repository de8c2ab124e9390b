//! The keys of an account: created, shown once, revoked.

use super::super::super::{Problem, Service};
use super::super::Person;
use super::super::form::{Fields, VerifiedForm};
use crate::auth::session::SignedIn;
use crate::auth::{AuthError, key};
use crate::pages::settings::{KeyView, KeysPage, NewKey};
use crate::pages::{Policy, html};
use axum::extract::{Path, State};
use axum::response::Response;
use http::{StatusCode, Uri};
use model::{Key, KeyId, Millis, Scopes};
use std::sync::Arc;

/// Maximum active keys of an account: few enough to list on one page.
const MAX_KEYS: usize = 200;
const DAY: i64 = 24 * 60 * 60 * 1_000;

pub(super) async fn show(
    State(service): State<Arc<Service>>,
    Person(person): Person,
    uri: Uri,
) -> Result<Response, Problem> {
    service.keys_page(&person, &uri, StatusCode::OK, None, None).await
}

pub(super) async fn add(
    State(service): State<Arc<Service>>,
    uri: Uri,
    VerifiedForm { person, fields }: VerifiedForm,
) -> Result<Response, Problem> {
    let (name, expires) = match name_and_expiry(&fields, service.clock.now()) {
        Ok(valid) => valid,
        Err(complaint) => {
            let status = StatusCode::UNPROCESSABLE_ENTITY;
            return service.keys_page(&person, &uri, status, None, Some(complaint)).await;
        }
    };
    let now = service.clock.now();
    let live = service.store.keys_of(person.account.uid).await?.iter().filter(|key| key.is_live(now)).count();
    if live >= MAX_KEYS {
        let complaint = Some("You have reached the limit of 200 active keys. Revoke one first.");
        return service.keys_page(&person, &uri, StatusCode::CONFLICT, None, complaint).await;
    }
    let generated = key::generate().map_err(AuthError::from)?;
    let scopes =
        if fields.get("scope").as_deref() == Some("write") { Scopes::ReadWrite } else { Scopes::Read };
    let key = Key {
        id: generated.id,
        hash: generated.hash,
        owner: person.account.uid,
        name,
        scopes,
        created: now,
        expires,
        revoked: None,
        used: None,
    };
    service.store.add_key(&key).await?;
    let made = NewKey { name: &key.name, text: &generated.text };
    service.keys_page(&person, &uri, StatusCode::CREATED, Some(made), None).await
}

pub(super) async fn revoke(
    State(service): State<Arc<Service>>,
    Path(id): Path<String>,
    VerifiedForm { person, .. }: VerifiedForm,
) -> Result<Response, Problem> {
    let id = KeyId::parse(&id).ok_or_else(Problem::not_found)?;
    if !service.store.revoke_key(person.account.uid, id, service.clock.now()).await? {
        return Err(Problem::not_found());
    }
    Ok(service.go("/settings/keys?done=revoked"))
}

/// Name and expiry from the form.
fn name_and_expiry(fields: &Fields, now: Millis) -> Result<(String, Option<Millis>), &'static str> {
    let name = fields.name("Enter a name for the key.")?;
    let days = match fields.get("days").as_deref() {
        None | Some("") => None,
        Some(days) => Some(days.parse::<u16>().map_err(|_| "Select an expiry from the list.")?),
    };
    Ok((name, days.map(|days| Millis(now.0.saturating_add(i64::from(days) * DAY)))))
}

impl Service {
    async fn keys_page(
        &self,
        person: &SignedIn,
        uri: &Uri,
        status: StatusCode,
        made: Option<NewKey<'_>>,
        complaint: Option<&str>,
    ) -> Result<Response, Problem> {
        let now = self.clock.now();
        let keys = self.store.keys_of(person.account.uid).await?;
        let page = KeysPage {
            site: &self.site,
            frame: self.settings_frame(person, uri),
            made,
            complaint,
            keys: keys.iter().rev().filter(|key| key.is_live(now)).map(|key| KeyView::of(key, now)).collect(),
        };
        Ok(html(status, &page, Policy::SAME_ORIGIN))
    }
}
