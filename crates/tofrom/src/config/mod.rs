//! Settings: what was written down ([`RawConfig`]) and what it comes to ([`Config`]).
//!
//! They come from `tofrom.toml` (or the file of `--config`), then from the environment (`TOFROM_LISTEN`, nested ones
//! as `TOFROM_TLS__CERTIFICATE`, lists with commas), then from flags; the later one counts. A setting that nobody
//! knows is an error, wherever it was written.

mod address;
mod age;
mod cluster;
mod demo_folder;
mod engine;
mod fanout;
mod limits;
mod raw;
mod sources;
mod storage;
#[cfg(test)]
mod tests;

pub use address::{BaseUrl, InvalidBaseUrl};
pub use age::{InvalidAge, parse_age};
pub use cluster::Cluster;
pub use engine::Engine;
pub use fanout::Fanout;
pub use limits::ClientLimits;
pub use raw::{RawConfig, RawCql, RawFanout, RawLimits, RawNats, RawProxy, RawSources, RawTls};
pub use storage::Storage;

use crate::http::listen::{TlsFiles, Trusted};
use crate::sources::SourceSettings;
use model::MAX_PAGE;
use std::net::{Ipv4Addr, SocketAddr};
use std::path::PathBuf;
use std::time::Duration;

/// The file that is read where none is named.
pub const DEFAULT_FILE: &str = "tofrom.toml";
/// The folder for data where none is named.
pub const DEFAULT_DATA_DIR: &str = "tofrom-data";
/// Where HTTPS listens where nothing is said: every address, a port that needs no privilege.
pub const DEFAULT_LISTEN: SocketAddr = SocketAddr::new(std::net::IpAddr::V4(Ipv4Addr::UNSPECIFIED), 8443);
/// Where the admin listener is where nothing is said: this machine only.
pub const DEFAULT_ADMIN_LISTEN: SocketAddr = SocketAddr::new(std::net::IpAddr::V4(Ipv4Addr::LOCALHOST), 8444);

/// The largest `max_count`: a page is in memory as a whole.
const LARGEST_MAX_COUNT: u32 = 10_000;

/// What is wrong with the settings, and what would be right.
#[derive(Debug, thiserror::Error)]
pub enum ConfigError {
    /// The file can't be read.
    #[error("{path}: {why}", path = .path.display())]
    File {
        /// Which.
        path: PathBuf,
        /// Why.
        why: String,
    },
    /// Somebody wrote a setting that there is not.
    #[error("{place}: there is no setting {name}{hint}")]
    Unknown {
        /// The file or the environment's variable.
        place: String,
        /// The setting.
        name: String,
        /// The setting that may have been meant.
        hint: String,
    },
    /// A setting can't have that value.
    #[error("{name}: {why}")]
    Value {
        /// The setting.
        name: &'static str,
        /// What is wrong and what would be right.
        why: String,
    },
}

impl ConfigError {
    fn value(name: &'static str, why: impl Into<String>) -> ConfigError {
        ConfigError::Value { name, why: why.into() }
    }
}

/// The settings of a service, complete and checked as far as that goes without touching anything.
#[derive(Clone, Debug)]
pub struct Config {
    /// The public address that everything is built from.
    pub base_url: BaseUrl,
    /// HTTPS: where, and with which certificate.
    pub https: Option<Https>,
    /// Plain HTTP behind a proxy.
    pub proxy: Option<Proxy>,
    /// The admin listener.
    pub admin_listen: Option<SocketAddr>,
    /// Where everything is kept.
    pub storage: Storage,
    /// Whether every request must name its application.
    pub require_consumer_key: bool,
    /// Whether people may make accounts without an invitation.
    pub open_registration: bool,
    /// How long activities are kept; for ever if nothing is said.
    pub retention: Option<Duration>,
    /// How long OAuth access tokens live; for ever if nothing is said.
    pub token_lifetime: Option<Duration>,
    /// Origins whose scripts may use the service.
    pub cors_origins: Vec<String>,
    /// How far `start` reaches.
    pub max_start: u32,
    /// How many items a page may have.
    pub max_count: u32,
    /// How many connections may be open.
    pub max_connections: u32,
    /// What one client may have.
    pub limits: ClientLimits,
    /// How long the listeners go on after the signal to stop.
    pub shutdown_delay: Duration,
    /// How sources are fetched.
    pub sources: SourceSettings,
    /// By which way activities come to followers.
    pub fanout: Fanout,
}

