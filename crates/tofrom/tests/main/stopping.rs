//! Stops under load: no request that reached the service fails, directly and behind nginx, over HTTP/1 and HTTP/2.

use super::program::succeed;
use super::serving::{Settings, serve_with};
use super::support::folder::Folder;
use super::support::http2::Target;
use super::support::steal_adjusted_clock::wait_for;
use std::io;
use std::net::{IpAddr, Ipv4Addr, SocketAddr, TcpListener};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};
use tokio::io::{AsyncReadExt, AsyncWriteExt};

const STOPS: usize = 20;
const HERE: IpAddr = IpAddr::V4(Ipv4Addr::LOCALHOST);
const PATH: &str = "/social/200909/activity/bob/from?count=20";
/// Pause between two requests of one client.
const PAUSE: Duration = Duration::from_millis(5);
/// How long the stopping service keeps an idle connection open.
const IDLE_GRACE: Duration = Duration::from_millis(200);
/// How long the clients read before the stop.
const LOAD: Duration = Duration::from_millis(400);

/// The results of the clients of one round.
#[derive(Default)]
struct ClientResults {
    answers: AtomicUsize,
    faults: Mutex<Vec<String>>,
    over: AtomicBool,
}

impl ClientResults {
    fn fault(&self, what: impl Into<String>) {
        self.faults.lock().unwrap().push(what.into());
    }

    fn is_over(&self) -> bool {
        self.over.load(Ordering::Relaxed)
    }

    /// Counts an answer; false if it is the proxy's own, after the service has closed its listener.
    fn answer(&self, status: u16, behind_proxy: bool) -> bool {
        match status {
            200 => {
                self.answers.fetch_add(1, Ordering::Relaxed);
                true
            }
            502 if behind_proxy => false,
            other => {
                self.fault(format!("status {other}"));
                false
            }
        }
    }
}

/// Reads repeatedly over HTTP/1.1, until no connection can be made.
async fn read_by_http1(target: Target, key: String, behind_proxy: bool, results: Arc<ClientResults>) {
    let request = format!("GET {PATH} HTTP/1.1\r\nHost: {}\r\nServicePSK: {key}\r\n\r\n", target.address);
    while !results.is_over() {
        let Ok(mut line) = target.connect(HERE).await else { return };
        let mut last_answer: Option<Instant> = None;
        loop {
            // On a busy machine this client may pause for longer than an idle connection stays open.
            let was_idle = last_answer.is_some_and(|at| at.elapsed() > IDLE_GRACE);
            let answer = async {
                line.write_all(request.as_bytes()).await?;
                read_answer(&mut line).await
            };
            match answer.await {
                Ok((status, closes)) => {
                    if !results.answer(status, behind_proxy) {
                        return;
                    }
                    if closes {
                        break;
                    }
                    last_answer = Some(Instant::now());
                }
                Err(error) if was_idle && error.kind() == io::ErrorKind::UnexpectedEof => break,
                Err(error) => {
                    results.fault(format!("HTTP/1.1: {error}"));
                    break;
                }
            }
            tokio::time::sleep(PAUSE).await;
        }
    }
}

/// The status of an answer, and whether it closes the connection.
async fn read_answer(line: &mut (impl AsyncReadExt + Unpin)) -> io::Result<(u16, bool)> {
    let (mut got, mut buffer) = (Vec::new(), vec![0; 64 << 10]);
    loop {
        let read = line.read(&mut buffer).await?;
        if read == 0 {
            let kind = if got.is_empty() { io::ErrorKind::UnexpectedEof } else { io::ErrorKind::Other };
            return Err(io::Error::new(kind, format!("closed after {} bytes", got.len())));
        }
        got.extend_from_slice(&buffer[..read]);
        let text = String::from_utf8_lossy(&got);
        let Some(end) = text.find("\r\n\r\n") else { continue };
        let head = text[..end].to_ascii_lowercase();
        let length = head.split("content-length: ").nth(1).and_then(|rest| rest.lines().next()?.parse().ok());
        if got.len() >= end + 4 + length.unwrap_or(0) {
            return Ok((head[9..12].parse().unwrap(), head.contains("connection: close")));
        }
    }
}

