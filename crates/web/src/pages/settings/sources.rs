//! The sources of an account: list, preview, connect, check, pause and remove, OPML export and import.

use super::settings_frame;
use crate::pages::form::{Fields, Upload, VerifiedForm, field, with_retry_after};
use crate::pages::{Person, go};
use crate::problem::Problem;
use crate::respond::Caching;
use crate::service::{Service, page_part};
use crate::site::Site;
use crate::views::sources::{Imported, PreviewPage, SourceForm, SourceView, SourcesPage};
use crate::views::{Policy, html};
use auth::session::SignedIn;
use axum::extract::{Path, Request, State};
use axum::response::{IntoResponse, Response};
use domain::live::Hub;
use domain::sources::{Listed, NotConnected, PollOutcome, Preview, Sources, free_name};
use feeds::{catalogue, opml};
use http::header::{CONTENT_DISPOSITION, CONTENT_TYPE};
use http::{StatusCode, Uri};
use model::Clock;
use std::sync::Arc;

page_part! {
    /// The parts for pages of sources.
    SourcePages {
        site: Site,
        clock: Clock,
        hub: Arc<Hub>,
        sources: Sources,
    }
}

pub(super) async fn show(
    State(pages): State<SourcePages>,
    Person(person): Person,
    uri: Uri,
) -> Result<Response, Problem> {
    let service = field(uri.query().unwrap_or_default().as_bytes(), "service");
    let form = service.as_deref().map_or_else(SourceForm::default, SourceForm::for_service);
    pages.sources_page(&person, &uri, &form, None).await
}

/// Previews a source.
pub(super) async fn preview(
    State(pages): State<SourcePages>,
    uri: Uri,
    VerifiedForm { person, fields }: VerifiedForm,
) -> Result<Response, Problem> {
    let form = source_form(&fields);
    let address = match address(&form) {
        Ok(address) => address,
        Err(complaint) => return pages.sources_page(&person, &uri, &form, Some(complaint)).await,
    };
    match pages.sources.preview(&person.account, &address).await {
        Ok(found) => pages.preview_page(&person, &uri, &address, &found, None).await,
        Err(why) => pages.sources_page(&person, &uri, &form, Some(why.into())).await,
    }
}

/// Connects the previewed source. If the name is invalid or taken, shows the preview again with the reason.
pub(super) async fn connect(
    State(pages): State<SourcePages>,
    uri: Uri,
    VerifiedForm { person, fields }: VerifiedForm,
) -> Result<Response, Problem> {
    let (form, name) = (source_form(&fields), fields.text("name"));
    let (sources, account) = (pages.sources.clone(), Arc::clone(&person.account));
    let (address, requested_name) = (form.address.clone(), name.clone());
    let connected =
        run_to_completion(
            async move { sources.connect(&account, requested_name.as_deref(), &address).await },
        )
        .await?;
    pages.hub.wrote();
    let why = match connected {
        Ok(connected) if connected.is_new => {
            return Ok(go(&pages.site, "/settings/sources?done=connected"));
        }
        Ok(_) => return Ok(go(&pages.site, "/settings/sources?done=known")),
        Err(why) => why,
    };
    if matches!(why, NotConnected::BadName | NotConnected::NameTaken(_))
        && let Ok(found) = pages.sources.preview(&person.account, &form.address).await
    {
        let refused = Some((name.unwrap_or_default(), why.to_string()));
        return pages.preview_page(&person, &uri, &form.address, &found, refused).await;
    }
    pages.sources_page(&person, &uri, &form, Some(why.into())).await
}

/// Polls a source now.
pub(super) async fn check(
    State(pages): State<SourcePages>,
    Path(name): Path<String>,
    uri: Uri,
    VerifiedForm { person, .. }: VerifiedForm,
) -> Result<Response, Problem> {
    let (sources, account) = (pages.sources.clone(), Arc::clone(&person.account));
    let outcome = run_to_completion(async move { sources.check_again(&account, &name).await }).await?;
    pages.hub.wrote();
    let done = match outcome {
        Ok(None) => return Err(Problem::not_found()),
        Ok(Some(PollOutcome::Failed(_))) => "failed",
        Ok(Some(PollOutcome::Found(new))) if new > 0 => "found",
        Ok(Some(_)) => "looked",
        Err(why) => {
            return pages.sources_page(&person, &uri, &SourceForm::default(), Some(why.into())).await;
        }
    };
    Ok(go(&pages.site, &format!("/settings/sources?done={done}")))
}