/// What a process needs to know that only delivers.
#[derive(Clone, Debug)]
pub struct WorkerConfig {
    /// The admin listener.
    pub admin_listen: SocketAddr,
    /// Where everything is kept.
    pub storage: Storage,
    /// How sources are fetched.
    pub sources: SourceSettings,
    /// By which way activities come to followers.
    pub fanout: Fanout,
}

/// The HTTPS listener.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Https {
    /// Where.
    pub listen: SocketAddr,
    /// The certificate and its key.
    pub files: TlsFiles,
}

/// The listener behind a proxy that ends TLS.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Proxy {
    /// Where.
    pub listen: SocketAddr,
    /// From whom.
    pub trusted: Trusted,
}

impl Config {
    /// A service that listens nowhere yet, with defaults for everything else.
    pub fn new(base_url: BaseUrl, storage: Storage) -> Config {
        let sources =
            SourceSettings { base_url: Some(base_url.as_str().to_owned()), ..SourceSettings::default() };
        Config {
            base_url,
            https: None,
            proxy: None,
            admin_listen: None,
            storage,
            require_consumer_key: false,
            open_registration: false,
            retention: None,
            token_lifetime: None,
            cors_origins: Vec::new(),
            max_start: 100_000,
            max_count: 1_000,
            max_connections: 20_000,
            limits: ClientLimits::default(),
            shutdown_delay: Duration::ZERO,
            sources,
            fanout: Fanout::default(),
        }
    }
}

impl RawConfig {
    /// Where everything is kept.
    pub fn storage(&self) -> Result<Storage, ConfigError> {
        let cluster = match self.store.as_deref() {
            None if self.cql.nodes.is_some() || self.nats.servers.is_some() => {
                let why = "is not set, but cql.nodes or nats.servers is; right would be cql for a cluster, or sqlite";
                return Err(ConfigError::value("store", why));
            }
            None | Some("sqlite") => None,
            Some("cql") => Some(self.cluster()?),
            Some(other) => {
                let why = format!("{other:?} is none; right would be sqlite or cql");
                return Err(ConfigError::value("store", why));
            }
        };
        Ok(Storage {
            cluster,
            data_dir: self.data_dir.clone().unwrap_or_else(|| DEFAULT_DATA_DIR.into()),
            named: self.data_dir.is_some(),
            secret_keys: self.secret_keys.clone().unwrap_or_default(),
        })
    }

    /// The public address that everything is built from.
    pub fn public_address(&self) -> Result<BaseUrl, ConfigError> {
        let base_url = self.base_url.as_deref().ok_or_else(|| {
            let why =
                "is not set; right would be the address that clients use, like https://feeds.example.org";
            ConfigError::value("base_url", why)
        })?;
        BaseUrl::parse(base_url).map_err(|why| ConfigError::value("base_url", why.to_string()))
    }

    fn open_registration(&self) -> Result<bool, ConfigError> {
        match self.registration.as_deref() {
            None | Some("invitation") => Ok(false),
            Some("open") => Ok(true),
            Some(other) => {
                let why = format!("{other:?} is none; right would be invitation or open");
                Err(ConfigError::value("registration", why))
            }
        }
    }

    /// The settings of a service.
    pub fn resolve(&self) -> Result<Config, ConfigError> {
        let storage = self.storage()?;
        storage.demand_shared_keys()?;
        let defaults = Config::new(self.public_address()?, storage);
        let config = Config {
            https: self.https()?,
            proxy: self.proxy()?,
            admin_listen: Some(self.admin_listen()?),
            require_consumer_key: self.require_consumer_key.unwrap_or(defaults.require_consumer_key),
            open_registration: self.open_registration()?,
            retention: age_or("forever", "retention", self.retention.as_deref())?,
            token_lifetime: age_or("forever", "token_lifetime", self.token_lifetime.as_deref())?,
            cors_origins: self.cors_origins()?,
            max_start: self.max_start.unwrap_or(defaults.max_start),
            max_count: self.max_count()?.unwrap_or(defaults.max_count),
            max_connections: self.max_connections()?.unwrap_or(defaults.max_connections),
            limits: self.client_limits()?,
            shutdown_delay: age_or("0s", "shutdown_delay", self.shutdown_delay.as_deref())?
                .unwrap_or(defaults.shutdown_delay),
            sources: self.sources()?,
            fanout: self.fanout()?,
            ..defaults
        };
        if config.https.is_none() && config.proxy.is_none() {
            let why = "is not set, so there is no HTTPS; set it and tls.private_key, or proxy.listen and proxy.trusted \
                       behind a proxy that ends TLS";
            return Err(ConfigError::value("tls.certificate", why));
        }
        Ok(config)
    }

