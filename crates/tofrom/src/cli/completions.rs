//! `tofrom completions`

use clap_complete::Shell;
use std::io::Write;

/// Print shell completions
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Examples:\n  tofrom completions bash > ~/.local/share/bash-completion/completions/tofrom\n  \
                        tofrom completions zsh > ~/.zfunc/_tofrom\n  \
                        tofrom completions fish > ~/.config/fish/completions/tofrom.fish"
)]
pub(super) struct Args {
    /// Shell
    shell: Shell,
}

pub(super) fn run(args: &Args, mut command: clap::Command) -> anyhow::Result<()> {
    // Into memory first: the generator panics if it cannot write.
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut command, "tofrom", &mut script);
    let mut out = std::io::stdout().lock();
    out.write_all(&script)?;
    Ok(out.flush()?)
}
