//! Checks the certificate: files, key, host name and validity.

use super::Finding;
use crate::config::{BaseUrl, Https};
use listen::{CertificateSource, validity};
use model::Millis;
use rustls::client::verify_server_name;
use rustls::pki_types::{CertificateDer, ServerName};
use rustls::server::ParsedCertificate;
use std::os::unix::fs::PermissionsExt;

const ABOUT: &str = "certificate";
const DAY: i64 = 24 * 60 * 60 * 1_000;
/// Days left that cause a warning. Renewal usually happens weeks before expiry.
const MIN_DAYS_LEFT: i64 = 14;

pub(super) fn check(https: &Https, base_url: &BaseUrl, now: Millis) -> Vec<Finding> {
    let files = match &https.certificate {
        CertificateSource::Files(files) => files,
        CertificateSource::Acme(acme) => {
            return vec![Finding::ok(ABOUT, format!("requested and renewed from {}", acme.directory))];
        }
    };
    let file = files.certificate.display();
    let certified = match files.load() {
        Ok(certified) => certified,
        Err(error) => {
            let fix =
                "set tls.certificate and tls.private_key to a matching pair of files that this user can read";
            return vec![Finding::error(ABOUT, error.to_string(), fix)];
        }
    };
    let mut findings = Vec::new();
    if let Some(certificate) = certified.cert.first() {
        findings.push(check_validity(certificate, now));
        findings.extend(check_host(certificate, base_url));
    }
    let mode = std::fs::metadata(&files.private_key).map(|found| found.permissions().mode());
    if mode.is_ok_and(|mode| mode & 0o007 != 0) {
        let key = files.private_key.display();
        findings.push(Finding::warning(
            ABOUT,
            format!("{key} is readable by all users"),
            format!("chmod o= {key}"),
        ));
    }
    if findings.is_empty() {
        findings.push(Finding::ok(ABOUT, format!("{file} matches its key")));
    }
    findings
}

fn check_validity(certificate: &CertificateDer<'_>, now: Millis) -> Finding {
    let seconds = |(from, until): (i64, i64)| (Millis(from * 1_000), Millis(until * 1_000));
    let Some((from, until)) = validity(certificate).map(seconds) else {
        return Finding::error(ABOUT, "cannot read the validity period", "renew the certificate");
    };
    let days_left = (until.0 - now.0).div_euclid(DAY);
    if now < from {
        let what = format!("not valid before {}", from.zulu());
        return Finding::error(ABOUT, what, "wait, or correct the clock");
    }
    const FIX: &str = "renew it; serve reloads it automatically";
    if now > until {
        Finding::error(ABOUT, format!("expired at {}", until.zulu()), FIX)
    } else if days_left < MIN_DAYS_LEFT {
        Finding::warning(ABOUT, format!("expires at {}, in {days_left} days", until.zulu()), FIX)
    } else {
        Finding::ok(ABOUT, format!("matches its key, valid for {days_left} days"))
    }
}

/// An error if the certificate is not for the host of `base_url`.
fn check_host(certificate: &CertificateDer<'_>, base_url: &BaseUrl) -> Option<Finding> {
    let host = base_url.host().trim_start_matches('[').trim_end_matches(']');
    let name = ServerName::try_from(host).ok()?;
    let parsed = ParsedCertificate::try_from(certificate).ok()?;
    verify_server_name(&parsed, &name).is_err().then(|| {
        let what = format!("not valid for {host}, the host of base_url");
        Finding::error(
            ABOUT,
            what,
            "get a certificate for that host, or set base_url to the certificate's host",
        )
    })
}
