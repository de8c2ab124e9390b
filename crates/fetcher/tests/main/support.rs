//! Shared helpers.

use fetcher::{FetchError, FetchRequest, FetchResponse, Fetcher, HostBudget, Rules};
use std::sync::Arc;
use std::time::Duration;
use test_server::{Authority, Names, Server};

pub(super) const AGENT: &str = "Test/1.0 (+https://example.org/contact)";
pub(super) const ATOM: &[u8] = b"<feed xmlns=\"http://www.w3.org/2005/Atom\"><title>A feed</title></feed>";

/// A fetcher that may connect to the test's servers.
pub(super) struct FetcherEnv {
    pub(super) names: Arc<Names>,
    pub(super) authority: Authority,
    pub(super) rules: Rules,
}

impl FetcherEnv {
    pub(super) fn new(servers: &[&Server]) -> FetcherEnv {
        let mut rules = Rules::new(AGENT);
        // The tests send single requests, so the rate is not limited.
        rules.budget = HostBudget { burst: u32::MAX, every: Duration::ZERO };
        rules.ports = servers.iter().map(|server| server.address().port()).collect();
        rules.allowed = vec!["127.0.0.0/8".parse().unwrap()];
        rules.own_hosts = vec!["tofrom.example".to_owned()];
        rules.max_bytes = 1 << 20;
        let names = Arc::new(Names::new());
        for host in ["feeds.example", "other.example"] {
            names.set(host, &["127.0.0.1"]);
        }
        FetcherEnv { names, authority: Authority::new(), rules }
    }

    pub(super) fn fetcher(&self) -> Fetcher {
        Fetcher::with_roots(self.rules.clone(), self.names.clone(), self.authority.roots()).unwrap()
    }

    pub(super) async fn get(&self, url: &str) -> Result<FetchResponse, FetchError> {
        self.fetcher().get(&get(url)).await
    }
}

pub(super) fn get(url: &str) -> FetchRequest {
    FetchRequest::feed(url.parse().unwrap())
}

/// A server and an environment with access to it.
pub(super) async fn server() -> (Server, FetcherEnv) {
    let server = Server::start().await;
    let env = FetcherEnv::new(&[&server]);
    (server, env)
}

/// The message of the expected error.
pub(super) fn sentence(outcome: Result<FetchResponse, FetchError>) -> String {
    outcome.expect_err("expected an error").to_string()
}
