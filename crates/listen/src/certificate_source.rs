//! The two sources of a certificate.

use super::acme::{AcmeCertificate, AcmeSettings};
use super::certificate::{CertificateError, ReloadingCertificate, TlsFiles, server_config};
use rustls::ServerConfig;
use std::sync::Arc;

/// Where the certificate comes from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CertificateSource {
    /// Files that something else renews.
    Files(TlsFiles),
    /// An authority.
    Acme(AcmeSettings),
}

/// The certificate of the TLS listener.
pub enum Certificate {
    /// From files.
    Files(Arc<ReloadingCertificate>),
    /// From an authority.
    Acme(Box<AcmeCertificate>),
}

impl Certificate {
    /// Loads the files, or prepares the requests to the authority.
    pub fn load(source: &CertificateSource) -> Result<Certificate, CertificateError> {
        Ok(match source {
            CertificateSource::Files(files) => Certificate::Files(ReloadingCertificate::load(files.clone())?),
            CertificateSource::Acme(settings) => Certificate::Acme(Box::new(AcmeCertificate::new(settings)?)),
        })
    }

    pub(super) fn server_config(&self) -> Result<ServerConfig, CertificateError> {
        match self {
            Certificate::Files(files) => server_config(Arc::clone(files) as _),
            Certificate::Acme(acme) => acme.server_config(),
        }
    }

    /// Keeps the certificate current. Never returns.
    pub(super) async fn watch(self) {
        match self {
            Certificate::Files(files) => files.watch().await,
            Certificate::Acme(acme) => acme.renew().await,
        }
    }
}
