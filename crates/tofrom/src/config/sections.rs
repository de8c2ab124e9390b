//! Sections of the settings: limits of clients, fan-out, the feed importer, the media proxy, traces.

use super::values::{SIZE_EXPECTED, parse_size};
use super::{ConfigError, RawConfig, RawLimits, RawTracing, Storage, age_or};
use crate::telemetry::traces::TraceSettings;
use domain::fanout::Rules;
use domain::hooks::HookSettings;
use domain::sources::SourceSettings;
use fetcher::Network;
use listen::{Trusted, parse_network};
use media::LocalPictures;
use model::Quotas;
use std::path::PathBuf;
use std::time::Duration;
use url::Url;
use web::Rate;

/// The expected form of an item in a list of networks.
const NETWORK_EXPECTED: &str = "an address or a network, like 10.0.0.5 or 10.0.0.0/8";

/// Limits for each client.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClientLimits {
    /// Maximum number of open connections per client address.
    pub connections_per_address: u32,
    /// Networks without that limit.
    pub exempt_networks: Trusted,
    /// Requests per account. `None`: no limit.
    pub requests: Option<Rate>,
    /// Requests per operator account. `None`: no limit.
    pub operator_requests: Option<Rate>,
    /// Requests that may be queued before others are refused. `None`: any number.
    pub queued_requests: Option<u32>,
    /// Maximum number of rows that a read looks at.
    pub rows_per_read: usize,
    /// How much an account may store.
    pub quotas: Quotas,
}

impl Default for ClientLimits {
    fn default() -> ClientLimits {
        ClientLimits {
            connections_per_address: 256,
            exempt_networks: Trusted::default(),
            requests: Some(Rate { per_second: 50, burst: 500 }),
            operator_requests: None,
            queued_requests: Some(64),
            rows_per_read: 50_000,
            quotas: Quotas::default(),
        }
    }
}

/// Parses a rate; `off` is none.
fn rate(name: &'static str, text: Option<&str>, default: Option<Rate>) -> Result<Option<Rate>, ConfigError> {
    let Some(text) = text else { return Ok(default) };
    let parsed = || {
        let (rate, burst) = text.split_once(" burst ")?;
        let rate = Rate { per_second: rate.strip_suffix("/s")?.parse().ok()?, burst: burst.parse().ok()? };
        (rate.per_second > 0 && rate.burst > 0).then_some(rate)
    };
    match text {
        "off" => Ok(None),
        _ => parsed().map(Some).ok_or_else(|| {
            ConfigError::invalid(name, text, "requests per second and a burst, like 50/s burst 500, or off")
        }),
    }
}

/// Parses a number above 0; `off` is none.
fn number(name: &'static str, text: Option<&str>, default: Option<u32>) -> Result<Option<u32>, ConfigError> {
    match text {
        None => Ok(default),
        Some("off") => Ok(None),
        Some(text) => match text.parse() {
            Ok(number) if number > 0 => Ok(Some(number)),
            _ => Err(ConfigError::invalid(name, text, "a number above 0, like 64, or off")),
        },
    }
}

impl RawConfig {
    /// The limits for each client, checked.
    pub fn client_limits(&self) -> Result<ClientLimits, ConfigError> {
        let RawLimits { connections_per_address, exempt_networks, requests, operator_requests, .. } =
            &self.limits;
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
            requests: rate("limits.requests", requests.as_deref(), defaults.requests)?,
            operator_requests: rate(
                "limits.operator_requests",
                operator_requests.as_deref(),
                defaults.operator_requests,
            )?,
            queued_requests: number(
                "limits.queued_requests",
                self.limits.queued_requests.as_deref(),
                defaults.queued_requests,
            )?,
            rows_per_read: self.limits.rows_per_read.map_or(defaults.rows_per_read, |rows| rows as usize),
            quotas: self.quotas()?,
        })
    }

    /// How much an account may store, checked.
    pub fn quotas(&self) -> Result<Quotas, ConfigError> {
        let (limits, defaults) = (&self.limits, Quotas::default());
        let size = |text: &String| {
            let size = parse_size(text).and_then(|size| u64::try_from(size).ok());
            size.ok_or_else(|| {
                ConfigError::invalid("limits.activity_size", text, "a size like 512MiB or 1GiB")
            })
        };
        Ok(Quotas {
            activities: limits.activities.unwrap_or(defaults.activities),
            bytes: limits.activity_size.as_ref().map(size).transpose()?.unwrap_or(defaults.bytes),
            following: limits.following.unwrap_or(defaults.following),
            decisions: limits.blocked.unwrap_or(defaults.decisions),
            keys: limits.keys.unwrap_or(defaults.keys),
            sessions: limits.sessions.unwrap_or(defaults.sessions).max(1),
            applications: limits.applications.unwrap_or(defaults.applications),
            sources: limits.sources.unwrap_or(defaults.sources),
        })
    }
}

