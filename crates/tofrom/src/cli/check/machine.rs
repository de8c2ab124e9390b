//! The machine: its clock, its ports, its limits.

use super::Finding;
use crate::config::Config;
use model::Millis;
use std::io::ErrorKind;
use std::net::SocketAddr;
use std::path::Path;
use std::time::UNIX_EPOCH;
use tokio::net::TcpListener;

/// 2025-01-01 and 2100-01-01: a clock outside of this was never set.
const PLAUSIBLE: std::ops::Range<i64> = 1_735_689_600_000..4_102_444_800_000;
/// Times of files and of the clock may be a little apart.
const SLACK: i64 = 60_000;
/// Files that are open beside connections: the store, sockets, the log.
const OTHER_FILES: u64 = 100;

pub(super) fn clock(store_file: Option<&Path>, now: Millis) -> Finding {
    const ABOUT: &str = "clock";
    const MEND: &str = "set the clock, and keep it right with NTP";
    if !PLAUSIBLE.contains(&now.0) {
        return Finding::wrong(ABOUT, format!("it says {}", now.zulu()), MEND);
    }
    // The file was written at some time before now, or the clock went back since.
    let written = store_file.and_then(|file| std::fs::metadata(file).and_then(|found| found.modified()).ok());
    let written = written.and_then(|at| at.duration_since(UNIX_EPOCH).ok());
    let written = written.and_then(|since| i64::try_from(since.as_millis()).ok());
    match written {
        Some(written) if written > now.0.saturating_add(SLACK) => {
            let what =
                format!("it says {}, but the store was written at {}", now.zulu(), Millis(written).zulu());
            Finding::wrong(ABOUT, what, MEND)
        }
        _ => Finding::well(ABOUT, now.zulu()),
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
        let what = format!("{admin} is not on the loopback address, and it asks nobody for a credential");
        findings.push(Finding::doubtful(
            "admin_listen",
            what,
            "see to it that only your own machines reach it",
        ));
    }
    findings
}

async fn listener(name: &'static str, address: SocketAddr) -> Finding {
    match TcpListener::bind(address).await {
        Ok(_) => Finding::well(name, format!("{address} is free")),
        // While the service runs this is as it should be, and who listens can't be told from here.
        Err(error) if error.kind() == ErrorKind::AddrInUse => {
            Finding::well(name, format!("{address} is in use, by the running service if it is one"))
        }
        Err(error) => {
            let mend =
                format!("set {name} to an address of this machine, and to a port that this user may use");
            Finding::wrong(name, format!("{address}: {error}"), mend)
        }
    }
}

pub(super) fn open_files(max_connections: u32) -> Option<Finding> {
    const ABOUT: &str = "open files";
    let limits = std::fs::read_to_string("/proc/self/limits").ok()?;
    let line = limits.lines().find_map(|line| line.strip_prefix("Max open files"))?;
    let Ok(limit) = line.split_whitespace().next()?.parse::<u64>() else {
        return Some(Finding::well(ABOUT, "as many as it likes"));
    };
    let needed = u64::from(max_connections).saturating_add(OTHER_FILES);
    Some(if limit < needed {
        let what = format!("at most {limit}, too few for max_connections = {max_connections}");
        let mend =
            format!("ulimit -n {needed} (systemd: LimitNOFILE={needed}), or set max_connections lower");
        Finding::doubtful(ABOUT, what, mend)
    } else {
        Finding::well(ABOUT, format!("up to {limit}"))
    })
}
