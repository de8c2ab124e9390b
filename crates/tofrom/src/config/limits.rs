//! Limits for each client.

use super::{ConfigError, RawConfig, RawLimits};
use crate::http::listen::{Network, Trusted};

/// The expected form of an item in a list of networks.
pub(super) const NETWORK_EXPECTED: &str = "an address or a network, like 10.0.0.5 or 10.0.0.0/8";

/// Limits for each client.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClientLimits {
    /// Maximum number of open connections per client address.
    pub connections_per_address: u32,
    /// Networks without that limit.
    pub exempt_networks: Trusted,
}

impl Default for ClientLimits {
    fn default() -> ClientLimits {
        ClientLimits { connections_per_address: 256, exempt_networks: Trusted::default() }
    }
}

impl RawConfig {
    /// The limits for each client, checked.
    pub fn client_limits(&self) -> Result<ClientLimits, ConfigError> {
        let RawLimits { connections_per_address, exempt_networks } = &self.limits;
        let defaults = ClientLimits::default();
        if *connections_per_address == Some(0) {
            let expected = "a number above 0, like 256: 0 would refuse every connection";
            return Err(ConfigError::invalid("limits.connections_per_address", "0", expected));
        }
        Ok(ClientLimits {
            connections_per_address: connections_per_address.unwrap_or(defaults.connections_per_address),
            exempt_networks: networks(
                "limits.exempt_networks",
                exempt_networks.as_deref().unwrap_or_default(),
            )?,
        })
    }
}

/// Parses the networks that a setting lists.
pub(super) fn networks(name: &'static str, texts: &[String]) -> Result<Trusted, ConfigError> {
    let network =
        |text: &String| Network::parse(text).map_err(|_| ConfigError::invalid(name, text, NETWORK_EXPECTED));
    texts.iter().map(network).collect::<Result<Vec<_>, _>>().map(Trusted::new)
}
