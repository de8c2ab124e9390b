//! Connected applications, and the applications that the user has registered.

use super::super::super::{Problem, Service};
use super::super::Person;
use super::super::form::{Fields, VerifiedForm};
use crate::auth::oauth::callback;
use crate::auth::session::SignedIn;
use crate::auth::{AuthError, application};
use crate::pages::settings::{ApplicationView, ApplicationsPage, GrantView, NewSecret};
use crate::pages::{Policy, html};
use axum::extract::{Path, State};
use axum::response::Response;
use http::{StatusCode, Uri};
use model::Application;
use std::collections::HashMap;
use std::sync::Arc;
use store::Secret;

/// Maximum active applications of an account.
const MAX_APPLICATIONS: usize = 50;

pub(super) async fn show(
    State(service): State<Arc<Service>>,
    Person(person): Person,
    uri: Uri,
) -> Result<Response, Problem> {
    service.applications_page(&person, &uri, StatusCode::OK, None, None).await
}

pub(super) async fn register(
    State(service): State<Arc<Service>>,
    uri: Uri,
    VerifiedForm { person, fields }: VerifiedForm,
) -> Result<Response, Problem> {
    let form = match ApplicationForm::read(&fields) {
        Ok(form) => form,
        Err(complaint) => {
            let status = StatusCode::UNPROCESSABLE_ENTITY;
            return service.applications_page(&person, &uri, status, None, Some(complaint)).await;
        }
    };
    let mine = service.store.applications_of(person.account.uid).await?;
    if mine.iter().filter(|application| application.removed.is_none()).count() >= MAX_APPLICATIONS {
        let complaint = Some("You have reached the limit of 50 applications. Remove one first.");
        return service.applications_page(&person, &uri, StatusCode::CONFLICT, None, complaint).await;
    }
    let generated = application::generate().map_err(AuthError::from)?;
    let application = Application {
        sealed_secret: service.seal(&generated)?,
        key: generated.key.clone(),
        name: form.name,
        callback: form.callback,
        rsa_key: form.rsa_key,
        owner: Some(person.account.uid),
        created: service.clock.now(),
        removed: None,
    };
    service.store.add_application(&application).await?;
    let made = NewSecret { name: &application.name, key: &application.key, secret: &generated.secret };
    service.applications_page(&person, &uri, StatusCode::CREATED, Some(made), None).await
}

/// Replaces the secret. The previous one stops working.
pub(super) async fn renew(
    State(service): State<Arc<Service>>,
    Path(key): Path<String>,
    uri: Uri,
    VerifiedForm { person, .. }: VerifiedForm,
) -> Result<Response, Problem> {
    let application = service.application_of(&person, &key).await?;
    let generated = application::generate().map_err(AuthError::from)?;
    let generated = application::GeneratedConsumer { key: application.key.clone(), ..generated };
    let sealed = service.seal(&generated)?;
    let secret = Secret::Application(application.key.clone());
    if !service.store.reseal(&secret, &application.sealed_secret, &sealed).await? {
        return Err(Problem::busy());
    }
    let made = NewSecret { name: &application.name, key: &application.key, secret: &generated.secret };
    service.applications_page(&person, &uri, StatusCode::OK, Some(made), None).await
}

pub(super) async fn remove(
    State(service): State<Arc<Service>>,
    Path(key): Path<String>,
    VerifiedForm { person, .. }: VerifiedForm,
) -> Result<Response, Problem> {
    let application = service.application_of(&person, &key).await?;
    service.store.remove_application(&application.key, service.clock.now()).await?;
    Ok(service.go("/settings/applications?done=application"))
}

/// Revokes an application's access.
pub(super) async fn end_grant(
    State(service): State<Arc<Service>>,
    Path(token): Path<String>,
    VerifiedForm { person, .. }: VerifiedForm,
) -> Result<Response, Problem> {
    let tokens = service.store.tokens_of(person.account.uid).await?;
    let token = tokens.into_iter().find(|found| found.key == token).ok_or_else(Problem::not_found)?;
    service.authenticator.revoke(&token).await?;
    Ok(service.go("/settings/applications?done=revoked"))
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

impl Service {
    fn seal(&self, generated: &application::GeneratedConsumer) -> Result<Vec<u8>, Problem> {
        self.authenticator.seal(generated).map_err(|error| {
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
                let found = self.authenticator.application(&token.consumer).await?;
                let name = found.map_or_else(|| token.consumer.clone(), |found| found.name.clone());
                names.insert(&token.consumer, name);
            }
        }
        let name = |consumer: &str| names.get(consumer).cloned().unwrap_or_default();
        let page = ApplicationsPage {
            site: &self.site,
            frame: self.settings_frame(person, uri),
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
