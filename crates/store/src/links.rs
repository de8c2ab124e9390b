//! Security of the links to the engines of a cluster: logins and TLS.

use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::{ClientConfig, RootCertStore};
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// A text that `Debug` does not show.
#[derive(Clone, PartialEq, Eq)]
pub struct Hidden(String);

impl Hidden {
    /// Hides a text.
    pub fn new(text: impl Into<String>) -> Hidden {
        Hidden(text.into())
    }

    /// The text itself.
    pub fn reveal(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Hidden {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("[hidden]")
    }
}

/// A user and a password.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Login {
    /// The user.
    pub user: String,
    /// The password.
    pub password: Hidden,
}

/// How a process authenticates to NATS.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NatsLogin {
    /// A user and a password.
    Password(Login),
    /// The content of a credentials file: a user's JWT and the seed of its key.
    Credentials(Hidden),
    /// The seed of an NKey.
    NKey(Hidden),
}

/// The files of a TLS connection from this process to an engine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClientTls {
    /// The authorities of the servers' certificates, in PEM.
    pub ca: PathBuf,
    /// The certificate of this process with its chain, and its private key, both in PEM.
    pub client: Option<(PathBuf, PathBuf)>,
}

/// A file that cannot be used for TLS.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("cannot use the file {path}: {why}", path = .path.display())]
pub struct UnusableFile {
    path: PathBuf,
    why: String,
}

impl ClientTls {
    /// Reads the files. Connections verify the server's certificate and its name or address.
    pub fn client_config(&self) -> Result<Arc<ClientConfig>, UnusableFile> {
        let mut roots = RootCertStore::empty();
        for certificate in certificates(&self.ca)? {
            roots.add(certificate).map_err(|error| unusable(&self.ca, error))?;
        }
        let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
        let builder = ClientConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .map_err(|error| unusable(&self.ca, error))?
            .with_root_certificates(roots);
        let Some((certificate, private_key)) = &self.client else {
            return Ok(Arc::new(builder.with_no_client_auth()));
        };
        let chain = certificates(certificate)?;
        let key = PrivateKeyDer::from_pem_slice(&read(private_key)?)
            .map_err(|error| unusable(private_key, error))?;
        // Fails if the key belongs to another certificate.
        let config =
            builder.with_client_auth_cert(chain, key).map_err(|error| unusable(private_key, error))?;
        Ok(Arc::new(config))
    }
}

fn read(path: &Path) -> Result<Vec<u8>, UnusableFile> {
    std::fs::read(path).map_err(|error| unusable(path, error))
}

fn certificates(path: &Path) -> Result<Vec<CertificateDer<'static>>, UnusableFile> {
    let parsed: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(&read(path)?).collect();
    match parsed {
        Ok(found) if found.is_empty() => Err(unusable(path, "it has no certificate in PEM")),
        Ok(found) => Ok(found),
        Err(error) => Err(unusable(path, error)),
    }
}

fn unusable(path: &Path, why: impl fmt::Display) -> UnusableFile {
    UnusableFile { path: path.to_owned(), why: why.to_string() }
}
