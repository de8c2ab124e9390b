//! What the tests share.

use fetcher::{Answer, Budget, Failure, Fetcher, Get, Rules};
use std::sync::Arc;
use std::time::Duration;
use test_server::{Authority, Names, Server};

pub(super) const AGENT: &str = "Test/1.0 (+https://example.org/contact)";
pub(super) const ATOM: &[u8] = b"<feed xmlns=\"http://www.w3.org/2005/Atom\"><title>A feed</title></feed>";

/// A fetcher that may ask the test's servers.
pub(super) struct Setting {
    pub(super) names: Arc<Names>,
    pub(super) authority: Authority,
    pub(super) rules: Rules,
}

impl Setting {
    pub(super) fn new(servers: &[&Server]) -> Setting {
        let mut rules = Rules::new(AGENT);
        // What is tested here are single requests.
        rules.budget = Budget { burst: u32::MAX, every: Duration::ZERO };
        rules.ports = servers.iter().map(|server| server.address().port()).collect();
        rules.allowed = vec!["127.0.0.0/8".parse().unwrap()];
        rules.own_hosts = vec!["tofrom.example".to_owned()];
        rules.max_bytes = 1 << 20;
        let names = Arc::new(Names::new());
        for host in ["feeds.example", "other.example"] {
            names.lead(host, &["127.0.0.1"]);
        }
        Setting { names, authority: Authority::new(), rules }
    }

    pub(super) fn fetcher(&self) -> Fetcher {
        Fetcher::with_roots(self.rules.clone(), self.names.clone(), self.authority.roots()).unwrap()
    }

    pub(super) async fn get(&self, url: &str) -> Result<Answer, Failure> {
        self.fetcher().get(&get(url)).await
    }
}

pub(super) fn get(url: &str) -> Get {
    Get::feed(url.parse().unwrap())
}

/// A server, and who may ask it.
pub(super) async fn server() -> (Server, Setting) {
    let server = Server::start().await;
    let setting = Setting::new(&[&server]);
    (server, setting)
}

/// The sentence that a person reads.
pub(super) fn sentence(outcome: Result<Answer, Failure>) -> String {
    outcome.expect_err("it should fail").to_string()
}
