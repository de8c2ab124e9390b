//! A process of the service, and requests to it.

use super::cluster::Cluster;
use super::secure;
use model::Account;
use std::net::{SocketAddr, TcpListener};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

/// A process that answers requests, until this is dropped.
pub(crate) struct Service {
    child: Child,
    folder: PathBuf,
    address: SocketAddr,
    request: Vec<u8>,
}

impl Service {
    /// Starts it, with a key for the account, and waits until it is ready.
    pub(crate) async fn start(cluster: &Cluster, program: &str, account: &Account) -> Service {
        let folder = std::env::temp_dir().join(format!("tofrom-cluster-cost-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let (address, admin) = (free_address(), free_address());
        let settings = folder.join("tofrom.toml");
        let heads = |head: &str, all: &[String]| -> Vec<String> {
            all.iter().map(|one| format!("{head}{}", one.trim_start_matches(head))).collect()
        };
        let text = format!(
            "store = \"cql\"\nsecret_keys = [\"{}\"]\nbase_url = \"https://127.0.0.1\"\nadmin_listen = \"{admin}\"\n\
             data_dir = {folder:?}\ncql.nodes = {:?}\ncql.keyspace = \"{}\"\nnats.servers = {:?}\n\
             nats.monitor = {:?}\n{}[proxy]\nlisten = \"{address}\"\ntrusted = [\"127.0.0.1\"]\n",
            "07".repeat(32),
            cluster.nodes.nodes,
            cluster.nodes.keyspace,
            heads("nats://", &cluster.servers.servers),
            heads("http://", &cluster.servers.monitor),
            secure::settings(),
        );
        std::fs::write(&settings, text).unwrap();
        let config = settings.to_str().unwrap();
        let name = account.name.as_str();
        let key = command(program).args(["key", "add", name, "--config", config, "--json"]).output().unwrap();
        let key: serde_json::Value = serde_json::from_slice(&key.stdout).expect("a key");
        let log = std::fs::File::create(folder.join("log")).unwrap();
        let serve = ["serve", "--role", "api", "--config", config];
        let child = command(program).args(serve).stdout(Stdio::null()).stderr(log).spawn().unwrap();
        let request = format!(
            "GET /200909/activity/{name}/tofrom HTTP/1.1\r\nHost: 127.0.0.1\r\nServicePSK: {}\r\n\
             Accept: application/json\r\n\r\n",
            key["key"].as_str().unwrap()
        );
        let service = Service { child, folder, address, request: request.into_bytes() };
        let ready = format!("GET /readyz HTTP/1.1\r\nHost: {admin}\r\n\r\n").into_bytes();
        for _ in 0..300 {
            if let Ok(mut wire) = TcpStream::connect(admin).await
                && ask(&mut wire, &ready).await == Some(200)
            {
                return service;
            }
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
        panic!("the service is not ready: {}", std::fs::read_to_string(service.folder.join("log")).unwrap());
    }

    pub(crate) fn process(&self) -> u32 {
        self.child.id()
    }

    /// A persistent connection.
    pub(crate) async fn connect(&self) -> TcpStream {
        let wire = TcpStream::connect(self.address).await.unwrap();
        wire.set_nodelay(true).unwrap();
        wire
    }

    /// Reads the account's first page.
    pub(crate) async fn read(&self, wire: &mut TcpStream) {
        assert_eq!(ask(wire, &self.request).await, Some(200));
    }
}

impl Drop for Service {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
        let _ = std::fs::remove_dir_all(&self.folder);
    }
}

/// The program, with no settings but those of the file.
fn command(program: &str) -> Command {
    let mut command = Command::new(program);
    for (name, _) in std::env::vars().filter(|(name, _)| name.starts_with("TOFROM_")) {
        command.env_remove(name);
    }
    command
}

fn free_address() -> SocketAddr {
    TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap()
}

/// Sends a request and reads the whole answer; returns its status.
async fn ask(wire: &mut TcpStream, request: &[u8]) -> Option<u16> {
    wire.write_all(request).await.ok()?;
    let mut answer = Vec::with_capacity(32 * 1024);
    loop {
        if wire.read_buf(&mut answer).await.ok()? == 0 {
            return None;
        }
        let Some(head) = answer.windows(4).position(|four| four == b"\r\n\r\n") else { continue };
        let text = std::str::from_utf8(&answer[..head]).ok()?.to_ascii_lowercase();
        let length = text.lines().find_map(|line| line.strip_prefix("content-length: "))?;
        if answer.len() >= head + 4 + length.parse::<usize>().ok()? {
            return text.split(' ').nth(1)?.parse().ok();
        }
    }
}
