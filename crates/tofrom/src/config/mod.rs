//! Settings: [`RawConfig`] as written, [`Config`] checked and complete.
//!
//! Settings are read from `tofrom.toml` (or the file of `--config`), then from the environment (`TOFROM_LISTEN`, nested
//! ones as `TOFROM_TLS__CERTIFICATE`, lists with commas), then from flags. A later value replaces an earlier one. An
//! unknown setting is an error in the file and in the environment.

mod cluster;
mod links;
mod raw;
mod sections;
mod storage;
#[cfg(test)]
mod tests;
mod values;

pub use cluster::Cluster;
pub use raw::{
    RawAcme, RawClientTls, RawConfig, RawCql, RawFanout, RawLimits, RawMedia, RawNats, RawProxy, RawSources,
    RawTls, RawTracing,
};
pub use sections::{ClientLimits, Fanout, Media};
pub use storage::{Engine, Storage, message_keys};
pub use values::{BaseUrl, InvalidAge, InvalidBaseUrl, parse_age};

use domain::hooks::HookSettings;
use domain::sources::SourceSettings;
use listen::{AcmeSettings, CertificateSource, TlsFiles, Trusted};
use model::MAX_PAGE;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::path::PathBuf;
use std::time::Duration;

/// The settings file that is read without `--config`.
pub const DEFAULT_FILE: &str = "tofrom.toml";
/// Default of `data_dir`.
pub const DEFAULT_DATA_DIR: &str = "tofrom-data";
/// Default of `listen`: all addresses, and a port that needs no privileges.
pub const DEFAULT_LISTEN: SocketAddr = SocketAddr::new(IpAddr::V4(Ipv4Addr::UNSPECIFIED), 8443);
/// Default of `admin_listen`: this machine only.
pub const DEFAULT_ADMIN_LISTEN: SocketAddr = SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), 8444);

/// Default of `tls.acme.directory`: Let's Encrypt.
pub const DEFAULT_ACME_DIRECTORY: &str = "https://acme-v02.api.letsencrypt.org/directory";

/// Upper bound of `max_count`: a page is held in memory as a whole.
const MAX_MAX_COUNT: u32 = 10_000;

/// An error in the settings. The message says what was expected.
#[derive(Debug, thiserror::Error)]
pub enum ConfigError {
    /// The file cannot be read or parsed.
    #[error("cannot read the settings file {path}: {why}", path = .path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// The cause.
        why: String,
    },
    /// The file or the environment has a setting that does not exist.
    #[error("unknown setting {name} in {origin}: {hint}")]
    Unknown {
        /// The file or the environment variable.
        origin: String,
        /// The setting.
        name: String,
        /// The setting that was probably meant, or all settings.
        hint: String,
    },
    /// A value has the wrong type.
    #[error("invalid settings: {0}")]
    Type(String),
    /// A setting has an invalid value.
    #[error("invalid value {value:?} for {name}: expected {expected}")]
    Invalid {
        /// The setting.
        name: &'static str,
        /// The value.
        value: String,
        /// The expected form.
        expected: String,
    },
    /// A file that a setting names cannot be used.
    #[error("invalid file for {name}: {why}")]
    Unusable {
        /// The setting.
        name: &'static str,
        /// The file and the cause.
        why: String,
    },
    /// A link to another machine would not be encrypted.
    #[error(
        "{name} has {address}, which is not on this machine, without TLS: expected localhost or a loopback address. \
         {secure}; or, in a network that you trust, set insecure_cluster_links = true"
    )]
    Plaintext {
        /// The setting with the address.
        name: &'static str,
        /// The address, without a password.
        address: String,
        /// How to secure the link.
        secure: &'static str,
    },
    /// A required setting has no value.
    #[error("{name} is not set: {expected}")]
    Missing {
        /// The setting.
        name: &'static str,
        /// Why it is required, and the expected form.
        expected: String,
    },
}

impl ConfigError {
    fn invalid(name: &'static str, value: impl Into<String>, expected: impl Into<String>) -> ConfigError {
        ConfigError::Invalid { name, value: value.into(), expected: expected.into() }
    }

    fn missing(name: &'static str, expected: impl Into<String>) -> ConfigError {
        ConfigError::Missing { name, expected: expected.into() }
    }
}

