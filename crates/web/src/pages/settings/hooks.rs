//! The hooks of an account: list, add, resume, test, rotate and remove.

use super::settings_frame;
use crate::pages::form::VerifiedForm;
use crate::pages::{Person, go};
use crate::problem::Problem;
use crate::service::page_part;
use crate::site::Site;
use crate::views::hooks::{HookForm, HookView, HooksPage, NewHookSecret};
use crate::views::{Policy, html};
use auth::session::SignedIn;
use axum::extract::{Path, State};
use axum::response::Response;
use domain::hooks::{HookError, HookRequest, Hooks, PingOutcome};
use http::{StatusCode, Uri};
use model::Clock;

page_part! {
    /// The parts for pages of hooks.
    HookPages {
        site: Site,
        clock: Clock,
        hooks: Hooks,
    }
}

pub(super) async fn show(
    State(pages): State<HookPages>,
    Person(person): Person,
    uri: Uri,
) -> Result<Response, Problem> {
    pages.page(&person, &uri, StatusCode::OK, None, None, &HookForm::default()).await
}

pub(super) async fn add(
    State(pages): State<HookPages>,
    uri: Uri,
    VerifiedForm { person, fields }: VerifiedForm,
) -> Result<Response, Problem> {
    let text = |name: &str| fields.get(name).unwrap_or_default().trim().to_owned();
    let form = HookForm { name: text("name"), url: text("url"), collection: text("collection") };
    let found = pages.hooks.find(person.account.uid, &form.name).await?;
    // The page has no filters, so it leaves those of an existing hook as they are.
    let existing = found.map(|found| found.hook.config);
    let (services, kinds, verbs) =
        existing.map_or_else(Default::default, |config| (config.services, config.kinds, config.verbs));
    let request =
        HookRequest { url: form.url.clone(), collection: form.collection.clone(), services, kinds, verbs };
    match pages.hooks.put(&person.account, &form.name, request).await {
        Ok(done) => match &done.secret {
            Some(secret) => {
                let made = NewHookSecret { name: &form.name, text: secret, rotated: false };
                let none = HookForm::default();
                pages.page(&person, &uri, StatusCode::CREATED, Some(made), None, &none).await
            }
            None => Ok(go(&pages.site, "/settings/hooks?done=saved")),
        },
        Err(HookError::Refused { detail, .. }) => pages.complain(&person, &uri, &detail, &form).await,
        Err(error @ (HookError::BadName | HookError::Quota)) => {
            pages.complain(&person, &uri, &error.to_string(), &form).await
        }
        Err(error) => Err(error.into()),
    }
}

pub(super) async fn resume(
    State(pages): State<HookPages>,
    Path(name): Path<String>,
    VerifiedForm { person, .. }: VerifiedForm,
) -> Result<Response, Problem> {
    match pages.hooks.resume(person.account.uid, &name).await? {
        true => Ok(go(&pages.site, "/settings/hooks?done=resumed")),
        false => Err(Problem::not_found()),
    }
}

pub(super) async fn rotate(
    State(pages): State<HookPages>,
    Path(name): Path<String>,
    uri: Uri,
    VerifiedForm { person, .. }: VerifiedForm,
) -> Result<Response, Problem> {
    let secret = pages.hooks.rotate(person.account.uid, &name).await?.ok_or_else(Problem::not_found)?;
    let made = NewHookSecret { name: &name, text: &secret, rotated: true };
    pages.page(&person, &uri, StatusCode::CREATED, Some(made), None, &HookForm::default()).await
}

pub(super) async fn test(
    State(pages): State<HookPages>,
    Path(name): Path<String>,
    uri: Uri,
    VerifiedForm { person, .. }: VerifiedForm,
) -> Result<Response, Problem> {
    let outcome = pages.hooks.test(person.account.uid, &name).await?.ok_or_else(Problem::not_found)?;
    let complaint = match outcome {
        PingOutcome::Status(200..=299) => return Ok(go(&pages.site, "/settings/hooks?done=tested")),
        PingOutcome::Status(status) => {
            format!("The receiver answered with status {status}: expected 200 to 299.")
        }
        PingOutcome::Failed(error) => error.to_string(),
    };
    pages.complain(&person, &uri, &complaint, &HookForm::default()).await
}

pub(super) async fn remove(
    State(pages): State<HookPages>,
    Path(name): Path<String>,
    VerifiedForm { person, .. }: VerifiedForm,
) -> Result<Response, Problem> {
    match pages.hooks.remove(person.account.uid, &name).await? {
        true => Ok(go(&pages.site, "/settings/hooks?done=hook-removed")),
        false => Err(Problem::not_found()),
    }
}

impl HookPages {
    async fn complain(
        &self,
        person: &SignedIn,
        uri: &Uri,
        complaint: &str,
        form: &HookForm,
    ) -> Result<Response, Problem> {
        self.page(person, uri, StatusCode::UNPROCESSABLE_ENTITY, None, Some(complaint), form).await
    }

    async fn page(
        &self,
        person: &SignedIn,
        uri: &Uri,
        status: StatusCode,
        made: Option<NewHookSecret<'_>>,
        complaint: Option<&str>,
        form: &HookForm,
    ) -> Result<Response, Problem> {
        let now = self.clock.now();
        let hooks = self.hooks.list(person.account.uid).await?;
        let page = HooksPage {
            site: &self.site,
            frame: settings_frame(&self.site, person, uri),
            made,
            complaint,
            form,
            hooks: hooks.iter().map(|hook| HookView::of(hook, now)).collect(),
        };
        Ok(html(status, &page, Policy::SAME_ORIGIN))
    }
}
