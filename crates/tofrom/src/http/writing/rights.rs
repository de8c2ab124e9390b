//! Permissions for writing.

use super::super::{Problem, Service};
use crate::auth::{AuthError, Principal};
use model::{Account, AccountName};
use std::sync::Arc;

impl Principal {
    /// Rejects a read-only credential.
    pub(in crate::http) fn must_write(&self) -> Result<(), AuthError> {
        if self.scopes.can_write() { Ok(()) } else { Err(AuthError::Scope("write")) }
    }
}

impl Service {
    /// The account that the caller may write for: itself, or any account for an operator. Of another account the caller
    /// learns only whether it is public. The scope is checked first, because it reveals nothing about any account.
    pub(in crate::http) async fn open_for_writing(
        &self,
        caller: &Principal,
        name: Option<AccountName>,
    ) -> Result<Arc<Account>, Problem> {
        caller.must_write()?;
        let name = name.ok_or_else(Problem::not_found)?;
        if caller.account.name == name {
            return Ok(Arc::clone(&caller.account));
        }
        match self.store.account_by_name(&name).await?.filter(|account| !account.removed) {
            Some(account) if caller.is_operator() => Ok(Arc::new(account)),
            Some(account) if account.public => Err(AuthError::NotYours.into()),
            _ => Err(Problem::not_found()),
        }
    }
}
