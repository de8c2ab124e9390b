//! How many connections each address has open.

use super::Trusted;
use crate::network::subscriber_of;
use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::{Arc, Mutex, PoisonError};

/// Counts the connections of every address, and refuses those beyond the limit.
#[derive(Clone)]
pub(super) struct PerAddress {
    limit: u32,
    exempt: Arc<Trusted>,
    open: Arc<Mutex<HashMap<IpAddr, u32>>>,
}

/// A connection that counts, until this is dropped.
pub(super) struct Counted {
    counts: PerAddress,
    /// The address that it counts for; none if the address is exempt.
    address: Option<IpAddr>,
}

impl PerAddress {
    pub(super) fn new(limit: u32, exempt: Trusted) -> PerAddress {
        PerAddress { limit, exempt: Arc::new(exempt), open: Arc::default() }
    }

    /// Counts one more connection; `None` if the address has as many as it may have.
    pub(super) fn admit(&self, address: IpAddr) -> Option<Counted> {
        if self.exempt.contains(address) {
            return Some(Counted { counts: self.clone(), address: None });
        }
        let address = subscriber_of(address);
        let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        let count = open.entry(address).or_default();
        if *count >= self.limit {
            return None;
        }
        *count += 1;
        Some(Counted { counts: self.clone(), address: Some(address) })
    }
}

impl Drop for Counted {
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
    use super::super::Network;
    use super::*;

    #[test]
    fn the_limit_holds_per_address_and_not_for_exempt_networks() {
        let exempt = Trusted::new(vec![Network::parse("10.0.0.0/8").unwrap()]);
        let counts = PerAddress::new(2, exempt);
        let admit = |address: &str| counts.admit(address.parse().unwrap());
        let (first, second) = (admit("192.0.2.1"), admit("192.0.2.1"));
        assert!(first.is_some() && second.is_some() && admit("192.0.2.1").is_none());
        assert!(admit("192.0.2.2").is_some(), "another address has its own count");
        let kept: Vec<_> = (0..10).map(|_| admit("10.1.2.3")).collect();
        assert!(kept.iter().all(Option::is_some));
        drop(first);
        assert!(admit("192.0.2.1").is_some());
        drop(second);
        assert!(counts.open.lock().unwrap().is_empty(), "an address without connections takes no memory");
    }

    #[test]
    fn a_subscriber_of_ipv6_counts_once() {
        let counts = PerAddress::new(1, Trusted::default());
        let _first = counts.admit("2001:db8:1:2::1".parse().unwrap());
        assert!(counts.admit("2001:db8:1:2::2".parse().unwrap()).is_none());
        assert!(counts.admit("2001:db8:1:3::1".parse().unwrap()).is_some());
    }
}
