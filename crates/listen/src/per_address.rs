//! Limits the open connections of each address.

use super::Trusted;
use ipnet::Ipv6Net;
use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::{Arc, Mutex, PoisonError};

/// Counts the connections of every address, and rejects those beyond the limit.
#[derive(Clone)]
pub(super) struct PerAddress {
    limit: u32,
    exempt: Arc<Trusted>,
    open: Arc<Mutex<HashMap<IpAddr, u32>>>,
}

/// A counted connection, until this is dropped.
pub(super) struct CountedConnection {
    counts: PerAddress,
    /// The address that it counts for; `None` if the address is exempt.
    address: Option<IpAddr>,
}

impl PerAddress {
    pub(super) fn new(limit: u32, exempt: Trusted) -> PerAddress {
        PerAddress { limit, exempt: Arc::new(exempt), open: Arc::default() }
    }

    /// Counts a connection. `None` if the address has reached its limit.
    pub(super) fn admit(&self, address: IpAddr) -> Option<CountedConnection> {
        if self.exempt.contains(address) {
            return Some(CountedConnection { counts: self.clone(), address: None });
        }
        let address = subscriber_of(address);
        let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        let count = open.entry(address).or_default();
        if *count >= self.limit {
            return None;
        }
        *count += 1;
        Some(CountedConnection { counts: self.clone(), address: Some(address) })
    }
}

/// The subscriber of an address: the IPv4 address, or the /64 of an IPv6 address.
fn subscriber_of(address: IpAddr) -> IpAddr {
    match address.to_canonical() {
        IpAddr::V6(v6) => Ipv6Net::new(v6, 64).map_or(address, |network| IpAddr::V6(network.network())),
        v4 => v4,
    }
}

impl Drop for CountedConnection {
    fn drop(&mut self) {
        let Some(address) = self.address else { return };
        let mut open = self.counts.open.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(count) = open.get_mut(&address) {
            *count -= 1;
            if *count == 0 {
                open.remove(&address);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::parse_network;
    use super::*;

    #[test]
    fn the_limit_applies_per_address_and_not_to_exempt_networks() {
        let exempt = Trusted::new(vec![parse_network("10.0.0.0/8").unwrap()]);
        let counts = PerAddress::new(2, exempt);
        let admit = |address: &str| counts.admit(address.parse().unwrap());
        let (first, second) = (admit("192.0.2.1"), admit("192.0.2.1"));
        assert!(first.is_some() && second.is_some() && admit("192.0.2.1").is_none());
        assert!(admit("192.0.2.2").is_some(), "another address was limited");
        let kept: Vec<_> = (0..10).map(|_| admit("10.1.2.3")).collect();
        assert!(kept.iter().all(Option::is_some));
        drop(first);
        assert!(admit("192.0.2.1").is_some());
        drop(second);
        assert!(counts.open.lock().unwrap().is_empty(), "an address without connections takes memory");
    }

    #[test]
    fn the_addresses_of_an_ipv6_subscriber_count_together() {
        let counts = PerAddress::new(1, Trusted::default());
        let _first = counts.admit("2001:db8:1:2::1".parse().unwrap());
        assert!(counts.admit("2001:db8:1:2::2".parse().unwrap()).is_none());
        assert!(counts.admit("2001:db8:1:3::1".parse().unwrap()).is_some());
    }
}