/// Parses the networks that a setting lists.
pub(super) fn networks(name: &'static str, texts: &[String]) -> Result<Trusted, ConfigError> {
    let network =
        |text: &String| parse_network(text).map_err(|_| ConfigError::invalid(name, text, NETWORK_EXPECTED));
    texts.iter().map(network).collect::<Result<Vec<_>, _>>().map(Trusted::new)
}

/// Default of `fanout.pull_above`.
const DEFAULT_PULL_ABOVE: usize = 10_000;
/// Default of `fanout.idle_after`.
const DEFAULT_IDLE_AFTER: Duration = Duration::from_secs(30 * 24 * 60 * 60);

/// `fanout.…`, checked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fanout {
    /// Activities of accounts with more followers than this are pulled. `usize::MAX`: never.
    pub pull_above: usize,
    /// Time without a read after which an account becomes dormant. `None`: never.
    pub idle_after: Option<Duration>,
}

impl Fanout {
    /// The rules for fan-out workers.
    pub fn rules(&self) -> Rules {
        Rules { pull_above: Some(self.pull_above), ..Rules::default() }
    }
}

impl Default for Fanout {
    fn default() -> Fanout {
        Fanout { pull_above: DEFAULT_PULL_ABOVE, idle_after: Some(DEFAULT_IDLE_AFTER) }
    }
}

impl RawConfig {
    /// The settings of fan-out, checked.
    pub fn fanout(&self) -> Result<Fanout, ConfigError> {
        let defaults = Fanout::default();
        let pull_above = match self.fanout.pull_above.as_deref() {
            None => defaults.pull_above,
            Some("off") => usize::MAX,
            Some(text) => text.parse().map_err(|_| {
                ConfigError::invalid("fanout.pull_above", text, "a number of followers like 10000, or off")
            })?,
        };
        let idle_after = match self.fanout.idle_after.as_deref() {
            None => defaults.idle_after,
            text => age_or("off", "fanout.idle_after", text)?,
        };
        Ok(Fanout { pull_above, idle_after })
    }
}

impl RawConfig {
    /// The settings of the feed importer, checked. Without a public address, requests do not name the server, and hubs
    /// cannot notify it.
    pub fn sources(&self) -> Result<SourceSettings, ConfigError> {
        let port = |text: &String| {
            let invalid = || ConfigError::invalid("sources.ports", text, "a port number, like 8080");
            text.parse().map_err(|_| invalid())
        };
        Ok(SourceSettings {
            base_url: self.base_url_text()?,
            networks: allowed_networks("sources.networks", self.sources.networks.as_deref())?,
            ports: self.sources.ports.iter().flatten().map(port).collect::<Result<_, _>>()?,
            quotas: self.quotas()?,
            retention: self.storage()?.retention,
        })
    }

    /// The settings of hooks, checked. Without a public address, a worker delivers no hooks: their messages contain it.
    pub fn hooks(&self) -> Result<HookSettings, ConfigError> {
        let networks = allowed_networks("hooks.networks", self.hooks.networks.as_deref())?;
        Ok(HookSettings { base_url: self.base_url_text()?, networks })
    }

