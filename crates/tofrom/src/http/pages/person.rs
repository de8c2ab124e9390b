//! `/user/{name}`: one person and what they did, to follow or not.

use super::super::{Problem, Service};
use super::form::{Sent, field};
use super::{Person, sent, shown};
use crate::following;
use crate::pages::frame::{Frame, Here};
use crate::pages::person::PersonPage;
use crate::pages::sources::Link;
use crate::pages::{Policy, group, html};
use axum::extract::{Path, State};
use axum::response::Response;
use axum::routing::{MethodRouter, get, post};
use http::{StatusCode, Uri};
use model::{Account, AccountName, Collection, FeedQuery, RawQuery, Reader};
use std::sync::Arc;

pub(in crate::http) fn show_methods() -> MethodRouter<Arc<Service>> {
    shown(get(show))
}

pub(in crate::http) fn follow_methods() -> MethodRouter<Arc<Service>> {
    sent(post(follow))
}

pub(in crate::http) fn unfollow_methods() -> MethodRouter<Arc<Service>> {
    sent(post(unfollow))
}

async fn show(
    State(service): State<Arc<Service>>,
    Person(person): Person,
    Path(name): Path<String>,
    uri: Uri,
) -> Result<Response, Problem> {
    let name = AccountName::parse(&name).map_err(|_| Problem::not_found())?;
    let (owner, reader) = service.open_collection(&person.principal(), &name).await?;
    let asked = uri.query().unwrap_or_default().as_bytes();
    let pictures = field(asked, "pictures").is_some();
    let query = FeedQuery::resolve(&RawQuery::parse(asked), owner.uid, Collection::From)?;
    let query = FeedQuery { count: query.count.min(super::feed::MAX_COUNT), format: None, ..query };
    let (page, items) = service.items(reader, &query, &person).await?;
    let itself = owner.uid == person.account.uid;
    let followed = match reader {
        Reader::Other { follows_owner, .. } => follows_owner,
        Reader::Owner if itself => false,
        // An operator.
        Reader::Owner => {
            let edge = following::edge(service.store.as_ref(), person.account.uid, owner.uid).await?;
            edge.is_some_and(|edge| edge.following)
        }
    };
    let verified = service.sources.verified_pages(&owner).await?;
    let shown = PersonPage {
        site: &service.site,
        frame: Frame::new(&service.site, &person, if itself { Here::Me } else { Here::Elsewhere }, &uri),
        owner: &owner,
        itself,
        followed,
        verified: verified.iter().filter_map(Link::to).collect(),
        groups: group::of(items),
        next: page.next.map(|next| query.from(next)),
        pictures,
    };
    Ok(html(StatusCode::OK, &shown, Policy::OURS.with_pictures(pictures)))
}

async fn follow(
    State(service): State<Arc<Service>>,
    Path(name): Path<String>,
    sent: Sent,
) -> Result<Response, Problem> {
    let other = service.account_named(&name).await?;
    let may = other.public || sent.person.account.operator;
    if !may || other.uid == sent.person.account.uid {
        return Err(Problem::not_found());
    }
    following::follow(service.store.as_ref(), &service.clock, sent.person.account.uid, &other).await?;
    service.hub.wrote();
    Ok(service.go(&back(&sent, &other)))
}

async fn unfollow(
    State(service): State<Arc<Service>>,
    Path(name): Path<String>,
    sent: Sent,
) -> Result<Response, Problem> {
    let other = service.account_named(&name).await?;
    let edge = following::edge(service.store.as_ref(), sent.person.account.uid, other.uid).await?;
    if edge.is_none() {
        return Err(Problem::not_found());
    }
    following::unfollow(service.store.as_ref(), &service.clock, sent.person.account.uid, other.uid).await?;
    service.hub.wrote();
    Ok(service.go(&back(&sent, &other)))
}

/// To the page that the form was on.
fn back(sent: &Sent, other: &Account) -> String {
    match sent.fields.get("from").as_deref() {
        Some("people") => "/settings/people".to_owned(),
        // Somebody private has no page for others once nobody follows them.
        _ if other.public => format!("/user/{}", other.name),
        _ => "/feed".to_owned(),
    }
}
