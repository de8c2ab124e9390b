//! A certificate from an ACME authority such as Let's Encrypt.
//!
//! The authority validates the host by a TLS connection to this listener (TLS-ALPN-01), so no other port is needed. The
//! account and the certificate are cached in a folder, and renewed when two thirds of their time have passed.

use super::certificate::{CertificateError, report_expiry, server_config};
use futures::StreamExt;
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject;
use rustls::{ClientConfig, RootCertStore, ServerConfig};
use rustls_acme::caches::DirCache;
use rustls_acme::{AccountCache, AcmeConfig, AcmeState, CertCache, EventOk, ResolvesServerCertAcme};
use std::io;
use std::os::unix::fs::DirBuilderExt;
use std::path::PathBuf;
use std::sync::Arc;

/// The protocol of a validating connection (RFC 8737). It ends after the handshake.
pub(super) const VALIDATION: &[u8] = b"acme-tls/1";

/// The settings of a certificate from an authority.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AcmeSettings {
    /// The host in the certificate.
    pub host: String,
    /// The e-mail address for messages of the authority.
    pub contact: String,
    /// The address of the authority's directory.
    pub directory: String,
    /// Authorities of the directory's own certificate, in PEM. `None`: those of this machine.
    pub ca: Option<PathBuf>,
    /// The folder for the account and the certificate, accessible to the owner only.
    pub folder: PathBuf,
}

/// A certificate that is requested and renewed from an authority.
pub struct AcmeCertificate {
    resolver: Arc<ResolvesServerCertAcme>,
    state: AcmeState<io::Error, io::Error>,
}

impl AcmeCertificate {
    /// Prepares the requests. They are sent while the listener runs.
    pub fn new(settings: &AcmeSettings) -> Result<AcmeCertificate, CertificateError> {
        let unreadable = |what, path: &PathBuf, why: String| CertificateError::Unreadable {
            what,
            path: path.clone(),
            why,
        };
        std::fs::DirBuilder::new().recursive(true).mode(0o700).create(&settings.folder).map_err(|error| {
            unreadable("the folder of the certificate", &settings.folder, error.to_string())
        })?;
        let mut roots = RootCertStore::empty();
        match &settings.ca {
            Some(file) => {
                let certificates = CertificateDer::pem_file_iter(file)
                    .and_then(Iterator::collect::<Result<Vec<_>, _>>)
                    .map_err(|error| unreadable("the authorities", file, error.to_string()))?;
                roots.add_parsable_certificates(certificates);
            }
            None => {
                roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
            }
        }
        let client = ClientConfig::builder().with_root_certificates(roots).with_no_client_auth();
        let state = AcmeConfig::new_with_client_config([&settings.host], Arc::new(client))
            .contact_push(format!("mailto:{}", settings.contact))
            .directory(&settings.directory)
            .cache(ObservedCache(DirCache::new(settings.folder.clone())))
            .state();
        Ok(AcmeCertificate { resolver: state.resolver(), state })
    }

    /// The TLS configuration with this certificate. Handshakes fail until there is one.
    pub(super) fn server_config(&self) -> Result<ServerConfig, CertificateError> {
        let mut config = server_config(Arc::clone(&self.resolver) as _)?;
        config.alpn_protocols.push(VALIDATION.to_vec());
        Ok(config)
    }

    /// Requests the certificate and renews it. Never returns.
    pub(super) async fn renew(mut self) {
        loop {
            match self.state.next().await {
                Some(Ok(EventOk::DeployedNewCert)) => tracing::info!("certificate received by ACME"),
                Some(Ok(EventOk::DeployedCachedCert)) => {
                    tracing::info!("certificate loaded from the ACME cache")
                }
                Some(Ok(EventOk::CertCacheStore | EventOk::AccountCacheStore)) => {}
                // It is tried again after a growing pause.
                Some(Err(error)) => {
                    tracing::error!(%error, "ACME failed, trying again later")
                }
                None => std::future::pending().await,
            }
        }
    }
}

/// A cache that reports when the certificate expires.
struct ObservedCache(DirCache<PathBuf>);

fn observe(pem: &[u8]) {
    report_expiry(&CertificateDer::pem_slice_iter(pem).filter_map(Result::ok).collect::<Vec<_>>());
}

#[async_trait::async_trait]
impl CertCache for ObservedCache {
    type EC = io::Error;

    async fn load_cert(&self, domains: &[String], directory: &str) -> io::Result<Option<Vec<u8>>> {
        let pem = self.0.load_cert(domains, directory).await?;
        pem.iter().for_each(|pem| observe(pem));
        Ok(pem)
    }

    async fn store_cert(&self, domains: &[String], directory: &str, pem: &[u8]) -> io::Result<()> {
        observe(pem);
        self.0.store_cert(domains, directory, pem).await
    }
}

#[async_trait::async_trait]
impl AccountCache for ObservedCache {
    type EA = io::Error;

    async fn load_account(&self, contact: &[String], directory: &str) -> io::Result<Option<Vec<u8>>> {
        self.0.load_account(contact, directory).await
    }

    async fn store_account(&self, contact: &[String], directory: &str, account: &[u8]) -> io::Result<()> {
        self.0.store_account(contact, directory, account).await
    }
}
