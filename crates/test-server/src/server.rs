//! The server.

use crate::authority::Certificate;
use crate::behaviour::{Answer, Behaviour};
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
    book: Mutex<Book>,
}

/// What is written down.
#[derive(Default)]
struct Book {
    connections: usize,
    asked: Vec<RecordedRequest>,
    inside: HashMap<String, usize>,
    most: HashMap<String, usize>,
}

impl Server {
    /// A server on 127.0.0.1.
    pub async fn start() -> Server {
        Server::at("127.0.0.1:0").await
    }

    /// A server at that address.
    pub async fn at(address: &str) -> Server {
        Server::listen(address, None).await
    }

    /// A server on 127.0.0.1 that speaks TLS.
    pub async fn secure(certificate: &Certificate) -> Server {
        Server::secure_at("127.0.0.1:0", certificate).await
    }

    /// A server at that address that speaks TLS.
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

    /// From now on that path, with or without a query, behaves like this.
    pub fn on(&self, path: &str, behaviour: impl Into<Behaviour>) {
        self.state.behaviours.lock().unwrap().insert(path.to_owned(), behaviour.into());
    }

    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// The address of a path, for a host name that leads here.
    pub fn url(&self, host: &str, path: &str) -> String {
        let scheme = if self.secure { "https" } else { "http" };
        format!("{scheme}://{host}:{}{path}", self.address.port())
    }

    /// Everything that was asked so far.
    pub fn asked(&self) -> Vec<RecordedRequest> {
        self.state.book.lock().unwrap().asked.clone()
    }

    /// How many connections there were, with a request or without.
    pub fn connections(&self) -> usize {
        self.state.book.lock().unwrap().connections
    }

    /// The largest number of requests for a `Host` that were under way at once.
    pub fn most_at_once(&self, host: &str) -> usize {
        self.state.book.lock().unwrap().most.get(host).copied().unwrap_or(0)
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.task.abort();
    }
}

async fn accept(listener: TcpListener, tls: Option<TlsAcceptor>, state: Arc<State>) {
    // Ends all of them when it is dropped itself.
    let mut connections = JoinSet::new();
    while let Ok((stream, _)) = listener.accept().await {
        state.book.lock().unwrap().connections += 1;
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
    let Some(asked) = RecordedRequest::read(&mut stream).await else {
        return;
    };
    let inside = Inside::new(&state, asked.header("host").unwrap_or_default());
    state.book.lock().unwrap().asked.push(asked.clone());
    let behaviour = state.choose(&asked);
    // Who had enough hangs up, which is no failure of this side.
    let _ = behaviour.behave(&asked, &mut stream, inside).await;
}

impl State {
    fn choose(&self, asked: &RecordedRequest) -> Behaviour {
        let mut behaviours = self.behaviours.lock().unwrap();
        let path = asked.path.split('?').next().unwrap_or_default();
        let key = if behaviours.contains_key(&asked.path) { &asked.path } else { path };
        let behaviour = match behaviours.get_mut(key) {
            None => return Answer::status(404).into(),
            Some(Behaviour::InTurn(turns)) if turns.len() > 1 => turns.remove(0),
            Some(Behaviour::InTurn(turns)) => turns[0].clone(),
            Some(behaviour) => behaviour.clone(),
        };
        match behaviour {
            Behaviour::By(choose) => choose(asked),
            behaviour => behaviour,
        }
    }
}

/// A request that is under way.
struct Inside<'a> {
    state: &'a State,
    host: String,
}

impl Inside<'_> {
    fn new<'a>(state: &'a State, host: &str) -> Inside<'a> {
        let mut book = state.book.lock().unwrap();
        let inside = book.inside.entry(host.to_owned()).or_default();
        *inside += 1;
        let inside = *inside;
        let most = book.most.entry(host.to_owned()).or_default();
        *most = inside.max(*most);
        Inside { state, host: host.to_owned() }
    }
}

impl Drop for Inside<'_> {
    fn drop(&mut self) {
        if let Some(inside) = self.state.book.lock().unwrap().inside.get_mut(&self.host) {
            *inside -= 1;
        }
    }
}
