//! Which addresses may be asked.
//!
//! Only those of the public internet, and those that the operator allows. An address of version 6 may carry one of
//! version 4, which some gateway on the way unpacks; then both have to be public.

use crate::address::is_own;
use crate::failure::{Failure, Refusal, Unreachable};
use crate::network::Network;
use crate::resolve::Resolve;
use crate::rules::Rules;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use url::{Host, Url};

/// What is not public of version 4.
const PRIVATE_V4: [Network; 15] = [
    Network::v4(0, 0, 0, 8),
    Network::v4(10, 0, 0, 8),
    Network::v4(100, 64, 0, 10),
    Network::v4(127, 0, 0, 8),
    Network::v4(169, 254, 0, 16),
    Network::v4(172, 16, 0, 12),
    Network::v4(192, 0, 0, 24),
    Network::v4(192, 0, 2, 24),
    Network::v4(192, 88, 99, 24),
    Network::v4(192, 168, 0, 16),
    Network::v4(198, 18, 0, 15),
    Network::v4(198, 51, 100, 24),
    Network::v4(203, 0, 113, 24),
    Network::v4(224, 0, 0, 4),
    Network::v4(240, 0, 0, 4),
];

/// All that is handed out to the public of version 6. Loopback, private, link-local, site-local and multicast
/// addresses are outside of it, and whatever is invented there next is refused until it is looked at.
const HANDED_OUT_V6: Network = Network::v6(0x2000, 0, 0, 3);

/// What is not public within it: protocol assignments (benchmarks, cryptographic names) and examples.
const PRIVATE_V6: [Network; 3] =
    [Network::v6(0x2001, 0, 0, 23), Network::v6(0x2001, 0xdb8, 0, 32), Network::v6(0x3fff, 0, 0, 20)];

/// Whether an address is one of the public internet.
#[must_use]
pub fn is_public(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(address) => is_public_v4(address),
        IpAddr::V6(address) => is_public_v6(address),
    }
}

fn is_public_v4(address: Ipv4Addr) -> bool {
    !PRIVATE_V4.iter().any(|network| network.contains(address.into()))
}

fn is_public_v6(address: Ipv6Addr) -> bool {
    let handed_out = match address.segments() {
        // Compatible with version 4, mapped, and NAT64: what they carry is all that they are. (The NAT64 of a network's
        // own, 64:ff9b:1::/48, is as private as that network, and how it packs addresses is its own affair: it is not
        // handed out to the public, so it is refused whole.)
        [0, 0, 0, 0, 0, 0 | 0xffff, _, _] | [0x64, 0xff9b, 0, 0, 0, 0, _, _] => true,
        // Teredo stands among the protocol assignments.
        [0x2001, 0, ..] => true,
        _ => {
            HANDED_OUT_V6.contains(address.into())
                && !PRIVATE_V6.iter().any(|network| network.contains(address.into()))
        }
    };
    handed_out && carried(address).into_iter().flatten().all(is_public_v4)
}

/// The addresses of version 4 that one of version 6 carries.
fn carried(address: Ipv6Addr) -> [Option<Ipv4Addr>; 3] {
    let segments = address.segments();
    let low = address.to_bits() as u32;
    let high = match segments {
        [0x2002, high, low, ..] | [0x2001, 0, high, low, ..] => Some(u32::from(high) << 16 | u32::from(low)),
        _ => None,
    };
    let end = match segments {
        [0, 0, 0, 0, 0, 0 | 0xffff, _, _] | [0x64, 0xff9b, 0, 0, 0, 0, _, _] => Some(low),
        // The client of Teredo, with every bit turned over.
        [0x2001, 0, ..] => Some(!low),
        _ => None,
    };
    // ISATAP can stand in any network: an interface that is named after an address.
    let interface = match segments {
        [_, _, _, _, 0 | 0x100 | 0x200 | 0x300, 0x5efe, _, _] => Some(low),
        _ => None,
    };
    [high, end, interface].map(|bits| bits.map(Ipv4Addr::from_bits))
}

/// An address that the guard let pass. Nothing else can be connected to.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Vetted(SocketAddr);

impl Vetted {
    pub(crate) fn address(self) -> SocketAddr {
        self.0
    }
}

/// Whether the rules let an address pass.
pub(crate) fn passes(rules: &Rules, address: IpAddr) -> bool {
    is_public(address) || rules.allowed.iter().any(|network| network.contains(address))
}

/// Looks up the host of an address that [`crate::address::check`] let pass. One address that must not be asked is
/// enough to refuse all: a server that is meant for everybody has none.
pub(crate) async fn vet(rules: &Rules, resolver: &dyn Resolve, url: &Url) -> Result<Vec<Vetted>, Failure> {
    let port = url.port_or_known_default().ok_or(Failure::Refused(Refusal::Port))?;
    let found = match url.host().ok_or(Failure::Refused(Refusal::NoAddress))? {
        Host::Ipv4(address) => vec![address.into()],
        Host::Ipv6(address) => vec![address.into()],
        Host::Domain(name) => {
            resolver.resolve(name).await.map_err(|_| Failure::Unreachable(Unreachable::NoSuchHost))?
        }
    };
    if found.is_empty() {
        return Err(Failure::Unreachable(Unreachable::NoSuchHost));
    }
    if found.iter().any(|address| is_own(rules, *address)) {
        return Err(Failure::Refused(Refusal::Own));
    }
    if !found.iter().all(|address| passes(rules, *address)) {
        return Err(Failure::Refused(Refusal::PrivateName));
    }
    Ok(found.into_iter().map(|address| Vetted(SocketAddr::new(address, port))).collect())
}
