//! The data folder: who may read it, the secret key, the store and its log.

use super::Finding;
use crate::auth::SecretKeys;
use crate::clock::Clock;
use crate::config::Storage;
use crate::telemetry::admin::Health;
use store::Store;
use store::sqlite::SqliteStore;

pub(super) async fn look(storage: &Storage, clock: &Clock) -> Vec<Finding> {
    let folder = storage.data_dir.display();
    if !storage.data_dir.is_dir() {
        let what = format!("there is no folder {folder}");
        let mend = "name it with --data DIR or data_dir; the first command that writes makes it";
        return vec![Finding::doubtful("data folder", what, mend)];
    }
    let mut findings = vec![privacy(storage), secret_keys(storage)];
    if !storage.store_file().exists() {
        let what = format!("there is none in {folder} yet");
        findings.push(Finding::doubtful("store", what, "the first command that writes makes it"));
        return findings;
    }
    match storage.open_file() {
        Ok(store) => findings.extend(store_and_log(&store, clock).await),
        Err(error) => {
            let mend = "see to it that this user may write there, or put a backup in its place";
            findings.push(Finding::wrong("store", format!("{error:#}"), mend));
        }
    }
    findings
}

fn privacy(storage: &Storage) -> Finding {
    const ABOUT: &str = "data folder";
    let folder = storage.data_dir.display();
    if storage.is_open_to_others() {
        let what = format!("{folder}: every user of this machine may read it");
        return Finding::doubtful(ABOUT, what, format!("chmod 700 {folder}"));
    }
    Finding::well(ABOUT, folder.to_string())
}

pub(super) fn secret_keys(storage: &Storage) -> Finding {
    const ABOUT: &str = "secret keys";
    let file = storage.secret_key_file();
    if storage.secret_keys.is_empty() && !file.exists() {
        return Finding::well(ABOUT, "none yet; one is made at the first use");
    }
    let loaded = match storage.secret_keys.as_slice() {
        [] => SecretKeys::load_or_create(&file).map_err(|error| error.to_string()),
        keys => SecretKeys::parse(keys).map_err(|error| error.to_string()),
    };
    match loaded {
        Ok(_) if storage.secret_keys.is_empty() => Finding::well(ABOUT, file.display().to_string()),
        Ok(_) => Finding::well(ABOUT, format!("{} in the settings", storage.secret_keys.len())),
        Err(error) => Finding::wrong(
            ABOUT,
            error,
            "a key is 32 bytes in base64 or hexadecimal, in a file that only its owner reads",
        ),
    }
}

async fn store_and_log(store: &SqliteStore, clock: &Clock) -> Vec<Finding> {
    let mut findings = Vec::new();
    match store.integrity_check().await {
        Ok(problems) => match problems.as_slice() {
            [] => findings.push(Finding::well("store", format!("{} is whole", store.path().display()))),
            [first, rest @ ..] => {
                let what = format!("the file is damaged: {first} (and {} more)", rest.len());
                findings.push(Finding::wrong(
                    "store",
                    what,
                    "stop the service and put a backup in its place",
                ));
            }
        },
        Err(error) => findings.push(Finding::wrong("store", error.to_string(), "check the disk")),
    }
    findings.push(log(store, clock).await);
    findings
}

/// The delivery log, of any store.
pub(super) async fn log(store: &dyn Store, clock: &Clock) -> Finding {
    let health = Health::of(store, clock).await;
    match (health.unready_reason(), health) {
        (Some(complaint), _) => {
            Finding::wrong("log", complaint, "start the service, or see in its log what holds it")
        }
        (None, Health::Answers { pending, .. }) => {
            Finding::well("log", format!("{pending} deliveries are under way"))
        }
        (None, Health::Broken(why) | Health::Doubtful(why)) => Finding::wrong("log", why, "check the disk"),
    }
}
