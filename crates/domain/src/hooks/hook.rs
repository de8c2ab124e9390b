//! The stored settings of a hook.

use super::secret::SealedSecret;
use crate::sources::Address;
use model::{
    Collection, FeedQuery, Filter, HookId, Millis, RawQuery, SyncToken, Uid, Version, encode_component,
};
use serde::{Deserialize, Serialize};
use store::{Result, Store, StoreError};

/// A hook.
#[derive(Clone, Debug)]
pub struct Hook {
    /// The account.
    pub owner: Uid,
    /// The name that the account gave it.
    pub name: String,
    /// The identifier.
    pub id: HookId,
    /// The version of its settings.
    pub version: Version,
    /// Its settings.
    pub config: HookConfig,
}

/// The settings of a hook.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct HookConfig {
    /// The address that events are sent to.
    pub url: Address,
    /// The collection whose events are sent.
    #[serde(with = "collection_name")]
    pub collection: Collection,
    /// Only events of these services, as sent; all if empty.
    #[serde(default)]
    pub services: Vec<String>,
    /// Only events of these types.
    #[serde(default)]
    pub kinds: Vec<String>,
    /// Only events of these verbs.
    #[serde(default)]
    pub verbs: Vec<String>,
    /// When it was created.
    pub created: Millis,
    /// Set while it is disabled.
    #[serde(default)]
    pub disabled: Option<Disabled>,
    /// Counts the requests to deliver at once: after each, the next delivery does not wait.
    #[serde(default)]
    pub(super) resumed: u32,
    /// Events after this token are sent.
    #[serde(with = "token_text")]
    pub(super) start: SyncToken,
    /// The secrets that sign, the newest first.
    pub(super) secrets: Vec<SealedSecret>,
}

/// Why a hook is disabled.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Disabled {
    /// Since when.
    pub at: Millis,
    /// The reason, as a sentence.
    pub reason: String,
}

impl Hook {
    /// Reads a stored hook. `None`: it was removed.
    pub(super) fn read(stored: &store::Hook) -> Result<Option<Hook>> {
        if stored.removed {
            return Ok(None);
        }
        let config = serde_json::from_slice(&stored.state).map_err(|error| {
            StoreError::Corrupt(format!("hook {} of account {}: {error}", stored.name, stored.owner.0))
        })?;
        let store::Hook { owner, name, version, id, .. } = stored.clone();
        Ok(Some(Hook { owner, name, id, version, config }))
    }

    pub(super) fn to_stored(&self) -> Result<store::Hook> {
        let state =
            serde_json::to_vec(&self.config).map_err(|error| StoreError::Corrupt(error.to_string()))?;
        let Hook { owner, name, id, version, .. } = self.clone();
        Ok(store::Hook { owner, name, version, id, removed: false, state })
    }

    /// The query whose updates are sent.
    pub(super) fn query(&self) -> FeedQuery {
        let HookConfig { collection, services, kinds, verbs, .. } = &self.config;
        let lists = [("service", services), ("type", kinds), ("verb", verbs)];
        let pairs = lists.iter().flat_map(|(name, values)| {
            values.iter().map(move |value| format!("{name}={}", encode_component(value)))
        });
        let text = pairs.collect::<Vec<_>>().join("&");
        // These parameters have open vocabularies: every value is valid.
        let filter = Filter::resolve(&RawQuery::parse(text.as_bytes())).unwrap_or_default();
        FeedQuery { filter, ..all_of(self.owner, *collection) }
    }
}

/// The query of a whole collection.
pub(super) fn all_of(owner: Uid, collection: Collection) -> FeedQuery {
    FeedQuery {
        owner,
        collection,
        filter: Filter::default(),
        order: model::Order::default(),
        start: model::Start::Skip(0),
        count: model::DEFAULT_COUNT,
        format: None,
    }
}

/// Whether an account has a hook that is not disabled. Such an account never becomes dormant.
pub async fn has_live_hook(store: &dyn Store, owner: Uid) -> Result<bool> {
    for stored in store.hooks_of(owner).await? {
        if Hook::read(&stored)?.is_some_and(|hook| hook.config.disabled.is_none()) {
            return Ok(true);
        }
    }
    Ok(false)
}

/// A collection as its name.
mod collection_name {
    use model::Collection;
    use serde::{Deserialize, Deserializer, Serializer, de::Error};

    pub(super) fn serialize<S: Serializer>(collection: &Collection, to: S) -> Result<S::Ok, S::Error> {
        to.serialize_str(collection.as_str())
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Collection, D::Error> {
        let name = String::deserialize(from)?;
        Collection::parse(&name).ok_or_else(|| D::Error::custom("unknown collection"))
    }
}

/// A sync token as base64.
pub(super) mod token_text {
    use base64::Engine;
    use base64::prelude::BASE64_STANDARD_NO_PAD;
    use model::SyncToken;
    use serde::{Deserialize, Deserializer, Serializer, de::Error};

    pub(in crate::hooks) fn serialize<S: Serializer>(token: &SyncToken, to: S) -> Result<S::Ok, S::Error> {
        to.serialize_str(&BASE64_STANDARD_NO_PAD.encode(token.to_bytes()))
    }

    pub(in crate::hooks) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<SyncToken, D::Error> {
        let bytes = BASE64_STANDARD_NO_PAD.decode(String::deserialize(from)?).map_err(D::Error::custom)?;
        SyncToken::from_bytes(&bytes).ok_or_else(|| D::Error::custom("invalid sync token"))
    }
}
