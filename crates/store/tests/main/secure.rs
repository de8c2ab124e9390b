//! Logins and TLS of a secured cluster: `TOFROM_TEST_SECURE` names a folder with the files that `scripts/engines up
//! --secure` makes. Without it the tests use plaintext.

use async_nats::ConnectOptions;
use scylla::client::session_builder::SessionBuilder;
use std::path::{Path, PathBuf};
use store::cql::Nodes;
use store::jetstream::Servers;
use store::links::{ClientTls, Hidden, Login, NatsLogin};

fn folder() -> Option<PathBuf> {
    std::env::var_os("TOFROM_TEST_SECURE").filter(|name| !name.is_empty()).map(PathBuf::from)
}

fn tls(folder: &Path) -> ClientTls {
    let file = |name: &str| folder.join(name);
    ClientTls { ca: file("ca.pem"), client: Some((file("client.pem"), file("client.key"))) }
}

fn content(file: PathBuf) -> Option<String> {
    std::fs::read_to_string(file).ok().map(|text| text.trim().to_owned())
}

/// The nodes with the login and the TLS files of the folder.
pub(super) fn nodes(nodes: Nodes) -> Nodes {
    let Some(folder) = folder() else { return nodes };
    let password = Hidden::new(content(folder.join("cql.password")).unwrap());
    Nodes { login: Some(Login { user: "tofrom".to_owned(), password }), tls: Some(tls(&folder)), ..nodes }
}

/// The servers with the login and the TLS files of the folder.
pub(super) fn servers(servers: Servers) -> Servers {
    let Some(folder) = folder() else { return servers };
    let credentials = content(folder.join("nats.creds")).map(Hidden::new).map(NatsLogin::Credentials);
    let nkey = || NatsLogin::NKey(Hidden::new(content(folder.join("nats.nkey")).unwrap()));
    Servers { login: Some(credentials.unwrap_or_else(nkey)), tls: Some(tls(&folder)), ..servers }
}

/// A session of the driver with the same security.
pub(super) fn session(nodes: &Nodes) -> SessionBuilder {
    let tls = nodes.tls.as_ref().map(|tls| tls.client_config().unwrap());
    let builder = SessionBuilder::new().known_nodes(&nodes.nodes).tls_context(tls);
    match &nodes.login {
        Some(login) => builder.user(&login.user, login.password.reveal()),
        None => builder,
    }
}

/// A NATS client with the same security.
pub(super) async fn nats(servers: &Servers) -> async_nats::Client {
    let mut options = ConnectOptions::new();
    if let Some(ClientTls { ca, client: Some((certificate, key)) }) = &servers.tls {
        options = options.add_root_certificates(ca.clone()).require_tls(true);
        options = options.add_client_certificate(certificate.clone(), key.clone());
    }
    options = match &servers.login {
        Some(NatsLogin::Credentials(content)) => options.credentials(content.reveal()).unwrap(),
        Some(NatsLogin::NKey(seed)) => options.nkey(seed.reveal().to_owned()),
        Some(NatsLogin::Password(_)) | None => options,
    };
    options.connect(&servers.servers).await.unwrap()
}
