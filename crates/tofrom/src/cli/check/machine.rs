//! Checks the machine: clock, ports and limits.

use super::Finding;
use crate::config::Config;
use model::Millis;
use std::io::ErrorKind;
use std::net::SocketAddr;
use std::path::Path;
use std::time::UNIX_EPOCH;
use tokio::net::TcpListener;

/// 2025-01-01 to 2100-01-01: a clock outside this range was never set.
const PLAUSIBLE: std::ops::Range<i64> = 1_735_689_600_000..4_102_444_800_000;
/// Allowed difference between file times and the clock, in milliseconds.
const SLACK: i64 = 60_000;
/// Open files besides connections: store, sockets, log.
const OTHER_FILES: u64 = 100;

pub(super) fn clock(store_file: Option<&Path>, now: Millis) -> Finding {
    const ABOUT: &str = "clock";
    const FIX: &str = "set the clock and synchronize it with NTP";
    if !PLAUSIBLE.contains(&now.0) {
        return Finding::error(ABOUT, format!("implausible time {}", now.zulu()), FIX);
    }
    // A store file from the future means that the clock was set back.
    let written = store_file.and_then(|file| std::fs::metadata(file).and_then(|found| found.modified()).ok());
    let written = written.and_then(|at| at.duration_since(UNIX_EPOCH).ok());
    let written = written.and_then(|since| i64::try_from(since.as_millis()).ok());
    match written {
        Some(written) if written > now.0.saturating_add(SLACK) => {
            let what = format!(
                "{} is before the last change of the store at {}",
                now.zulu(),
                Millis(written).zulu()
            );
            Finding::error(ABOUT, what, FIX)
        }
        _ => Finding::ok(ABOUT, now.zulu()),
    }
}

pub(super) async fn listeners(config: &Config) -> Vec<Finding> {
    let sockets = [
        ("listen", config.https.as_ref().map(|https| https.listen)),
        ("proxy.listen", config.proxy.as_ref().map(|proxy| proxy.listen)),
        ("admin_listen", config.admin_listen),
    ];
    let mut findings = Vec::new();
    for (name, address) in sockets {
        if let Some(address) = address {
            findings.push(listener(name, address).await);
        }
    }
    if let Some(admin) = config.admin_listen.filter(|admin| !admin.ip().is_loopback()) {
        let what = format!("{admin} is not a loopback address, and the listener has no authentication");
        findings.push(Finding::warning(
            "admin_listen",
            what,
            "restrict access to trusted machines, for example with a firewall",
        ));
    }
    findings
}

async fn listener(name: &'static str, address: SocketAddr) -> Finding {
    match TcpListener::bind(address).await {
        Ok(_) => Finding::ok(name, format!("{address} is free")),
        // Expected while the server runs. The listening process cannot be identified from here.
        Err(error) if error.kind() == ErrorKind::AddrInUse => {
            Finding::ok(name, format!("{address} is in use (expected if the server is running)"))
        }
        Err(error) => {
            let fix = format!("set {name} to an address of this machine and a port that this user may bind");
            Finding::error(name, format!("{address}: {error}"), fix)
        }
    }
}

pub(super) fn open_files(max_connections: u32) -> Option<Finding> {
    const ABOUT: &str = "open files";
    let limits = std::fs::read_to_string("/proc/self/limits").ok()?;
    let line = limits.lines().find_map(|line| line.strip_prefix("Max open files"))?;
    let Ok(limit) = line.split_whitespace().next()?.parse::<u64>() else {
        return Some(Finding::ok(ABOUT, "unlimited"));
    };
    let needed = u64::from(max_connections).saturating_add(OTHER_FILES);
    Some(if limit < needed {
        let what = format!("limit {limit} is too low for max_connections = {max_connections}");
        let fix = format!("set ulimit -n {needed} (systemd: LimitNOFILE={needed}), or lower max_connections");
        Finding::warning(ABOUT, what, fix)
    } else {
        Finding::ok(ABOUT, format!("limit {limit}"))
    })
}
