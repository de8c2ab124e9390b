//! The limits of the fetcher.

use crate::host_limiter::HostBudget;
use crate::network::Network;
use std::net::IpAddr;
use std::time::Duration;

/// The limits of the fetcher.
#[derive(Clone, Debug)]
pub struct Rules {
    /// The user agent: name, version and a contact address.
    pub user_agent: String,
    /// The allowed ports.
    pub ports: Vec<u16>,
    /// Whether every port is allowed within `allowed`: an operator's own servers.
    pub any_port_within_allowed: bool,
    /// Networks that are not public but allowed.
    pub allowed: Vec<Network>,
    /// Whether the operator has entered all addresses: every host and every port is allowed.
    pub is_for_operator: bool,
    /// Host names and addresses of this service, which are refused.
    pub own_hosts: Vec<String>,
    /// The longest body, in bytes, compressed and decompressed.
    pub max_bytes: usize,
    /// The maximum ratio of decompressed to compressed length. It does not apply below 64 KiB.
    pub max_ratio: usize,
    /// The timeout of DNS lookup, connection and TLS handshake together.
    pub connect: Duration,
    /// The timeout from the request to the head of the response.
    pub head: Duration,
    /// The total timeout, including redirects.
    pub total: Duration,
    /// The maximum number of redirects.
    pub max_redirects: usize,
    /// Concurrent connections to a host.
    pub connections: usize,
    /// The rate limit of a host.
    pub budget: HostBudget,
}

impl Rules {
    /// Whether the IP address is configured as one of the service's.
    pub(crate) fn is_own(&self, address: IpAddr) -> bool {
        self.own_hosts.iter().any(|own| own.trim_matches(['[', ']']).parse() == Ok(address.to_canonical()))
    }

    /// Whether a port may be allowed. If it depends on the address, the guard decides after the lookup.
    pub(crate) fn may_use_port(&self, port: u16) -> bool {
        self.is_for_operator
            || self.ports.contains(&port)
            || self.any_port_within_allowed && !self.allowed.is_empty()
    }

    /// Whether a port of these addresses is allowed.
    pub(crate) fn allows_port(&self, port: u16, addresses: &[IpAddr]) -> bool {
        let is_within = |address: &IpAddr| self.allowed.iter().any(|network| network.contains(*address));
        self.is_for_operator
            || self.ports.contains(&port)
            || self.any_port_within_allowed && addresses.iter().all(is_within)
    }

    /// Default limits for feeds of the public internet.
    #[must_use]
    pub fn new(user_agent: impl Into<String>) -> Rules {
        Rules {
            user_agent: user_agent.into(),
            ports: vec![80, 443],
            any_port_within_allowed: false,
            allowed: Vec::new(),
            is_for_operator: false,
            own_hosts: Vec::new(),
            max_bytes: 5 << 20,
            max_ratio: 100,
            connect: Duration::from_secs(10),
            head: Duration::from_secs(15),
            total: Duration::from_secs(30),
            max_redirects: 5,
            connections: 1,
            budget: HostBudget { burst: 5, every: Duration::from_secs(2) },
        }
    }
}
