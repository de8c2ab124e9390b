//! The certificate of the TLS listener, reloaded whenever its files change.
//!
//! A renewal must not need a restart, and a broken renewal must not break a running server: an unusable pair is logged,
//! and the previous one stays in use.

use super::telemetry;
use arc_swap::ArcSwap;
use rustls::crypto::{CryptoProvider, aws_lc_rs};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::server::{ClientHello, ResolvesServerCert};
use rustls::sign::CertifiedKey;
use rustls::{InconsistentKeys, ServerConfig};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, SystemTime};
use tokio::signal::unix::{SignalKind, signal};
use x509_parser::parse_x509_certificate;

/// The interval of checks of the files.
const CHECK_INTERVAL: Duration = Duration::from_secs(2);

/// The files of a certificate and its key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TlsFiles {
    /// The certificate and the chain up to its authority, in PEM, the server's certificate first.
    pub certificate: PathBuf,
    /// Its private key, in PEM.
    pub private_key: PathBuf,
}

/// Why a certificate cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum CertificateError {
    /// A file is unreadable, or is not PEM of the right kind.
    #[error("cannot read {what} in {path}: {why}", path = .path.display())]
    Unreadable {
        /// The expected content.
        what: &'static str,
        /// The file.
        path: PathBuf,
        /// The reason.
        why: String,
    },
    /// The key does not match the certificate.
    #[error("the private key does not belong to the certificate in {}", .0.display())]
    Mismatch(PathBuf),
    /// Another error of the TLS library.
    #[error("cannot use the certificate: {0}")]
    Unusable(#[from] rustls::Error),
}

impl TlsFiles {
    /// Reads both files and checks that they match.
    pub fn load(&self) -> Result<CertifiedKey, CertificateError> {
        let unreadable =
            |what, path: &Path, why: String| CertificateError::Unreadable { what, path: path.into(), why };
        let chain = CertificateDer::pem_file_iter(&self.certificate)
            .and_then(Iterator::collect::<Result<Vec<_>, _>>)
            .map_err(|why| unreadable("the certificate", &self.certificate, why.to_string()))?;
        if chain.is_empty() {
            let why = "expected a PEM section \"CERTIFICATE\"".to_owned();
            return Err(unreadable("the certificate", &self.certificate, why));
        }
        let key = PrivateKeyDer::from_pem_file(&self.private_key)
            .map_err(|why| unreadable("the private key", &self.private_key, why.to_string()))?;
        CertifiedKey::from_der(chain, key, &provider()).map_err(|error| match error {
            rustls::Error::InconsistentKeys(InconsistentKeys::KeyMismatch) => {
                CertificateError::Mismatch(self.certificate.clone())
            }
            other => other.into(),
        })
    }

    /// A stamp that changes when one of the files is written or replaced. A missing file is a valid state.
    fn stamp(&self) -> Stamp {
        [&self.certificate, &self.private_key].map(|path| {
            use std::os::unix::fs::MetadataExt;
            let found = std::fs::metadata(path).ok()?;
            Some((found.modified().ok()?, found.len(), found.ino()))
        })
    }
}

type Stamp = [Option<(SystemTime, u64, u64)>; 2];

/// A certificate that follows its files.
#[derive(Debug)]
pub struct ReloadingCertificate {
    files: TlsFiles,
    current: ArcSwap<CertifiedKey>,
    /// The stamp of the last attempt, successful or not, so that a broken pair is logged once.
    tried: Mutex<Stamp>,
}

impl ReloadingCertificate {
    /// Reads the files for the first time.
    pub fn load(files: TlsFiles) -> Result<Arc<ReloadingCertificate>, CertificateError> {
        // The stamp is taken first, so that a change in between is noticed later.
        let tried = Mutex::new(files.stamp());
        let certified = files.load()?;
        report_expiry(&certified.cert);
        Ok(Arc::new(ReloadingCertificate { current: ArcSwap::from_pointee(certified), files, tried }))
    }

