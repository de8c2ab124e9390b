//! The certificate: is it there, do its files fit, is it for this host, and for how long.

use super::Finding;
use crate::config::{BaseUrl, Https};
use crate::http::listen::validity;
use model::Millis;
use rustls::client::verify_server_name;
use rustls::pki_types::{CertificateDer, ServerName};
use rustls::server::ParsedCertificate;
use std::os::unix::fs::PermissionsExt;

const ABOUT: &str = "certificate";
const DAY: i64 = 24 * 60 * 60 * 1_000;
/// Renewals are made weeks before; who is closer than this has missed one.
const SOON: i64 = 14;

pub(super) fn look(https: &Https, base_url: &BaseUrl, now: Millis) -> Vec<Finding> {
    let file = https.files.certificate.display();
    let certified = match https.files.load() {
        Ok(certified) => certified,
        Err(error) => {
            let mend =
                "name files of one pair that this user may read in tls.certificate and tls.private_key";
            return vec![Finding::wrong(ABOUT, error.to_string(), mend)];
        }
    };
    let mut findings = Vec::new();
    if let Some(certificate) = certified.cert.first() {
        findings.push(term(certificate, now));
        findings.extend(host(certificate, base_url));
    }
    let mode = std::fs::metadata(&https.files.private_key).map(|found| found.permissions().mode());
    if mode.is_ok_and(|mode| mode & 0o007 != 0) {
        let key = https.files.private_key.display();
        findings.push(Finding::doubtful(
            ABOUT,
            format!("everybody may read {key}"),
            format!("chmod o= {key}"),
        ));
    }
    if findings.is_empty() {
        findings.push(Finding::well(ABOUT, format!("{file} and its key fit")));
    }
    findings
}

fn term(certificate: &CertificateDer<'_>, now: Millis) -> Finding {
    let Some((from, until)) = validity(certificate) else {
        return Finding::wrong(ABOUT, "its time of validity can't be read", "renew the certificate");
    };
    let days_left = (until.0 - now.0).div_euclid(DAY);
    if now < from {
        let what = format!("it counts only from {} on", from.zulu());
        return Finding::wrong(ABOUT, what, "wait, or set the clock right");
    }
    const MEND: &str = "renew it; serve takes it in by itself";
    if now > until {
        Finding::wrong(ABOUT, format!("it ended at {}", until.zulu()), MEND)
    } else if days_left < SOON {
        Finding::doubtful(ABOUT, format!("it ends at {}, in {days_left} days", until.zulu()), MEND)
    } else {
        Finding::well(ABOUT, format!("it fits its key and is good for {days_left} days"))
    }
}

/// A wrong host is what every client would complain about first.
fn host(certificate: &CertificateDer<'_>, base_url: &BaseUrl) -> Option<Finding> {
    let host = base_url.host().trim_start_matches('[').trim_end_matches(']');
    let name = ServerName::try_from(host).ok()?;
    let parsed = ParsedCertificate::try_from(certificate).ok()?;
    verify_server_name(&parsed, &name).is_err().then(|| {
        let what = format!("it is not for {host}, the host of base_url");
        Finding::wrong(ABOUT, what, "get a certificate for that host, or set base_url to the host it is for")
    })
}
