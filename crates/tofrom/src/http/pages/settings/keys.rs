//! Application keys: made here, shown once, revoked at any time.

use super::super::super::{Problem, Service};
use super::super::Person;
use super::super::form::{Fields, Sent};
use crate::auth::session::SignedIn;
use crate::auth::{AuthError, key};
use crate::pages::settings::{KeyView, KeysPage, NewKey};
use crate::pages::{Policy, html};
use axum::extract::{Path, State};
use axum::response::Response;
use http::{StatusCode, Uri};
use model::{Key, KeyId, Millis, Scopes};
use std::sync::Arc;

/// Live keys of an account: more than anybody has programs, and few enough to be listed.
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
    Sent { person, fields }: Sent,
) -> Result<Response, Problem> {
    let (name, expires) = match asked(&fields, service.clock.now()) {
        Ok(asked) => asked,
        Err(complaint) => {
            let status = StatusCode::UNPROCESSABLE_ENTITY;
            return service.keys_page(&person, &uri, status, None, Some(complaint)).await;
        }
    };
    let now = service.clock.now();
    let live = service.store.keys_of(person.account.uid).await?.iter().filter(|key| key.is_live(now)).count();
    if live >= MAX_KEYS {
        let complaint = Some("You have 200 keys that work. Revoke one first.");
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
    Sent { person, .. }: Sent,
) -> Result<Response, Problem> {
    let id = KeyId::parse(&id).ok_or_else(Problem::not_found)?;
    if !service.store.revoke_key(person.account.uid, id, service.clock.now()).await? {
        return Err(Problem::not_found());
    }
    Ok(service.go("/settings/keys?done=revoked"))
}

/// The name and the end of a key that a form asks for.
fn asked(fields: &Fields, now: Millis) -> Result<(String, Option<Millis>), &'static str> {
    let name = fields.name("Give the key a name, so that you know it again.")?;
    let days = match fields.get("days").as_deref() {
        None | Some("") => None,
        Some(days) => Some(days.parse::<u16>().map_err(|_| "Choose when it ends from the list.")?),
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
        Ok(html(status, &page, Policy::OURS))
    }
}
