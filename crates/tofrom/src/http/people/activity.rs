//! `/activity/{id}`: one activity, and what its reader can do with it.

use super::super::{Problem, Service};
use super::form::Sent;
use super::{Person, sent, shown};
use crate::auth::session::SignedIn;
use crate::pages::activity::ActivityPage;
use crate::pages::frame::{Frame, Here};
use crate::pages::item::Looking;
use crate::pages::{Policy, html};
use axum::extract::{Path, State};
use axum::response::Response;
use axum::routing::{MethodRouter, get, post};
use http::{StatusCode, Uri};
use model::{Account, Activity, ActivityId, Reader, Version, belongs, may_see};
use std::sync::Arc;
use store::SourceKey;

pub(in crate::http) fn show_methods() -> MethodRouter<Arc<Service>> {
    shown(get(show))
}

pub(in crate::http) fn remove_methods() -> MethodRouter<Arc<Service>> {
    sent(post(remove))
}

pub(in crate::http) fn delete_methods() -> MethodRouter<Arc<Service>> {
    sent(post(delete))
}

async fn show(
    State(service): State<Arc<Service>>,
    Person(person): Person,
    Path(id): Path<String>,
    uri: Uri,
) -> Result<Response, Problem> {
    let (activity, actor) = service.visible(&person, &id).await?;
    let pictures = super::form::field(uri.query().unwrap_or_default().as_bytes(), "pictures").is_some();
    let looking = Looking { site: &service.site, person: &person, now: service.clock.now() };
    let page = ActivityPage {
        site: &service.site,
        frame: Frame::new(&service.site, &person, Here::Elsewhere, &uri),
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
    let state = service.reaching(&sent.person.account, id).await?;
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
    let (activity, actor) = service.visible(&sent.person, &id).await?;
    if actor.uid != sent.person.account.uid {
        return Err(Problem::not_found());
    }
    let service_name = activity.state.facet.service.clone();
    let source = SourceKey { actor: actor.uid, service: service_name, id: activity.body.source_id };
    service.ingest.delete(&source).await?;
    service.hub.wrote();
    Ok(service.go("/feed?done=deleted"))
}

impl Service {
    /// An activity that the person may see: because it is in a collection of theirs, or in what somebody did whose
    /// collection they may read.
    async fn visible(&self, person: &SignedIn, id: &str) -> Result<(Activity, Arc<Account>), Problem> {
        let id = ActivityId::parse(id).ok_or_else(Problem::not_found)?;
        let found = self.store.activities(&[id]).await?.into_iter().flatten().next();
        let found = found.filter(|one| !one.state.deleted && self.retains(one.state.received));
        let Activity { state, body } = found.ok_or_else(Problem::not_found)?;
        let actor = self.accounts.get(state.actor).await?.filter(|actor| !actor.removed);
        let actor = actor.ok_or_else(Problem::not_found)?;
        let me = person.account.uid;
        let edge = self.store.edges(me, &[state.actor]).await?.into_iter().flatten().next();
        let mine = belongs(&state, me, edge.as_ref(), false);
        // As whom they would read the collection of who did it, with what is known of both already.
        let follows_owner = edge.is_some_and(|edge| edge.following);
        let reader = match (person.account.operator, actor.public) {
            (true, _) => Some(Reader::Owner),
            (false, true) => Some(Reader::Other { uid: me, follows_owner }),
            (false, false) => None,
        };
        let theirs = reader.is_some_and(|reader| may_see(reader, actor.uid, &state, &actor));
        if !(mine.from || mine.to || theirs) {
            return Err(Problem::not_found());
        }
        Ok((Activity { state, body }, actor))
    }
}
