//! Security of the links to a cluster: logins, TLS, and the refusal of plaintext to other machines.

use super::{ConfigError, RawClientTls, RawConfig};
use std::net::IpAddr;
use std::path::Path;
use store::links::{ClientTls, Hidden, Login, NatsLogin};

/// The first line of a NATS credentials file.
const CREDENTIALS_MARK: &str = "-----BEGIN NATS USER JWT-----";
/// The first letters of the seed of a user's NKey.
const USER_SEED: &str = "SU";

/// The names of the settings of one link.
struct Names {
    user: &'static str,
    password: &'static str,
    password_file: &'static str,
    tls: &'static str,
    ca: &'static str,
    certificate: &'static str,
    private_key: &'static str,
}

const CQL: Names = Names {
    user: "cql.user",
    password: "cql.password",
    password_file: "cql.password_file",
    tls: "cql.tls",
    ca: "cql.tls.ca",
    certificate: "cql.tls.certificate",
    private_key: "cql.tls.private_key",
};

const NATS: Names = Names {
    user: "nats.user",
    password: "nats.password",
    password_file: "nats.password_file",
    tls: "nats.tls",
    ca: "nats.tls.ca",
    certificate: "nats.tls.certificate",
    private_key: "nats.tls.private_key",
};

impl RawConfig {
    pub(super) fn cql_login(&self) -> Result<Option<Login>, ConfigError> {
        let cql = &self.cql;
        login(&CQL, cql.user.as_deref(), cql.password.as_deref(), cql.password_file.as_deref())
    }

    pub(super) fn cql_tls(&self) -> Result<Option<ClientTls>, ConfigError> {
        tls(&CQL, &self.cql.tls)
    }

    pub(super) fn nats_tls(&self) -> Result<Option<ClientTls>, ConfigError> {
        tls(&NATS, &self.nats.tls)
    }

    pub(super) fn nats_login(&self) -> Result<Option<NatsLogin>, ConfigError> {
        let nats = &self.nats;
        let login =
            login(&NATS, nats.user.as_deref(), nats.password.as_deref(), nats.password_file.as_deref())?;
        let Some(path) = &nats.credentials else { return Ok(login.map(NatsLogin::Password)) };
        if login.is_some() {
            let expected = "no nats.user beside it: set one of them";
            return Err(ConfigError::invalid("nats.credentials", path.display().to_string(), expected));
        }
        let content = read("nats.credentials", path)?;
        if content.contains(CREDENTIALS_MARK) {
            return Ok(Some(NatsLogin::Credentials(Hidden::new(content))));
        }
        let seed = content.lines().map(str::trim).find(|line| line.starts_with(USER_SEED));
        seed.map(|seed| Some(NatsLogin::NKey(Hidden::new(seed)))).ok_or_else(|| {
            let why = "it has neither a user's JWT nor the seed of a user's NKey (SU…)";
            ConfigError::Unusable { name: "nats.credentials", why: format!("{}: {why}", path.display()) }
        })
    }

    /// Refuses plaintext to other machines, unless the settings allow it.
    pub(super) fn demand_encryption(
        &self,
        name: &'static str,
        addresses: &[String],
        is_encrypted: impl Fn(&str) -> bool,
        secure: &'static str,
    ) -> Result<(), ConfigError> {
        let is_plaintext = |address: &&String| !is_encrypted(address) && !is_loopback(host_of(address));
        match addresses.iter().find(is_plaintext) {
            Some(address) if !self.insecure_cluster_links.unwrap_or(false) => {
                let address = address_without_login(address).to_owned();
                Err(ConfigError::Plaintext { name, address, secure })
            }
            _ => Ok(()),
        }
    }
}

fn login(
    names: &Names,
    user: Option<&str>,
    password: Option<&str>,
    password_file: Option<&Path>,
) -> Result<Option<Login>, ConfigError> {
    let password = match (password, password_file) {
        (Some(_), Some(path)) => {
            let expected = format!("no {} beside it: set one of them", names.password);
            return Err(ConfigError::invalid(names.password_file, path.display().to_string(), expected));
        }
        (Some(password), None) => Some(password.to_owned()),
        (None, Some(path)) => Some(read_password(names.password_file, path)?),
        (None, None) => None,
    };
    match (user, password) {
        (None, None) => Ok(None),
        (Some(user), Some(password)) => {
            Ok(Some(Login { user: user.to_owned(), password: Hidden::new(password) }))
        }
        (Some(_), None) => {
            let expected =
                format!("{} needs it: expected a password, or a file in {}", names.user, names.password_file);
            Err(ConfigError::missing(names.password, expected))
        }
        (None, Some(_)) => {
            let expected = format!("{} needs it: expected the name of a user", names.password);
            Err(ConfigError::missing(names.user, expected))
        }
    }
}

fn tls(names: &Names, files: &RawClientTls) -> Result<Option<ClientTls>, ConfigError> {
    let missing = |name, because: &str| {
        ConfigError::missing(name, format!("{because} needs it: expected the path of a PEM file"))
    };
    let client = match (&files.certificate, &files.private_key) {
        (Some(certificate), Some(private_key)) => Some((certificate.clone(), private_key.clone())),
        (Some(_), None) => return Err(missing(names.private_key, names.certificate)),
        (None, Some(_)) => return Err(missing(names.certificate, names.private_key)),
        (None, None) => None,
    };
    let Some(ca) = files.ca.clone() else {
        return if client.is_some() { Err(missing(names.ca, names.certificate)) } else { Ok(None) };
    };
    let tls = ClientTls { ca, client };
    tls.client_config().map_err(|error| ConfigError::Unusable { name: names.tls, why: error.to_string() })?;
    Ok(Some(tls))
}

fn read(name: &'static str, path: &Path) -> Result<String, ConfigError> {
    std::fs::read_to_string(path).map_err(|error| ConfigError::Unusable {
        name,
        why: format!("cannot read {}: {error}", path.display()),
    })
}

/// A password without the line break at its end.
fn read_password(name: &'static str, path: &Path) -> Result<String, ConfigError> {
    let content = read(name, path)?;
    let password = content.trim_end_matches(['\n', '\r']);
    if password.is_empty() {
        return Err(ConfigError::Unusable { name, why: format!("{} is empty", path.display()) });
    }
    Ok(password.to_owned())
}

/// An address without its scheme and without a user and a password.
fn address_without_login(address: &str) -> &str {
    let bare = address.split_once("://").map_or(address, |(_, bare)| bare);
    bare.rsplit('@').next().unwrap_or(bare).trim_end_matches('/')
}

fn host_of(address: &str) -> &str {
    let bare = address_without_login(address);
    bare.rsplit_once(':').map_or(bare, |(host, _)| host)
}

/// Names are not resolved: the answer could change after the check.
fn is_loopback(host: &str) -> bool {
    let address = host.trim_start_matches('[').trim_end_matches(']');
    host.eq_ignore_ascii_case("localhost")
        || address.parse().is_ok_and(|address: IpAddr| address.is_loopback())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_localhost_and_loopback_addresses_are_on_this_machine() {
        for local in [
            "localhost:9042",
            "LocalHost:1",
            "127.0.0.1:1",
            "nats://me:secret@127.9.9.9:4222",
            "http://[::1]:8222/",
        ] {
            assert!(is_loopback(host_of(local)), "{local}");
        }
        for remote in [
            "10.0.0.1:1",
            "db.example.org:1",
            "localhost.example.org:1",
            "[fd00::1]:1",
            "0.0.0.0:1",
            "127.0.0.1.x:1",
        ] {
            assert!(!is_loopback(host_of(remote)), "{remote}");
        }
    }
}