/// The same over HTTP/2, with several concurrent streams.
async fn read_by_http2(target: Target, key: String, behind_proxy: bool, results: Arc<ClientResults>) {
    while !results.is_over() {
        let Ok(requests) = target.http2(HERE).await else { return };
        let streams = (0..4).map(|_| {
            let (target, key, results, mut requests) =
                (target.clone(), key.clone(), Arc::clone(&results), requests.clone());
            async move {
                while !results.is_over() {
                    // The connection accepts no more requests: a GOAWAY has arrived.
                    let Ok(ready) = requests.ready().await else { return true };
                    requests = ready;
                    let request = target.request("GET", PATH, &[("ServicePSK", &key)]);
                    let Ok((answer, _)) = requests.send_request(request, true) else { return true };
                    let whole = async {
                        let response = answer.await?;
                        let (status, mut body) = (response.status().as_u16(), response.into_body());
                        while let Some(data) = body.data().await {
                            let _ = body.flow_control().release_capacity(data?.len());
                        }
                        Ok::<_, h2::Error>(status)
                    };
                    match whole.await {
                        Ok(status) if !results.answer(status, behind_proxy) => return false,
                        Ok(_) => {}
                        // Sent after the GOAWAY: it was not processed, and the client may retry it on a new connection
                        // (RFC 9113, 6.8).
                        Err(error) if error.is_go_away() && error.reason() == Some(h2::Reason::NO_ERROR) => {
                            return true;
                        }
                        Err(error) => {
                            results.fault(format!("HTTP/2: {error}"));
                            return true;
                        }
                    }
                    tokio::time::sleep(PAUSE).await;
                }
                false
            }
        });
        if !futures::future::join_all(streams).await.contains(&true) {
            return;
        }
    }
}

/// Reads a stream of events until its end; returns all of it.
async fn watch(target: Target, key: String) -> String {
    let mut line = target.connect(HERE).await.unwrap();
    let request = format!(
        "GET /social/200909/activity/bob/tofrom HTTP/1.1\r\nHost: x\r\nServicePSK: {key}\r\nAccept: \
         text/event-stream\r\n\r\n"
    );
    line.write_all(request.as_bytes()).await.unwrap();
    let mut text = String::new();
    let _ = line.read_to_string(&mut text).await;
    text
}

struct Nginx(Child);

impl Drop for Nginx {
    fn drop(&mut self) {
        let _ = Command::new("kill").arg(self.0.id().to_string()).status();
        let _ = self.0.wait();
    }
}

/// nginx in front of the service's plain listener. It does not retry, so that every failure is visible.
fn nginx(folder: &Path, listen: u16, upstream: u16) -> Nginx {
    let text = format!(
        "daemon off; master_process off; error_log {0}/error.log; pid {0}/pid;\nevents {{ }}\nhttp {{\n\
         access_log off; client_body_temp_path {0}/t1; proxy_temp_path {0}/t2; fastcgi_temp_path {0}/t3;\n\
         uwsgi_temp_path {0}/t4; scgi_temp_path {0}/t5;\n\
         upstream service {{ server 127.0.0.1:{upstream}; keepalive 16; }}\n\
         server {{ listen 127.0.0.1:{listen} ssl http2; ssl_certificate {0}/cert.pem; ssl_certificate_key {0}/key.pem;\n\
         location / {{ proxy_pass http://service; proxy_http_version 1.1; proxy_set_header Connection \"\";\n\
         proxy_set_header Host $host; proxy_next_upstream off; }} }} }}\n",
        folder.display()
    );
    let settings = folder.join("nginx.conf");
    std::fs::write(&settings, text).unwrap();
    let child = Command::new("nginx")
        .args(["-p", folder.to_str().unwrap(), "-e", "error.log", "-c"])
        .arg(&settings)
        .stdout(Stdio::null())
        .spawn()
        .expect("nginx is needed; scripts/setup installs it");
    let connects = || std::net::TcpStream::connect((HERE, listen)).is_ok();
    assert!(wait_for(Duration::from_secs(10), connects, |connects| *connects));
    Nginx(child)
}

