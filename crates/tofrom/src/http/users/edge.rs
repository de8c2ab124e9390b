//! `/200909/user/{user}/following/{other}`: an account follows another, or does not any more.

use super::super::authenticated::Caller;
use super::super::writing::address::{name, segments, user};
use super::super::{Problem, Service};
use crate::following;
use crate::ingest::Refused;
use axum::extract::{Extension, Request, State};
use axum::routing::{MethodRouter, put};
use http::StatusCode;
use model::{Account, AccountName};
use std::sync::Arc;

pub(in crate::http) fn methods() -> MethodRouter<Arc<Service>> {
    put(follow).delete(unfollow).fallback(|| async { Problem::method_not_allowed("PUT, DELETE") })
}

/// An account follows public accounts; operators make any edge. To all others a private account is what an absent one
/// is.
async fn follow(
    State(service): State<Arc<Service>>,
    Extension(caller): Caller,
    request: Request,
) -> Result<StatusCode, Problem> {
    let follower = service.open_for_writing(&caller, user(request.uri().path())).await?;
    let other = other_than(&follower, request.uri().path())?;
    let found = service.store.account_by_name(&other).await?.filter(|other| !other.removed);
    let followee =
        found.filter(|followee| followee.public || caller.is_operator()).ok_or_else(Problem::not_found)?;
    following::follow(service.store.as_ref(), &service.clock, follower.uid, &followee).await?;
    service.hub.wrote();
    Ok(StatusCode::NO_CONTENT)
}

/// Who once followed knows the other, whatever the other has become since.
async fn unfollow(
    State(service): State<Arc<Service>>,
    Extension(caller): Caller,
    request: Request,
) -> Result<StatusCode, Problem> {
    let follower = service.open_for_writing(&caller, user(request.uri().path())).await?;
    let other = other_than(&follower, request.uri().path())?;
    let followee = service.store.account_by_name(&other).await?.ok_or_else(Problem::not_found)?;
    let edge = following::edge(service.store.as_ref(), follower.uid, followee.uid).await?;
    let visible = !followee.removed && (followee.public || caller.is_operator());
    if edge.is_none() && !visible {
        return Err(Problem::not_found());
    }
    following::unfollow(service.store.as_ref(), &service.clock, follower.uid, followee.uid).await?;
    service.hub.wrote();
    Ok(StatusCode::NO_CONTENT)
}

/// The other account's name.
fn other_than(follower: &Account, path: &str) -> Result<AccountName, Problem> {
    let other = segments(path).nth(2).and_then(name).ok_or_else(Problem::not_found)?;
    if other == follower.name {
        let detail = "nobody follows themselves: what an account did is in its collection anyway".to_owned();
        return Err(Refused { field: "following".to_owned(), detail }.into());
    }
    Ok(other)
}