/// The settings of a server, complete and checked as far as possible without I/O.
#[derive(Clone, Debug)]
pub struct Config {
    /// The public address: the base of all links.
    pub base_url: BaseUrl,
    /// The HTTPS listener.
    pub https: Option<Https>,
    /// The plain HTTP listener behind a proxy.
    pub proxy: Option<Proxy>,
    /// The admin listener.
    pub admin_listen: Option<SocketAddr>,
    /// The store and the keys to its secrets.
    pub storage: Storage,
    /// Whether every request must send a consumer key.
    pub require_consumer_key: bool,
    /// Whether people may sign up without an invitation.
    pub open_registration: bool,
    /// Whether operator pages require a second factor.
    pub operators_need_second_factor: bool,
    /// Whether records of the audit log are also written to standard output.
    pub audit_to_stdout: bool,
    /// Lifetime of OAuth access tokens. `None`: forever.
    pub token_lifetime: Option<Duration>,
    /// Origins whose scripts may call the API.
    pub cors_origins: Vec<String>,
    /// Maximum of the `start` parameter.
    pub max_start: u32,
    /// Maximum number of items on a page.
    pub max_count: u32,
    /// Maximum number of open connections.
    pub max_connections: u32,
    /// Limits for each client.
    pub limits: ClientLimits,
    /// How long the listeners keep accepting after the stop signal.
    pub shutdown_delay: Duration,
    /// Settings of the feed importer.
    pub sources: SourceSettings,
    /// Settings of hooks.
    pub hooks: HookSettings,
    /// Settings of fan-out.
    pub fanout: Fanout,
    /// Settings of the media proxy.
    pub media: Media,
    /// The file of the certificate authority, if clients do not know it: that of the demo.
    pub authority: Option<PathBuf>,
}

/// The settings of a worker process, which only delivers.
#[derive(Clone, Debug)]
pub struct WorkerConfig {
    /// The admin listener.
    pub admin_listen: SocketAddr,
    /// The store and the keys to its secrets.
    pub storage: Storage,
    /// Settings of the feed importer.
    pub sources: SourceSettings,
    /// Settings of hooks.
    pub hooks: HookSettings,
    /// Settings of fan-out.
    pub fanout: Fanout,
}

/// The HTTPS listener.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Https {
    /// Address and port.
    pub listen: SocketAddr,
    /// Where the certificate comes from.
    pub certificate: CertificateSource,
}

/// The listener behind a proxy that terminates TLS.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Proxy {
    /// Address and port.
    pub listen: SocketAddr,
    /// The networks of the proxies.
    pub trusted: Trusted,
}

impl Config {
    /// The default settings, without listeners.
    pub fn new(base_url: BaseUrl, storage: Storage) -> Config {
        let sources =
            SourceSettings { base_url: Some(base_url.as_str().to_owned()), ..SourceSettings::default() };
        let hooks = HookSettings { base_url: sources.base_url.clone(), ..HookSettings::default() };
        let media = Media::of(&storage);
        Config {
            base_url,
            https: None,
            proxy: None,
            admin_listen: None,
            storage,
            require_consumer_key: false,
            operators_need_second_factor: false,
            audit_to_stdout: false,
            open_registration: false,
            token_lifetime: None,
            cors_origins: Vec::new(),
            max_start: 100_000,
            max_count: 1_000,
            max_connections: 20_000,
            limits: ClientLimits::default(),
            shutdown_delay: Duration::ZERO,
            sources,
            hooks,
            fanout: Fanout::default(),
            media,
            authority: None,
        }
    }
}

impl RawConfig {
    /// The settings of the store.
    pub fn storage(&self) -> Result<Storage, ConfigError> {
        let cluster = match self.store.as_deref() {
            None if self.cql.nodes.is_some() || self.nats.servers.is_some() => {
                let expected =
                    "cql.nodes or nats.servers is set: expected \"cql\" for a cluster, or \"sqlite\"";
                return Err(ConfigError::missing("store", expected));
            }
            None | Some("sqlite") => None,
            Some("cql") => Some(self.cluster()?),
            Some(other) => return Err(ConfigError::invalid("store", other, "\"sqlite\" or \"cql\"")),
        };
        Ok(Storage {
            cluster,
            data_dir: self.data_dir.clone().unwrap_or_else(|| DEFAULT_DATA_DIR.into()),
            named: self.data_dir.is_some(),
            secret_keys: self.secret_keys.clone().unwrap_or_default(),
            retention: age_or("forever", "retention", self.retention.as_deref())?,
        })
    }

    /// The public address: the base of all links.
    pub fn public_address(&self) -> Result<BaseUrl, ConfigError> {
        let base_url = self.base_url.as_deref().ok_or_else(|| {
            let expected = "expected the address that clients use, like https://feeds.example.org";
            ConfigError::missing("base_url", expected)
        })?;
        BaseUrl::parse(base_url)
            .map_err(|error| ConfigError::invalid("base_url", base_url, error.to_string()))
    }

    fn open_registration(&self) -> Result<bool, ConfigError> {
        match self.registration.as_deref() {
            None | Some("invite") => Ok(false),
            Some("open") => Ok(true),
            Some(other) => Err(ConfigError::invalid("registration", other, "\"invite\" or \"open\"")),
        }
    }

