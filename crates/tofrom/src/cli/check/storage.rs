//! Checks the data folder: permissions, secret key, store and delivery log.

use super::Finding;
use crate::auth::SecretKeys;
use crate::clock::Clock;
use crate::config::Storage;
use crate::telemetry::admin::Health;
use store::Store;
use store::sqlite::SqliteStore;

pub(super) async fn check(storage: &Storage, clock: &Clock) -> Vec<Finding> {
    let folder = storage.data_dir.display();
    if !storage.data_dir.is_dir() {
        let what = format!("folder {folder} does not exist");
        let fix = "set it with --data DIR or data_dir; the first command that writes creates it";
        return vec![Finding::warning("data folder", what, fix)];
    }
    let mut findings = vec![permissions(storage), secret_keys(storage)];
    if !storage.store_file().exists() {
        let what = format!("no store in {folder} yet");
        findings.push(Finding::warning("store", what, "the first command that writes creates it"));
        return findings;
    }
    match storage.open_file() {
        Ok(store) => findings.extend(store_and_log(&store, clock).await),
        Err(error) => {
            let fix = "make sure that this user can write there, or restore a backup";
            findings.push(Finding::error("store", format!("{error:#}"), fix));
        }
    }
    findings
}

fn permissions(storage: &Storage) -> Finding {
    const ABOUT: &str = "data folder";
    let folder = storage.data_dir.display();
    if storage.is_open_to_others() {
        let what = format!("{folder} is readable by all users of this machine");
        return Finding::warning(ABOUT, what, format!("chmod 700 {folder}"));
    }
    Finding::ok(ABOUT, folder.to_string())
}

pub(super) fn secret_keys(storage: &Storage) -> Finding {
    const ABOUT: &str = "secret keys";
    let file = storage.secret_key_file();
    if storage.secret_keys.is_empty() && !file.exists() {
        return Finding::ok(ABOUT, "none yet; a key is created at first use");
    }
    let loaded = match storage.secret_keys.as_slice() {
        [] => SecretKeys::load_or_create(&file).map_err(|error| error.to_string()),
        keys => SecretKeys::parse(keys).map_err(|error| error.to_string()),
    };
    match loaded {
        Ok(_) if storage.secret_keys.is_empty() => Finding::ok(ABOUT, file.display().to_string()),
        Ok(_) => Finding::ok(ABOUT, format!("{} in the settings", storage.secret_keys.len())),
        Err(error) => Finding::error(
            ABOUT,
            error,
            "use keys of 32 bytes in base64 or hexadecimal, in a file that only its owner can read",
        ),
    }
}

async fn store_and_log(store: &SqliteStore, clock: &Clock) -> Vec<Finding> {
    let mut findings = Vec::new();
    match store.integrity_check().await {
        Ok(problems) => match problems.as_slice() {
            [] => findings
                .push(Finding::ok("store", format!("{} passes the integrity check", store.path().display()))),
            [first, rest @ ..] => {
                let what = format!("the file is damaged: {first} (and {} more)", rest.len());
                findings.push(Finding::error("store", what, "stop the server and restore a backup"));
            }
        },
        Err(error) => findings.push(Finding::error("store", error.to_string(), "check the disk")),
    }
    findings.push(log(store, clock).await);
    findings
}

/// Checks the delivery log of any store.
pub(super) async fn log(store: &dyn Store, clock: &Clock) -> Finding {
    let health = Health::of(store, clock).await;
    match (health.unready_reason(), health) {
        (Some(complaint), _) => {
            Finding::error("log", complaint, "start the server, or check its log for errors")
        }
        (None, Health::Answers { pending, .. }) => {
            Finding::ok("log", format!("{pending} pending deliveries"))
        }
        (None, Health::Broken(why) | Health::Doubtful(why)) => Finding::error("log", why, "check the disk"),
    }
}
