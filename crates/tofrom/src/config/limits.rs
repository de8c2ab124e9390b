//! What one client may have of the service.

use super::{ConfigError, RawConfig, RawLimits};
use crate::http::listen::{Network, Trusted};

/// Limits for each client.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClientLimits {
    /// Open connections of one address.
    pub connections_per_address: u32,
    /// Networks that have no such limit.
    pub exempt_networks: Trusted,
}

impl Default for ClientLimits {
    fn default() -> ClientLimits {
        ClientLimits { connections_per_address: 256, exempt_networks: Trusted::default() }
    }
}

impl RawConfig {
    /// Limits for each client.
    pub fn client_limits(&self) -> Result<ClientLimits, ConfigError> {
        let RawLimits { connections_per_address, exempt_networks } = &self.limits;
        let defaults = ClientLimits::default();
        if *connections_per_address == Some(0) {
            let why = "is 0, which refuses every connection; expected a number from 1 on, like 256";
            return Err(ConfigError::value("limits.connections_per_address", why));
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

/// The networks that a setting lists.
pub(super) fn networks(name: &'static str, texts: &[String]) -> Result<Trusted, ConfigError> {
    let networks: Result<Vec<_>, _> = texts.iter().map(|text| Network::parse(text)).collect();
    networks.map(Trusted::new).map_err(|why| ConfigError::value(name, why.to_string()))
}