    fn audit_to_stdout(&self) -> Result<bool, ConfigError> {
        match self.audit_log.as_deref() {
            None => Ok(false),
            Some("stdout") => Ok(true),
            Some(other) => Err(ConfigError::invalid("audit_log", other, "\"stdout\"")),
        }
    }

    /// The settings of a server.
    pub fn resolve(&self) -> Result<Config, ConfigError> {
        let storage = self.storage()?;
        storage.demand_shared_keys()?;
        let base_url = self.public_address()?;
        let https = self.https(&base_url, &storage)?;
        self.tracing()?;
        let media = self.media(&storage)?;
        let defaults = Config::new(base_url, storage);
        let config = Config {
            https,
            proxy: self.proxy()?,
            admin_listen: Some(self.admin_listen()?),
            require_consumer_key: self.require_consumer_key.unwrap_or(defaults.require_consumer_key),
            open_registration: self.open_registration()?,
            operators_need_second_factor: self
                .operators_need_second_factor
                .unwrap_or(defaults.operators_need_second_factor),
            audit_to_stdout: self.audit_to_stdout()?,
            token_lifetime: age_or("forever", "token_lifetime", self.token_lifetime.as_deref())?,
            cors_origins: self.cors_origins()?,
            max_start: self.max_start.unwrap_or(defaults.max_start),
            max_count: self.max_count()?.unwrap_or(defaults.max_count),
            max_connections: self.max_connections()?.unwrap_or(defaults.max_connections),
            limits: self.client_limits()?,
            shutdown_delay: age_or("0s", "shutdown_delay", self.shutdown_delay.as_deref())?
                .unwrap_or(defaults.shutdown_delay),
            sources: self.sources()?,
            hooks: self.hooks()?,
            fanout: self.fanout()?,
            media,
            authority: None,
            ..defaults
        };
        if config.https.is_none() && config.proxy.is_none() {
            let expected = "HTTPS needs it. Set tls.certificate and tls.private_key; or tls.acme.contact; or, behind a \
                            proxy that terminates TLS, proxy.listen and proxy.trusted";
            return Err(ConfigError::missing("tls.certificate", expected));
        }
        Ok(config)
    }

    /// The settings of a worker, which needs no public address and no certificate.
    pub fn resolve_worker(&self) -> Result<WorkerConfig, ConfigError> {
        let storage = self.storage()?;
        storage.demand_shared_keys()?;
        let (admin_listen, sources, hooks) = (self.admin_listen()?, self.sources()?, self.hooks()?);
        self.tracing()?;
        Ok(WorkerConfig { admin_listen, storage, sources, hooks, fanout: self.fanout()? })
    }

    /// The address of the admin listener.
    pub fn admin_listen(&self) -> Result<SocketAddr, ConfigError> {
        Ok(socket("admin_listen", self.admin_listen.as_deref())?.unwrap_or(DEFAULT_ADMIN_LISTEN))
    }

    fn https(&self, base_url: &BaseUrl, storage: &Storage) -> Result<Option<Https>, ConfigError> {
        let listen = socket("listen", self.listen.as_deref())?;
        let https = |certificate| Some(Https { listen: listen.unwrap_or(DEFAULT_LISTEN), certificate });
        let acme = self.acme(base_url, storage)?;
        match (&self.tls.certificate, &self.tls.private_key) {
            (None, None) if acme.is_some() => Ok(acme.map(CertificateSource::Acme).and_then(https)),
            (Some(certificate), Some(private_key)) => {
                let files = TlsFiles { certificate: certificate.clone(), private_key: private_key.clone() };
                Ok(https(CertificateSource::Files(files)))
            }
            (Some(_), None) => Err(ConfigError::missing(
                "tls.private_key",
                "tls.certificate needs it: expected the path of a PEM file",
            )),
            (None, Some(_)) => Err(ConfigError::missing(
                "tls.certificate",
                "tls.private_key needs it: expected the path of a PEM file",
            )),
            (None, None) if listen.is_some() => {
                let expected = "listen speaks HTTPS only and needs it. Set tls.certificate and tls.private_key; or, \
                                behind a proxy, proxy.listen instead of listen";
                Err(ConfigError::missing("tls.certificate", expected))
            }
            (None, None) => Ok(None),
        }
    }

