//! `tofrom demo`: a whole service to try, with people in it and a certificate of its own.
//!
//! Everything lies in one folder: the store, the secrets (`demo.json`) and the certificate authority (`ca.pem`).
//! Started again on the same folder it is the same demo. On a cluster the store is not in it.

mod announce;
mod authority;
mod data;
mod files;
mod fill;
mod people;
mod place;
mod random;
mod secrets;
mod tables;
mod world;

use super::Global;
use super::output::note;
use super::serve::{self, Role, Sockets};
use crate::clock::Clock;
use crate::config::{BaseUrl, Config, Engine, Https, Storage};
use crate::fanout::Rules;
use crate::sources::SourceSettings;
use anyhow::{Context, bail};
use secrets::Secrets;
use std::io::Write;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::pin::pin;
use store::cql::apply_schema;

/// Starts a whole service to try, with accounts and activities
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  tofrom demo                                   in ./tofrom-demo, at https://127.0.0.1:8443
  tofrom demo --listen 127.0.0.1:0 --data /tmp/demo --json
  tofrom demo --config examples/cluster.toml    on the cluster that the file names

It prints its accounts, their passwords and keys, and what to try. Started again on the same folder it has the same
ones. To be rid of it, remove the folder. On a cluster it makes the tables that are missing, and its secrets lie in the
user's state folder ($XDG_STATE_HOME or ~/.local/state), under tofrom.")]
pub(super) struct Args {
    /// Where it listens; port 0 picks a free one
    #[arg(long, value_name = "ADDR", default_value = "127.0.0.1:8443", value_parser = address)]
    listen: SocketAddr,
    /// Where /healthz, /readyz and /metrics are, plain HTTP [default: nowhere]
    #[arg(long, value_name = "ADDR", value_parser = address)]
    admin: Option<SocketAddr>,
}

/// An address and port; without an address this machine's own.
fn address(text: &str) -> Result<SocketAddr, &'static str> {
    let own = |port: &str| Some(SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), port.parse().ok()?));
    let parsed = match text.strip_prefix(':') {
        Some(port) => own(port),
        None => text.parse().ok(),
    };
    parsed.ok_or("right would be an address and port, like 127.0.0.1:8443 or :0")
}

pub(super) async fn run(args: Args, global: &Global) -> anyhow::Result<()> {
    let storage = place::storage(global)?;
    let _lock = storage.lock()?;
    let mut stop = pin!(serve::stop_signal()?);
    let clock = Clock::system();
    let folder = &storage.data_dir;
    let kept = Secrets::kept(folder)?;
    if kept.is_none()
        && storage.cluster.is_none()
        && storage.store_file().exists()
        && fill::is_foreign(storage.open_file()?.as_ref()).await?
    {
        bail!("{} holds a store that is no demo's; name another folder with --data DIR", folder.display());
    }
    storage.create_folder()?;
    let certificates = authority::certificates(folder, clock.now())?;

    let anywhere = BaseUrl::parse("https://127.0.0.1")?;
    let https = Https { listen: args.listen, files: certificates.server };
    let config =
        Config { https: Some(https), admin_listen: args.admin, ..Config::new(anywhere, storage.clone()) };
    // Before the store is touched: if somebody listens there already, it is most likely this very demo.
    let sockets = Sockets::bind(&config).await?;
    let port = sockets.https_address().context("the listener has no address")?.port();
    let base_url = BaseUrl::parse(&format!("https://127.0.0.1:{port}"))?;
    let settings = global.settings()?;
    let sources = SourceSettings { base_url: Some(base_url.as_str().to_owned()), ..settings.sources()? };
    let (fanout, limits) = (settings.fanout()?, settings.client_limits()?);
    let config = Config { base_url, sources, fanout, limits, ..config };
    let rules = fanout.rules();

    if kept.is_none() && !global.json {
        note(format_args!("making the demo in {} ...", folder.display()));
    }
    let (engine, secrets) = tokio::select! {
        filled = filled(&storage, kept, &clock, &rules) => filled?,
        () = &mut stop => return Ok(()),
    };

    let base_url = config.base_url.to_string();
    let running = serve::start(config, sockets, engine, Role::All).await?;
    let tell = if global.json { announce::line } else { announce::help };
    let mut out = std::io::stdout().lock();
    out.write_all(tell(&base_url, &certificates.authority, &secrets)?.as_bytes())?;
    out.flush()?;
    drop(out);
    running.until(stop).await
}

/// Opens the store and makes sure that everything is there and delivered.
async fn filled(
    storage: &Storage,
    kept: Option<Secrets>,
    clock: &Clock,
    rules: &Rules,
) -> anyhow::Result<(Engine, Secrets)> {
    if let Some(cluster) = &storage.cluster {
        // Changes nothing where the tables are there, and takes no time then.
        apply_schema(&cluster.nodes, &mut |_| {}).await.context("the cluster's tables can't be made")?;
    }
    let engine = storage.open().await?;
    let store = engine.store();
    let secrets = match kept {
        Some(secrets) => secrets,
        None if storage.cluster.is_some() && fill::is_foreign(store.as_ref()).await? => {
            bail!("the cluster holds accounts that are no demo's; name another keyspace with cql.keyspace")
        }
        None => Secrets::make(&storage.data_dir)?,
    };
    fill::fill(&engine, clock, &secrets, &storage.secret_keys()?, rules).await?;
    Ok((engine, secrets))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses() {
        assert_eq!(address(":0"), Ok(SocketAddr::from(([127, 0, 0, 1], 0))));
        assert_eq!(address("0.0.0.0:8443"), Ok(SocketAddr::from(([0, 0, 0, 0], 8443))));
        for wrong in ["", "8443", "localhost:8443", ":99999", ":"] {
            assert!(address(wrong).is_err(), "{wrong}");
        }
    }
}
