//! Limits of the listeners, over real sockets.

use super::*;
use axum::Extension;
use axum::routing::{get, post};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, ServerName};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::sync::oneshot;
use tokio::task::JoinHandle;
use tokio::time::Instant;
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;

const REQUEST: &[u8] = b"GET / HTTP/1.1\r\nHost: x\r\n\r\n";
/// Shorter than every limit except those of the tests, and long enough for a busy machine.
const SOON: Duration = Duration::from_secs(5);

struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Folder {
        let path = std::env::temp_dir().join(format!("tofrom-listen-{name}-{}", std::process::id()));
        std::fs::create_dir_all(&path).unwrap();
        Folder(path)
    }

    fn write_certificate(&self) -> TlsFiles {
        let made = rcgen::generate_simple_self_signed(vec!["localhost".to_owned()]).unwrap();
        let files = TlsFiles { certificate: self.0.join("cert.pem"), private_key: self.0.join("key.pem") };
        std::fs::write(&files.certificate, made.cert.pem()).unwrap();
        std::fs::write(&files.private_key, made.signing_key.serialize_pem()).unwrap();
        files
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

struct TestServer {
    address: SocketAddr,
    stop: oneshot::Sender<()>,
    ended: JoinHandle<()>,
}

impl TestServer {
    async fn start(limits: Limits, listeners: impl FnOnce(TcpListener) -> Listeners) -> TestServer {
        let router = axum::Router::new()
            .route("/", get(async |Extension(Peer(address)): Extension<Peer>| address.to_string()))
            .route("/read", post(async |body: axum::body::Bytes| body.len().to_string()))
            .route("/large", get(async || vec![b'x'; 64 << 20]))
            .route("/slow", get(async || tokio::time::sleep(Duration::from_millis(300)).await));
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let listeners = listeners(listener);
        let (stop, stopped) = oneshot::channel();
        let ended = tokio::spawn(async move {
            serve(listeners, router, limits, async { drop(stopped.await) }).await.unwrap();
        });
        TestServer { address, stop, ended }
    }

    async fn tls(limits: Limits, certificate: &Arc<ReloadingCertificate>) -> TestServer {
        let certificate = Arc::clone(certificate);
        TestServer::start(limits, |listener| Listeners {
            https: Some((listener, Certificate::Files(certificate))),
            ..Listeners::default()
        })
        .await
    }

    async fn proxy(limits: Limits, trusted: &str) -> TestServer {
        let trusted = Trusted::new(vec![parse_network(trusted).unwrap()]);
        TestServer::start(limits, |listener| Listeners {
            proxy: Some((listener, trusted)),
            ..Listeners::default()
        })
        .await
    }

    async fn connect(&self) -> TcpStream {
        TcpStream::connect(self.address).await.unwrap()
    }

    async fn connect_tls(&self, trusting: &Path) -> std::io::Result<TlsStream<TcpStream>> {
        let mut roots = rustls::RootCertStore::empty();
        roots.add(CertificateDer::from_pem_file(trusting).unwrap()).unwrap();
        let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
        let config = rustls::ClientConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_root_certificates(roots)
            .with_no_client_auth();
        let name = ServerName::try_from("localhost").unwrap();
        TlsConnector::from(Arc::new(config)).connect(name, self.connect().await).await
    }
}

fn short() -> Limits {
    let moment = Duration::from_millis(200);
    Limits { handshake: moment, header: moment, body_pause: moment, write: moment, ..Limits::default() }
}

/// All received text until the peer closes, and how long that took.
async fn read_until_closed(stream: &mut (impl AsyncReadExt + Unpin)) -> (String, Duration) {
    let (began, mut text) = (Instant::now(), Vec::new());
    // A reset counts as a close.
    let _ =
        tokio::time::timeout(Duration::from_secs(10), stream.read_to_end(&mut text)).await.expect("closed");
    (String::from_utf8_lossy(&text).into_owned(), began.elapsed())
}

#[tokio::test]
async fn a_half_open_handshake_is_cut_off_and_plain_http_gets_a_hint_to_use_https() {
    let folder = Folder::new("half-open");
    let certificate = ReloadingCertificate::load(folder.write_certificate()).unwrap();
    let service = TestServer::tls(short(), &certificate).await;
    let mut silent = service.connect().await;
    let (response, took) = read_until_closed(&mut silent).await;
    assert_eq!(response, "");
    assert!((Duration::from_millis(150)..SOON).contains(&took), "{took:?}");

    let mut plain = service.connect().await;
    plain.write_all(REQUEST).await.unwrap();
    let (response, _) = read_until_closed(&mut plain).await;
    assert!(response.starts_with("HTTP/1.1 400 "), "{response}");
    let (head, body) = response.split_once("\r\n\r\n").unwrap();
    assert!(
        head.contains(&format!("Content-Length: {}", body.len())) && body.contains("use https://"),
        "{response}"
    );
}

#[tokio::test]
async fn a_slow_header_is_cut_off_and_an_idle_connection_is_not() {
    let service = TestServer::proxy(short(), "127.0.0.1").await;
    let mut slow = service.connect().await;
    let (mut reading, mut writing) = slow.split();
    let trickle = async {
        for byte in REQUEST.iter().cycle() {
            tokio::time::sleep(Duration::from_millis(50)).await;
            if writing.write_all(&[*byte]).await.is_err() {
                break;
            }
        }
    };
    tokio::select! {
        () = trickle => {}
        (response, took) = read_until_closed(&mut reading) => {
            assert_eq!(response, "");
            assert!(took < SOON, "{took:?}");
        }
    }

    let mut idle = service.connect().await;
    let mut buf = [0; 1024];
    for _ in 0..2 {
        idle.write_all(REQUEST).await.unwrap();
        let read = idle.read(&mut buf).await.unwrap();
        assert!(buf[..read].starts_with(b"HTTP/1.1 200"));
        tokio::time::sleep(Duration::from_millis(400)).await;
    }
    // A header begins, and with it the shorter deadline.
    idle.write_all(b"GET").await.unwrap();
    assert!(read_until_closed(&mut idle).await.1 < SOON);
}

#[tokio::test]
async fn an_idle_connection_is_closed() {
    let limits = Limits { idle: Duration::from_millis(200), ..Limits::default() };
    let service = TestServer::proxy(limits, "127.0.0.1").await;
    let mut idle = service.connect().await;
    idle.write_all(REQUEST).await.unwrap();
    let (response, took) = read_until_closed(&mut idle).await;
    assert!(response.starts_with("HTTP/1.1 200"), "{response}");
    assert!((Duration::from_millis(150)..SOON).contains(&took), "{took:?}");
}

#[tokio::test]
async fn a_stalled_body_ends_the_request() {
    let service = TestServer::proxy(short(), "127.0.0.1").await;
    let mut stream = service.connect().await;
    stream.write_all(b"POST /read HTTP/1.1\r\nHost: x\r\nContent-Length: 10\r\n\r\n123").await.unwrap();
    let (response, took) = read_until_closed(&mut stream).await;
    assert!(response.starts_with("HTTP/1.1 400"), "{response}");
    assert!(took < SOON, "{took:?}");
}

#[tokio::test]
async fn a_client_that_does_not_read_loses_its_slot() {
    let service = TestServer::proxy(Limits { connections: 1, ..short() }, "127.0.0.1").await;
    let mut stalled = service.connect().await;
    stalled.write_all(b"GET /large HTTP/1.1\r\nHost: x\r\n\r\n").await.unwrap();
    tokio::time::sleep(Duration::from_millis(100)).await;
    // The only slot is taken, so another connection is closed.
    assert_eq!(read_until_closed(&mut service.connect().await).await.0, "");
    tokio::time::sleep(Duration::from_secs(1)).await;
    let mut next = service.connect().await;
    next.write_all(b"GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n").await.unwrap();
    assert!(read_until_closed(&mut next).await.0.starts_with("HTTP/1.1 200"));
}

#[tokio::test]
async fn a_changed_certificate_is_used_by_the_next_connection() {
    let folder = Folder::new("reload");
    let files = folder.write_certificate();
    let certificate = ReloadingCertificate::load(files.clone()).unwrap();
    let service = TestServer::tls(Limits::default(), &certificate).await;
    assert!(service.connect_tls(&files.certificate).await.is_ok());

    std::fs::write(&files.private_key, "broken").unwrap();
    assert!(!certificate.reload_if_changed(), "a broken pair was loaded");
    assert!(service.connect_tls(&files.certificate).await.is_ok(), "the previous certificate is gone");

    let files = folder.write_certificate();
    assert!(certificate.reload_if_changed());
    assert!(!certificate.reload_if_changed(), "reloaded without a change");
    let mut stream = service.connect_tls(&files.certificate).await.unwrap();
    stream.write_all(REQUEST).await.unwrap();
    let mut buf = [0; 1024];
    let read = stream.read(&mut buf).await.unwrap();
    assert!(buf[..read].ends_with(b"127.0.0.1"));
}

#[test]
fn a_key_that_does_not_match_the_certificate_is_rejected() {
    let (folder, other) = (Folder::new("mine"), Folder::new("theirs"));
    let files = TlsFiles { private_key: other.write_certificate().private_key, ..folder.write_certificate() };
    assert!(matches!(files.load(), Err(CertificateError::Mismatch(_))));
}

#[tokio::test]
async fn only_a_trusted_proxy_may_connect() {
    let forwarded = b"GET / HTTP/1.1\r\nX-Forwarded-For: 203.0.113.9\r\nHost: x\r\nConnection: close\r\n\r\n";
    let untrusting = TestServer::proxy(Limits::default(), "10.0.0.0/8").await;
    let mut stream = untrusting.connect().await;
    let _ = stream.write_all(forwarded).await;
    assert_eq!(read_until_closed(&mut stream).await.0, "");

    let trusting = TestServer::proxy(Limits::default(), "127.0.0.1").await;
    let mut stream = trusting.connect().await;
    stream.write_all(forwarded).await.unwrap();
    assert!(read_until_closed(&mut stream).await.0.ends_with("203.0.113.9"));
}

#[tokio::test]
async fn a_stop_waits_for_requests_in_flight() {
    let service = TestServer::proxy(Limits::default(), "127.0.0.1").await;
    let (mut busy, mut idle) = (service.connect().await, service.connect().await);
    busy.write_all(b"GET /slow HTTP/1.1\r\nHost: x\r\n\r\n").await.unwrap();
    idle.write_all(REQUEST).await.unwrap();
    tokio::time::sleep(Duration::from_millis(100)).await;
    let began = Instant::now();
    service.stop.send(()).unwrap();
    service.ended.await.unwrap();
    assert!(began.elapsed() < SOON, "waited for idle connections");
    assert!(read_until_closed(&mut busy).await.0.starts_with("HTTP/1.1 200"));
    assert!(TcpStream::connect(service.address).await.is_err());
}
