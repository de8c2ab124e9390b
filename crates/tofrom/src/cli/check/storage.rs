//! Checks the storage: the permissions, keys and store of a data folder, or the nodes, tables and durability of a
//! cluster, and the delivery log of both.

use super::Finding;
use crate::cli::schema::describe;
use crate::config::{Cluster, Engine, Storage};
use domain::health::Health;
use model::Clock;
use seal::SecretKeys;
use store::Store;
use store::cql::{PROGRAM_VERSION, plan_schema, stored_schema};
use store::sqlite::SqliteStore;

/// Checks a data folder.
pub(super) async fn check_folder(storage: &Storage, clock: &Clock) -> Vec<Finding> {
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
    if storage.needs_upgrade() {
        let what = format!("{} has the schema of an older version", storage.store_file().display());
        let fix = "restart the server: it makes a backup and upgrades the store";
        findings.push(Finding::warning("store", what, fix));
        return findings;
    }
    match storage.open_file() {
        Ok(store) => findings.extend(file_and_log(&store, clock).await),
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

fn secret_keys(storage: &Storage) -> Finding {
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

async fn file_and_log(store: &SqliteStore, clock: &Clock) -> Vec<Finding> {
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
async fn log(store: &dyn Store, clock: &Clock) -> Finding {
    let health = Health::of(store, clock).await;
    match (health.unready_reason(), health) {
        (Some(complaint), _) => {
            Finding::error("log", complaint, "start the server, or check its log for errors")
        }
        (None, Health::Answers { pending, .. }) => {
            Finding::ok("log", format!("{pending} pending deliveries"))
        }
        (None, Health::Broken(why) | Health::Doubtful(why) | Health::Degraded(why)) => {
            Finding::error("log", why, "check the disk")
        }
    }
}

/// Checks a cluster.
pub(super) async fn check_cluster(storage: &Storage, cluster: &Cluster, clock: &Clock) -> Vec<Finding> {
    let mut findings = Vec::new();
    // Missing keys are reported with the settings. A cluster cannot use a key file of one machine.
    if !storage.secret_keys.is_empty() {
        findings.push(secret_keys(storage));
    }
    let nodes = nodes(storage, cluster).await;
    let reachable = nodes.is_ok();
    findings.push(nodes.unwrap_or_else(|finding| finding));
    if reachable {
        findings.extend(tables_and_log(storage, cluster, clock).await);
    }
    findings
}

async fn nodes(storage: &Storage, cluster: &Cluster) -> Result<Finding, Finding> {
    const ABOUT: &str = "nodes";
    let names = cluster.nodes.nodes.join(", ");
    match plan_schema(&cluster.nodes, storage.retention).await {
        Ok(_) => Ok(Finding::ok(ABOUT, format!("{names} respond"))),
        Err(error) => {
            let fix = "make sure that a quorum of the nodes is up and that one of cql.nodes is reachable from this machine";
            Err(Finding::error(ABOUT, format!("{names}: {error}"), fix))
        }
    }
}

async fn tables_and_log(storage: &Storage, cluster: &Cluster, clock: &Clock) -> Vec<Finding> {
    const ABOUT: &str = "store";
    let fix = "if the schema is missing or older, run tofrom schema apply; make sure that a majority of nats.servers is up";
    let engine = match storage.open().await {
        Ok(engine) => engine,
        Err(error) => return vec![Finding::error(ABOUT, format!("{error:#}"), fix)],
    };
    let store = engine.store();
    if let Err(error) = store.ping().await {
        return vec![Finding::error(ABOUT, error.to_string(), fix)];
    }
    let what = match stored_schema(&cluster.nodes).await {
        Ok(stored) => format!("{}; this program has version {PROGRAM_VERSION}", describe(stored)),
        Err(error) => return vec![Finding::error(ABOUT, error.to_string(), fix)],
    };
    let mut findings = vec![Finding::ok(ABOUT, what), log(store.as_ref(), clock).await];
    findings.push(durability(store.as_ref(), cluster).await);
    findings.extend(differences(&engine).await);
    findings
}

/// Keyspaces and a stream that were created with other settings.
async fn differences(engine: &Engine) -> Option<Finding> {
    const ABOUT: &str = "cluster";
    let fix = "run tofrom schema apply to change the stream; it does not change keyspaces";
    match engine.setting_warnings().await {
        Ok(warnings) if warnings.is_empty() => None,
        Ok(warnings) => Some(Finding::warning(ABOUT, warnings.join("; "), fix)),
        Err(error) => Some(Finding::error(ABOUT, error.to_string(), "check again")),
    }
}

/// Whether the database and NATS sync to disk before they acknowledge.
async fn durability(store: &dyn Store, cluster: &Cluster) -> Finding {
    const ABOUT: &str = "durability";
    if cluster.vouched {
        return Finding::ok(ABOUT, "not checked: vouch_for_durability is set");
    }
    let fix = "or, if durability cannot be checked from here, set vouch_for_durability = true";
    match store.durability_warnings().await {
        Ok(warnings) if warnings.is_empty() => {
            Finding::ok(ABOUT, "the database and NATS sync to disk before they acknowledge")
        }
        Ok(warnings) => Finding::error(ABOUT, warnings.join("; "), fix),
        Err(error) => Finding::error(ABOUT, error.to_string(), fix),
    }
}