pub(super) async fn pause(
    State(pages): State<SourcePages>,
    Path(name): Path<String>,
    VerifiedForm { person, .. }: VerifiedForm,
) -> Result<Response, Problem> {
    pages.set_paused(&person, &name, true).await
}

pub(super) async fn resume(
    State(pages): State<SourcePages>,
    Path(name): Path<String>,
    VerifiedForm { person, .. }: VerifiedForm,
) -> Result<Response, Problem> {
    pages.set_paused(&person, &name, false).await
}

/// Disconnects a source, and deletes its imported activities if the form says so.
pub(super) async fn remove(
    State(pages): State<SourcePages>,
    Path(name): Path<String>,
    VerifiedForm { person, fields }: VerifiedForm,
) -> Result<Response, Problem> {
    let (sources, account) = (pages.sources.clone(), person.account);
    let with_activities = fields.get("brought").as_deref() == Some("delete");
    let deleted =
        run_to_completion(async move { sources.disconnect(&account, &name, with_activities).await })
            .await??;
    pages.hub.wrote();
    deleted.ok_or_else(Problem::not_found)?;
    Ok(go(
        &pages.site,
        if with_activities {
            "/settings/sources?done=emptied"
        } else {
            "/settings/sources?done=disconnected"
        },
    ))
}

fn source_form(fields: &Fields) -> SourceForm {
    let text = |name: &str| fields.text(name).unwrap_or_default();
    let (address, service, person) = (text("address"), text("service"), text("person"));
    SourceForm { address, service, person, asked: None }
}

/// The entered address, or the address of the user's feed at the selected service.
fn address(form: &SourceForm) -> Result<String, FormError> {
    let Some(service) = catalogue::by_name(&form.service) else { return Ok(form.address.clone()) };
    let feed = service.feed_of(&form.person).map(String::from);
    feed.ok_or_else(|| FormError {
        status: StatusCode::UNPROCESSABLE_ENTITY,
        text: format!("Invalid username. {} needs {}.", service.name, service.asks),
    })
}

/// An error to show on the page, with the status of the response.
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
        FormError { status, text: user_message(&why) }
    }
}

/// Why a source was not connected. Store errors are logged, not shown.
pub(super) fn user_message(why: &NotConnected) -> String {
    match why {
        NotConnected::Store(error) => {
            tracing::error!(%error, "connecting a source failed");
            "Something went wrong on the server. Try again in a minute.".to_owned()
        }
        why => why.to_string(),
    }
}

impl SourcePages {
    async fn set_paused(&self, person: &SignedIn, name: &str, paused: bool) -> Result<Response, Problem> {
        if !self.sources.pause(&person.account, name, paused).await? {
            return Err(Problem::not_found());
        }
        Ok(go(
            &self.site,
            if paused { "/settings/sources?done=paused" } else { "/settings/sources?done=resumed" },
        ))
    }

    async fn sources_page(
        &self,
        person: &SignedIn,
        uri: &Uri,
        form: &SourceForm,
        complaint: Option<FormError>,
    ) -> Result<Response, Problem> {
        let status = complaint.as_ref().map_or(StatusCode::OK, |complaint| complaint.status);
        let complaint = complaint.map(|complaint| complaint.text);
        let page = self.sources_page_with(person, uri, status, (form, complaint.as_deref()), None).await?;
        Ok(with_retry_after(page, (status == StatusCode::TOO_MANY_REQUESTS).then_some(60)))
    }

