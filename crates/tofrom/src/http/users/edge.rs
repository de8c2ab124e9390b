//! `/200909/user/{user}/following/{other}`: follow and unfollow.

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

/// An account may follow public accounts; operators may create any edge. To other callers a private account looks like
/// an absent one.
async fn follow(
    State(service): State<Arc<Service>>,
    Extension(caller): Caller,
    request: Request,
) -> Result<StatusCode, Problem> {
    let follower = service.open_for_writing(&caller, user(request.uri().path())).await?;
    let other = followee_name(&follower, request.uri().path())?;
    let found = service.store.account_by_name(&other).await?.filter(|other| !other.removed);
    let followee =
        found.filter(|followee| followee.public || caller.is_operator()).ok_or_else(Problem::not_found)?;
    following::follow(service.store.as_ref(), &service.clock, follower.uid, &followee).await?;
    service.hub.wrote();
    Ok(StatusCode::NO_CONTENT)
}

/// Unfollowing works even if the other account has become private since.
async fn unfollow(
    State(service): State<Arc<Service>>,
    Extension(caller): Caller,
    request: Request,
) -> Result<StatusCode, Problem> {
    let follower = service.open_for_writing(&caller, user(request.uri().path())).await?;
    let other = followee_name(&follower, request.uri().path())?;
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

/// The name of the other account.
fn followee_name(follower: &Account, path: &str) -> Result<AccountName, Problem> {
    let other = segments(path).nth(2).and_then(name).ok_or_else(Problem::not_found)?;
    if other == follower.name {
        let detail =
            "an account cannot follow itself: its own activities are in its collections anyway".to_owned();
        return Err(Refused { field: "following".to_owned(), detail }.into());
    }
    Ok(other)
}
