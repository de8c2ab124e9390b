//! Followees and followers.

use super::super::super::{Problem, Service};
use super::super::Person;
use super::super::form::{VerifiedForm, field};
use crate::auth::session::SignedIn;
use crate::following;
use crate::pages::settings::PeoplePage;
use crate::pages::{Policy, html};
use axum::extract::State;
use axum::response::Response;
use http::{StatusCode, Uri};
use model::{Account, AccountName, Uid};
use std::sync::Arc;

/// Accounts per page of each list.
const PAGE: usize = 50;

pub(super) async fn show(
    State(service): State<Arc<Service>>,
    Person(person): Person,
    uri: Uri,
) -> Result<Response, Problem> {
    service.people_page(&person, &uri, StatusCode::OK, None).await
}

pub(super) async fn follow(
    State(service): State<Arc<Service>>,
    uri: Uri,
    VerifiedForm { person, fields }: VerifiedForm,
) -> Result<Response, Problem> {
    let name = AccountName::parse(fields.get("name").unwrap_or_default().trim()).ok();
    let found = match name {
        Some(name) => service.store.account_by_name(&name).await?,
        None => None,
    };
    let mine = &person.account;
    let found =
        found.filter(|other| !other.removed && (other.public || mine.operator) && other.uid != mine.uid);
    let Some(other) = found else {
        let complaint = Some("There is no account with this username that you can follow.");
        return service.people_page(&person, &uri, StatusCode::NOT_FOUND, complaint).await;
    };
    following::follow(service.store.as_ref(), &service.clock, mine.uid, &other).await?;
    service.hub.wrote();
    Ok(service.go("/settings/people"))
}

impl Service {
    async fn people_page(
        &self,
        person: &SignedIn,
        uri: &Uri,
        status: StatusCode,
        complaint: Option<&str>,
    ) -> Result<Response, Problem> {
        let me = person.account.uid;
        let after =
            |name: &str| field(uri.query().unwrap_or_default().as_bytes(), name)?.parse().ok().map(Uid);
        let following = self.store.following(me, after("following"), PAGE).await?;
        let followers = self.store.followers(me, after("followers"), PAGE).await?;
        let following: Vec<Uid> = following.into_iter().map(|(uid, _)| uid).collect();
        let followers: Vec<Uid> = followers.into_iter().map(|follower| follower.uid).collect();
        let more = |list: &[Uid]| list.last().filter(|_| list.len() == PAGE).map(|uid| uid.0);
        let (more_following, more_followers) = (more(&following), more(&followers));
        let both: Vec<Uid> = following.iter().chain(&followers).copied().collect();
        let mut accounts = self.store.accounts(&both).await?;
        let present = |accounts: Vec<Option<Account>>| {
            accounts.into_iter().flatten().filter(|account| !account.removed).collect::<Vec<_>>()
        };
        let followers = present(accounts.split_off(following.len().min(accounts.len())));
        let page = PeoplePage {
            site: &self.site,
            frame: self.settings_frame(person, uri),
            complaint,
            following: present(accounts),
            followers,
            more_following,
            more_followers,
        };
        Ok(html(status, &page, Policy::SAME_ORIGIN))
    }
}
