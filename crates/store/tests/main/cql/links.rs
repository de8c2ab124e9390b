//! Links to the engines: the security that a secured cluster demands, and a stream that was created with other settings.

use super::super::secure;
use super::{KEYSPACE, RUNTIME, addresses_of_engines, shared};
use store::cql::{CqlStore, Nodes};
use store::jetstream::{Servers, apply_limits};
use store::links::ClientTls;

#[tokio::test]
async fn a_stream_keeps_its_limits_until_they_are_applied() {
    if shared().await.is_none() {
        return;
    }
    let task = RUNTIME.spawn(async {
        let (nodes, servers) = addresses_of_engines();
        let small = Servers { stream: format!("{}_limits", *KEYSPACE), replicas: 1, ..servers };
        let context = async_nats::jetstream::new(secure::nats(&small).await);
        let _ = context.delete_stream(&small.stream).await;
        let store = CqlStore::open(&nodes, &small).await.unwrap();
        assert_eq!(store.setting_warnings().await.unwrap(), Vec::<String>::new());

        let large = Servers { replicas: 3, max_bytes: 2 * small.max_bytes, ..small };
        let store = CqlStore::open(&nodes, &large).await.unwrap();
        let warnings = store.setting_warnings().await.unwrap().join("; ");
        assert!(warnings.contains("has 1 replicas, nats.replicas is 3"), "{warnings}");
        assert!(warnings.contains("nats.max_bytes is 33554432 bytes"), "{warnings}");
        assert!(apply_limits(&large).await.unwrap());
        assert_eq!(store.setting_warnings().await.unwrap(), Vec::<String>::new());
        assert!(!apply_limits(&large).await.unwrap());

        let expected = format!("has {} replicas in datacenter1, cql.replication is 5", nodes.replication);
        let other = Nodes { replication: 5, ..nodes };
        let warnings = CqlStore::open(&other, &large).await.unwrap().setting_warnings().await.unwrap();
        assert_eq!(warnings.len(), 2, "{warnings:?}");
        assert!(warnings[0].contains(&expected), "{warnings:?}");
        context.delete_stream(&large.stream).await.unwrap();
    });
    task.await.unwrap();
}

#[tokio::test]
async fn a_secured_cluster_demands_a_login_and_a_known_authority() {
    if shared().await.is_none() {
        return;
    }
    let (nodes, servers) = addresses_of_engines();
    let (Some(node_tls), Some(server_tls)) = (nodes.tls.clone(), servers.tls.clone()) else { return };
    // A certificate that signed no other.
    let unknown = |tls: &ClientTls| ClientTls { ca: tls.client.clone().unwrap().0, ..tls.clone() };
    let task = RUNTIME.spawn(async move {
        for nodes in [
            Nodes { login: None, ..nodes.clone() },
            Nodes { tls: None, ..nodes.clone() },
            Nodes { tls: Some(unknown(&node_tls)), ..nodes.clone() },
            Nodes { tls: Some(ClientTls { client: None, ..node_tls }), ..nodes.clone() },
        ] {
            assert!(CqlStore::open(&nodes, &servers).await.is_err(), "{nodes:?}");
        }
        for servers in [
            Servers { login: None, ..servers.clone() },
            Servers { tls: None, ..servers.clone() },
            Servers { tls: Some(unknown(&server_tls)), ..servers.clone() },
            Servers { tls: Some(ClientTls { client: None, ..server_tls }), ..servers.clone() },
        ] {
            let (login, tls) = (servers.login.is_some(), servers.tls.clone());
            assert!(CqlStore::open(&nodes, &servers).await.is_err(), "{login} {tls:?}");
        }
    });
    task.await.unwrap();
}
