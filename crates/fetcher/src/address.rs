//! What an address must look like before anything is looked up.

use crate::failure::{Failure, Refusal};
use crate::guard;
use crate::rules::Rules;
use std::net::IpAddr;
use url::{Host, Url};

/// The longest address that is read, in bytes.
pub(crate) const MAX_LENGTH: usize = 2_048;

/// Reads an address that somebody typed.
pub(crate) fn read(rules: &Rules, address: &str) -> Result<Url, Failure> {
    if address.len() > MAX_LENGTH {
        return Err(Failure::Refused(Refusal::TooLong));
    }
    let url = Url::parse(address).map_err(|_| Failure::Refused(Refusal::NoAddress))?;
    check(rules, url)
}

/// Where a redirect leads.
pub(crate) fn join(rules: &Rules, from: &Url, location: &[u8]) -> Result<Url, Failure> {
    if location.len() > MAX_LENGTH {
        return Err(Failure::Refused(Refusal::TooLong));
    }
    let to =
        from.join(&String::from_utf8_lossy(location)).map_err(|_| Failure::Refused(Refusal::NoAddress))?;
    if from.scheme() == "https" && to.scheme() == "http" {
        return Err(Failure::Refused(Refusal::Downgrade));
    }
    check(rules, to)
}

/// Holds an address to the rules that need no look-up. The parsed host is looked at, not the text: `0x7f.1` and
/// `2130706433` are 127.0.0.1 by then. A fragment is never sent, so it is cut.
pub(crate) fn check(rules: &Rules, mut url: Url) -> Result<Url, Failure> {
    if !matches!(url.scheme(), "http" | "https") {
        return Err(Failure::Refused(Refusal::Scheme));
    }
    if !url.username().is_empty() || url.password().is_some() {
        return Err(Failure::Refused(Refusal::Credentials));
    }
    url.set_fragment(None);
    if let Some(Host::Domain(name)) = url.host()
        && name.ends_with('.')
    {
        // `localhost.` and `localhost` are one host, and no certificate is for a name with a dot at its end.
        let name = name.trim_end_matches('.').to_owned();
        url.set_host(Some(&name)).map_err(|_| Failure::Refused(Refusal::NoAddress))?;
    }
    // Parsing may have made it longer: everything that is not ASCII takes three characters a byte.
    if url.as_str().len() > MAX_LENGTH {
        return Err(Failure::Refused(Refusal::TooLong));
    }
    if !url.port_or_known_default().is_some_and(|port| rules.ports.contains(&port)) {
        return Err(Failure::Refused(Refusal::Port));
    }
    match url.host() {
        None => return Err(Failure::Refused(Refusal::NoAddress)),
        Some(Host::Domain(name)) => check_name(rules, name)?,
        Some(Host::Ipv4(address)) => check_literal(rules, address.into())?,
        Some(Host::Ipv6(address)) => check_literal(rules, address.into())?,
    }
    Ok(url)
}

fn check_name(rules: &Rules, name: &str) -> Result<(), Failure> {
    if name.is_empty() {
        return Err(Failure::Refused(Refusal::NoAddress));
    }
    if name == "localhost" || name.ends_with(".localhost") {
        return Err(Failure::Refused(Refusal::PrivateName));
    }
    if rules.own_hosts.iter().any(|own| own.trim_end_matches('.').eq_ignore_ascii_case(name)) {
        return Err(Failure::Refused(Refusal::Own));
    }
    Ok(())
}

fn check_literal(rules: &Rules, address: IpAddr) -> Result<(), Failure> {
    if is_own(rules, address) {
        return Err(Failure::Refused(Refusal::Own));
    }
    if guard::passes(rules, address) { Ok(()) } else { Err(Failure::Refused(Refusal::PrivateAddress)) }
}

/// Whether an address is one that the service is known by.
pub(crate) fn is_own(rules: &Rules, address: IpAddr) -> bool {
    rules.own_hosts.iter().any(|own| own.trim_matches(['[', ']']).parse() == Ok(address.to_canonical()))
}
