//! Password input: from a prompt or standard input, never from the command line, which other users can read.

use crate::auth;
use anyhow::{Context, bail};
use std::io::{IsTerminal, Read};
use zeroize::Zeroizing;

/// More bytes than any valid password has, even in decomposed form. A file piped by mistake is not read to its end.
const MAX_BYTES: u64 = 16 * 1024;

/// The hash of the password on standard input, without a trailing line break, for an account with these names.
pub(super) fn from_stdin(names: &[&str]) -> anyhow::Result<String> {
    let mut text = Zeroizing::new(String::new());
    let read = std::io::stdin().lock().take(MAX_BYTES).read_to_string(&mut text);
    read.context("the password on standard input is not UTF-8 text")?;
    let password = text.strip_suffix('\n').unwrap_or(&text);
    let password = password.strip_suffix('\r').unwrap_or(password);
    Ok(auth::password::hash_checked(password, names)?)
}

/// The hash of a password that is prompted for twice, for an account with these names.
pub(super) fn from_prompt(names: &[&str]) -> anyhow::Result<String> {
    if !std::io::stdin().is_terminal() {
        bail!("no terminal to prompt for a password; use --password-stdin or --no-password");
    }
    let ask = |prompt| {
        rpassword::prompt_password(prompt).map(Zeroizing::new).context("cannot read from the terminal")
    };
    let password = ask("Password: ")?;
    let hash = auth::password::hash_checked(&password, names)?;
    if ask("Repeat password: ")? != password {
        bail!("the passwords do not match; nothing was changed");
    }
    Ok(hash)
}
