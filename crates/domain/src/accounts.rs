//! Removal of accounts.

use crate::following;
use model::{Account, Clock, Picture, Uid};
use store::{Connection, Hook, Result, Store, StoreError, change_account};

/// Removes an account with its credentials, sources, hooks and edges permanently. `None`: it was already removed.
pub async fn remove(store: &dyn Store, clock: &Clock, uid: Uid) -> Result<Option<Account>> {
    // The account first: from then on no credential is valid and no activity is shown, even if a later step fails.
    let removing = change_account(store, clock, uid, |account| {
        (account.removed, account.password) = (true, None);
    });
    let Some(removed) = removing.await? else { return Ok(None) };
    let now = clock.now();
    for key in store.keys_of(uid).await? {
        store.revoke_key(uid, key.id, now).await?;
    }
    for token in store.tokens_of(uid).await? {
        store.revoke_token(&token.key, now).await?;
    }
    if store.picture(uid).await?.is_some() {
        store.put_picture(uid, &Picture::none(removed.version)).await?;
    }
    for Connection { owner, name, .. } in store.connections_of(uid).await? {
        let end = |stored: Option<&Connection>| {
            Ok(stored.map(|connection| Connection { removed: true, ..connection.clone() }))
        };
        store::update::<Connection, StoreError>(store, &(owner, name), now, end).await?;
    }
    for Hook { owner, name, id, .. } in store.hooks_of(uid).await? {
        let end = |stored: Option<&Hook>| {
            Ok(stored.map(|hook| Hook { removed: true, state: Vec::new(), ..hook.clone() }))
        };
        store::update::<Hook, StoreError>(store, &(owner, name), now, end).await?;
        store.delete_hook_progress(id).await?;
    }
    store.forget_networks(uid).await?;
    following::leave(store, clock, uid).await?;
    Ok(Some(removed))
}
