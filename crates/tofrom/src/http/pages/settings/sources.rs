//! What somebody does elsewhere: which sources there are, what one would bring, and whether it may.

use super::super::super::{Problem, Service, run_to_completion};
use super::super::Person;
use super::super::form::{Fields, Sent, come_again};
use crate::auth::session::SignedIn;
use crate::pages::sources::{Asked, Imported, PreviewPage, SourceView, SourcesPage};
use crate::pages::{Policy, html};
use crate::sources::{Listed, NotConnected, PollOutcome, Preview, free_name};
use axum::extract::{Path, State};
use axum::response::Response;
use feeds::catalogue;
use http::{StatusCode, Uri};
use std::sync::Arc;

pub(super) async fn show(
    State(service): State<Arc<Service>>,
    Person(person): Person,
    uri: Uri,
) -> Result<Response, Problem> {
    service.sources_page(&person, &uri, &Asked::default(), None).await
}

/// What would come in from where somebody is active.
pub(super) async fn preview(
    State(service): State<Arc<Service>>,
    uri: Uri,
    Sent { person, fields }: Sent,
) -> Result<Response, Problem> {
    let asked = asked(&fields);
    let wanted = match wanted(&asked) {
        Ok(wanted) => wanted,
        Err(complaint) => return service.sources_page(&person, &uri, &asked, Some(complaint)).await,
    };
    match service.sources.preview(&person.account, &wanted).await {
        Ok(found) => service.preview_page(&person, &uri, &wanted, &found, None).await,
        Err(why) => service.sources_page(&person, &uri, &asked, Some(why.into())).await,
    }
}

/// Connects the person to what was shown. Where that can't be, it is shown again with the reason, if it can be.
pub(super) async fn connect(
    State(service): State<Arc<Service>>,
    uri: Uri,
    Sent { person, fields }: Sent,
) -> Result<Response, Problem> {
    let (asked, name) = (asked(&fields), fields.text("name"));
    let (sources, account) = (service.sources.clone(), Arc::clone(&person.account));
    let (typed, called) = (asked.address.clone(), name.clone());
    let connected =
        run_to_completion(async move { sources.connect(&account, called.as_deref(), &typed).await }).await?;
    service.hub.wrote();
    let why = match connected {
        Ok(connected) if connected.is_new => return Ok(service.go("/settings/sources?done=connected")),
        Ok(_) => return Ok(service.go("/settings/sources?done=known")),
        Err(why) => why,
    };
    if matches!(why, NotConnected::BadName | NotConnected::NameTaken(_))
        && let Ok(found) = service.sources.preview(&person.account, &asked.address).await
    {
        let refused = Some((name.unwrap_or_default(), why.to_string()));
        return service.preview_page(&person, &uri, &asked.address, &found, refused).await;
    }
    service.sources_page(&person, &uri, &asked, Some(why.into())).await
}

/// Looks at a source now.
pub(super) async fn check(
    State(service): State<Arc<Service>>,
    Path(name): Path<String>,
    uri: Uri,
    Sent { person, .. }: Sent,
) -> Result<Response, Problem> {
    let (sources, account) = (service.sources.clone(), Arc::clone(&person.account));
    let looked = run_to_completion(async move { sources.check_again(&account, &name).await }).await?;
    service.hub.wrote();
    let done = match looked {
        Ok(None) => return Err(Problem::not_found()),
        Ok(Some(PollOutcome::Failed(_))) => "failed",
        Ok(Some(PollOutcome::Found(new))) if new > 0 => "found",
        Ok(Some(_)) => "looked",
        Err(why) => return service.sources_page(&person, &uri, &Asked::default(), Some(why.into())).await,
    };
    Ok(service.go(&format!("/settings/sources?done={done}")))
}

pub(super) async fn pause(
    State(service): State<Arc<Service>>,
    Path(name): Path<String>,
    Sent { person, .. }: Sent,
) -> Result<Response, Problem> {
    service.set_paused(&person, &name, true).await
}

pub(super) async fn resume(
    State(service): State<Arc<Service>>,
    Path(name): Path<String>,
    Sent { person, .. }: Sent,
) -> Result<Response, Problem> {
    service.set_paused(&person, &name, false).await
}

/// Disconnects from a source, and takes along what it brought if the form says so.
pub(super) async fn remove(
    State(service): State<Arc<Service>>,
    Path(name): Path<String>,
    Sent { person, fields }: Sent,
) -> Result<Response, Problem> {
    let (sources, account) = (service.sources.clone(), person.account);
    let all = fields.get("brought").as_deref() == Some("delete");
    let gone = run_to_completion(async move { sources.disconnect(&account, &name, all).await }).await??;
    service.hub.wrote();
    gone.ok_or_else(Problem::not_found)?;
    Ok(service.go(if all { "/settings/sources?done=emptied" } else { "/settings/sources?done=disconnected" }))
}

