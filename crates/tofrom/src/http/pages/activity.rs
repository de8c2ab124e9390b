//! One activity for people, and what its reader can do with it.

use super::super::{Problem, Service};
use super::form::Sent;
use super::{Person, sent};
use crate::pages::activity::ActivityPage;
use crate::pages::frame::{Frame, Here};
use crate::pages::item::Looking;
use crate::pages::{Policy, html};
use axum::extract::{FromRequestParts, Path, Request, State};
use axum::response::Response;
use axum::routing::{MethodRouter, post};
use http::StatusCode;
use model::{ActivityId, Version};
use std::sync::Arc;
use store::ExternalKey;

pub(in crate::http) fn remove_methods() -> MethodRouter<Arc<Service>> {
    sent(post(remove))
}

pub(in crate::http) fn delete_methods() -> MethodRouter<Arc<Service>> {
    sent(post(delete))
}

/// The page of an activity, for a person who is signed in.
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
    let looking = Looking { site: &service.site, person: &person, now: service.clock.now() };
    let page = ActivityPage {
        site: &service.site,
        frame: Frame::new(&service.site, &person, Here::Elsewhere, uri),
        item: looking.at(&activity.state, &actor, &activity.body),
        state: &activity.state,
        pictures,
    };
    Ok(html(StatusCode::OK, &page, Policy::OURS.with_pictures(pictures)))
}

/// Takes it out of what reaches the person.
async fn remove(
    State(service): State<Arc<Service>>,
    Path(id): Path<String>,
    sent: Sent,
) -> Result<Response, Problem> {
    let id = ActivityId::parse(&id).ok_or_else(Problem::not_found)?;
    let state = service.received_activity(&sent.person.account, id).await?;
    let version = Version::next(service.clock.now(), None);
    service.store.remove(sent.person.account.uid, state.id, state.received, version).await?;
    service.hub.wrote();
    Ok(service.go("/feed?done=removed"))
}

/// Takes one's own back, everywhere.
async fn delete(
    State(service): State<Arc<Service>>,
    Path(id): Path<String>,
    sent: Sent,
) -> Result<Response, Problem> {
    let (activity, actor) = service.visible(&sent.person.principal(), ActivityId::parse(&id)).await?;
    if actor.uid != sent.person.account.uid {
        return Err(Problem::not_found());
    }
    let service_name = activity.state.facet.service.clone();
    let source = ExternalKey { actor: actor.uid, service: service_name, id: activity.body.source_id };
    service.ingest.delete(&source).await?;
    service.hub.wrote();
    Ok(service.go("/feed?done=deleted"))
}
