//! Rows of many partitions, read with one statement for each node that has them.
//!
//! One statement for twenty partitions costs half of the CPU of twenty statements. Its node only coordinates it, so
//! retries and speculative executions go to any other one.

use super::concurrently;
use super::db::{Db, Query};
use crate::Result;
use scylla::client::execution_profile::ExecutionProfileHandle;
use scylla::cluster::{ClusterState, Node, NodeRef};
use scylla::deserialize::row::DeserializeRow;
use scylla::policies::load_balancing::{FallbackPlan, LoadBalancingPolicy, RoutingInfo};
use scylla::routing::Shard;
use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use uuid::Uuid;

/// The maximum number of partitions of a statement. A body takes 64 KiB at most, so a response takes 2 MiB.
const MAX_PARTITIONS: usize = 32;

/// A read of rows by the keys of their partitions.
pub(super) struct ReadByKey {
    /// The table, in the keyspace for collections.
    pub table: &'static str,
    /// For one partition: `key = ?`.
    pub one: Query,
    /// For several: `key IN ?`.
    pub many: Query,
}

impl Db {
    /// The rows of these partitions, in no particular order.
    pub(super) async fn rows_by_key<R>(&self, read: &ReadByKey, keys: &[Uuid]) -> Result<Vec<R>>
    where
        R: for<'r> DeserializeRow<'r, 'r>,
    {
        if let [key] = keys {
            return self.rows(&read.one, (key,)).await;
        }
        let groups = self.grouped_by_replica(read.table, keys);
        let rows = concurrently(groups.into_iter().map(|(node, keys)| async move {
            match keys.as_slice() {
                [key] => self.rows(&read.one, (key,)).await,
                _ => self.rows_with(node.map(|node| self.preferring(node)), &read.many, (keys,)).await,
            }
        }));
        Ok(rows.await?.into_iter().flatten().collect())
    }

    /// Divides keys among few nodes that have them.
    fn grouped_by_replica(&self, table: &str, keys: &[Uuid]) -> Vec<(Option<Arc<Node>>, Vec<Uuid>)> {
        let state = self.session.get_cluster_state();
        let datacenter = Some(self.nodes().datacenter.as_str());
        let mut nodes = HashMap::new();
        let replicas: Vec<(Uuid, Vec<Uuid>)> = keys
            .iter()
            .map(|key| {
                // Of a table that the driver does not know yet, no replica is known.
                let replicas =
                    state.get_endpoints(&self.nodes().keyspace, table, &(key,)).unwrap_or_default();
                let reachable = replicas
                    .into_iter()
                    .map(|(node, _)| node)
                    .filter(|node| node.datacenter.as_deref() == datacenter && node.is_connected());
                let ids = reachable.map(|node| {
                    let id = node.host_id;
                    nodes.insert(id, node);
                    id
                });
                (*key, ids.collect())
            })
            .collect();
        let groups = groups(replicas, self.turns.fetch_add(1, Ordering::Relaxed));
        groups.into_iter().map(|(node, keys)| (node.and_then(|id| nodes.get(&id).cloned()), keys)).collect()
    }

    /// The execution profile of the session, with this node as the first of every plan.
    fn preferring(&self, node: Arc<Node>) -> ExecutionProfileHandle {
        let policy = Preferring { node, default: Arc::clone(&self.balancing) };
        let profile = self.session.get_default_execution_profile_handle().pointee_to_builder();
        profile.load_balancing_policy(Arc::new(policy)).build().into_handle()
    }
}