fn asked(fields: &Fields) -> Asked {
    let field = |name: &str| fields.text(name).unwrap_or_default();
    Asked { address: field("address"), service: field("service"), person: field("person") }
}

/// The address that was given, or where the service that was chosen has that person's feed.
fn wanted(asked: &Asked) -> Result<String, FormError> {
    let Some(service) = catalogue::by_name(&asked.service) else { return Ok(asked.address.clone()) };
    let feed = service.feed_of(&asked.person).map(String::from);
    feed.ok_or_else(|| FormError {
        status: StatusCode::UNPROCESSABLE_ENTITY,
        text: format!("That can’t be it. {} needs {}.", service.name, service.asks),
    })
}

/// What can't be.
pub(super) struct FormError {
    pub(super) status: StatusCode,
    pub(super) text: String,
}

impl From<NotConnected> for FormError {
    fn from(why: NotConnected) -> FormError {
        let status = match why {
            NotConnected::TooOften => StatusCode::TOO_MANY_REQUESTS,
            NotConnected::Store(_) => StatusCode::SERVICE_UNAVAILABLE,
            _ => StatusCode::UNPROCESSABLE_ENTITY,
        };
        FormError { status, text: told(&why) }
    }
}

/// Why something is not connected, for people. What the store says is not for them.
pub(super) fn told(why: &NotConnected) -> String {
    match why {
        NotConnected::Store(error) => {
            tracing::error!(%error, "the store failed");
            "This can’t be done at the moment. Try again in a minute.".to_owned()
        }
        why => why.to_string(),
    }
}

impl Service {
    async fn set_paused(&self, person: &SignedIn, name: &str, paused: bool) -> Result<Response, Problem> {
        if !self.sources.pause(&person.account, name, paused).await? {
            return Err(Problem::not_found());
        }
        Ok(self.go(if paused { "/settings/sources?done=paused" } else { "/settings/sources?done=resumed" }))
    }

    async fn sources_page(
        &self,
        person: &SignedIn,
        uri: &Uri,
        asked: &Asked,
        complaint: Option<FormError>,
    ) -> Result<Response, Problem> {
        let status = complaint.as_ref().map_or(StatusCode::OK, |complaint| complaint.status);
        let complaint = complaint.map(|complaint| complaint.text);
        let page = self.sources_page_with(person, uri, status, (asked, complaint.as_deref()), None).await?;
        Ok(come_again(page, (status == StatusCode::TOO_MANY_REQUESTS).then_some(60)))
    }

    /// The page with what became of a list, or of what was asked for.
    pub(super) async fn sources_page_with(
        &self,
        person: &SignedIn,
        uri: &Uri,
        status: StatusCode,
        (asked, complaint): (&Asked, Option<&str>),
        imported: Option<Imported>,
    ) -> Result<Response, Problem> {
        let listed = self.sources.list(&person.account).await?;
        let page = SourcesPage {
            site: &self.site,
            frame: self.settings_frame(person, uri),
            complaint,
            asked,
            imported,
            sources: listed.iter().map(SourceView::of).collect(),
        };
        Ok(html(status, &page, Policy::OURS))
    }

    /// What would come in; `refused` is a name that it can't have, and why.
    async fn preview_page(
        &self,
        person: &SignedIn,
        uri: &Uri,
        typed: &str,
        found: &Preview,
        refused: Option<(String, String)>,
    ) -> Result<Response, Problem> {
        let there = self.sources.list(&person.account).await?;
        let is_taken = |name: &str| there.iter().any(|one| one.connection.name == name);
        let is_it = |one: &&Listed| one.address() == found.address.as_str();
        let status = refused.as_ref().map_or(StatusCode::OK, |_| StatusCode::UNPROCESSABLE_ENTITY);
        let (name, complaint) = match refused {
            Some((name, why)) => (name, Some(why)),
            None => (free_name(&found.name, is_taken), None),
        };
        let page = PreviewPage {
            site: &self.site,
            frame: self.settings_frame(person, uri),
            complaint: complaint.as_deref(),
            known: there.iter().find(is_it).map(|one| one.connection.name.as_str()),
            typed,
            name: &name,
            found,
            now: self.clock.now(),
        };
        Ok(html(status, &page, Policy::OURS))
    }
}
