//! The certificate of the TLS listener, taken in again whenever its files change.
//!
//! A renewal must not need a restart, and a broken renewal must not end a service that works: a pair that can't be
//! used is logged, and the one before stays.

use super::validity::validity;
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

/// How often the files are looked at.
const LOOK_EVERY: Duration = Duration::from_secs(2);

/// Where a certificate and its key are.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TlsFiles {
    /// The certificate and the chain up to its authority, in PEM, the server's own first.
    pub certificate: PathBuf,
    /// Its private key, in PEM.
    pub private_key: PathBuf,
}

/// Why a certificate can't be used.
#[derive(Debug, thiserror::Error)]
pub enum CertificateError {
    /// A file can't be read, or is not PEM of the right kind.
    #[error("{what} in {path} can't be read: {why}", path = .path.display())]
    Unreadable {
        /// What was looked for.
        what: &'static str,
        /// Where.
        path: PathBuf,
        /// What is wrong with it.
        why: String,
    },
    /// Two files that do not belong together.
    #[error("the private key does not belong to the certificate in {}", .0.display())]
    Mismatch(PathBuf),
    /// Anything else that the TLS library does not like.
    #[error("the certificate can't be used: {0}")]
    Unusable(#[from] rustls::Error),
}

impl TlsFiles {
    /// Reads both files and checks that they belong together.
    pub fn load(&self) -> Result<CertifiedKey, CertificateError> {
        let unreadable =
            |what, path: &Path, why: String| CertificateError::Unreadable { what, path: path.into(), why };
        let chain = CertificateDer::pem_file_iter(&self.certificate)
            .and_then(Iterator::collect::<Result<Vec<_>, _>>)
            .map_err(|why| unreadable("the certificate", &self.certificate, why.to_string()))?;
        if chain.is_empty() {
            let why = "there is no PEM section \"CERTIFICATE\" in it".to_owned();
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

    /// What changes when somebody writes or replaces one of the files. A missing file is a state like any other.
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
    /// Of the files as they were last tried, well or ill, so that a broken pair is complained about once.
    tried: Mutex<Stamp>,
}

impl ReloadingCertificate {
    /// Reads the files for the first time.
    pub fn load(files: TlsFiles) -> Result<Arc<ReloadingCertificate>, CertificateError> {
        // The stamp first: what changes in between is then seen as a change.
        let tried = Mutex::new(files.stamp());
        let certified = files.load()?;
        tell_expiry(&certified);
        Ok(Arc::new(ReloadingCertificate { current: ArcSwap::from_pointee(certified), files, tried }))
    }

    /// Takes the files in again if they changed. Gives whether there is another certificate now.
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
                tell_expiry(&certified);
                self.current.store(Arc::new(certified));
                tracing::info!(file = %self.files.certificate.display(), "took the certificate in again");
                true
            }
            Err(error) => {
                tracing::error!(%error, "the changed certificate can't be used; the one before stays");
                false
            }
        }
    }

    /// Looks at the files again and again, and at once on SIGHUP. Never ends by itself.
    pub async fn watch(self: Arc<Self>) {
        let mut hangup = signal(SignalKind::hangup()).ok();
        loop {
            let asked = async {
                match &mut hangup {
                    Some(hangup) => hangup.recv().await,
                    None => std::future::pending().await,
                }
            };
            tokio::select! {
                () = tokio::time::sleep(LOOK_EVERY) => { self.reload_if_changed(); }
                _ = asked => { self.reload(); }
            }
        }
    }

    /// TLS as this service speaks it, with this certificate.
    pub(super) fn server_config(self: Arc<Self>) -> Result<ServerConfig, CertificateError> {
        let mut config = ServerConfig::builder_with_provider(provider())
            .with_protocol_versions(&[&rustls::version::TLS13, &rustls::version::TLS12])?
            .with_no_client_auth()
            .with_cert_resolver(self);
        config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
        // Clients that come back keep their own session, sealed by us: it costs no memory here.
        config.ticketer = aws_lc_rs::Ticketer::new()?;
        config.send_tls13_tickets = 1;
        Ok(config)
    }
}

impl ResolvesServerCert for ReloadingCertificate {
    fn resolve(&self, _hello: ClientHello<'_>) -> Option<Arc<CertifiedKey>> {
        Some(self.current.load_full())
    }
}

/// The process's provider, and aws-lc-rs where none was installed.
fn provider() -> Arc<CryptoProvider> {
    CryptoProvider::get_default().cloned().unwrap_or_else(|| Arc::new(aws_lc_rs::default_provider()))
}

fn tell_expiry(certified: &CertifiedKey) {
    if let Some((_, until)) = certified.cert.first().and_then(|certificate| validity(certificate)) {
        crate::telemetry::metrics::certificate_expires(until);
    }
}
