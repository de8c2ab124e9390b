//! Accounts: search, create, invite, reset password, disable and enable.

use super::super::super::{Problem, Service};
use super::super::form::field;
use super::{Operator, OperatorForm};
use crate::accounts::{self, person_name};
use crate::auth::session::SignedIn;
use crate::pages::operator::{AccountsPage, TicketLink};
use crate::pages::{Policy, html};
use axum::extract::{Path, State};
use axum::response::Response;
use http::{StatusCode, Uri};
use model::{Account, AccountName, Uid, Version};
use std::sync::Arc;
use store::NewAccount;

/// Accounts per page.
const PAGE: usize = 50;

pub(super) async fn show(
    State(service): State<Arc<Service>>,
    Operator(person): Operator,
    uri: Uri,
) -> Result<Response, Problem> {
    service.accounts_page(&person, &uri, StatusCode::OK, FormResult::default()).await
}

/// Creates an account without a password, and a link to set one.
pub(super) async fn create(
    State(service): State<Arc<Service>>,
    uri: Uri,
    OperatorForm(form): OperatorForm,
) -> Result<Response, Problem> {
    let reject = |status, complaint| (status, FormResult { complaint: Some(complaint), link: None });
    let wrong = StatusCode::UNPROCESSABLE_ENTITY;
    let text = |name: &str| form.fields.get(name).unwrap_or_default();
    let named = AccountName::parse(text("name").trim());
    let (given, family) = (person_name(&text("given")), person_name(&text("family")));
    let (status, result) = match (named, given, family) {
        (Err(why), _, _) => reject(wrong, why.to_string()),
        (_, Err(why), _) | (_, _, Err(why)) => reject(wrong, why.to_string()),
        (Ok(name), Ok(given_name), Ok(family_name)) => {
            let now = service.clock.now();
            let new = NewAccount {
                name: name.clone(),
                version: Version::next(now, None),
                given_name,
                family_name,
                public: form.fields.get("public").is_some(),
                operator: form.fields.get("operator").is_some(),
                password: None,
                created: now,
            };
            match service.store.create_account(new).await? {
                None => {
                    reject(StatusCode::CONFLICT, format!("The username {name} is taken or was used before."))
                }
                Some(account) => (
                    StatusCode::CREATED,
                    FormResult {
                        complaint: None,
                        link: Some(service.reset_link(&form.person, &account).await?),
                    },
                ),
            }
        }
    };
    service.accounts_page(&form.person, &uri, status, result).await
}

pub(super) async fn invite(
    State(service): State<Arc<Service>>,
    uri: Uri,
    OperatorForm(form): OperatorForm,
) -> Result<Response, Problem> {
    let (text, _) = service.authenticator.invite(Some(form.person.account.uid)).await?;
    let link = TicketLink {
        about: "Invitation link. It works once, within 7 days.".to_owned(),
        address: format!("{}/join/{}", service.site.base(), *text),
    };
    service
        .accounts_page(
            &form.person,
            &uri,
            StatusCode::CREATED,
            FormResult { link: Some(link), complaint: None },
        )
        .await
}

pub(super) async fn reset(
    State(service): State<Arc<Service>>,
    Path(name): Path<String>,
    uri: Uri,
    OperatorForm(form): OperatorForm,
) -> Result<Response, Problem> {
    let account = service.account_named(&name).await?;
    let link = service.reset_link(&form.person, &account).await?;
    service
        .accounts_page(
            &form.person,
            &uri,
            StatusCode::CREATED,
            FormResult { link: Some(link), complaint: None },
        )
        .await
}

pub(super) async fn disable(
    State(service): State<Arc<Service>>,
    Path(name): Path<String>,
    OperatorForm(form): OperatorForm,
) -> Result<Response, Problem> {
    let account = service.account_named(&name).await?;
    // Operators cannot lock themselves out.
    if account.uid == form.person.account.uid {
        return Err(Problem::not_found());
    }
    service.set_disabled(&account, true).await
}

pub(super) async fn enable(
    State(service): State<Arc<Service>>,
    Path(name): Path<String>,
    _: OperatorForm,
) -> Result<Response, Problem> {
    let account = service.account_named(&name).await?;
    service.set_disabled(&account, false).await
}

/// The result of a form, shown above the list.
#[derive(Default)]
struct FormResult {
    link: Option<TicketLink>,
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

    async fn reset_link(&self, operator: &SignedIn, account: &Account) -> Result<TicketLink, Problem> {
        let (text, _) = self.authenticator.reset_link(account.uid, Some(operator.account.uid)).await?;
        Ok(TicketLink {
            about: format!(
                "TicketLink for {} to set a password. It works once, within 24 hours.",
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
        result: FormResult,
    ) -> Result<Response, Problem> {
        let parameter = |name: &str| field(uri.query().unwrap_or_default().as_bytes(), name);
        let search = parameter("name").map(|name| name.trim().to_owned()).filter(|name| !name.is_empty());
        let accounts = match &search {
            Some(name) => self.account_named(name).await.into_iter().collect(),
            None => {
                let after = parameter("after").and_then(|text| text.parse().ok()).map(Uid);
                self.store.list_accounts(after, PAGE).await?
            }
        };
        let more = accounts.last().filter(|_| accounts.len() == PAGE).map(|account: &Account| account.uid.0);
        let page = AccountsPage {
            site: &self.site,
            frame: self.operator_frame(person, uri),
            me: person.account.uid,
            search: search.as_deref().unwrap_or_default(),
            link: result.link.as_ref(),
            complaint: result.complaint.as_deref(),
            accounts,
            more,
        };
        Ok(html(status, &page, Policy::SAME_ORIGIN))
    }
}
