//! `/user/{name}`: the profile of an account, with its activities and a follow button.

use crate::accounts::Accounts;
use crate::pages::form::{VerifiedForm, field};
use crate::pages::{Person, get_only, go, post_only};
use crate::problem::Problem;
use crate::service::{Collections, Service};
use crate::site::Site;
use crate::views::feed::PersonPage;
use crate::views::frame::{Frame, Section};
use crate::views::sources::PageLink;
use crate::views::{Policy, group, html};
use axum::extract::{Path, State};
use axum::response::Response;
use axum::routing::{MethodRouter, get, post};
use domain::following;
use domain::sources::Sources;
use http::{StatusCode, Uri};
use model::{Account, AccountName, Collection, FeedQuery, RawQuery, Reader};
use std::sync::Arc;

pub(crate) fn show_methods() -> MethodRouter<Service> {
    get_only(get(show))
}

pub(crate) fn follow_methods() -> MethodRouter<Service> {
    post_only(post(follow))
}

pub(crate) fn unfollow_methods() -> MethodRouter<Service> {
    post_only(post(unfollow))
}

async fn show(
    State(accounts): State<Accounts>,
    State(collections): State<Arc<Collections>>,
    State(sources): State<Sources>,
    Person(person): Person,
    Path(name): Path<String>,
    uri: Uri,
) -> Result<Response, Problem> {
    let name = AccountName::parse(&name).map_err(|_| Problem::not_found())?;
    let (owner, reader) = accounts.open_collection(&person.principal(), &name).await?;
    let query_string = uri.query().unwrap_or_default().as_bytes();
    let pictures = field(query_string, "pictures").is_some();
    let query = collections.site.query(&RawQuery::parse(query_string), owner.uid, Collection::From)?;
    let query = FeedQuery { count: query.count.min(super::feed::MAX_COUNT), format: None, ..query };
    let (page, items) = collections.items(reader, &query, &person).await?;
    let itself = owner.uid == person.account.uid;
    let followed = match reader {
        Reader::Other { follows_owner, .. } => follows_owner,
        Reader::Owner if itself => false,
        // An operator reads every collection as its owner.
        Reader::Owner => {
            let edge = following::edge(accounts.store.as_ref(), person.account.uid, owner.uid).await?;
            edge.is_some_and(|edge| edge.following)
        }
    };
    let verified = sources.verified_pages(&owner).await?;
    let shown = PersonPage {
        site: &collections.site,
        frame: Frame::new(
            &collections.site,
            &person,
            if itself { Section::Me } else { Section::Other },
            &uri,
        ),
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
    State(site): State<Site>,
    State(accounts): State<Accounts>,
    Path(name): Path<String>,
    form: VerifiedForm,
) -> Result<Response, Problem> {
    let other = accounts.named(&name).await?;
    let may = other.public || form.person.account.operator;
    if !may || other.uid == form.person.account.uid {
        return Err(Problem::not_found());
    }
    following::follow(accounts.store.as_ref(), &accounts.clock, form.person.account.uid, &other).await?;
    accounts.hub.wrote();
    Ok(go(&site, &back(&form, &other)))
}

async fn unfollow(
    State(site): State<Site>,
    State(accounts): State<Accounts>,
    Path(name): Path<String>,
    form: VerifiedForm,
) -> Result<Response, Problem> {
    let other = accounts.named(&name).await?;
    let edge = following::edge(accounts.store.as_ref(), form.person.account.uid, other.uid).await?;
    if edge.is_none() {
        return Err(Problem::not_found());
    }
    following::unfollow(accounts.store.as_ref(), &accounts.clock, form.person.account.uid, other.uid).await?;
    accounts.hub.wrote();
    Ok(go(&site, &back(&form, &other)))
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
