//! Decides which IP addresses may be connected to.
//!
//! These are the addresses of the public internet and those that the operator allows. An IPv6 address may embed
//! an IPv4 address that a gateway unpacks; then both have to be public.

use crate::error::{FetchError, Refusal, Unreachable};
use crate::resolve::Resolve;
use crate::rules::Rules;
use ipnet::{Ipv4Net, Ipv6Net};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use url::{Host, Url};

/// IPv4 networks that are not public.
const PRIVATE_V4: [Ipv4Net; 15] = [
    v4(0, 0, 0, 8),
    v4(10, 0, 0, 8),
    v4(100, 64, 0, 10),
    v4(127, 0, 0, 8),
    v4(169, 254, 0, 16),
    v4(172, 16, 0, 12),
    v4(192, 0, 0, 24),
    v4(192, 0, 2, 24),
    v4(192, 88, 99, 24),
    v4(192, 168, 0, 16),
    v4(198, 18, 0, 15),
    v4(198, 51, 100, 24),
    v4(203, 0, 113, 24),
    v4(224, 0, 0, 4),
    v4(240, 0, 0, 4),
];

/// The globally assigned IPv6 unicast range. Loopback, private, link-local, site-local and multicast addresses
/// are outside, and so are future assignments until they are reviewed.
const HANDED_OUT_V6: Ipv6Net = v6(0x2000, 0, 0, 3);

/// Networks in that range that are not public: protocol assignments (benchmarks, cryptographic names) and
/// documentation.
const PRIVATE_V6: [Ipv6Net; 3] = [v6(0x2001, 0, 0, 23), v6(0x2001, 0xdb8, 0, 32), v6(0x3fff, 0, 0, 20)];

const fn v4(a: u8, b: u8, c: u8, bits: u8) -> Ipv4Net {
    Ipv4Net::new_assert(Ipv4Addr::new(a, b, c, 0), bits)
}

const fn v6(a: u16, b: u16, c: u16, bits: u8) -> Ipv6Net {
    Ipv6Net::new_assert(Ipv6Addr::new(a, b, c, 0, 0, 0, 0, 0), bits)
}

/// Whether an address belongs to the public internet.
#[must_use]
pub fn is_public(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(address) => is_public_v4(address),
        IpAddr::V6(address) => is_public_v6(address),
    }
}

fn is_public_v4(address: Ipv4Addr) -> bool {
    !PRIVATE_V4.iter().any(|network| network.contains(&address))
}

fn is_public_v6(address: Ipv6Addr) -> bool {
    let handed_out = match address.segments() {
        // IPv4-compatible, IPv4-mapped and NAT64: only the embedded address counts. (The network-specific NAT64
        // prefix 64:ff9b:1::/48 is as private as its network and its format is local, so all of it is refused:
        // it is outside of the global unicast range.)
        [0, 0, 0, 0, 0, 0 | 0xffff, _, _] | [0x64, 0xff9b, 0, 0, 0, 0, _, _] => true,
        // Teredo is part of the protocol assignments.
        [0x2001, 0, ..] => true,
        _ => HANDED_OUT_V6.contains(&address) && !PRIVATE_V6.iter().any(|network| network.contains(&address)),
    };
    handed_out && embedded(address).into_iter().flatten().all(is_public_v4)
}

/// The IPv4 addresses that an IPv6 address embeds.
fn embedded(address: Ipv6Addr) -> [Option<Ipv4Addr>; 3] {
    let segments = address.segments();
    let low = address.to_bits() as u32;
    let high = match segments {
        [0x2002, high, low, ..] | [0x2001, 0, high, low, ..] => Some(u32::from(high) << 16 | u32::from(low)),
        _ => None,
    };
    let end = match segments {
        [0, 0, 0, 0, 0, 0 | 0xffff, _, _] | [0x64, 0xff9b, 0, 0, 0, 0, _, _] => Some(low),
        // The Teredo client address has all bits inverted.
        [0x2001, 0, ..] => Some(!low),
        _ => None,
    };
    // ISATAP may occur in any network: the interface identifier embeds the address.
    let interface = match segments {
        [_, _, _, _, 0 | 0x100 | 0x200 | 0x300, 0x5efe, _, _] => Some(low),
        _ => None,
    };
    [high, end, interface].map(|bits| bits.map(Ipv4Addr::from_bits))
}

/// An address that the guard accepted. Connections are possible to no other type.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Vetted(SocketAddr);

impl Vetted {
    pub(crate) fn address(self) -> SocketAddr {
        self.0
    }
}

/// Whether the rules allow an address.
pub(crate) fn allowed(rules: &Rules, address: IpAddr) -> bool {
    rules.is_for_operator
        || is_public(address)
        || rules.allowed.iter().any(|network| network.contains(address))
}

/// Resolves the host of an address that [`crate::address::check`] accepted. One forbidden IP address refuses
/// all of them: a public server has none.
pub(crate) async fn vet(rules: &Rules, resolver: &dyn Resolve, url: &Url) -> Result<Vec<Vetted>, FetchError> {
    let port = url.port_or_known_default().ok_or(FetchError::Refused(Refusal::Port))?;
    let resolved = match url.host().ok_or(FetchError::Refused(Refusal::NoAddress))? {
        Host::Ipv4(address) => vec![address.into()],
        Host::Ipv6(address) => vec![address.into()],
        Host::Domain(name) => {
            resolver.resolve(name).await.map_err(|_| FetchError::Unreachable(Unreachable::NoSuchHost))?
        }
    };
    if resolved.is_empty() {
        return Err(FetchError::Unreachable(Unreachable::NoSuchHost));
    }
    if resolved.iter().any(|address| rules.is_own(*address)) {
        return Err(FetchError::Refused(Refusal::Own));
    }
    if !resolved.iter().all(|address| allowed(rules, *address)) {
        return Err(FetchError::Refused(Refusal::PrivateName));
    }
    if !rules.allows_port(port, &resolved) {
        return Err(FetchError::Refused(Refusal::Port));
    }
    Ok(resolved.into_iter().map(|address| Vetted(SocketAddr::new(address, port))).collect())
}