/// Groups keys by a replica that they share: repeatedly the one that most of the remaining keys have, and of several such
/// the one whose turn it is, so that all nodes get statements. Keys without a replica are grouped, too.
fn groups(mut keys: Vec<(Uuid, Vec<Uuid>)>, mut turn: usize) -> Vec<(Option<Uuid>, Vec<Uuid>)> {
    let mut groups = Vec::new();
    while !keys.is_empty() {
        let mut counts: BTreeMap<Uuid, usize> = BTreeMap::new();
        for node in keys.iter().flat_map(|(_, replicas)| replicas) {
            *counts.entry(*node).or_default() += 1;
        }
        let most = counts.values().max();
        let candidates: Vec<Uuid> =
            counts.iter().filter(|(_, count)| Some(*count) == most).map(|(node, _)| *node).collect();
        let node = candidates.get(turn % candidates.len().max(1)).copied();
        turn = turn.wrapping_add(1);
        let mut group = Vec::new();
        keys.retain(|(key, replicas)| {
            let joins = group.len() < MAX_PARTITIONS && node.is_none_or(|node| replicas.contains(&node));
            if joins {
                group.push(*key);
            }
            !joins
        });
        groups.push((node, group));
    }
    groups
}

/// A plan that begins with a node and goes on with the others.
#[derive(Debug)]
struct Preferring {
    node: Arc<Node>,
    default: Arc<dyn LoadBalancingPolicy>,
}

impl LoadBalancingPolicy for Preferring {
    fn pick<'a>(
        &'a self,
        _: &'a RoutingInfo<'_>,
        _: &'a ClusterState,
    ) -> Option<(NodeRef<'a>, Option<Shard>)> {
        Some((&self.node, None))
    }

    fn fallback<'a>(&'a self, request: &'a RoutingInfo<'_>, cluster: &'a ClusterState) -> FallbackPlan<'a> {
        let others = self.default.fallback(request, cluster);
        Box::new(others.filter(|(node, _)| node.host_id != self.node.host_id))
    }

    fn name(&self) -> String {
        "Preferring".to_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    fn node(number: usize) -> Uuid {
        Uuid::from_u128(1_000 + number as u128)
    }

    /// Keys with three neighbouring nodes of a ring each.
    fn ring(keys: usize, nodes: usize) -> Vec<(Uuid, Vec<Uuid>)> {
        let replicas = |key: usize| (0..3).map(|next| node((key * 7 + next) % nodes)).collect();
        (0..keys).map(|key| (Uuid::from_u128(key as u128), replicas(key))).collect()
    }

    #[test]
    fn every_key_is_read_once_from_a_node_that_has_it() {
        for (number, nodes) in [(0, 3), (1, 3), (21, 3), (21, 6), (1_000, 3), (1_000, 40)] {
            let keys = ring(number, nodes);
            let replicas: HashMap<Uuid, Vec<Uuid>> = keys.iter().cloned().collect();
            let mut read = HashSet::new();
            for (node, group) in groups(keys, 5) {
                assert!((1..=MAX_PARTITIONS).contains(&group.len()));
                for key in group {
                    assert!(read.insert(key), "{key} is read twice");
                    assert!(replicas[&key].contains(&node.unwrap()));
                }
            }
            assert_eq!(read.len(), number);
        }
    }

    #[test]
    fn few_nodes_get_few_statements_and_take_turns() {
        let first = |turn| groups(ring(21, 3), turn)[0].0;
        assert_eq!(groups(ring(21, 3), 0).len(), 1);
        assert_eq!((0..3).map(first).collect::<HashSet<_>>().len(), 3);
        assert!(groups(ring(21, 9), 0).len() <= 4);
        let nodes: HashSet<_> = groups(ring(1_000, 3), 0).into_iter().map(|(node, _)| node).collect();
        assert_eq!(nodes.len(), 3, "a long read loads all nodes");
    }

    #[test]
    fn keys_without_a_known_replica_are_read_too() {
        let keys = (0..40).map(|key| (Uuid::from_u128(key), Vec::new()));
        let lengths: Vec<_> =
            groups(keys.collect(), 0).into_iter().map(|(node, keys)| (node, keys.len())).collect();
        assert_eq!(lengths, [(None, MAX_PARTITIONS), (None, 40 - MAX_PARTITIONS)]);
    }
}
