//! `/user/{name}`: the profile of an account, with its activities and a follow button.

use super::super::{Problem, Service};
use super::form::{VerifiedForm, field};
use super::{Person, get_only, post_only};
use crate::following;
use crate::pages::frame::{Frame, Section};
use crate::pages::person::PersonPage;
use crate::pages::sources::PageLink;
use crate::pages::{Policy, group, html};
use axum::extract::{Path, State};
use axum::response::Response;
use axum::routing::{MethodRouter, get, post};
use http::{StatusCode, Uri};
use model::{Account, AccountName, Collection, FeedQuery, RawQuery, Reader};
use std::sync::Arc;

pub(in crate::http) fn show_methods() -> MethodRouter<Arc<Service>> {
    get_only(get(show))
}

pub(in crate::http) fn follow_methods() -> MethodRouter<Arc<Service>> {
    post_only(post(follow))
}

pub(in crate::http) fn unfollow_methods() -> MethodRouter<Arc<Service>> {
    post_only(post(unfollow))
}

async fn show(
    State(service): State<Arc<Service>>,
    Person(person): Person,
    Path(name): Path<String>,
    uri: Uri,
) -> Result<Response, Problem> {
    let name = AccountName::parse(&name).map_err(|_| Problem::not_found())?;
    let (owner, reader) = service.open_collection(&person.principal(), &name).await?;
    let query_string = uri.query().unwrap_or_default().as_bytes();
    let pictures = field(query_string, "pictures").is_some();
    let query = FeedQuery::resolve(&RawQuery::parse(query_string), owner.uid, Collection::From)?;
    let query = FeedQuery { count: query.count.min(super::feed::MAX_COUNT), format: None, ..query };
    let (page, items) = service.items(reader, &query, &person).await?;
    let itself = owner.uid == person.account.uid;
    let followed = match reader {
        Reader::Other { follows_owner, .. } => follows_owner,
        Reader::Owner if itself => false,
        // An operator reads every collection as its owner.
        Reader::Owner => {
            let edge = following::edge(service.store.as_ref(), person.account.uid, owner.uid).await?;
            edge.is_some_and(|edge| edge.following)
        }
    };
    let verified = service.sources.verified_pages(&owner).await?;
    let shown = PersonPage {
        site: &service.site,
        frame: Frame::new(&service.site, &person, if itself { Section::Me } else { Section::Other }, &uri),
        owner: &owner,
        itself,
        followed,
        verified: verified.iter().filter_map(PageLink::to).collect(),
        groups: group::of(items),
        next: page.next.map(|next| query.from(next)),
        pictures,
    };
    Ok(html(StatusCode::OK, &shown, Policy::SAME_ORIGIN.with_pictures(pictures)))
}

async fn follow(
    State(service): State<Arc<Service>>,
    Path(name): Path<String>,
    form: VerifiedForm,
) -> Result<Response, Problem> {
    let other = service.account_named(&name).await?;
    let may = other.public || form.person.account.operator;
    if !may || other.uid == form.person.account.uid {
        return Err(Problem::not_found());
    }
    following::follow(service.store.as_ref(), &service.clock, form.person.account.uid, &other).await?;
    service.hub.wrote();
    Ok(service.go(&back(&form, &other)))
}

async fn unfollow(
    State(service): State<Arc<Service>>,
    Path(name): Path<String>,
    form: VerifiedForm,
) -> Result<Response, Problem> {
    let other = service.account_named(&name).await?;
    let edge = following::edge(service.store.as_ref(), form.person.account.uid, other.uid).await?;
    if edge.is_none() {
        return Err(Problem::not_found());
    }
    following::unfollow(service.store.as_ref(), &service.clock, form.person.account.uid, other.uid).await?;
    service.hub.wrote();
    Ok(service.go(&back(&form, &other)))
}

/// The path of the page that the form was on.
fn back(form: &VerifiedForm, other: &Account) -> String {
    match form.fields.get("from").as_deref() {
        Some("people") => "/settings/people".to_owned(),
        // A private account has no profile page for an account that does not follow it.
        _ if other.public => format!("/user/{}", other.name),
        _ => "/feed".to_owned(),
    }
}
