//! Revokes all credentials of an account besides its password.

use super::{AuthError, Authenticator};
use crate::accounts;
use model::Account;

impl Authenticator {
    /// Revokes all keys of an account and ends its sessions and access tokens, also pending grants. Returns the changed
    /// account.
    pub(super) async fn revoke_all(&self, account: &Account) -> Result<Account, AuthError> {
        let uid = account.uid;
        let changed = self.accounts.change(&self.clock, uid, Account::end_epoch).await?;
        let changed = changed.ok_or(AuthError::BadCredentials)?;
        for key in self.store.keys_of(uid).await? {
            if key.revoked.is_none() {
                self.store.revoke_key(uid, key.id, self.clock.now()).await?;
                self.keys.forget(&key.hash);
            }
        }
        accounts::remove_ended(self.store.as_ref(), &self.clock, &changed).await;
        Ok(changed)
    }
}
