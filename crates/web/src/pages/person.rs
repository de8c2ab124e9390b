//! `/user/{name}`: the profile of an account, with its activities and buttons to follow, mute and block.

use crate::accounts::Accounts;
use crate::pages::form::VerifiedForm;
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
use model::{
    Account, AccountName, Collection, Decision, FeedQuery, RawQuery, Reader, Relation, encode_component,
};
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

pub(crate) fn block_methods() -> MethodRouter<Service> {
    post_only(post(block))
}

pub(crate) fn unblock_methods() -> MethodRouter<Service> {
    post_only(post(unblock))
}

pub(crate) fn mute_methods() -> MethodRouter<Service> {
    post_only(post(mute))
}

pub(crate) fn unmute_methods() -> MethodRouter<Service> {
    post_only(post(unmute))
}

pub(crate) fn remove_follower_methods() -> MethodRouter<Service> {
    post_only(post(remove_follower))
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
    let query = collections.site.query(&RawQuery::parse(query_string), owner.uid, Collection::From)?;
    let query = FeedQuery { count: query.count.min(super::feed::MAX_COUNT), format: None, ..query };
    let (page, items) = collections.items(reader, &query, &person, None).await?;
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
    let relation = match itself {
        true => Relation::default(),
        false => following::relation(accounts.store.as_ref(), &person.account.name, &owner.name).await?,
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
        relation,
        verified: verified.iter().filter_map(PageLink::to).collect(),
        days: group::by_day(group::of(items), collections.clock.now()),
        next: page.next.map(|next| query.from(next)),
    };
    Ok(html(StatusCode::OK, &shown, Policy::SAME_ORIGIN))
}

async fn follow(
    State(site): State<Site>,
    State(accounts): State<Accounts>,
    Path(name): Path<String>,
    form: VerifiedForm,
) -> Result<Response, Problem> {
    let other = accounts.named(&name).await?;
    let mine = &form.person.account;
    if !(other.public || mine.operator) || other.uid == mine.uid {
        return Err(Problem::not_found());
    }
    accounts.follow(mine, &other).await?;
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

async fn block(
    State(accounts): State<Accounts>,
    State(site): State<Site>,
    Path(name): Path<String>,
    form: VerifiedForm,
) -> Result<Response, Problem> {
    let other = other_name(&name, &form)?;
    accounts.decide(&form.person.account, Decision::Block, &other).await?;
    Ok(go(&site, &decided(&form, &other, "blocked")))
}

async fn unblock(
    State(accounts): State<Accounts>,
    State(site): State<Site>,
    Path(name): Path<String>,
    form: VerifiedForm,
) -> Result<Response, Problem> {
    let other = other_name(&name, &form)?;
    accounts.lift(&form.person.account, Decision::Block, &other).await?;
    Ok(go(&site, &decided(&form, &other, "unblocked")))
}

async fn mute(
    State(accounts): State<Accounts>,
    State(site): State<Site>,
    Path(name): Path<String>,
    form: VerifiedForm,
) -> Result<Response, Problem> {
    let other = other_name(&name, &form)?;
    accounts.decide(&form.person.account, Decision::Mute, &other).await?;
    Ok(go(&site, &decided(&form, &other, "muted")))
}

async fn unmute(
    State(accounts): State<Accounts>,
    State(site): State<Site>,
    Path(name): Path<String>,
    form: VerifiedForm,
) -> Result<Response, Problem> {
    let other = other_name(&name, &form)?;
    accounts.lift(&form.person.account, Decision::Mute, &other).await?;
    Ok(go(&site, &decided(&form, &other, "unmuted")))
}

async fn remove_follower(
    State(accounts): State<Accounts>,
    State(site): State<Site>,
    Path(name): Path<String>,
    form: VerifiedForm,
) -> Result<Response, Problem> {
    let other = other_name(&name, &form)?;
    accounts.remove_follower(&form.person.account, &other).await?;
    Ok(go(&site, "/settings/people?done=follower"))
}

/// The other account's name. It need not exist.
fn other_name(name: &str, form: &VerifiedForm) -> Result<AccountName, Problem> {
    let name = AccountName::parse(name).map_err(|_| Problem::not_found())?;
    if name == form.person.account.name { Err(Problem::not_found()) } else { Ok(name) }
}

/// The path of the page that the form was on, with a notice.
fn decided(form: &VerifiedForm, other: &AccountName, done: &str) -> String {
    match form.fields.get("from").as_deref() {
        Some("people") => format!("/settings/people?done={done}"),
        _ => format!("/user/{other}?done={done}"),
    }
}

/// The path of the page that the form was on.
fn back(form: &VerifiedForm, other: &Account) -> String {
    match form.fields.get("from").as_deref() {
        Some("people") => "/settings/people".to_owned(),
        Some("steps") => "/feed".to_owned(),
        Some("search") => {
            let words = form.fields.text("q");
            words.map_or("/people".to_owned(), |words| format!("/people?q={}", encode_component(&words)))
        }
        // A private account has no profile page for an account that does not follow it.
        _ if other.public => format!("/user/{}", other.name),
        _ => "/feed".to_owned(),
    }
}
