//! Resolution of host names.

use async_trait::async_trait;
use std::io;
use std::net::IpAddr;

/// Resolves host names.
#[async_trait]
pub trait Resolve: Send + Sync {
    /// All addresses of a host.
    async fn resolve(&self, host: &str) -> io::Result<Vec<IpAddr>>;
}

/// Resolves host names with the system's resolver.
#[derive(Clone, Copy, Debug, Default)]
pub struct SystemResolver;

#[async_trait]
impl Resolve for SystemResolver {
    async fn resolve(&self, host: &str) -> io::Result<Vec<IpAddr>> {
        // The port is required by the interface and ignored.
        Ok(tokio::net::lookup_host((host, 0)).await?.map(|address| address.ip()).collect())
    }
}
