//! `tofrom demo`: a complete server to try, with accounts, activities and a certificate.
//!
//! One folder contains everything: the store, the secrets (`demo.json`) and the certificate authority (`ca.pem`). A
//! restart on the same folder continues the same demo. On a cluster the folder contains everything but the store.

mod activities;
mod announce;
mod authority;
mod dataset;
mod fill;
mod people;
mod pictures;
mod secrets;
mod tables;

use super::output::note;
use super::serve::{self, Role, Sockets};
use super::{Global, UsageError};
use crate::config::{BaseUrl, ClientLimits, Config, Engine, Https, Media, Storage};
use anyhow::{Context, bail};
use domain::fanout::Rules;
use domain::hooks::HookSettings;
use domain::sources::SourceSettings;
use listen::CertificateSource;
use model::Clock;
use secrets::Secrets;
use std::io::Write;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::path::PathBuf;
use std::pin::pin;
use store::cql::apply_schema;

/// Run a demo server with accounts and activities
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  tofrom demo                                   in ./tofrom-demo, at https://127.0.0.1:8443
  tofrom demo --listen 127.0.0.1:0 --data /tmp/demo --json
  tofrom demo --config examples/cluster.toml    on the cluster in the settings file

Prints accounts, passwords, keys and examples. They stay the same when the demo is started again on the same folder. To
delete the demo, delete the folder. On a cluster, missing tables are created, and the secrets are stored below tofrom in
the state folder ($XDG_STATE_HOME or ~/.local/state).")]
pub(super) struct Args {
    /// Address to listen on; port 0 picks a free port
    #[arg(long, value_name = "ADDR", default_value = "127.0.0.1:8443", value_parser = address)]
    listen: SocketAddr,
    /// Address for /healthz, /readyz and /metrics, plain HTTP [default: off]
    #[arg(long, value_name = "ADDR", value_parser = address)]
    admin: Option<SocketAddr>,
}

/// An address and port; the loopback address if only `:port` is given.
fn address(text: &str) -> Result<SocketAddr, &'static str> {
    let loopback = |port: &str| Some(SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), port.parse().ok()?));
    let parsed = match text.strip_prefix(':') {
        Some(port) => loopback(port),
        None => text.parse().ok(),
    };
    parsed.ok_or("expected an address and port, like 127.0.0.1:8443 or :0")
}

pub(super) async fn run(args: Args, global: &Global) -> anyhow::Result<()> {
    let storage = storage(global)?;
    let _lock = storage.lock()?;
    let mut stop = pin!(serve::stop_signal()?);
    let clock = Clock::system();
    let folder = &storage.data_dir;
    let saved = Secrets::load(folder)?;
    if saved.is_none()
        && storage.cluster.is_none()
        && storage.store_file().exists()
        && fill::is_foreign(storage.open_file()?.as_ref()).await?
    {
        bail!(
            "{} contains a store that is not a demo; choose another folder with --data DIR",
            folder.display()
        );
    }
    storage.create_folder()?;
    // Created before the store is opened: the messages of a cluster are authenticated with it.
    storage.secret_keys()?;
    let certificates = authority::certificates(folder, clock.now())?;

    let anywhere = BaseUrl::parse("https://127.0.0.1")?;
    let https = Https { listen: args.listen, certificate: CertificateSource::Files(certificates.server) };
    let config =
        Config { https: Some(https), admin_listen: args.admin, ..Config::new(anywhere, storage.clone()) };
    // Bound before the store is touched: a port in use most likely means that this demo is running already.
    let sockets = Sockets::bind(&config).await?;
    let port = sockets.https_address().context("the listener has no address")?.port();
    let base_url = BaseUrl::parse(&format!("https://127.0.0.1:{port}"))?;
    let settings = global.settings()?;
    let sources = SourceSettings { base_url: Some(base_url.as_str().to_owned()), ..settings.sources()? };
    let hooks = HookSettings { base_url: sources.base_url.clone(), ..settings.hooks()? };
    let (fanout, limits) = (settings.fanout()?, settings.client_limits()?);
    let media = Media { local: Some(pictures::LOCAL), ..settings.media(&storage)? };
    let authority = Some(certificates.authority.clone());
    // The demo is for trying things out.
    let limits = ClientLimits { requests: None, operator_requests: None, ..limits };
    let config = Config { base_url, sources, hooks, fanout, limits, media, authority, ..config };
    let rules = fanout.rules();

    if saved.is_none() && !global.json {
        note(format_args!("creating the demo in {} ...", folder.display()));
    }
    let (engine, secrets) = tokio::select! {
        filled = filled(&storage, saved, &clock, &rules) => filled?,
        () = &mut stop => return Ok(()),
    };

    let base_url = config.base_url.to_string();
    let running = serve::start(config, sockets, engine, Role::All).await?;
    let announcement = if global.json { announce::line } else { announce::help };
    let mut out = std::io::stdout().lock();
    out.write_all(announcement(&base_url, &certificates.authority, &secrets)?.as_bytes())?;
    out.flush()?;
    drop(out);
    running.until(stop).await
}

/// Opens the store, fills it if needed, and delivers.
async fn filled(
    storage: &Storage,
    saved: Option<Secrets>,
    clock: &Clock,
    rules: &Rules,
) -> anyhow::Result<(Engine, Secrets)> {
    if let Some(cluster) = &storage.cluster {
        // Fast and without effect if the tables exist.
        let applied = apply_schema(&cluster.nodes, storage.retention, &mut |_| {}).await;
        applied.context("cannot create the cluster's tables")?;
    }
    let engine = storage.open().await?;
    let store = engine.store();
    let secrets = match saved {
        Some(secrets) => secrets,
        None if storage.cluster.is_some() && fill::is_foreign(store.as_ref()).await? => {
            bail!(
                "the cluster contains accounts that are not from a demo; choose another keyspace with cql.keyspace"
            )
        }
        None => Secrets::create(&storage.data_dir)?,
    };
    fill::fill(&engine, clock, &secrets, &storage.secret_keys()?, rules).await?;
    Ok((engine, secrets))
}

const DEFAULT_FOLDER: &str = "./tofrom-demo";

/// The storage settings of the demo.
fn storage(global: &Global) -> anyhow::Result<Storage> {
    match (&global.data, &global.config) {
        (Some(_), Some(_)) => {
            Err(UsageError("use either --data DIR (a folder) or --config FILE (a cluster), not both").into())
        }
        (None, Some(_)) => on_cluster(global.storage()?),
        (folder, None) => {
            Ok(Storage::in_folder(folder.clone().unwrap_or_else(|| PathBuf::from(DEFAULT_FOLDER))))
        }
    }
}

fn on_cluster(storage: Storage) -> anyhow::Result<Storage> {
    let Some(cluster) = &storage.cluster else {
        bail!("--config FILE is for a cluster (store = \"cql\"); for a demo on one machine use --data DIR");
    };
    let data_dir =
        cluster.demo_folder().context("no folder for the demo's secrets; set XDG_STATE_HOME or HOME")?;
    Ok(Storage { data_dir, named: true, ..storage })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_address_is_optional_but_the_port_is_not() {
        assert_eq!(address(":0"), Ok(SocketAddr::from(([127, 0, 0, 1], 0))));
        assert_eq!(address("0.0.0.0:8443"), Ok(SocketAddr::from(([0, 0, 0, 0], 8443))));
        for invalid in ["", "8443", "localhost:8443", ":99999", ":"] {
            assert!(address(invalid).is_err(), "{invalid}");
        }
    }
}
