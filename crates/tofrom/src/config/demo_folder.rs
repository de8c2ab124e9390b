//! The folder where the demo on a cluster keeps its secrets: in the user's state folder, named after the cluster.

use super::Cluster;
use aws_lc_rs::digest::{SHA256, digest};
use std::ffi::OsString;
use std::path::PathBuf;
use store::cql::Nodes;

impl Cluster {
    /// The folder, or `None` if neither `XDG_STATE_HOME` nor `HOME` is set.
    pub fn demo_folder(&self) -> Option<PathBuf> {
        let state = state_folder(|name| std::env::var_os(name))?;
        Some(state.join("tofrom").join(folder_name(&self.nodes)))
    }
}

/// The user's state folder, by the XDG base directory specification.
fn state_folder(variable: impl Fn(&str) -> Option<OsString>) -> Option<PathBuf> {
    let absolute = |name| variable(name).map(PathBuf::from).filter(|path| path.is_absolute());
    absolute("XDG_STATE_HOME").or_else(|| Some(absolute("HOME")?.join(".local/state")))
}

/// A name derived from the nodes, in any order, and the keyspace. It stays the same when the cluster is emptied, so
/// that the secrets can be used again.
fn folder_name(nodes: &Nodes) -> String {
    let mut all = nodes.nodes.clone();
    all.sort_unstable();
    all.dedup();
    let hash = digest(&SHA256, all.join(" ").as_bytes());
    let short: String = hash.as_ref().iter().take(4).map(|byte| format!("{byte:02x}")).collect();
    format!("demo-{}-{short}", nodes.keyspace)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_state_folder_follows_the_xdg_specification() {
        let with = |pairs: &[(&str, &str)]| {
            state_folder(|name| {
                pairs.iter().find(|(known, _)| *known == name).map(|(_, value)| (*value).into())
            })
        };
        let home = ("HOME", "/home/me");
        assert_eq!(with(&[home]).unwrap(), PathBuf::from("/home/me/.local/state"));
        assert_eq!(with(&[home, ("XDG_STATE_HOME", "/state")]).unwrap(), PathBuf::from("/state"));
        let relative = with(&[home, ("XDG_STATE_HOME", "state")]).unwrap();
        assert_eq!(relative, PathBuf::from("/home/me/.local/state"), "a relative path is ignored");
        assert_eq!(with(&[]), None);
    }

    #[test]
    fn a_folder_is_named_after_nodes_and_keyspace() {
        let named = |nodes: &[&str], keyspace: &str| {
            let nodes = nodes.iter().map(|node| (*node).to_owned()).collect();
            folder_name(&Nodes { nodes, datacenter: "datacenter1".to_owned(), keyspace: keyspace.to_owned() })
        };
        let name = named(&["a:1", "b:1"], "tofrom");
        assert!(name.starts_with("demo-tofrom-") && name.len() == 20, "{name}");
        assert_eq!(named(&["b:1", "a:1"], "tofrom"), name);
        assert_ne!(named(&["a:2", "b:1"], "tofrom"), name);
        assert_ne!(named(&["a:1", "b:1"], "other"), name);
    }
}
