//! Checks of an address that need no DNS lookup.

use crate::error::{FetchError, Refusal};
use crate::guard;
use crate::rules::Rules;
use std::net::IpAddr;
use url::{Host, Url};

/// The longest accepted address, in bytes.
pub(crate) const MAX_LENGTH: usize = 2_048;

/// Parses a typed address.
pub(crate) fn read(rules: &Rules, address: &str) -> Result<Url, FetchError> {
    if address.len() > MAX_LENGTH {
        return Err(FetchError::Refused(Refusal::TooLong));
    }
    let url = Url::parse(address).map_err(|_| FetchError::Refused(Refusal::NoAddress))?;
    check(rules, url)
}

/// The target of a redirect.
pub(crate) fn join(rules: &Rules, from: &Url, location: &[u8]) -> Result<Url, FetchError> {
    if location.len() > MAX_LENGTH {
        return Err(FetchError::Refused(Refusal::TooLong));
    }
    let to =
        from.join(&String::from_utf8_lossy(location)).map_err(|_| FetchError::Refused(Refusal::NoAddress))?;
    if from.scheme() == "https" && to.scheme() == "http" {
        return Err(FetchError::Refused(Refusal::Downgrade));
    }
    check(rules, to)
}

/// Applies the rules that need no lookup. They are applied to the parsed host, not to the text: parsing turns
/// `0x7f.1` and `2130706433` into 127.0.0.1. The fragment is removed because it is never sent.
pub(crate) fn check(rules: &Rules, mut url: Url) -> Result<Url, FetchError> {
    if !matches!(url.scheme(), "http" | "https") {
        return Err(FetchError::Refused(Refusal::Scheme));
    }
    if !url.username().is_empty() || url.password().is_some() {
        return Err(FetchError::Refused(Refusal::Credentials));
    }
    url.set_fragment(None);
    if let Some(Host::Domain(name)) = url.host()
        && name.ends_with('.')
    {
        // `localhost.` and `localhost` are one host, and certificates have no trailing dot.
        let name = name.trim_end_matches('.').to_owned();
        url.set_host(Some(&name)).map_err(|_| FetchError::Refused(Refusal::NoAddress))?;
    }
    // Parsing may have made it longer: each non-ASCII byte takes three characters.
    if url.as_str().len() > MAX_LENGTH {
        return Err(FetchError::Refused(Refusal::TooLong));
    }
    if !url.port_or_known_default().is_some_and(|port| rules.may_use_port(port)) {
        return Err(FetchError::Refused(Refusal::Port));
    }
    match url.host() {
        None => return Err(FetchError::Refused(Refusal::NoAddress)),
        Some(Host::Domain(name)) => check_name(rules, name)?,
        Some(Host::Ipv4(address)) => check_literal(rules, address.into())?,
        Some(Host::Ipv6(address)) => check_literal(rules, address.into())?,
    }
    Ok(url)
}

fn check_name(rules: &Rules, name: &str) -> Result<(), FetchError> {
    if name.is_empty() {
        return Err(FetchError::Refused(Refusal::NoAddress));
    }
    if !rules.is_for_operator && (name == "localhost" || name.ends_with(".localhost")) {
        return Err(FetchError::Refused(Refusal::PrivateName));
    }
    if rules.own_hosts.iter().any(|own| own.trim_end_matches('.').eq_ignore_ascii_case(name)) {
        return Err(FetchError::Refused(Refusal::Own));
    }
    Ok(())
}

fn check_literal(rules: &Rules, address: IpAddr) -> Result<(), FetchError> {
    if rules.is_own(address) {
        return Err(FetchError::Refused(Refusal::Own));
    }
    if guard::allowed(rules, address) { Ok(()) } else { Err(FetchError::Refused(Refusal::PrivateAddress)) }
}
