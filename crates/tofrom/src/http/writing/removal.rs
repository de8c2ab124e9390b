//! `DELETE /200909/activity/{user}/to/{activity}`: a recipient removes an activity from their `to`.

use super::super::authenticated::Caller;
use super::super::{Problem, Service};
use super::address::{segments, user};
use axum::extract::{Extension, Request, State};
use axum::routing::MethodRouter;
use http::StatusCode;
use model::{Account, ActivityId, State as ActivityState, Version, belongs};
use std::sync::Arc;

pub(in crate::http) fn methods() -> MethodRouter<Arc<Service>> {
    axum::routing::delete(remove).fallback(|| async { Problem::method_not_allowed("DELETE") })
}

async fn remove(
    State(service): State<Arc<Service>>,
    Extension(caller): Caller,
    request: Request,
) -> Result<StatusCode, Problem> {
    let path = request.uri().path();
    let owner = service.open_for_writing(&caller, user(path)).await?;
    let id = segments(path).nth(2).flatten().and_then(|text| ActivityId::parse(&text));
    let state = service.received_activity(&owner, id.ok_or_else(Problem::not_found)?).await?;
    let version = Version::next(service.clock.now(), None);
    service.store.remove(owner.uid, state.id, state.received, version).await?;
    service.hub.wrote();
    Ok(StatusCode::NO_CONTENT)
}

impl Service {
    /// An activity that is currently in the account's `to`.
    pub(in crate::http) async fn received_activity(
        &self,
        owner: &Account,
        id: ActivityId,
    ) -> Result<ActivityState, Problem> {
        let found = self.store.states(&[id]).await?.into_iter().flatten().next();
        let state = found.ok_or_else(Problem::not_found)?;
        let edge = self.store.edges(owner.uid, &[state.actor]).await?.into_iter().flatten().next();
        let removed = self.store.removed(owner.uid, &[(id, state.received)]).await?.contains(&true);
        let actor = self.accounts.get(state.actor).await?.filter(|actor| !actor.removed);
        let reaches = belongs(&state, owner.uid, edge.as_ref(), removed).to && actor.is_some();
        if reaches { Ok(state) } else { Err(Problem::not_found()) }
    }
}
