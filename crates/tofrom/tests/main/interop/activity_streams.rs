//! Fedify reads the ActivityStreams 2.0 representation: see `tests/clients/activity_streams.js`.

use super::super::support::demo::Demo;
use super::oauth_clients::{client, lines};
use serde_json::json;

#[test]
fn fedify_reads_every_page() {
    let demo = Demo::shared();
    let parameters = json!({ "base": demo.client.base, "account": "alice", "key": demo.key("alice") });
    let printed = lines(&mut client("activity_streams.js"), &parameters);
    let count = printed.first().and_then(|line| line.strip_suffix(" activities")).map(str::parse::<usize>);
    assert!(matches!(count, Some(Ok(100..))), "{printed:?}");
}