    /// Reloads the files if they changed. Returns whether the certificate was replaced.
    pub fn reload_if_changed(&self) -> bool {
        let stamp = self.files.stamp();
        {
            let mut tried = self.tried.lock().unwrap_or_else(PoisonError::into_inner);
            if *tried == stamp {
                return false;
            }
            *tried = stamp;
        }
        self.reload()
    }

    fn reload(&self) -> bool {
        match self.files.load() {
            Ok(certified) => {
                report_expiry(&certified.cert);
                self.current.store(Arc::new(certified));
                tracing::info!(file = %self.files.certificate.display(), "certificate reloaded");
                true
            }
            Err(error) => {
                tracing::error!(%error, "certificate reload failed, keeping the previous one");
                false
            }
        }
    }

    /// Checks the files periodically and on SIGHUP. Never returns.
    pub(super) async fn watch(self: Arc<Self>) {
        let mut hangup = signal(SignalKind::hangup()).ok();
        loop {
            let hangup = async {
                match &mut hangup {
                    Some(hangup) => hangup.recv().await,
                    None => std::future::pending().await,
                }
            };
            tokio::select! {
                () = tokio::time::sleep(CHECK_INTERVAL) => { self.reload_if_changed(); }
                _ = hangup => { self.reload(); }
            }
        }
    }
}

/// The TLS configuration with the certificate of this resolver.
pub(super) fn server_config(resolver: Arc<dyn ResolvesServerCert>) -> Result<ServerConfig, CertificateError> {
    let mut config = ServerConfig::builder_with_provider(provider())
        .with_protocol_versions(&[&rustls::version::TLS13, &rustls::version::TLS12])?
        .with_no_client_auth()
        .with_cert_resolver(resolver);
    config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
    // Session tickets are held by the clients, so they cost no memory here.
    config.ticketer = aws_lc_rs::Ticketer::new()?;
    config.send_tls13_tickets = 1;
    Ok(config)
}

impl ResolvesServerCert for ReloadingCertificate {
    fn resolve(&self, _hello: ClientHello<'_>) -> Option<Arc<CertifiedKey>> {
        Some(self.current.load_full())
    }
}

/// The installed crypto provider, or aws-lc-rs if there is none.
fn provider() -> Arc<CryptoProvider> {
    CryptoProvider::get_default().cloned().unwrap_or_else(|| Arc::new(aws_lc_rs::default_provider()))
}

/// Reports when the first certificate of a chain expires.
pub(super) fn report_expiry(chain: &[CertificateDer<'_>]) {
    if let Some((_, until)) = chain.first().and_then(|certificate| validity(certificate)) {
        telemetry::certificate_expires(until);
    }
}

/// The start and end of a certificate's validity, in seconds since 1970. `None` if it is not a certificate.
pub fn validity(certificate: &[u8]) -> Option<(i64, i64)> {
    let (_, parsed) = parse_x509_certificate(certificate).ok()?;
    Some((parsed.validity().not_before.timestamp(), parsed.validity().not_after.timestamp()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_validity_of_a_certificate_is_read() {
        let key = rcgen::KeyPair::generate().unwrap();
        let mut parameters = rcgen::CertificateParams::new(vec!["localhost".to_owned()]).unwrap();
        parameters.not_before = rcgen::date_time_ymd(2024, 2, 29);
        parameters.not_after = rcgen::date_time_ymd(2061, 11, 14);
        let certificate = parameters.self_signed(&key).unwrap();
        assert_eq!(validity(certificate.der()), Some((1_709_164_800, 2_899_152_000)));
    }

    #[test]
    fn truncated_certificates_have_no_validity() {
        let key = rcgen::KeyPair::generate().unwrap();
        let whole = rcgen::CertificateParams::default().self_signed(&key).unwrap().der().to_vec();
        for end in 0..whole.len() {
            assert_eq!(validity(&whole[..end]), None, "cut after {end} bytes");
        }
    }
}
