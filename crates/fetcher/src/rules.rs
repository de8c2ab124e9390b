//! What the fetcher may do, and at what cost.

use crate::hosts::Budget;
use crate::network::Network;
use std::time::Duration;

/// What the fetcher may do, and at what cost.
#[derive(Clone, Debug)]
pub struct Rules {
    /// How it calls itself: a name, a version, and where somebody is found who can be asked about it.
    pub user_agent: String,
    /// The only ports that are asked.
    pub ports: Vec<u16>,
    /// Networks that are not public and may be asked all the same.
    pub allowed: Vec<Network>,
    /// The service's own host names and addresses: it must not ask itself.
    pub own_hosts: Vec<String>,
    /// The longest body, in bytes: as it is sent, and inflated.
    pub max_bytes: usize,
    /// How many times as long as what was sent a body may be once it is inflated; up to 64 KiB it does not matter.
    pub max_ratio: usize,
    /// How long looking up a host, connecting and the TLS handshake may take together.
    pub connect: Duration,
    /// How long the head of an answer may take once it is asked for.
    pub head: Duration,
    /// How long everything may take, redirects included.
    pub total: Duration,
    /// How many redirects are followed.
    pub max_redirects: usize,
    /// How many requests a host gets.
    pub budget: Budget,
}

impl Rules {
    /// Rules that fit feeds of the public internet.
    #[must_use]
    pub fn new(user_agent: impl Into<String>) -> Rules {
        Rules {
            user_agent: user_agent.into(),
            ports: vec![80, 443],
            allowed: Vec::new(),
            own_hosts: Vec::new(),
            max_bytes: 5 << 20,
            max_ratio: 100,
            connect: Duration::from_secs(10),
            head: Duration::from_secs(15),
            total: Duration::from_secs(30),
            max_redirects: 5,
            budget: Budget { burst: 5, every: Duration::from_secs(2) },
        }
    }
}