    fn base_url_text(&self) -> Result<Option<String>, ConfigError> {
        let base_url = self.base_url.as_ref().map(|_| self.public_address()).transpose()?;
        Ok(base_url.map(|base| base.as_str().to_owned()))
    }
}

/// Parses the private networks that requests may go to.
fn allowed_networks(name: &'static str, texts: Option<&[String]>) -> Result<Vec<Network>, ConfigError> {
    let network =
        |text: &String| text.parse().map_err(|_| ConfigError::invalid(name, text, NETWORK_EXPECTED));
    texts.unwrap_or_default().iter().map(network).collect()
}

/// Default of `media.max_bytes`.
const DEFAULT_MEDIA_BYTES: u64 = 1 << 30;

/// `media.…`, checked.
#[derive(Clone, Debug)]
pub struct Media {
    /// Whether pages show pictures of other sites, through this server.
    pub proxy: bool,
    /// The folder of the cache. `None`: a small cache in memory.
    pub folder: Option<PathBuf>,
    /// The maximum size of the cache.
    pub max_bytes: u64,
    /// Pictures that the program draws itself, for the demo.
    pub local: Option<LocalPictures>,
}

impl Media {
    /// The default settings. A cluster has no data folder.
    pub fn of(storage: &Storage) -> Media {
        let folder = storage.cluster.is_none().then(|| storage.data_dir.join("media"));
        Media { proxy: true, folder, max_bytes: DEFAULT_MEDIA_BYTES, local: None }
    }
}

impl RawConfig {
    /// The settings of the media proxy, checked.
    pub fn media(&self, storage: &Storage) -> Result<Media, ConfigError> {
        let defaults = Media::of(storage);
        let size = |text: &String| {
            let parsed = parse_size(text).and_then(|size| u64::try_from(size).ok());
            parsed.ok_or_else(|| ConfigError::invalid("media.max_bytes", text, SIZE_EXPECTED))
        };
        Ok(Media {
            proxy: self.media.proxy.unwrap_or(defaults.proxy),
            folder: self.media.folder.clone().or(defaults.folder),
            max_bytes: self.media.max_bytes.as_ref().map(size).transpose()?.unwrap_or(defaults.max_bytes),
            local: None,
        })
    }
}

impl RawConfig {
    /// The settings of traces, checked. `None`: they are off.
    pub fn tracing(&self) -> Result<Option<TraceSettings>, ConfigError> {
        let RawTracing { otlp_endpoint, sample_ratio } = &self.tracing;
        let Some(text) = otlp_endpoint.as_deref() else {
            return match sample_ratio {
                Some(_) => Err(ConfigError::missing(
                    "tracing.otlp_endpoint",
                    "tracing.sample_ratio needs it: expected the address of a collector, like http://127.0.0.1:4318",
                )),
                None => Ok(None),
            };
        };
        let ratio = sample_ratio.as_deref().map_or(Some(1.0), |text| text.parse().ok());
        let ratio = ratio.filter(|ratio| (0.0..=1.0).contains(ratio)).ok_or_else(|| {
            let text = sample_ratio.as_deref().unwrap_or_default();
            ConfigError::invalid("tracing.sample_ratio", text, "a number from 0 to 1, like 0.01")
        })?;
        let endpoint = format!("{}/v1/traces", text.trim_end_matches('/'));
        let endpoint = Url::parse(&endpoint).ok().filter(|url| {
            let is_plain = url.username().is_empty() && url.password().is_none();
            let is_http = matches!(url.scheme(), "http" | "https");
            is_http && is_plain && url.query().is_none() && url.fragment().is_none()
        });
        let endpoint = endpoint.ok_or_else(|| {
            // An address with a password must not be in the error.
            let shown = text.rsplit('@').next().unwrap_or_default();
            let expected =
                "the address of a collector without a user and a query, like http://127.0.0.1:4318";
            ConfigError::invalid("tracing.otlp_endpoint", shown, expected)
        })?;
        Ok(Some(TraceSettings { endpoint, sample_ratio: ratio }))
    }
}
