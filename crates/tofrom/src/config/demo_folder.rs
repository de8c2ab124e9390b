//! Where the demo on a cluster keeps its secrets: a folder of the user's, by the name of the cluster.

use super::Cluster;
use aws_lc_rs::digest::{SHA256, digest};
use std::ffi::OsString;
use std::path::PathBuf;
use store::cql::Nodes;

impl Cluster {
    /// The folder; `None` if nothing says where the user keeps such things.
    pub fn demo_folder(&self) -> Option<PathBuf> {
        let state = state_folder(|name| std::env::var_os(name))?;
        Some(state.join("tofrom").join(name_on(&self.nodes)))
    }
}

/// Where programs keep what is theirs, by the XDG base directory specification.
fn state_folder(variable: impl Fn(&str) -> Option<OsString>) -> Option<PathBuf> {
    let absolute = |name| variable(name).map(PathBuf::from).filter(|path| path.is_absolute());
    absolute("XDG_STATE_HOME").or_else(|| Some(absolute("HOME")?.join(".local/state")))
}

/// The same for the same keyspace of the same nodes, however the file lists them, also when the cluster was emptied:
/// the secrets are kept for that.
fn name_on(nodes: &Nodes) -> String {
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
    fn the_state_folder_is_the_users() {
        let with = |pairs: &[(&str, &str)]| {
            state_folder(|name| {
                pairs.iter().find(|(known, _)| *known == name).map(|(_, value)| (*value).into())
            })
        };
        let home = ("HOME", "/home/me");
        assert_eq!(with(&[home]).unwrap(), PathBuf::from("/home/me/.local/state"));
        assert_eq!(with(&[home, ("XDG_STATE_HOME", "/state")]).unwrap(), PathBuf::from("/state"));
        let relative = with(&[home, ("XDG_STATE_HOME", "state")]).unwrap();
        assert_eq!(relative, PathBuf::from("/home/me/.local/state"), "a relative one does not count");
        assert_eq!(with(&[]), None);
    }

    #[test]
    fn a_cluster_has_one_name() {
        let named = |nodes: &[&str], keyspace: &str| {
            let nodes = nodes.iter().map(|node| (*node).to_owned()).collect();
            name_on(&Nodes { nodes, datacenter: "datacenter1".to_owned(), keyspace: keyspace.to_owned() })
        };
        let name = named(&["a:1", "b:1"], "tofrom");
        assert!(name.starts_with("demo-tofrom-") && name.len() == 20, "{name}");
        assert_eq!(named(&["b:1", "a:1"], "tofrom"), name);
        assert_ne!(named(&["a:2", "b:1"], "tofrom"), name);
        assert_ne!(named(&["a:1", "b:1"], "other"), name);
    }
}
