//! Who has an account: found by name, made, invited, helped to a new password, disabled.

use super::super::super::{Problem, Service};
use super::super::form::field;
use super::{Operator, Ordered};
use crate::accounts::{self, person_name};
use crate::auth::session::SignedIn;
use crate::pages::operator::{AccountsPage, Link};
use crate::pages::{Policy, html};
use axum::extract::{Path, State};
use axum::response::Response;
use http::{StatusCode, Uri};
use model::{Account, AccountName, Uid, Version};
use std::sync::Arc;
use store::NewAccount;

/// Accounts on a page.
const PAGE: usize = 50;

pub(super) async fn show(
    State(service): State<Arc<Service>>,
    Operator(person): Operator,
    uri: Uri,
) -> Result<Response, Problem> {
    service.accounts_page(&person, &uri, StatusCode::OK, Told::default()).await
}

/// An account without a password: whoever it is for gets a link to set one.
pub(super) async fn create(
    State(service): State<Arc<Service>>,
    uri: Uri,
    Ordered(sent): Ordered,
) -> Result<Response, Problem> {
    let complain = |status, complaint| (status, Told { complaint: Some(complaint), link: None });
    let wrong = StatusCode::UNPROCESSABLE_ENTITY;
    let text = |name: &str| sent.fields.get(name).unwrap_or_default();
    let named = AccountName::parse(text("name").trim());
    let (given, family) = (person_name(&text("given")), person_name(&text("family")));
    let (status, told) = match (named, given, family) {
        (Err(why), _, _) => complain(wrong, why.to_string()),
        (_, Err(why), _) | (_, _, Err(why)) => complain(wrong, why.to_string()),
        (Ok(name), Ok(given_name), Ok(family_name)) => {
            let now = service.clock.now();
            let new = NewAccount {
                name: name.clone(),
                version: Version::next(now, None),
                given_name,
                family_name,
                public: sent.fields.get("public").is_some(),
                operator: sent.fields.get("operator").is_some(),
                password: None,
                created: now,
            };
            match service.store.create_account(new).await? {
                None => complain(StatusCode::CONFLICT, format!("The name {name} is taken, or was once.")),
                Some(account) => (
                    StatusCode::CREATED,
                    Told { complaint: None, link: Some(service.reset_link(&sent.person, &account).await?) },
                ),
            }
        }
    };
    service.accounts_page(&sent.person, &uri, status, told).await
}

pub(super) async fn invite(
    State(service): State<Arc<Service>>,
    uri: Uri,
    Ordered(sent): Ordered,
) -> Result<Response, Problem> {
    let (text, _) = service.authenticator.invite(Some(sent.person.account.uid)).await?;
    let link = Link {
        about: "An invitation. It works once, for seven days.".to_owned(),
        address: format!("{}/join/{}", service.site.base(), *text),
    };
    service
        .accounts_page(&sent.person, &uri, StatusCode::CREATED, Told { link: Some(link), complaint: None })
        .await
}

pub(super) async fn reset(
    State(service): State<Arc<Service>>,
    Path(name): Path<String>,
    uri: Uri,
    Ordered(sent): Ordered,
) -> Result<Response, Problem> {
    let account = service.account_named(&name).await?;
    let link = service.reset_link(&sent.person, &account).await?;
    service
        .accounts_page(&sent.person, &uri, StatusCode::CREATED, Told { link: Some(link), complaint: None })
        .await
}

pub(super) async fn disable(
    State(service): State<Arc<Service>>,
    Path(name): Path<String>,
    Ordered(sent): Ordered,
) -> Result<Response, Problem> {
    let account = service.account_named(&name).await?;
    // Nobody locks themselves out.
    if account.uid == sent.person.account.uid {
        return Err(Problem::not_found());
    }
    service.set_disabled(&account, true).await
}

pub(super) async fn enable(
    State(service): State<Arc<Service>>,
    Path(name): Path<String>,
    _: Ordered,
) -> Result<Response, Problem> {
    let account = service.account_named(&name).await?;
    service.set_disabled(&account, false).await
}

/// What is told beside the list.
#[derive(Default)]
struct Told {
    link: Option<Link>,
    complaint: Option<String>,
}

impl Service {
    async fn set_disabled(&self, account: &Account, disabled: bool) -> Result<Response, Problem> {
        let changed = self.accounts.change(&self.clock, account.uid, |account| {
            account.set_disabled(disabled);
        });
        let changed = changed.await?.ok_or_else(Problem::not_found)?;
        accounts::remove_ended(self.store.as_ref(), &self.clock, &changed).await;
        Ok(self.go(&format!("/operator/accounts?name={}&done=account", account.name)))
    }

    async fn reset_link(&self, operator: &SignedIn, account: &Account) -> Result<Link, Problem> {
        let (text, _) = self.authenticator.reset_link(account.uid, Some(operator.account.uid)).await?;
        Ok(Link {
            about: format!(
                "A link with which {} sets a password. It works once, for 24 hours.",
                account.name
            ),
            address: format!("{}/reset/{}", self.site.base(), *text),
        })
    }

    async fn accounts_page(
        &self,
        person: &SignedIn,
        uri: &Uri,
        status: StatusCode,
        told: Told,
    ) -> Result<Response, Problem> {
        let asked = |name: &str| field(uri.query().unwrap_or_default().as_bytes(), name);
        let wanted = asked("name").map(|name| name.trim().to_owned()).filter(|name| !name.is_empty());
        let accounts = match &wanted {
            Some(wanted) => self.account_named(wanted).await.into_iter().collect(),
            None => {
                let after = asked("after").and_then(|text| text.parse().ok()).map(Uid);
                self.store.list_accounts(after, PAGE).await?
            }
        };
        let more = accounts.last().filter(|_| accounts.len() == PAGE).map(|account: &Account| account.uid.0);
        let page = AccountsPage {
            site: &self.site,
            frame: self.operator_frame(person, uri),
            me: person.account.uid,
            wanted: wanted.as_deref().unwrap_or_default(),
            link: told.link.as_ref(),
            complaint: told.complaint.as_deref(),
            accounts,
            more,
        };
        Ok(html(status, &page, Policy::OURS))
    }
}
