//! `tofrom man`

use std::path::PathBuf;

/// Write manual pages to a folder
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:\n  tofrom man ~/.local/share/man/man1 && man tofrom-serve")]
pub(super) struct Args {
    /// Existing folder; tofrom.1 and a page for each command are written to it
    dir: PathBuf,
}

pub(super) fn run(args: &Args, command: clap::Command) -> anyhow::Result<()> {
    Ok(clap_mangen::generate_to(command, &args.dir)?)
}
