//! Settings of the feed importer.

use super::limits::NETWORK_EXPECTED;
use super::{ConfigError, RawConfig};
use crate::sources::SourceSettings;
use fetcher::Network;

impl RawConfig {
    /// The settings of the feed importer, checked. Without a public address, requests do not name the server, and hubs
    /// cannot notify it.
    pub fn sources(&self) -> Result<SourceSettings, ConfigError> {
        let base_url = self.base_url.as_ref().map(|_| self.public_address()).transpose()?;
        let network = |text: &String| {
            let invalid = || ConfigError::invalid("sources.networks", text, NETWORK_EXPECTED);
            text.parse::<Network>().map_err(|_| invalid())
        };
        let port = |text: &String| {
            let invalid = || ConfigError::invalid("sources.ports", text, "a port number, like 8080");
            text.parse().map_err(|_| invalid())
        };
        Ok(SourceSettings {
            base_url: base_url.map(|base| base.as_str().to_owned()),
            networks: self.sources.networks.iter().flatten().map(network).collect::<Result<_, _>>()?,
            ports: self.sources.ports.iter().flatten().map(port).collect::<Result<_, _>>()?,
        })
    }
}
