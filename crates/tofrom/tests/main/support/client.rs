//! A plain HTTP/1.1 client over TLS that sends exactly the given lines.

use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, ServerName};
use rustls::{ClientConfig, ClientConnection, RootCertStore, StreamOwned};
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

pub(crate) type TlsStream = StreamOwned<ClientConnection, TcpStream>;

/// The service's address and the trusted certificate authority.
#[derive(Clone)]
pub(crate) struct Client {
    pub(crate) address: SocketAddr,
    pub(crate) base: String,
    tls: Arc<ClientConfig>,
}

/// A parsed answer.
#[derive(Clone, Debug)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) body: Vec<u8>,
}

impl Client {
    pub(crate) fn new(base: &str, ca: &Path) -> Client {
        let mut roots = RootCertStore::empty();
        for certificate in CertificateDer::pem_file_iter(ca).unwrap() {
            roots.add(certificate.unwrap()).unwrap();
        }
        let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
        let builder =
            ClientConfig::builder_with_provider(provider).with_safe_default_protocol_versions().unwrap();
        let tls = builder.with_root_certificates(roots).with_no_client_auth();
        let address = base.trim_start_matches("https://").split('/').next().unwrap().parse().unwrap();
        Client { address, base: base.to_owned(), tls: Arc::new(tls) }
    }

    pub(crate) fn connect(&self) -> TlsStream {
        let tcp = TcpStream::connect(self.address).unwrap();
        tcp.set_read_timeout(Some(Duration::from_secs(30))).unwrap();
        tcp.set_nodelay(true).unwrap();
        let name = ServerName::from(self.address.ip());
        StreamOwned::new(ClientConnection::new(Arc::clone(&self.tls), name).unwrap(), tcp)
    }

    /// Sends one request on a new connection.
    pub(crate) fn send(&self, method: &str, target: &str, headers: &[(&str, &str)], body: &[u8]) -> Answer {
        let mut lines = format!("{method} {target} HTTP/1.1\r\nConnection: close\r\n");
        if !headers.iter().any(|(name, _)| *name == "Host") {
            lines.push_str(&format!("Host: {}\r\n", self.address));
        }
        for (name, value) in headers {
            lines.push_str(&format!("{name}: {value}\r\n"));
        }
        if !body.is_empty() {
            lines.push_str(&format!("Content-Length: {}\r\n", body.len()));
        }
        lines.push_str("\r\n");
        let mut stream = self.connect();
        stream.write_all(lines.as_bytes()).unwrap();
        stream.write_all(body).unwrap();
        stream.flush().unwrap();
        read_answer(stream, method == "HEAD")
    }

    pub(crate) fn get(&self, target: &str, headers: &[(&str, &str)]) -> Answer {
        self.send("GET", target, headers, &[])
    }

    /// Gets an address that the service returned.
    pub(crate) fn follow(&self, address: &str, headers: &[(&str, &str)]) -> Answer {
        let target = address
            .strip_prefix(&self.base)
            .unwrap_or_else(|| panic!("{address} is not below {}", self.base));
        self.get(target, headers)
    }
}

/// Reads one answer from a stream.
pub(crate) fn read_answer(stream: impl Read, head_only: bool) -> Answer {
    let mut reader = BufReader::new(stream);
    let mut line = String::new();
    reader.read_line(&mut line).unwrap();
    let status =
        line.split(' ').nth(1).and_then(|s| s.parse().ok()).unwrap_or_else(|| panic!("no status: {line:?}"));
    let mut headers = Vec::new();
    loop {
        let mut line = String::new();
        reader.read_line(&mut line).unwrap();
        let Some((name, value)) = line.trim_end().split_once(':') else { break };
        headers.push((name.to_ascii_lowercase(), value.trim().to_owned()));
    }
    let mut answer = Answer { status, headers, body: Vec::new() };
    let length = answer.header("content-length").and_then(|n| n.parse().ok());
    if let Some(length) = length.filter(|_| !head_only) {
        answer.body = vec![0; length];
        reader.read_exact(&mut answer.body).unwrap();
    } else {
        // A server that closes without a TLS close_notify has still sent its whole HTTP answer.
        let _ = reader.read_to_end(&mut answer.body);
    }
    if answer.header("transfer-encoding") == Some("chunked") && !head_only {
        answer.body = dechunked(&answer.body);
    }
    answer
}

/// Decodes a chunked body.
fn dechunked(mut chunks: &[u8]) -> Vec<u8> {
    let mut body = Vec::new();
    loop {
        let end = chunks.windows(2).position(|two| two == b"\r\n").expect("a chunk's size");
        let size = usize::from_str_radix(std::str::from_utf8(&chunks[..end]).unwrap(), 16).unwrap();
        if size == 0 {
            return body;
        }
        body.extend_from_slice(&chunks[end + 2..end + 2 + size]);
        chunks = &chunks[end + 4 + size..];
    }
}

impl Answer {
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(n, _)| n == name).map(|(_, value)| value.as_str())
    }

    pub(crate) fn all(&self, name: &str) -> Vec<&str> {
        self.headers.iter().filter(|(n, _)| n == name).map(|(_, value)| value.as_str()).collect()
    }

    pub(crate) fn text(&self) -> &str {
        std::str::from_utf8(&self.body).unwrap()
    }

    pub(crate) fn json(&self) -> serde_json::Value {
        serde_json::from_slice(&self.body).unwrap_or_else(|error| panic!("{error}: {}", self.text()))
    }

    /// The activities of a JSON page.
    pub(crate) fn activities(&self) -> Vec<serde_json::Value> {
        assert_eq!(self.status, 200, "{}", self.text());
        self.json()["Activities"]["Activity"].as_array().unwrap().clone()
    }

    pub(crate) fn ids(&self) -> Vec<String> {
        let id = |activity: &serde_json::Value| activity["ActivityIdentifier"].as_str().unwrap().to_owned();
        self.activities().iter().map(id).collect()
    }

    /// The address of a relation in the Link header.
    pub(crate) fn link(&self, rel: &str) -> Option<String> {
        let links = self.header("link")?;
        let relation = format!("rel=\"{rel}\"");
        links
            .split(", <")
            .find(|link| link.ends_with(&relation))
            .map(|link| link.trim_start_matches('<').split('>').next().unwrap().to_owned())
    }
}
