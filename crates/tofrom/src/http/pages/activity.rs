//! `/activity/{id}` as a page, with the forms to remove or delete the activity.

use super::super::{Problem, Service};
use super::form::VerifiedForm;
use super::{Person, post_only};
use crate::pages::activity::ActivityPage;
use crate::pages::frame::{Frame, Section};
use crate::pages::item::Viewer;
use crate::pages::{Policy, html};
use axum::extract::{FromRequestParts, Path, Request, State};
use axum::response::Response;
use axum::routing::{MethodRouter, post};
use http::StatusCode;
use model::{ActivityId, Version};
use std::sync::Arc;
use store::ExternalKey;

pub(in crate::http) fn remove_methods() -> MethodRouter<Arc<Service>> {
    post_only(post(remove))
}

pub(in crate::http) fn delete_methods() -> MethodRouter<Arc<Service>> {
    post_only(post(delete))
}

/// The page of an activity, for a signed-in user.
pub(in crate::http) async fn show(
    service: Arc<Service>,
    id: Option<ActivityId>,
    request: Request,
) -> Result<Response, Problem> {
    let (mut parts, _) = request.into_parts();
    let Person(person) = match Person::from_request_parts(&mut parts, &service).await {
        Ok(person) => person,
        Err(to_sign_in) => return Ok(to_sign_in),
    };
    let uri = &parts.uri;
    let (activity, actor) = service.visible(&person.principal(), id).await?;
    let pictures = super::form::field(uri.query().unwrap_or_default().as_bytes(), "pictures").is_some();
    let viewer = Viewer { site: &service.site, person: &person, now: service.clock.now() };
    let page = ActivityPage {
        site: &service.site,
        frame: Frame::new(&service.site, &person, Section::Other, uri),
        item: viewer.item(&activity.state, &actor, &activity.body),
        state: &activity.state,
        pictures,
    };
    Ok(html(StatusCode::OK, &page, Policy::SAME_ORIGIN.with_pictures(pictures)))
}

/// Removes the activity from the user's feed.
async fn remove(
    State(service): State<Arc<Service>>,
    Path(id): Path<String>,
    form: VerifiedForm,
) -> Result<Response, Problem> {
    let id = ActivityId::parse(&id).ok_or_else(Problem::not_found)?;
    let state = service.received_activity(&form.person.account, id).await?;
    let version = Version::next(service.clock.now(), None);
    service.store.remove(form.person.account.uid, state.id, state.received, version).await?;
    service.hub.wrote();
    Ok(service.go("/feed?done=removed"))
}

/// Deletes the user's own activity from every feed.
async fn delete(
    State(service): State<Arc<Service>>,
    Path(id): Path<String>,
    form: VerifiedForm,
) -> Result<Response, Problem> {
    let (activity, actor) = service.visible(&form.person.principal(), ActivityId::parse(&id)).await?;
    if actor.uid != form.person.account.uid {
        return Err(Problem::not_found());
    }
    let service_name = activity.state.facet.service.clone();
    let source = ExternalKey { actor: actor.uid, service: service_name, id: activity.body.source_id };
    service.ingest.delete(&source).await?;
    service.hub.wrote();
    Ok(service.go("/feed?done=deleted"))
}
