//! Output of the demo once it is ready: a JSON line for programs, or help for people.

use super::people::PEOPLE;
use super::secrets::{Consumer, Secrets};
use serde::Serialize;
use std::fmt::Write;
use std::path::Path;

/// The JSON line.
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

/// The JSON line for programs.
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
        ("alice's feed, with her password", format!("-u alice:{} '{collection}'", alice.password)),
        (
            "four photos as JSON, by publication date, with her key",
            format!(
                "-H 'ServicePSK: {}' -H 'Accept: application/json' '{collection}?type=photo&count=4&orderby=pubDate'",
                alice.key
            ),
        ),
        (
            "shared items as an Atom feed, with the demo application's consumer key",
            format!(
                "-H 'ServicePSK: {}' -H 'ServiceConsumerKey: {}' '{collection}?format=atom&verb=shared'",
                alice.key, secrets.consumer.key
            ),
        ),
        (
            "bob's activities as his follower carol sees them",
            format!("-u carol:{} '{base_url}/200909/activity/bob/from'", secrets.of("carol")?.password),
        ),
    ] {
        writeln!(text, "  # {what}\n  {curl} {arguments}\n")?;
    }
    writeln!(
        text,
        "Or open {base_url} in a browser and sign in. The browser must trust the certificate authority below.\n"
    )?;
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
    writeln!(
        text,
        "\nPress Ctrl-C to stop. The same command starts it again with the same accounts and data."
    )?;
    Ok(text)
}

/// Quotes a word for the shell if needed.
fn quoted(text: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "/._-+:".contains(c);
    if text.chars().all(plain) { text.to_owned() } else { format!("'{}'", text.replace('\'', r"'\''")) }
}
