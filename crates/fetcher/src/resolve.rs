//! From host names to addresses.

use async_trait::async_trait;
use std::io;
use std::net::IpAddr;

/// Looks up host names.
#[async_trait]
pub trait Resolve: Send + Sync {
    /// All addresses of a host.
    async fn resolve(&self, host: &str) -> io::Result<Vec<IpAddr>>;
}

/// Looks up host names as the system does.
#[derive(Clone, Copy, Debug, Default)]
pub struct SystemResolver;

#[async_trait]
impl Resolve for SystemResolver {
    async fn resolve(&self, host: &str) -> io::Result<Vec<IpAddr>> {
        // The port has no part in it; the interface wants one.
        Ok(tokio::net::lookup_host((host, 0)).await?.map(|found| found.ip()).collect())
    }
}