    /// The settings of a process that only delivers: it has no address and shows no certificate.
    pub fn resolve_worker(&self) -> Result<WorkerConfig, ConfigError> {
        let storage = self.storage()?;
        storage.demand_shared_keys()?;
        let (admin_listen, sources, fanout) = (self.admin_listen()?, self.sources()?, self.fanout()?);
        Ok(WorkerConfig { admin_listen, storage, sources, fanout })
    }

    fn admin_listen(&self) -> Result<SocketAddr, ConfigError> {
        Ok(socket("admin_listen", self.admin_listen.as_deref())?.unwrap_or(DEFAULT_ADMIN_LISTEN))
    }

    fn https(&self) -> Result<Option<Https>, ConfigError> {
        let listen = socket("listen", self.listen.as_deref())?;
        match (&self.tls.certificate, &self.tls.private_key) {
            (Some(certificate), Some(private_key)) => {
                let files = TlsFiles { certificate: certificate.clone(), private_key: private_key.clone() };
                Ok(Some(Https { listen: listen.unwrap_or(DEFAULT_LISTEN), files }))
            }
            (Some(_), None) => Err(ConfigError::value(
                "tls.private_key",
                "is not set, but tls.certificate is; they go together",
            )),
            (None, Some(_)) => Err(ConfigError::value(
                "tls.certificate",
                "is not set, but tls.private_key is; they go together",
            )),
            (None, None) if listen.is_some() => {
                let why = "speaks HTTPS only and needs tls.certificate and tls.private_key; a plain listener behind a \
                           proxy is proxy.listen";
                Err(ConfigError::value("listen", why))
            }
            (None, None) => Ok(None),
        }
    }

    fn proxy(&self) -> Result<Option<Proxy>, ConfigError> {
        let trusted = self.proxy.trusted.as_deref().unwrap_or_default();
        let Some(listen) = socket("proxy.listen", self.proxy.listen.as_deref())? else {
            return match trusted {
                [] => Ok(None),
                _ => Err(ConfigError::value(
                    "proxy.listen",
                    "is not set, but proxy.trusted is; they go together",
                )),
            };
        };
        if trusted.is_empty() {
            let why = "is empty, so nobody could connect; right would be the proxy's address, like 10.0.0.5 or 10.0.0.0/8";
            return Err(ConfigError::value("proxy.trusted", why));
        }
        Ok(Some(Proxy { listen, trusted: limits::networks("proxy.trusted", trusted)? }))
    }

    fn cors_origins(&self) -> Result<Vec<String>, ConfigError> {
        let origins = self.cors_origins.as_deref().unwrap_or_default();
        for origin in origins {
            // A browser sends the origin in exactly this form, and it is compared as a text.
            if url::Url::parse(origin).map(|url| url.origin().ascii_serialization()).as_deref() != Ok(origin)
            {
                let why = format!(
                    "{origin:?} is no origin; right would be one like https://app.example.org, without a slash"
                );
                return Err(ConfigError::value("cors_origins", why));
            }
        }
        Ok(origins.to_vec())
    }

    fn max_count(&self) -> Result<Option<u32>, ConfigError> {
        match self.max_count {
            // Streams begin with up to as many, and pages for people have less.
            Some(count) if !(MAX_PAGE..=LARGEST_MAX_COUNT).contains(&count) => Err(ConfigError::value(
                "max_count",
                format!("is {count}; right would be a number from {MAX_PAGE} to {LARGEST_MAX_COUNT}"),
            )),
            other => Ok(other),
        }
    }

    fn max_connections(&self) -> Result<Option<u32>, ConfigError> {
        match self.max_connections {
            Some(0) => Err(ConfigError::value(
                "max_connections",
                "is 0, so nobody could connect; right would be 20000",
            )),
            other => Ok(other),
        }
    }
}

/// A length of time; `None` where nothing is said, or the word for none.
fn age_or(none: &str, name: &'static str, text: Option<&str>) -> Result<Option<Duration>, ConfigError> {
    let wrong = |why| ConfigError::value(name, format!("{why}, or {none}"));
    text.filter(|text| *text != none).map(|age| parse_age(age).map_err(wrong)).transpose()
}

fn socket(name: &'static str, text: Option<&str>) -> Result<Option<SocketAddr>, ConfigError> {
    let wrong = |text| {
        let why =
            format!("{text:?} is no address and port; right would be one like 0.0.0.0:8443 or [::1]:8443");
        ConfigError::value(name, why)
    };
    text.map(|text| text.parse().map_err(|_| wrong(text))).transpose()
}
