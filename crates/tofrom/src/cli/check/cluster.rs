//! Checks a cluster: nodes, tables, delivery log and durability.

use super::Finding;
use super::storage::{log, secret_keys};
use crate::clock::Clock;
use crate::config::{Cluster, Storage};
use store::Store;
use store::cql::plan_schema;

pub(super) async fn check(storage: &Storage, cluster: &Cluster, clock: &Clock) -> Vec<Finding> {
    let mut findings = Vec::new();
    // Missing keys are reported with the settings. A cluster cannot use a key file of one machine.
    if !storage.secret_keys.is_empty() {
        findings.push(secret_keys(storage));
    }
    let nodes = nodes(cluster).await;
    let reachable = nodes.is_ok();
    findings.push(nodes.unwrap_or_else(|finding| finding));
    if reachable {
        findings.extend(store_and_log(storage, cluster, clock).await);
    }
    findings
}

async fn nodes(cluster: &Cluster) -> Result<Finding, Finding> {
    const ABOUT: &str = "nodes";
    let names = cluster.nodes.nodes.join(", ");
    match plan_schema(&cluster.nodes).await {
        Ok(_) => Ok(Finding::ok(ABOUT, format!("{names} respond"))),
        Err(error) => {
            let fix = "make sure that a quorum of the nodes is up and that one of cql.nodes is reachable from this machine";
            Err(Finding::error(ABOUT, format!("{names}: {error}"), fix))
        }
    }
}

async fn store_and_log(storage: &Storage, cluster: &Cluster, clock: &Clock) -> Vec<Finding> {
    const ABOUT: &str = "store";
    let fix = "run tofrom schema apply to create the tables; make sure that a majority of nats.servers is up";
    let store = match storage.open().await {
        Ok(engine) => engine.store(),
        Err(error) => return vec![Finding::error(ABOUT, format!("{error:#}"), fix)],
    };
    if let Err(error) = store.ping().await {
        return vec![Finding::error(ABOUT, error.to_string(), fix)];
    }
    let what = format!("tables of {} are up to date", cluster.nodes.keyspace);
    let mut findings = vec![Finding::ok(ABOUT, what), log(store.as_ref(), clock).await];
    findings.push(durability(store.as_ref(), cluster).await);
    findings
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