    fn acme(&self, base_url: &BaseUrl, storage: &Storage) -> Result<Option<AcmeSettings>, ConfigError> {
        let RawAcme { contact, directory, ca } = &self.tls.acme;
        let Some(contact) = contact else {
            return match directory.is_some() || ca.is_some() {
                true => Err(ConfigError::missing(
                    "tls.acme.contact",
                    "ACME needs it: expected your e-mail address",
                )),
                false => Ok(None),
            };
        };
        if self.tls.certificate.is_some() || self.tls.private_key.is_some() {
            let expected = "only one of tls.acme.contact and tls.certificate";
            return Err(ConfigError::invalid("tls.acme.contact", contact, expected));
        }
        if !contact.contains('@') || contact.contains(|c: char| c.is_whitespace() || c == ':') {
            return Err(ConfigError::invalid(
                "tls.acme.contact",
                contact,
                "an e-mail address, like ops@example.org",
            ));
        }
        if storage.cluster.is_some() {
            let expected = "no ACME on a cluster, where the authority may reach another process. Set tls.certificate and \
                            tls.private_key, or use a proxy";
            return Err(ConfigError::invalid("tls.acme.contact", contact, expected));
        }
        let host = base_url.host();
        if host.trim_matches(['[', ']']).parse::<IpAddr>().is_ok() {
            return Err(ConfigError::invalid(
                "base_url",
                base_url.as_str(),
                "a host name, because tls.acme.contact is set",
            ));
        }
        let directory = directory.as_deref().unwrap_or(DEFAULT_ACME_DIRECTORY);
        if !directory.starts_with("https://") {
            let expected = "an address that begins with https://";
            return Err(ConfigError::invalid("tls.acme.directory", directory, expected));
        }
        Ok(Some(AcmeSettings {
            host: host.to_owned(),
            contact: contact.clone(),
            directory: directory.to_owned(),
            ca: ca.clone(),
            folder: storage.data_dir.join("acme"),
        }))
    }

    fn proxy(&self) -> Result<Option<Proxy>, ConfigError> {
        let trusted = self.proxy.trusted.as_deref().unwrap_or_default();
        let Some(listen) = socket("proxy.listen", self.proxy.listen.as_deref())? else {
            return match trusted {
                [] => Ok(None),
                _ => Err(ConfigError::missing(
                    "proxy.listen",
                    "proxy.trusted needs it: expected an address and a port, like 127.0.0.1:8080",
                )),
            };
        };
        if trusted.is_empty() {
            let expected = "proxy.listen refuses all other clients: expected the proxy's address or network, like \
                            10.0.0.5 or 10.0.0.0/8";
            return Err(ConfigError::missing("proxy.trusted", expected));
        }
        Ok(Some(Proxy { listen, trusted: sections::networks("proxy.trusted", trusted)? }))
    }

    fn cors_origins(&self) -> Result<Vec<String>, ConfigError> {
        let origins = self.cors_origins.as_deref().unwrap_or_default();
        for origin in origins {
            // A browser sends the origin in exactly this form, and origins are compared as text.
            if url::Url::parse(origin).map(|url| url.origin().ascii_serialization()).as_deref() != Ok(origin)
            {
                let expected = "an origin like https://app.example.org, without a path or trailing slash";
                return Err(ConfigError::invalid("cors_origins", origin, expected));
            }
        }
        Ok(origins.to_vec())
    }

    fn max_count(&self) -> Result<Option<u32>, ConfigError> {
        match self.max_count {
            // A stream starts with up to MAX_PAGE items, and HTML pages have fewer.
            Some(count) if !(MAX_PAGE..=MAX_MAX_COUNT).contains(&count) => Err(ConfigError::invalid(
                "max_count",
                count.to_string(),
                format!("a number from {MAX_PAGE} to {MAX_MAX_COUNT}"),
            )),
            count => Ok(count),
        }
    }

    fn max_connections(&self) -> Result<Option<u32>, ConfigError> {
        match self.max_connections {
            Some(0) => Err(ConfigError::invalid(
                "max_connections",
                "0",
                "a number above 0, like 20000: 0 would refuse every connection",
            )),
            max => Ok(max),
        }
    }
}

/// The expected form of a duration.
const AGE_EXPECTED: &str = "a whole number above 0 and a unit (s, m, h, d or w), like 90d";

/// Parses a duration.
fn age(name: &'static str, text: Option<&str>) -> Result<Option<Duration>, ConfigError> {
    let invalid = |text| ConfigError::invalid(name, text, AGE_EXPECTED);
    text.map(|text| parse_age(text).map_err(|_| invalid(text))).transpose()
}

/// Parses a duration, or the word `none` for its absence.
fn age_or(none: &str, name: &'static str, text: Option<&str>) -> Result<Option<Duration>, ConfigError> {
    let invalid = |text| ConfigError::invalid(name, text, format!("{AGE_EXPECTED}, or {none}"));
    text.filter(|text| *text != none).map(|text| parse_age(text).map_err(|_| invalid(text))).transpose()
}

fn socket(name: &'static str, text: Option<&str>) -> Result<Option<SocketAddr>, ConfigError> {
    let expected = "an address and a port, like 0.0.0.0:8443 or [::1]:8443";
    text.map(|text| text.parse().map_err(|_| ConfigError::invalid(name, text, expected))).transpose()
}
