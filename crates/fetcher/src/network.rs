//! IP networks in CIDR notation.

use ipnet::IpNet;
use std::net::IpAddr;
use std::str::FromStr;

/// A range of addresses: `10.1.0.0/16`, `fd00::/8`, or a single address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Network(IpNet);

/// An invalid network.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("invalid network: expected one like 10.1.0.0/16 or fd00::/8, with no bits set after its length")]
pub struct InvalidNetwork;

impl Network {
    /// Whether the network contains the address. `::ffff:10.1.2.3` is the same as `10.1.2.3`.
    #[must_use]
    pub fn contains(&self, address: IpAddr) -> bool {
        self.0.contains(&address.to_canonical())
    }
}

impl FromStr for Network {
    type Err = InvalidNetwork;

    fn from_str(text: &str) -> Result<Network, InvalidNetwork> {
        let address = |_| text.parse::<IpAddr>().map(IpNet::from);
        let network = text.parse::<IpNet>().or_else(address).map_err(|_| InvalidNetwork)?;
        // Bits after the length are a mistake with an unclear intention. So is a mapped address: no address
        // would match it.
        let first = network.addr();
        if first != network.network() || first != first.to_canonical() {
            return Err(InvalidNetwork);
        }
        Ok(Network(network))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_network_contains_exactly_its_addresses() {
        let network: Network = "10.1.0.0/16".parse().unwrap();
        for (address, within) in [
            ("10.1.0.0", true),
            ("10.1.255.255", true),
            ("::ffff:10.1.2.3", true),
            ("10.2.0.0", false),
            ("10.0.255.255", false),
            ("::a01:203", false),
        ] {
            assert_eq!(network.contains(address.parse().unwrap()), within, "{address}");
        }
        let network: Network = "fd00::/8".parse().unwrap();
        assert!(network.contains("fdff::1".parse().unwrap()));
        assert!(!network.contains("fc00::1".parse().unwrap()));
        let everything: Network = "0.0.0.0/0".parse().unwrap();
        assert!(everything.contains("255.1.2.3".parse().unwrap()));
        let network: Network = "127.0.0.2".parse().unwrap();
        assert!(
            network.contains("127.0.0.2".parse().unwrap()) && !network.contains("127.0.0.3".parse().unwrap())
        );
        let network: Network = "::1".parse().unwrap();
        assert!(network.contains("::1".parse().unwrap()) && !network.contains("::2".parse().unwrap()));
    }

    #[test]
    fn invalid_networks_are_rejected() {
        for text in [
            "",
            "10.1.0.0/",
            "10.1.0.0/33",
            "10.1.0.1/16",
            "fd00::/129",
            "10.0.0/8",
            "10.0.0.0/+8",
            "::ffff:10.0.0.0/104",
            "x/8",
        ] {
            assert_eq!(text.parse::<Network>(), Err(InvalidNetwork), "{text}");
        }
    }
}
