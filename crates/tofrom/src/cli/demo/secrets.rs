//! Passwords and keys of the demo. They are kept in `demo.json` next to the store, so that the next start prints the same
//! ones; the store itself contains only hashes.

use super::people::PEOPLE;
use anyhow::Context;
use auth::application::GeneratedConsumer;
use auth::{application, key};
use base64::Engine;
use base64::prelude::BASE64_URL_SAFE_NO_PAD;
use seal::NoRandomness;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fs::{self, File, OpenOptions};
use std::io::Write;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use zeroize::Zeroizing;

const FILE: &str = "demo.json";

/// All secrets of the demo.
#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Secrets {
    accounts: BTreeMap<String, Credentials>,
    pub(super) consumer: Consumer,
}

/// The credentials of an account.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Credentials {
    pub(super) password: String,
    pub(super) key: String,
}

/// The credentials of the application.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Consumer {
    pub(super) key: String,
    pub(super) secret: String,
}

impl Consumer {
    /// The credentials in the form in which they were generated.
    pub(super) fn generated(&self) -> GeneratedConsumer {
        GeneratedConsumer { key: self.key.clone(), secret: Zeroizing::new(self.secret.clone()) }
    }
}

impl Secrets {
    /// Loads the secrets from the folder, if they exist.
    pub(super) fn load(folder: &Path) -> anyhow::Result<Option<Secrets>> {
        let path = folder.join(FILE);
        let Some(text) = read(&path)? else { return Ok(None) };
        let secrets = serde_json::from_str(&text)
            .with_context(|| format!("{} was not written by the demo", path.display()))?;
        Ok(Some(secrets))
    }

    /// Generates secrets and saves them in the folder.
    pub(super) fn create(folder: &Path) -> anyhow::Result<Secrets> {
        let mut accounts = BTreeMap::new();
        for person in PEOPLE {
            let credentials = Credentials { password: password()?, key: key::generate()?.text.to_string() };
            accounts.insert(person.name.to_owned(), credentials);
        }
        let GeneratedConsumer { key, secret } = application::generate()?;
        let secrets = Secrets { accounts, consumer: Consumer { key, secret: secret.to_string() } };
        let text = serde_json::to_string_pretty(&secrets)? + "\n";
        write(&folder.join(FILE), &text, Readers::Owner)?;
        Ok(secrets)
    }

    /// The credentials of this account.
    pub(super) fn of(&self, name: &str) -> anyhow::Result<&Credentials> {
        self.accounts.get(name).with_context(|| {
            format!("{FILE} has no account {name}: it is from another version; choose another folder with --data DIR")
        })
    }
}

/// 120 random bits, in characters that can be typed.
fn password() -> Result<String, NoRandomness> {
    let mut bytes = [0; 15];
    aws_lc_rs::rand::fill(&mut bytes).map_err(|_| NoRandomness)?;
    Ok(BASE64_URL_SAFE_NO_PAD.encode(bytes))
}

/// Who may read a file.
#[derive(Clone, Copy)]
pub(super) enum Readers {
    Owner,
    Everyone,
}

/// Writes a file atomically: readers see the old or the new content, even after a crash.
pub(super) fn write(path: &Path, text: &str, readers: Readers) -> anyhow::Result<()> {
    let mode = match readers {
        Readers::Owner => 0o600,
        Readers::Everyone => 0o644,
    };
    let new = path.with_extension("new");
    let write = || {
        // A leftover file may have other permissions.
        drop(fs::remove_file(&new));
        let mut file = OpenOptions::new().write(true).create_new(true).mode(mode).open(&new)?;
        file.write_all(text.as_bytes())?;
        file.sync_all()?;
        fs::rename(&new, path)?;
        path.parent().map_or(Ok(()), |folder| File::open(folder)?.sync_all())
    };
    write().with_context(|| format!("cannot write {}", path.display()))
}

/// Reads a file, if it exists.
pub(super) fn read(path: &Path) -> anyhow::Result<Option<String>> {
    match fs::read_to_string(path) {
        Ok(text) => Ok(Some(text)),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error).with_context(|| format!("cannot read {}", path.display())),
    }
}
