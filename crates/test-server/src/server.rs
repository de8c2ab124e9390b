//! The server.

use crate::authority::Certificate;
use crate::behaviour::{Behaviour, CannedResponse};
use crate::recorded_request::RecordedRequest;
use std::collections::HashMap;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpListener;
use tokio::task::{AbortHandle, JoinSet};
use tokio_rustls::TlsAcceptor;

/// A server on loopback. It stops when it is dropped.
pub struct Server {
    address: SocketAddr,
    secure: bool,
    state: Arc<State>,
    task: AbortHandle,
}

#[derive(Default)]
struct State {
    behaviours: Mutex<HashMap<String, Behaviour>>,
    records: Mutex<Records>,
}

/// The records of a server.
#[derive(Default)]
struct Records {
    connections: usize,
    requests: Vec<RecordedRequest>,
    in_flight: HashMap<String, usize>,
    max_in_flight: HashMap<String, usize>,
}

impl Server {
    /// A server on 127.0.0.1.
    pub async fn start() -> Server {
        Server::at("127.0.0.1:0").await
    }

    /// A server at this address.
    pub async fn at(address: &str) -> Server {
        Server::listen(address, None).await
    }

    /// A server with TLS on 127.0.0.1.
    pub async fn secure(certificate: &Certificate) -> Server {
        Server::secure_at("127.0.0.1:0", certificate).await
    }

    /// A server with TLS at this address.
    pub async fn secure_at(address: &str, certificate: &Certificate) -> Server {
        Server::listen(address, Some(certificate.acceptor())).await
    }

    async fn listen(address: &str, tls: Option<TlsAcceptor>) -> Server {
        let listener = TcpListener::bind(address).await.unwrap();
        let address = listener.local_addr().unwrap();
        let state = Arc::new(State::default());
        let secure = tls.is_some();
        let task = tokio::spawn(accept(listener, tls, state.clone())).abort_handle();
        Server { address, secure, state, task }
    }

    /// Sets the behaviour of a path, with or without a query.
    pub fn on(&self, path: &str, behaviour: impl Into<Behaviour>) {
        self.state.behaviours.lock().unwrap().insert(path.to_owned(), behaviour.into());
    }

    /// The address that the server listens on.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// The URL of a path, for a host name that resolves to this server.
    pub fn url(&self, host: &str, path: &str) -> String {
        let scheme = if self.secure { "https" } else { "http" };
        format!("{scheme}://{host}:{}{path}", self.address.port())
    }

    /// All requests so far.
    pub fn requests(&self) -> Vec<RecordedRequest> {
        self.state.records.lock().unwrap().requests.clone()
    }

    /// The number of connections, with or without a request.
    pub fn connections(&self) -> usize {
        self.state.records.lock().unwrap().connections
    }

    /// The maximum number of concurrent requests for a `Host`.
    pub fn max_concurrent_requests(&self, host: &str) -> usize {
        self.state.records.lock().unwrap().max_in_flight.get(host).copied().unwrap_or(0)
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.task.abort();
    }
}

async fn accept(listener: TcpListener, tls: Option<TlsAcceptor>, state: Arc<State>) {
    // Dropping the set aborts all connections.
    let mut connections = JoinSet::new();
    while let Ok((stream, _)) = listener.accept().await {
        state.records.lock().unwrap().connections += 1;
        let (tls, state) = (tls.clone(), state.clone());
        connections.spawn(async move {
            match tls {
                None => serve(stream, state).await,
                Some(tls) => {
                    if let Ok(stream) = tls.accept(stream).await {
                        serve(stream, state).await;
                    }
                }
            }
        });
        while connections.try_join_next().is_some() {}
    }
}

async fn serve(mut stream: impl AsyncRead + AsyncWrite + Unpin, state: Arc<State>) {
    let Some(request) = RecordedRequest::read(&mut stream).await else {
        return;
    };
    let in_flight = InFlight::new(&state, request.header("host").unwrap_or_default());
    state.records.lock().unwrap().requests.push(request.clone());
    let behaviour = state.behaviour_for(&request);
    // The client may close the connection early, which is not an error.
    let _ = behaviour.behave(&request, &mut stream, in_flight).await;
}

impl State {
    fn behaviour_for(&self, request: &RecordedRequest) -> Behaviour {
        let mut behaviours = self.behaviours.lock().unwrap();
        let path = request.path.split('?').next().unwrap_or_default();
        let key = if behaviours.contains_key(&request.path) { &request.path } else { path };
        let behaviour = match behaviours.get_mut(key) {
            None => return CannedResponse::status(404).into(),
            Some(Behaviour::InTurn(turns)) if turns.len() > 1 => turns.remove(0),
            Some(Behaviour::InTurn(turns)) => turns[0].clone(),
            Some(behaviour) => behaviour.clone(),
        };
        match behaviour {
            Behaviour::Dynamic(respond) => respond(request),
            behaviour => behaviour,
        }
    }
}

/// A request in progress.
struct InFlight<'a> {
    state: &'a State,
    host: String,
}

impl InFlight<'_> {
    fn new<'a>(state: &'a State, host: &str) -> InFlight<'a> {
        let mut records = state.records.lock().unwrap();
        let in_flight = records.in_flight.entry(host.to_owned()).or_default();
        *in_flight += 1;
        let in_flight = *in_flight;
        let max_in_flight = records.max_in_flight.entry(host.to_owned()).or_default();
        *max_in_flight = in_flight.max(*max_in_flight);
        InFlight { state, host: host.to_owned() }
    }
}

impl Drop for InFlight<'_> {
    fn drop(&mut self) {
        if let Some(in_flight) = self.state.records.lock().unwrap().in_flight.get_mut(&self.host) {
            *in_flight -= 1;
        }
    }
}
