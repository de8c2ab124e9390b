//! How sources are fetched.

use super::{ConfigError, RawConfig};
use crate::sources::SourceSettings;
use fetcher::Network;

impl RawConfig {
    /// How sources are fetched. Without a public address, those who are asked do not learn who asks, and no hub can
    /// tell of news.
    pub fn sources(&self) -> Result<SourceSettings, ConfigError> {
        let base_url = self.base_url.as_ref().map(|_| self.public_address()).transpose()?;
        let network = |text: &String| {
            text.parse::<Network>().map_err(|why| ConfigError::value("sources.networks", why.to_string()))
        };
        let port = |text: &String| {
            let wrong = || format!("{text:?} is no port; right would be a number like 8080");
            text.parse().map_err(|_| ConfigError::value("sources.ports", wrong()))
        };
        Ok(SourceSettings {
            base_url: base_url.map(|base| base.as_str().to_owned()),
            networks: self.sources.networks.iter().flatten().map(network).collect::<Result<_, _>>()?,
            ports: self.sources.ports.iter().flatten().map(port).collect::<Result<_, _>>()?,
        })
    }
}
