//! The keys of an account, connected applications, and the applications that the user has registered.

use super::settings_frame;
use crate::accounts::Accounts;
use crate::pages::form::{Fields, FreshForm, VerifiedForm};
use crate::pages::{Person, go};
use crate::problem::Problem;
use crate::service::page_part;
use crate::site::Site;
use crate::views::settings::{
    ApplicationView, ApplicationsPage, GrantView, KeyView, KeysPage, NewKey, NewSecret,
};
use crate::views::{Policy, html};
use auth::audit::Event;
use auth::key::AddKeyError;
use auth::oauth::callback;
use auth::session::SignedIn;
use auth::{Auth, AuthError, application, key};
use axum::extract::{Path, State};
use axum::response::Response;
use http::{StatusCode, Uri};
use model::{Application, Clock, KeyId, Millis, Scopes};
use std::collections::HashMap;
use std::sync::Arc;
use store::{Secret, Store};

page_part! {
    /// The parts for pages of keys and applications.
    CredentialPages {
        site: Site,
        store: Arc<dyn Store>,
        clock: Clock,
        auth: Arc<Auth>,
        accounts: Accounts,
    }
}

const DAY: i64 = 24 * 60 * 60 * 1_000;

pub(super) async fn show_keys(
    State(pages): State<CredentialPages>,
    Person(person): Person,
    uri: Uri,
) -> Result<Response, Problem> {
    pages.keys_page(&person, &uri, StatusCode::OK, None, None).await
}

pub(super) async fn add_key(
    State(pages): State<CredentialPages>,
    uri: Uri,
    FreshForm { person, fields }: FreshForm,
) -> Result<Response, Problem> {
    let (name, expires) = match name_and_expiry(&fields, pages.clock.now()) {
        Ok(valid) => valid,
        Err(complaint) => {
            let status = StatusCode::UNPROCESSABLE_ENTITY;
            return pages.keys_page(&person, &uri, status, None, Some(complaint)).await;
        }
    };
    let scopes =
        if fields.get("scope").as_deref() == Some("write") { Scopes::ReadWrite } else { Scopes::Read };
    let new = key::NewKey { name, scopes, expires, parent: None };
    let (max, now) = (pages.accounts.quotas.keys, pages.clock.now());
    match key::add(pages.store.as_ref(), person.account.uid, new, max, now).await {
        Ok((key, text)) => {
            pages
                .auth
                .audit
                .record(Event::own("key-added", &person.account).about(format!("key {}", key.id)))
                .await;
            let made = NewKey { name: &key.name, text: &text };
            pages.keys_page(&person, &uri, StatusCode::CREATED, Some(made), None).await
        }
        Err(AddKeyError::Quota(reached)) => {
            let complaint =
                format!("You have reached the limit of {} active keys. Revoke one first.", reached.max);
            pages.keys_page(&person, &uri, StatusCode::FORBIDDEN, None, Some(&complaint)).await
        }
        Err(error) => Err(error.into()),
    }
}

