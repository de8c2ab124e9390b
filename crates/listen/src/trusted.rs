//! Trusted proxies, which terminate TLS and forward the client's address.

use http::HeaderMap;
use ipnet::IpNet;
use std::net::{IpAddr, SocketAddr};

/// The text is neither an address nor a network.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("invalid network {0:?}: expected an address (10.0.0.5, ::1) or a network (10.0.0.0/8, fd00::/8)")]
pub struct InvalidNetwork(String);

/// Parses a network in CIDR form, or a single address: `10.0.0.5`, `10.0.0.0/8`, `::1`, `fd00::/8`.
pub fn parse_network(text: &str) -> Result<IpNet, InvalidNetwork> {
    let text = text.trim();
    let address = || text.parse::<IpAddr>().map(IpNet::from);
    text.parse().or_else(|_| address()).map_err(|_| InvalidNetwork(text.to_owned()))
}

/// The networks of trusted proxies.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Trusted(Vec<IpNet>);

impl Trusted {
    /// Trusts these networks.
    pub fn new(networks: Vec<IpNet>) -> Trusted {
        Trusted(networks)
    }

    /// Whether the address is in one of the networks.
    pub fn contains(&self, address: IpAddr) -> bool {
        let address = address.to_canonical();
        self.0.iter().any(|network| network.contains(&address))
    }

    /// The client behind a trusted `peer`: the last hop of `X-Forwarded-For` that is not itself trusted. Everything left
    /// of it is unverified, and so is everything left of an unreadable hop.
    pub(super) fn client(&self, peer: IpAddr, headers: &HeaderMap) -> IpAddr {
        let mut client = peer;
        let lines = headers.get_all("x-forwarded-for");
        let hops = lines.iter().rev().flat_map(|line| line.as_bytes().rsplit(|byte| *byte == b','));
        for hop in hops {
            match std::str::from_utf8(hop).ok().and_then(parse_hop) {
                Some(address) => client = address,
                None => return client,
            }
            if !self.contains(client) {
                return client;
            }
        }
        client
    }
}

/// An address, optionally with a port, which some proxies add.
fn parse_hop(hop: &str) -> Option<IpAddr> {
    let hop = hop.trim();
    let bare = hop.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')).unwrap_or(hop);
    let address = bare.parse().or_else(|_| hop.parse().map(|with_port: SocketAddr| with_port.ip()));
    address.ok().map(|address: IpAddr| address.to_canonical())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn trusted(networks: &[&str]) -> Trusted {
        Trusted::new(networks.iter().map(|network| parse_network(network).unwrap()).collect())
    }

    #[test]
    fn networks_are_parsed_and_matched() {
        let trusted = trusted(&["10.0.0.0/8", "192.0.2.7", "fd00::/8", "0.0.0.0/32"]);
        for (address, expected) in [
            ("10.255.0.1", true),
            ("11.0.0.1", false),
            ("192.0.2.7", true),
            ("192.0.2.6", false),
            ("::ffff:10.1.2.3", true),
            ("fdff::1", true),
            ("fe00::1", false),
        ] {
            assert_eq!(trusted.contains(address.parse().unwrap()), expected, "{address}");
        }
        assert!(parse_network("0.0.0.0/0").unwrap().contains(&"203.0.113.9".parse::<IpAddr>().unwrap()));
        for wrong in ["", "localhost", "10.0.0.0/33", "10.0.0/8", "::/129", "10.0.0.0/-1"] {
            assert!(parse_network(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn the_last_untrusted_hop_is_the_client() {
        let trusted = trusted(&["10.0.0.0/8"]);
        for (lines, expected) in [
            (vec![], "10.0.0.1"),
            (vec!["203.0.113.9"], "203.0.113.9"),
            (vec!["1.1.1.1, 203.0.113.9"], "203.0.113.9"),
            (vec!["1.1.1.1, 203.0.113.9, 10.0.0.2"], "203.0.113.9"),
            (vec!["1.1.1.1", "203.0.113.9,10.0.0.2"], "203.0.113.9"),
            (vec!["10.0.0.3, 10.0.0.2"], "10.0.0.3"),
            (vec!["203.0.113.9, unknown, 10.0.0.2"], "10.0.0.2"),
            (vec!["203.0.113.9:4711"], "203.0.113.9"),
            (vec!["[2001:db8::1]:4711"], "2001:db8::1"),
            (vec!["[2001:db8::1]"], "2001:db8::1"),
            (vec![""], "10.0.0.1"),
        ] {
            let mut headers = HeaderMap::new();
            for line in &lines {
                headers.append("x-forwarded-for", line.parse().unwrap());
            }
            let client = trusted.client("10.0.0.1".parse().unwrap(), &headers);
            assert_eq!(client, expected.parse::<IpAddr>().unwrap(), "{lines:?}");
        }
    }
}
