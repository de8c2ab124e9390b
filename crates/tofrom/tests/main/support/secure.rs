//! Logins and TLS of a secured cluster: `TOFROM_TEST_SECURE` names a folder with the files that `scripts/engines up
//! --secure` makes. Without it the tests use plaintext.

use std::path::{Path, PathBuf};
use store::cql::Nodes;
use store::jetstream::Servers;
use store::links::{ClientTls, Hidden, Login, NatsLogin};

const USER: &str = "tofrom";

fn folder() -> Option<PathBuf> {
    let name = std::env::var_os("TOFROM_TEST_SECURE").filter(|name| !name.is_empty())?;
    Some(std::fs::canonicalize(name).unwrap())
}

fn tls(folder: &Path) -> ClientTls {
    let file = |name: &str| folder.join(name);
    ClientTls { ca: file("ca.pem"), client: Some((file("client.pem"), file("client.key"))) }
}

fn content(file: &Path) -> Hidden {
    Hidden::new(std::fs::read_to_string(file).unwrap().trim())
}

/// The credentials file, or the file with the seed of an NKey.
fn credentials(folder: &Path) -> PathBuf {
    let file = folder.join("nats.creds");
    if file.exists() { file } else { folder.join("nats.nkey") }
}

/// The nodes with the login and the TLS files of the folder.
pub(crate) fn nodes(nodes: Nodes) -> Nodes {
    let Some(folder) = folder() else { return nodes };
    let login = Login { user: USER.to_owned(), password: content(&folder.join("cql.password")) };
    Nodes { login: Some(login), tls: Some(tls(&folder)), ..nodes }
}

/// The servers with the login and the TLS files of the folder.
pub(crate) fn servers(servers: Servers) -> Servers {
    let Some(folder) = folder() else { return servers };
    let file = credentials(&folder);
    let is_seed = file.extension().is_some_and(|extension| extension == "nkey");
    let login = if is_seed { NatsLogin::NKey } else { NatsLogin::Credentials };
    Servers { login: Some(login(content(&file))), tls: Some(tls(&folder)), ..servers }
}

/// The same as lines of a settings file, before its first table.
pub(crate) fn settings() -> String {
    let Some(folder) = folder() else { return String::new() };
    let file = |name: &str| folder.join(name);
    let mut lines = format!(
        "cql.user = {USER:?}\ncql.password_file = {:?}\nnats.credentials = {:?}\n",
        file("cql.password"),
        credentials(&folder)
    );
    for link in ["cql", "nats"] {
        for (name, path) in [("ca", "ca.pem"), ("certificate", "client.pem"), ("private_key", "client.key")] {
            lines += &format!("{link}.tls.{name} = {:?}\n", file(path));
        }
    }
    lines
}
