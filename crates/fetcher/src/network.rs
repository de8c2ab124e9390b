//! IP networks in CIDR notation.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::str::FromStr;

/// A range of addresses: `10.1.0.0/16`, `fd00::/8`, or a single address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Network {
    first: IpAddr,
    bits: u8,
}

/// An invalid network.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("invalid network: expected one like 10.1.0.0/16 or fd00::/8, with no bits set after its length")]
pub struct InvalidNetwork;

impl Network {
    /// An IPv4 network of the built-in lists.
    pub(crate) const fn v4(a: u8, b: u8, c: u8, bits: u8) -> Network {
        Network { first: IpAddr::V4(Ipv4Addr::new(a, b, c, 0)), bits }
    }

    /// An IPv6 network of the built-in lists.
    pub(crate) const fn v6(a: u16, b: u16, c: u16, bits: u8) -> Network {
        Network { first: IpAddr::V6(Ipv6Addr::new(a, b, c, 0, 0, 0, 0, 0)), bits }
    }

    /// Whether the network contains the address. `::ffff:10.1.2.3` is the same as `10.1.2.3`.
    #[must_use]
    pub fn contains(&self, address: IpAddr) -> bool {
        match (self.first, address.to_canonical()) {
            (IpAddr::V4(first), IpAddr::V4(address)) => {
                (first.to_bits() ^ address.to_bits()).checked_shr(32 - u32::from(self.bits)).unwrap_or(0) == 0
            }
            (IpAddr::V6(first), IpAddr::V6(address)) => {
                (first.to_bits() ^ address.to_bits()).checked_shr(128 - u32::from(self.bits)).unwrap_or(0)
                    == 0
            }
            _ => false,
        }
    }
}

impl FromStr for Network {
    type Err = InvalidNetwork;

    fn from_str(text: &str) -> Result<Network, InvalidNetwork> {
        let (address, bits) =
            text.split_once('/').map_or((text, None), |(address, bits)| (address, Some(bits)));
        let first: IpAddr = address.parse().map_err(|_| InvalidNetwork)?;
        let width = if first.is_ipv4() { 32 } else { 128 };
        let bits = match bits {
            None => width,
            Some(bits) if bits.bytes().all(|byte| byte.is_ascii_digit()) => {
                bits.parse().map_err(|_| InvalidNetwork)?
            }
            Some(_) => return Err(InvalidNetwork),
        };
        let below = match first {
            IpAddr::V4(first) => u128::from(first.to_bits()).checked_shl(u32::from(bits) + 96).unwrap_or(0),
            IpAddr::V6(first) => first.to_bits().checked_shl(u32::from(bits)).unwrap_or(0),
        };
        // Bits after the length are a mistake with an unclear intention. So is a mapped address: no address
        // would match it.
        if bits > width || below != 0 || first != first.to_canonical() {
            return Err(InvalidNetwork);
        }
        Ok(Network { first, bits })
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
