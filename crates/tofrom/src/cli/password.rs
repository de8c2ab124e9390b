//! Where passwords come from: a prompt or standard input, never the line, which others can read.

use crate::auth;
use anyhow::{Context, bail};
use std::io::{IsTerminal, Read};
use zeroize::Zeroizing;

/// Longer than any password may be, also in a decomposed form; a file by mistake is not read to its end.
const MAX_BYTES: u64 = 16 * 1024;

/// The hash of the password on standard input, up to the end or a line break at the end, for an account with these names.
pub(super) fn from_stdin(names: &[&str]) -> anyhow::Result<String> {
    let mut text = Zeroizing::new(String::new());
    let read = std::io::stdin().lock().take(MAX_BYTES).read_to_string(&mut text);
    read.context("the password on standard input can't be read as UTF-8 text")?;
    let password = text.strip_suffix('\n').unwrap_or(&text);
    let password = password.strip_suffix('\r').unwrap_or(password);
    Ok(auth::password::hash_checked(password, names)?)
}

/// The hash of a password that is asked for twice, for an account with these names.
pub(super) fn from_prompt(names: &[&str]) -> anyhow::Result<String> {
    if !std::io::stdin().is_terminal() {
        bail!("there is no terminal to ask for a password; use --password-stdin or --no-password");
    }
    let ask =
        |prompt| rpassword::prompt_password(prompt).map(Zeroizing::new).context("the terminal can't be read");
    let password = ask("Password: ")?;
    let hash = auth::password::hash_checked(&password, names)?;
    if ask("Again: ")? != password {
        bail!("the two passwords differ; nothing was changed");
    }
    Ok(hash)
}
