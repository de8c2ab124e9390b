//! Groups client addresses by subscriber and by network.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// The subscriber of an address: the IPv4 address, or the /64 of an IPv6 address, which belongs to one subscriber.
pub fn subscriber_of(address: IpAddr) -> IpAddr {
    match address.to_canonical() {
        IpAddr::V6(v6) => IpAddr::V6(Ipv6Addr::from_bits(v6.to_bits() & !u128::from(u64::MAX))),
        v4 => v4,
    }
}

/// The network of an address for fair queueing: the /24 of an IPv4 address, the /48 of an IPv6 address. One subscriber
/// has at most that much.
pub fn network_of(address: IpAddr) -> IpAddr {
    match address.to_canonical() {
        IpAddr::V4(v4) => IpAddr::V4(Ipv4Addr::from_bits(v4.to_bits() & (u32::MAX << 8))),
        IpAddr::V6(v6) => IpAddr::V6(Ipv6Addr::from_bits(v6.to_bits() & (u128::MAX << 80))),
    }
}

/// The address as IPv6; IPv4 is mapped.
pub fn as_ipv6(address: IpAddr) -> Ipv6Addr {
    match address {
        IpAddr::V4(v4) => v4.to_ipv6_mapped(),
        IpAddr::V6(v6) => v6,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_ipv6_subscriber_has_64_bits() {
        for (address, subscriber) in [
            ("192.0.2.7", "192.0.2.7"),
            ("::ffff:192.0.2.7", "192.0.2.7"),
            ("2001:db8:1:2:3:4:5:6", "2001:db8:1:2::"),
            ("::1", "::"),
        ] {
            assert_eq!(subscriber_of(address.parse().unwrap()), subscriber.parse::<IpAddr>().unwrap());
        }
    }

    #[test]
    fn a_network_has_24_bits_of_ipv4_and_48_of_ipv6() {
        for (address, network) in [
            ("192.0.2.7", "192.0.2.0"),
            ("::ffff:192.0.2.7", "192.0.2.0"),
            ("2001:db8:1:2:3:4:5:6", "2001:db8:1::"),
        ] {
            assert_eq!(network_of(address.parse().unwrap()), network.parse::<IpAddr>().unwrap());
        }
    }
}
