//! Applications: OAuth consumers that act for accounts. A consumer key is public. The consumer secret verifies
//! signatures, so it is stored sealed and not hashed.

use super::CREDENTIAL_CACHE_TTL;
use aws_lc_rs::signature::{ParsedPublicKey, RSA_PKCS1_2048_8192_SHA256};
use model::Application;
use moka::sync::Cache;
use rustls::pki_types::SubjectPublicKeyInfoDer;
use rustls::pki_types::pem::PemObject;
use seal::{NoRandomness, SealError, SecretKeys};
use std::sync::Arc;
use store::Store;
use zeroize::Zeroizing;

/// Prefix of every consumer key.
const PREFIX: &str = "tfc_";

/// A new application's key and secret. Debug does not show the secret.
#[derive(Debug)]
pub struct GeneratedConsumer {
    /// The consumer key: public.
    pub key: String,
    /// The secret, shown once to its owner.
    pub secret: Zeroizing<String>,
}

impl GeneratedConsumer {
    /// Seals the secret for the store.
    pub fn sealed_secret(&self, keys: &SecretKeys) -> Result<Vec<u8>, SealError> {
        keys.seal(self.secret.as_bytes(), &context(&self.key))
    }
}

/// Generates a consumer key of 128 and a secret of 256 random bits.
pub fn generate() -> Result<GeneratedConsumer, NoRandomness> {
    let key = seal::random_text::<16>(PREFIX)?.to_string();
    Ok(GeneratedConsumer { key, secret: seal::random_text::<32>("")? })
}

/// Parses a public RSA key of 2048 to 8192 bits in PEM (`BEGIN PUBLIC KEY`) into the stored form.
pub fn rsa_key(pem: &[u8]) -> Option<Vec<u8>> {
    let der = SubjectPublicKeyInfoDer::from_pem_slice(pem).ok()?;
    ParsedPublicKey::new(&RSA_PKCS1_2048_8192_SHA256, &der).is_ok().then(|| der.to_vec())
}

/// Binds a sealed secret to its application, so that it does not open for another one.
pub(super) fn context(key: &str) -> String {
    format!("application-secret {key}")
}

/// Opens an application's secret.
pub(super) fn secret(application: &Application, keys: &SecretKeys) -> Result<Zeroizing<Vec<u8>>, SealError> {
    keys.open(&application.sealed_secret, &context(&application.key))
}

/// A cache of applications by consumer key.
pub struct Applications {
    store: Arc<dyn Store>,
    cache: Cache<String, Arc<Application>>,
}

impl Applications {
    pub(super) fn new(store: Arc<dyn Store>) -> Applications {
        let cache = Cache::builder().max_capacity(10_000).time_to_live(CREDENTIAL_CACHE_TTL).build();
        Applications { store, cache }
    }

    /// The live application with that consumer key. Cached for seconds.
    pub async fn live(&self, key: &str) -> store::Result<Option<Arc<Application>>> {
        if let Some(application) = self.cache.get(key) {
            return Ok(Some(application));
        }
        match self.store.application(key).await? {
            Some(application) if application.removed.is_none() => {
                let application = Arc::new(application);
                self.cache.insert(key.to_owned(), Arc::clone(&application));
                Ok(Some(application))
            }
            _ => Ok(None),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_secret_is_sealed_for_its_application() {
        let keys = SecretKeys::parse(["00".repeat(32)]).unwrap();
        let consumer = generate().unwrap();
        assert!(consumer.key.starts_with("tfc_") && consumer.key.len() == 26, "{}", consumer.key);
        assert_eq!(consumer.secret.len(), 43);
        assert!(!format!("{consumer:?}").contains(consumer.secret.as_str()));
        let sealed = consumer.sealed_secret(&keys).unwrap();
        assert_eq!(*keys.open(&sealed, &context(&consumer.key)).unwrap(), consumer.secret.as_bytes());
        assert!(keys.open(&sealed, &context("tfc_other")).is_err());
    }
}
