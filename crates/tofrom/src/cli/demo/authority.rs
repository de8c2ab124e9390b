//! The demo's certificate authority. It is kept in the folder, so that clients need to trust it only once. The server
//! certificate is created at every start, so that it is never expired.

use super::secrets::{Readers, read, write};
use anyhow::Context;
use listen::TlsFiles;
use model::Millis;
use rcgen::{
    BasicConstraints, CertificateParams, DistinguishedName, DnType, ExtendedKeyUsagePurpose, IsCa, Issuer,
    KeyPair, KeyUsagePurpose, date_time_ymd,
};
use std::path::{Path, PathBuf};
use std::time::Duration;

const DAY: Duration = Duration::from_secs(24 * 60 * 60);
const AUTHORITY_LIFETIME: Duration = Duration::from_secs(10 * 365 * 24 * 60 * 60);
/// Clients accept server certificates of at most about 13 months.
const SERVER_LIFETIME: Duration = Duration::from_secs(397 * 24 * 60 * 60);

/// The certificate files in the folder.
pub(super) struct Certificates {
    /// The authority's certificate, which clients must trust.
    pub(super) authority: PathBuf,
    /// The server's certificate and key.
    pub(super) server: TlsFiles,
}

/// Loads or creates the authority and creates a certificate for the loopback addresses.
pub(super) fn certificates(folder: &Path, now: Millis) -> anyhow::Result<Certificates> {
    let (authority, authority_key) = (folder.join("ca.pem"), folder.join("ca-key.pem"));
    let server =
        TlsFiles { certificate: folder.join("server.pem"), private_key: folder.join("server-key.pem") };
    let key = match (read(&authority)?, read(&authority_key)?) {
        (Some(_), Some(key)) => KeyPair::from_pem(&key)
            .with_context(|| format!("{} was not written by the demo", authority_key.display()))?,
        _ => {
            let key = KeyPair::generate()?;
            let certificate = authority_params(now).self_signed(&key)?;
            write(&authority_key, &key.serialize_pem(), Readers::Owner)?;
            write(&authority, &certificate.pem(), Readers::Everyone)?;
            key
        }
    };
    // Signing needs only the authority's name and key, not its dates.
    let issuer = Issuer::new(authority_params(now), key);
    let server_key = KeyPair::generate()?;
    let certificate = server_params(now)?.signed_by(&server_key, &issuer)?;
    write(&server.private_key, &server_key.serialize_pem(), Readers::Owner)?;
    write(&server.certificate, &certificate.pem(), Readers::Everyone)?;
    let authority = std::path::absolute(&authority)?;
    Ok(Certificates { authority, server })
}

fn authority_params(now: Millis) -> CertificateParams {
    let mut params = CertificateParams::default();
    params.distinguished_name = named("tofrom demo authority");
    params.is_ca = IsCa::Ca(BasicConstraints::Constrained(0));
    params.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::CrlSign];
    valid(&mut params, now, AUTHORITY_LIFETIME);
    params
}

fn server_params(now: Millis) -> anyhow::Result<CertificateParams> {
    let names = ["localhost", "127.0.0.1", "::1"].map(str::to_owned);
    let mut params = CertificateParams::new(names)?;
    params.distinguished_name = named("tofrom demo");
    params.key_usages = vec![KeyUsagePurpose::DigitalSignature];
    params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth];
    params.use_authority_key_identifier_extension = true;
    valid(&mut params, now, SERVER_LIFETIME);
    Ok(params)
}

fn named(name: &str) -> DistinguishedName {
    let mut distinguished_name = DistinguishedName::new();
    distinguished_name.push(DnType::CommonName, name);
    distinguished_name
}

/// Sets the validity, from a day ago because clocks differ between machines.
fn valid(params: &mut CertificateParams, now: Millis, lifetime: Duration) {
    let now = date_time_ymd(1970, 1, 1) + Duration::from_millis(u64::try_from(now.0).unwrap_or(0));
    params.not_before = now - DAY;
    params.not_after = now - DAY + lifetime;
}