    /// The sources page with the result of an OPML import or with a form error.
    pub(super) async fn sources_page_with(
        &self,
        person: &SignedIn,
        uri: &Uri,
        status: StatusCode,
        (form, complaint): (&SourceForm, Option<&str>),
        imported: Option<Imported>,
    ) -> Result<Response, Problem> {
        let listed = self.sources.list(&person.account).await?;
        let page = SourcesPage {
            site: &self.site,
            frame: settings_frame(&self.site, person, uri),
            complaint,
            form,
            imported,
            sources: listed.iter().map(SourceView::of).collect(),
        };
        Ok(html(status, &page, Policy::SAME_ORIGIN))
    }

    /// The preview page; `refused` is a rejected name and the reason.
    async fn preview_page(
        &self,
        person: &SignedIn,
        uri: &Uri,
        typed: &str,
        found: &Preview,
        refused: Option<(String, String)>,
    ) -> Result<Response, Problem> {
        let existing = self.sources.list(&person.account).await?;
        let is_taken = |name: &str| existing.iter().any(|listed| listed.connection.name == name);
        let is_same = |listed: &&Listed| listed.address() == found.address.as_str();
        let status = refused.as_ref().map_or(StatusCode::OK, |_| StatusCode::UNPROCESSABLE_ENTITY);
        let (name, complaint) = match refused {
            Some((name, why)) => (name, Some(why)),
            None => (free_name(&found.name, is_taken), None),
        };
        let page = PreviewPage {
            site: &self.site,
            frame: settings_frame(&self.site, person, uri),
            complaint: complaint.as_deref(),
            known: existing.iter().find(is_same).map(|listed| listed.connection.name.as_str()),
            typed,
            name: &name,
            found,
            now: self.clock.now(),
        };
        Ok(html(status, &page, Policy::SAME_ORIGIN))
    }
}

/// Maximum bytes of an OPML file.
const MAX_LIST: usize = 1 << 20;
/// Maximum feeds of one import.
const MAX_OUTLINES: usize = 100;

pub(super) async fn export_opml(
    State(pages): State<SourcePages>,
    Person(person): Person,
) -> Result<Response, Problem> {
    let outlines = pages.sources.outlines(&person.account).await?;
    let name = &person.account.name;
    let headers = [
        (CONTENT_TYPE, "text/x-opml; charset=utf-8".to_owned()),
        (CONTENT_DISPOSITION, format!("attachment; filename=\"{name}.opml\"")),
    ];
    Ok((headers, [Caching::Never.header()], opml::write(&outlines, &format!("Sources of {name}")))
        .into_response())
}

pub(super) async fn import_opml(
    State(service): State<Service>,
    State(pages): State<SourcePages>,
    request: Request,
) -> Result<Response, Response> {
    let upload = Upload::receive(&service, request, "list", MAX_LIST).await?;
    pages.import_list(upload).await.map_err(IntoResponse::into_response)
}

impl SourcePages {
    async fn import_list(&self, upload: Upload) -> Result<Response, Problem> {
        let (form, person) = (SourceForm::default(), &upload.person);
        let outlines = match opml::read(&upload.file) {
            Ok(outlines) if !outlines.is_empty() => outlines,
            _ => {
                let complaint = "The file is not an OPML list of feeds. Export one from your feed reader.";
                let (status, shown) = (StatusCode::UNPROCESSABLE_ENTITY, (&form, Some(complaint)));
                return self.sources_page_with(person, &upload.uri, status, shown, None).await;
            }
        };
        let mut imported = Imported::default();
        for outline in outlines.iter().take(MAX_OUTLINES) {
            match self.sources.connect_without_fetching(&person.account, outline).await {
                Ok(true) => imported.connected += 1,
                Ok(false) => imported.known += 1,
                Err(why) => imported.refused.push((outline.address.to_string(), user_message(&why))),
            }
        }
        imported.skipped =
            outlines.iter().skip(MAX_OUTLINES).map(|outline| outline.address.to_string()).collect();
        self.sources_page_with(person, &upload.uri, StatusCode::OK, (&form, None), Some(imported)).await
    }
}

/// Runs the work to completion, even if the client disconnects.
async fn run_to_completion<T: Send + 'static>(
    work: impl Future<Output = T> + Send + 'static,
) -> Result<T, Problem> {
    tokio::spawn(work).await.map_err(|_| Problem::internal())
}
