//! What the demo prints once it is ready: a line for programs, or help for people.

use super::people::PEOPLE;
use super::secrets::{Consumer, Secrets};
use serde::Serialize;
use std::fmt::Write;
use std::path::Path;

/// The one line of `--json`.
#[derive(Serialize)]
struct Line<'a> {
    base_url: &'a str,
    ca_cert: &'a Path,
    accounts: Vec<AccountLine<'a>>,
    consumer: &'a Consumer,
}

#[derive(Serialize)]
struct AccountLine<'a> {
    name: &'a str,
    password: &'a str,
    key: &'a str,
    operator: bool,
    public: bool,
}

/// The line for programs.
pub(super) fn line(base_url: &str, ca_cert: &Path, secrets: &Secrets) -> anyhow::Result<String> {
    let accounts = PEOPLE.iter().map(|person| {
        let credentials = secrets.of(person.name)?;
        Ok(AccountLine {
            name: person.name,
            password: &credentials.password,
            key: &credentials.key,
            operator: person.operator,
            public: person.public,
        })
    });
    let accounts = accounts.collect::<anyhow::Result<_>>()?;
    let line = Line { base_url, ca_cert, accounts, consumer: &secrets.consumer };
    Ok(serde_json::to_string(&line)? + "\n")
}

/// The help for people.
pub(super) fn help(base_url: &str, ca_cert: &Path, secrets: &Secrets) -> anyhow::Result<String> {
    let mut text = String::new();
    let alice = secrets.of("alice")?;
    let curl = format!("curl --cacert {}", quoted(&ca_cert.display().to_string()));
    let collection = format!("{base_url}/200909/activity/alice/tofrom");
    writeln!(text, "tofrom is ready at {base_url}\n\nTry:\n")?;
    for (what, arguments) in [
        (
            "what alice did and what reaches her, with her password",
            format!("-u alice:{} '{collection}'", alice.password),
        ),
        (
            "the same as JSON, with her key: four photos, by the time of publication",
            format!(
                "-H 'ServicePSK: {}' -H 'Accept: application/json' '{collection}?type=photo&count=4&orderby=pubDate'",
                alice.key
            ),
        ),
        (
            "as an Atom feed, with the demo's application named",
            format!(
                "-H 'ServicePSK: {}' -H 'ServiceConsumerKey: {}' '{collection}?format=atom&verb=shared'",
                alice.key, secrets.consumer.key
            ),
        ),
        (
            "what carol, who follows bob, may see of him",
            format!("-u carol:{} '{base_url}/200909/activity/bob/from'", secrets.of("carol")?.password),
        ),
    ] {
        writeln!(text, "  # {what}\n  {curl} {arguments}\n")?;
    }
    writeln!(text, "Or open {base_url} in a browser and sign in; it has to trust the authority below.\n")?;
    writeln!(text, "Accounts:\n")?;
    writeln!(text, "  {:8} {:9} {:22} key", "name", "", "password")?;
    for person in PEOPLE {
        let credentials = secrets.of(person.name)?;
        let role = match (person.operator, person.public) {
            (true, _) => "operator",
            (false, true) => "public",
            (false, false) => "private",
        };
        writeln!(text, "  {:8} {role:9} {:22} {}", person.name, credentials.password, credentials.key)?;
    }
    writeln!(text, "\nApplication: {} (secret {})", secrets.consumer.key, secrets.consumer.secret)?;
    writeln!(text, "Certificate authority: {}", ca_cert.display())?;
    writeln!(text, "\nCtrl-C stops it; the same command starts it again with the same accounts and data.")?;
    Ok(text)
}

/// A word for a shell.
fn quoted(text: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "/._-+:".contains(c);
    if text.chars().all(plain) { text.to_owned() } else { format!("'{}'", text.replace('\'', r"'\''")) }
}
