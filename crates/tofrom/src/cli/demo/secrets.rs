//! What the demo's people prove themselves with. Kept in `demo.json` beside the store, so that the next start prints
//! the same; the store itself knows only hashes.

use super::files::{self, Readers};
use super::people::PEOPLE;
use crate::auth::application::GeneratedConsumer;
use crate::auth::{NoRandomness, application, key};
use anyhow::Context;
use base64::Engine;
use base64::prelude::BASE64_URL_SAFE_NO_PAD;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::path::Path;
use zeroize::Zeroizing;

const FILE: &str = "demo.json";

/// All of it.
#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Secrets {
    accounts: BTreeMap<String, Credentials>,
    pub(super) consumer: Consumer,
}

/// One account's.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Credentials {
    pub(super) password: String,
    pub(super) key: String,
}

/// The application's.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Consumer {
    pub(super) key: String,
    pub(super) secret: String,
}

impl Consumer {
    /// As it was when it was generated.
    pub(super) fn generated(&self) -> GeneratedConsumer {
        GeneratedConsumer { key: self.key.clone(), secret: Zeroizing::new(self.secret.clone()) }
    }
}

impl Secrets {
    /// Those that lie in the folder.
    pub(super) fn kept(folder: &Path) -> anyhow::Result<Option<Secrets>> {
        let path = folder.join(FILE);
        let Some(text) = files::read(&path)? else { return Ok(None) };
        let secrets = serde_json::from_str(&text)
            .with_context(|| format!("{} is not what the demo wrote", path.display()))?;
        Ok(Some(secrets))
    }

    /// New ones, which lie in the folder from now on.
    pub(super) fn make(folder: &Path) -> anyhow::Result<Secrets> {
        let mut accounts = BTreeMap::new();
        for person in PEOPLE {
            let credentials = Credentials { password: password()?, key: key::generate()?.text.to_string() };
            accounts.insert(person.name.to_owned(), credentials);
        }
        let GeneratedConsumer { key, secret } = application::generate()?;
        let secrets = Secrets { accounts, consumer: Consumer { key, secret: secret.to_string() } };
        let text = serde_json::to_string_pretty(&secrets)? + "\n";
        files::write(&folder.join(FILE), &text, Readers::Owner)?;
        Ok(secrets)
    }

    /// That account's.
    pub(super) fn of(&self, name: &str) -> anyhow::Result<&Credentials> {
        self.accounts.get(name).with_context(|| {
            format!("{FILE} knows nothing of {name}: it is of another version; name another folder with --data DIR")
        })
    }
}

/// 120 random bits, to be typed if need be.
fn password() -> Result<String, NoRandomness> {
    let mut bytes = [0; 15];
    aws_lc_rs::rand::fill(&mut bytes).map_err(|_| NoRandomness)?;
    Ok(BASE64_URL_SAFE_NO_PAD.encode(bytes))
}