fn free_port() -> u16 {
    TcpListener::bind((HERE, 0)).unwrap().local_addr().unwrap().port()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_request_fails_when_the_service_stops() {
    let folder = Folder::new();
    succeed(&folder, &["account", "add", "bob", "--public", "--no-password"], "");
    let items: String = (0..20)
        .map(|n| format!("{{\"SourceId\":\"{n}\",\"SourceService\":{{\"Name\":\"A\"}},\"Category\":\"NotePosted\",\"Title\":\"t\",\"Note\":{{\"Title\":\"x\"}}}}\n"))
        .collect();
    succeed(&folder, &["import", "bob", "-"], &items);
    let made: serde_json::Value =
        serde_json::from_str(&succeed(&folder, &["key", "add", "bob", "--json"], "")).unwrap();
    let key = made["key"].as_str().unwrap().to_owned();
    let (https, proxy, front) = (free_port(), free_port(), free_port());
    let settings = Settings { https, proxy, log: "warn", ..Settings::default() };
    // The clients read as often as the server answers.
    let unlimited = "limits.requests = \"off\"";
    let mut serving = Some(serve_with(&folder, unlimited, settings));
    let _nginx = nginx(folder.path(), front, proxy);
    let certificate = folder.path().join("cert.pem");
    let target = |port: u16, protocol: &str| Target::new(SocketAddr::new(HERE, port), &certificate, protocol);
    let mut answers = 0;
    for round in 0..STOPS {
        let running = serving.take().unwrap_or_else(|| serve_with(&folder, unlimited, settings));
        let results = Arc::new(ClientResults::default());
        let mut clients = tokio::task::JoinSet::new();
        for (port, behind_proxy) in [(https, false), (front, true)] {
            for _ in 0..3 {
                let of = (target(port, "http/1.1"), key.clone(), behind_proxy, Arc::clone(&results));
                clients.spawn(read_by_http1(of.0, of.1, of.2, of.3));
            }
            let of = (target(port, "h2"), key.clone(), behind_proxy, Arc::clone(&results));
            clients.spawn(read_by_http2(of.0, of.1, of.2, of.3));
        }
        let stream = tokio::spawn(watch(target(https, "http/1.1"), key.clone()));
        tokio::time::sleep(LOAD).await;
        tokio::task::spawn_blocking(move || running.stop()).await.unwrap();
        let ended = tokio::time::timeout(Duration::from_secs(10), clients.join_all()).await;
        results.over.store(true, Ordering::Relaxed);
        let faults = results.faults.lock().unwrap().clone();
        assert_eq!(faults, [""; 0], "stop {round}");
        assert!(ended.is_ok(), "stop {round}: a client is still running");
        let stream = stream.await.unwrap();
        assert!(stream.contains("retry: "), "stop {round}: {stream}");
        answers += results.answers.load(Ordering::Relaxed);
    }
    eprintln!("{STOPS} stops, {answers} answers, no fault");
    let log = std::fs::read_to_string(folder.path().join("error.log")).unwrap();
    let faults: Vec<_> = log.lines().filter(|line| !line.contains("Connection refused")).collect();
    assert_eq!(faults, [""; 0], "nginx found no listener, and no other fault");
    assert!(answers > STOPS * 20, "{answers} answers");
}

#[tokio::test]
async fn readiness_ends_before_the_listeners_close() {
    let folder = Folder::new();
    let settings = Settings { shutdown_delay: "2s", ..Settings::default() };
    let serving = serve_with(&folder, "", settings);
    assert_eq!(serving.ready(), 200);
    let client = serving.client(&folder);
    serving.signal();
    let until_503 = wait_for(Duration::from_secs(1), || serving.ready(), |status| *status == 503);
    assert_eq!(until_503, 503);
    let response = client.get("/social/200909/whoami", &[]);
    assert_eq!(response.status, 401, "requests are accepted during the whole delay");
    assert_eq!(response.header("connection"), Some("close"), "as the client asked");
    serving.stop();
    assert!(std::net::TcpStream::connect(client.address).is_err());
}

#[test]
fn a_second_service_on_one_folder_is_refused() {
    let folder = Folder::new();
    let serving = serve_with(&folder, "", Settings::default());
    let second = Command::new(super::support::demo::BINARY)
        .args(["serve", "--config"])
        .arg(folder.path().join("tofrom.toml"))
        .arg("--data")
        .arg(folder.path())
        .output()
        .unwrap();
    let error_text = String::from_utf8_lossy(&second.stderr);
    assert_eq!(second.status.code(), Some(1), "{error_text}");
    assert!(error_text.contains("in use") && error_text.contains("tofrom.lock"), "{error_text}");
    succeed(&folder, &["account", "add", "bob", "--no-password"], "");
    assert_eq!(serving.ready(), 200);
    serving.stop();
    serve_with(&folder, "", Settings::default()).stop();
}
