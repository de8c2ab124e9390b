//! `/200909/user/{user}`: an account.

use super::super::authenticated::Caller;
use super::super::writing::address::user;
use super::super::writing::parameters::Parameters;
use super::super::{Problem, Service, body, private_document, run_to_completion};
use super::profile::{self, Changes};
use super::representation::{OFFERS, fields};
use super::texts;
use crate::accounts;
use crate::auth::{AuthError, Method, Principal};
use crate::ingest::MAX_BODY;
use crate::render::Renderer;
use axum::extract::{Extension, Request, State};
use axum::response::{IntoResponse, Response};
use axum::routing::{MethodRouter, get};
use http::StatusCode;
use http::header::LOCATION;
use model::{Account, AccountName, Uid, Version};
use std::sync::Arc;
use store::NewAccount;

pub(in crate::http) fn methods() -> MethodRouter<Arc<Service>> {
    get(show)
        .put(put)
        .delete(remove)
        .fallback(|| async { Problem::method_not_allowed("GET, HEAD, PUT, DELETE") })
}

/// For callers that may read the account's collections.
async fn show(
    State(service): State<Arc<Service>>,
    Extension(caller): Caller,
    request: Request,
) -> Result<Response, Problem> {
    let name = user(request.uri().path()).ok_or_else(Problem::not_found)?;
    let (account, _) = service.open_collection(&caller, &name).await?;
    let format = Parameters::of(request.uri()).choose(request.headers(), OFFERS)?;
    let values = fields(&service.site, &account);
    let body = Renderer::fields("User", format, |field| {
        values.iter().for_each(|(name, value)| field(name, value));
        field("Public", if account.public { "true" } else { "false" });
    });
    let body = body.ok_or_else(|| Problem::not_acceptable(OFFERS))?;
    Ok(private_document(body, format))
}

/// Operators create and change any account; an account changes itself.
async fn put(
    State(service): State<Arc<Service>>,
    Extension(caller): Caller,
    request: Request,
) -> Result<Response, Problem> {
    caller.must_write()?;
    let name = user(request.uri().path()).ok_or_else(Problem::not_found)?;
    let (head, sent) = request.into_parts();
    // Rights are checked before the body is read.
    service.open_for_update(&caller, &name).await?;
    let form = texts::form(&head.headers)?;
    let changes = profile::read(&body::read(sent, MAX_BODY).await?, form)?;
    if service.open_for_update(&caller, &name).await?.is_none() && service.create(&name, &changes).await? {
        let address = format!("{}/200909/user/{name}", service.site.base());
        return Ok((StatusCode::CREATED, [(LOCATION, address)]).into_response());
    }
    // The account exists, or another request has just created it.
    let account = service.open_for_update(&caller, &name).await?.ok_or_else(Problem::busy)?;
    service.change(account.uid, &changes).await?;
    Ok(StatusCode::OK.into_response())
}

/// For the account itself and operators, but not for a token of the account.
async fn remove(
    State(service): State<Arc<Service>>,
    Extension(caller): Caller,
    request: Request,
) -> Result<StatusCode, Problem> {
    let account = service.open_for_writing(&caller, user(request.uri().path())).await?;
    if matches!(caller.method, Method::OAuth(_)) {
        return Err(AuthError::Lent.into());
    }
    run_to_completion(async move { service.remove_account(account.uid).await }).await??;
    Ok(StatusCode::NO_CONTENT)
}

impl Service {
    /// The existing account, if the caller may change it. `None` if it does not exist and the caller may create it.
    async fn open_for_update(
        &self,
        caller: &Principal,
        name: &AccountName,
    ) -> Result<Option<Account>, Problem> {
        let operator = caller.is_operator();
        match self.store.account_by_name(name).await? {
            Some(account) if account.removed && operator => Err(Problem::name_gone()),
            Some(account) if account.removed => Err(Problem::not_found()),
            Some(account) if operator || account.uid == caller.account.uid => Ok(Some(account)),
            Some(account) if account.public => Err(AuthError::NotYours.into()),
            None if operator => Ok(None),
            _ => Err(Problem::not_found()),
        }
    }

    /// Creates the account. `false` if another request was faster.
    async fn create(&self, name: &AccountName, changes: &Changes) -> Result<bool, Problem> {
        let now = self.clock.now();
        let new = NewAccount {
            name: name.clone(),
            version: Version::next(now, None),
            given_name: changes.given_name.clone().flatten(),
            family_name: changes.family_name.clone().flatten(),
            public: changes.public.unwrap_or(false),
            operator: false,
            password: None,
            created: now,
        };
        Ok(self.store.create_account(new).await?.is_some())
    }

    pub(in crate::http) async fn change(&self, uid: Uid, changes: &Changes) -> Result<(), Problem> {
        let changed = self.accounts.change(&self.clock, uid, |account| {
            if let Some(given_name) = &changes.given_name {
                account.given_name.clone_from(given_name);
            }
            if let Some(family_name) = &changes.family_name {
                account.family_name.clone_from(family_name);
            }
            account.public = changes.public.unwrap_or(account.public);
        });
        changed.await?.ok_or_else(Problem::not_found)?;
        self.hub.wrote();
        Ok(())
    }

    /// Permanently removes an account with its credentials and edges.
    pub(in crate::http) async fn remove_account(&self, uid: Uid) -> Result<(), Problem> {
        let removed = accounts::remove(self.store.as_ref(), &self.clock, uid).await?;
        removed.ok_or_else(Problem::not_found)?;
        self.accounts.forget(uid);
        self.hub.wrote();
        Ok(())
    }
}
