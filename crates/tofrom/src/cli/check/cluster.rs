//! A cluster: whether its nodes answer, its tables are there and its log takes tasks.

use super::Finding;
use super::storage::{log, secret_keys};
use crate::clock::Clock;
use crate::config::{Cluster, Storage};
use store::Store;
use store::cql::plan_schema;

pub(super) async fn look(storage: &Storage, cluster: &Cluster, clock: &Clock) -> Vec<Finding> {
    let mut findings = Vec::new();
    // Without keys the settings are wrong already; a file of this machine would not do.
    if !storage.secret_keys.is_empty() {
        findings.push(secret_keys(storage));
    }
    let nodes = nodes(cluster).await;
    let answer = nodes.is_ok();
    findings.push(nodes.unwrap_or_else(|finding| finding));
    if answer {
        findings.extend(store_and_log(storage, cluster, clock).await);
    }
    findings
}

async fn nodes(cluster: &Cluster) -> Result<Finding, Finding> {
    const ABOUT: &str = "nodes";
    let names = cluster.nodes.nodes.join(", ");
    match plan_schema(&cluster.nodes).await {
        Ok(_) => Ok(Finding::well(ABOUT, format!("{names} answer"))),
        Err(error) => {
            let mend =
                "see to it that a quorum of the nodes runs and that this machine reaches one of cql.nodes";
            Err(Finding::wrong(ABOUT, format!("{names}: {error}"), mend))
        }
    }
}

async fn store_and_log(storage: &Storage, cluster: &Cluster, clock: &Clock) -> Vec<Finding> {
    const ABOUT: &str = "store";
    let mend = "tofrom schema apply makes the tables; see to it that a majority of nats.servers runs";
    let store = match storage.open().await {
        Ok(engine) => engine.store(),
        Err(error) => return vec![Finding::wrong(ABOUT, format!("{error:#}"), mend)],
    };
    if let Err(error) = store.ping().await {
        return vec![Finding::wrong(ABOUT, error.to_string(), mend)];
    }
    let what = format!("the tables of {} are there", cluster.nodes.keyspace);
    let mut findings = vec![Finding::well(ABOUT, what), log(store.as_ref(), clock).await];
    findings.push(durability(store.as_ref(), cluster).await);
    findings
}

/// Whether what the engines acknowledge is on disk.
async fn durability(store: &dyn Store, cluster: &Cluster) -> Finding {
    const ABOUT: &str = "durability";
    if cluster.vouched {
        return Finding::well(ABOUT, "the operator vouches that the engines sync before they acknowledge");
    }
    let mend = "or, where the engines can't be asked, say vouch_for_durability = true";
    match store.durability_warnings().await {
        Ok(durability_warnings) if durability_warnings.is_empty() => {
            Finding::well(ABOUT, "the engines sync before they acknowledge")
        }
        Ok(durability_warnings) => Finding::wrong(ABOUT, durability_warnings.join("; "), mend),
        Err(error) => Finding::wrong(ABOUT, error.to_string(), mend),
    }
}