pub(super) async fn revoke_key(
    State(pages): State<CredentialPages>,
    Path(id): Path<String>,
    VerifiedForm { person, .. }: VerifiedForm,
) -> Result<Response, Problem> {
    let id = KeyId::parse(&id).ok_or_else(Problem::not_found)?;
    if !pages.store.revoke_key(person.account.uid, id, pages.clock.now()).await? {
        return Err(Problem::not_found());
    }
    pages.auth.audit.record(Event::own("key-revoked", &person.account).about(format!("key {id}"))).await;
    Ok(go(&pages.site, "/settings/keys?done=revoked"))
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

impl CredentialPages {
    async fn keys_page(
        &self,
        person: &SignedIn,
        uri: &Uri,
        status: StatusCode,
        made: Option<NewKey<'_>>,
        complaint: Option<&str>,
    ) -> Result<Response, Problem> {
        let now = self.clock.now();
        let keys = key::live(self.store.as_ref(), person.account.uid, now).await?;
        let page = KeysPage {
            site: &self.site,
            frame: settings_frame(&self.site, person, uri),
            made,
            complaint,
            keys: keys.iter().rev().map(|key| KeyView::of(key, now)).collect(),
        };
        Ok(html(status, &page, Policy::SAME_ORIGIN))
    }
}

pub(super) async fn show_applications(
    State(pages): State<CredentialPages>,
    Person(person): Person,
    uri: Uri,
) -> Result<Response, Problem> {
    pages.applications_page(&person, &uri, StatusCode::OK, None, None).await
}

pub(super) async fn register(
    State(pages): State<CredentialPages>,
    uri: Uri,
    FreshForm { person, fields }: FreshForm,
) -> Result<Response, Problem> {
    let form = match ApplicationForm::read(&fields) {
        Ok(form) => form,
        Err(complaint) => {
            let status = StatusCode::UNPROCESSABLE_ENTITY;
            return pages.applications_page(&person, &uri, status, None, Some(complaint)).await;
        }
    };
    let mine = pages.store.applications_of(person.account.uid).await?;
    let max = pages.accounts.quotas.applications;
    if mine.iter().filter(|application| application.removed.is_none()).count() as u64 >= max {
        let complaint = format!("You have reached the limit of {max} applications. Remove one first.");
        let status = StatusCode::FORBIDDEN;
        return pages.applications_page(&person, &uri, status, None, Some(&complaint)).await;
    }
    let generated = application::generate().map_err(AuthError::from)?;
    let application = Application {
        sealed_secret: pages.seal(&generated)?,
        key: generated.key.clone(),
        name: form.name,
        callback: form.callback,
        rsa_key: form.rsa_key,
        owner: Some(person.account.uid),
        created: pages.clock.now(),
        removed: None,
    };
    pages.store.add_application(&application).await?;
    pages.auth.audit.record(Event::own("application-added", &person.account).about(&application.key)).await;
    let made = NewSecret { name: &application.name, key: &application.key, secret: &generated.secret };
    pages.applications_page(&person, &uri, StatusCode::CREATED, Some(made), None).await
}

/// Replaces the secret. The previous one stops working.
pub(super) async fn renew(
    State(pages): State<CredentialPages>,
    Path(key): Path<String>,
    uri: Uri,
    FreshForm { person, .. }: FreshForm,
) -> Result<Response, Problem> {
    let application = pages.application_of(&person, &key).await?;
    let generated = application::generate().map_err(AuthError::from)?;
    let generated = application::GeneratedConsumer { key: application.key.clone(), ..generated };
    let sealed = pages.seal(&generated)?;
    let secret = Secret::Application(application.key.clone());
    if !pages.store.reseal(&secret, &application.sealed_secret, &sealed).await? {
        return Err(Problem::busy());
    }
    pages
        .auth
        .audit
        .record(Event::own("application-secret-renewed", &person.account).about(&application.key))
        .await;
    let made = NewSecret { name: &application.name, key: &application.key, secret: &generated.secret };
    pages.applications_page(&person, &uri, StatusCode::OK, Some(made), None).await
}

pub(super) async fn remove(
    State(pages): State<CredentialPages>,
    Path(key): Path<String>,
    VerifiedForm { person, .. }: VerifiedForm,
) -> Result<Response, Problem> {
    let application = pages.application_of(&person, &key).await?;
    pages.store.remove_application(&application.key, pages.clock.now()).await?;
    pages.auth.audit.record(Event::own("application-removed", &person.account).about(&application.key)).await;
    Ok(go(&pages.site, "/settings/applications?done=application"))
}

/// Revokes an application's access.
pub(super) async fn end_grant(
    State(pages): State<CredentialPages>,
    Path(token): Path<String>,
    VerifiedForm { person, .. }: VerifiedForm,
) -> Result<Response, Problem> {
    let tokens = pages.store.tokens_of(person.account.uid).await?;
    let token = tokens.into_iter().find(|found| found.key == token).ok_or_else(Problem::not_found)?;
    pages.auth.oauth.revoke(&token).await?;
    pages.auth.audit.record(Event::own("token-revoked", &person.account).about(&token.consumer)).await;
    Ok(go(&pages.site, "/settings/applications?done=revoked"))
}

/// The form to register an application.
struct ApplicationForm {
    name: String,
    callback: String,
    rsa_key: Option<Vec<u8>>,
}

impl ApplicationForm {
    fn read(fields: &Fields) -> Result<ApplicationForm, &'static str> {
        let name = fields.name("Enter a name for the application.")?;
        let callback = fields.text("callback").unwrap_or_else(|| "oob".to_owned());
        if !callback::can_be_registered(&callback) {
            return Err(
                "Invalid callback URL: enter an address like https://app.example.org/back without a fragment, or oob.",
            );
        }
        let rsa_key = match fields.text("rsa_key") {
            None => None,
            Some(pem) => Some(application::rsa_key(pem.as_bytes()).ok_or(
                "Invalid RSA key: enter a public key of 2048 to 8192 bits that starts with BEGIN PUBLIC KEY.",
            )?),
        };
        Ok(ApplicationForm { name, callback, rsa_key })
    }
}

impl CredentialPages {
    fn seal(&self, generated: &application::GeneratedConsumer) -> Result<Vec<u8>, Problem> {
        generated.sealed_secret(&self.auth.secret_keys).map_err(|error| {
            tracing::error!(%error, "sealing a secret failed");
            Problem::internal()
        })
    }

    /// An active application that the user has registered.
    async fn application_of(&self, person: &SignedIn, key: &str) -> Result<Application, Problem> {
        let found = self.store.application(key).await?;
        let mine = |found: &Application| found.owner == Some(person.account.uid) && found.removed.is_none();
        found.filter(mine).ok_or_else(Problem::not_found)
    }

    async fn applications_page(
        &self,
        person: &SignedIn,
        uri: &Uri,
        status: StatusCode,
        made: Option<NewSecret<'_>>,
        complaint: Option<&str>,
    ) -> Result<Response, Problem> {
        let (me, now) = (person.account.uid, self.clock.now());
        let mine = self.store.applications_of(me).await?;
        let tokens = self.store.tokens_of(me).await?;
        let live: Vec<_> = tokens
            .iter()
            .rev()
            .filter(|token| token.is_live(now) && !token.is_ended(&person.account))
            .collect();
        let mut names: HashMap<&str, String> = HashMap::new();
        for token in &live {
            // Answered from the cache for signed requests; an account has few connected applications.
            if !names.contains_key(token.consumer.as_str()) {
                let found = self.auth.applications.live(&token.consumer).await?;
                let name = found.map_or_else(|| token.consumer.clone(), |found| found.name.clone());
                names.insert(&token.consumer, name);
            }
        }
        let name = |consumer: &str| names.get(consumer).cloned().unwrap_or_default();
        let page = ApplicationsPage {
            site: &self.site,
            frame: settings_frame(&self.site, person, uri),
            made,
            complaint,
            granted: live.iter().map(|token| GrantView::of(token, name(&token.consumer), now)).collect(),
            mine: mine
                .iter()
                .filter(|application| application.removed.is_none())
                .map(|application| ApplicationView::of(application, now))
                .collect(),
        };
        Ok(html(status, &page, Policy::SAME_ORIGIN))
    }
}
