//! The validity period of a certificate. It is read directly from the DER, because nothing else of the certificate is
//! needed that would justify an X.509 library.

use model::Millis;

const INTEGER: u8 = 0x02;
const UTC_TIME: u8 = 0x17;
const GENERALIZED_TIME: u8 = 0x18;
const SEQUENCE: u8 = 0x30;
const VERSION: u8 = 0xa0;

/// The start and end of a certificate's validity (RFC 5280, 4.1.2.5). `None` if it is not a certificate.
pub fn validity(certificate: &[u8]) -> Option<(Millis, Millis)> {
    let mut outer = Der(certificate);
    let mut certificate = Der(outer.take(SEQUENCE)?);
    let mut to_be_signed = Der(certificate.take(SEQUENCE)?);
    if to_be_signed.0.first() == Some(&VERSION) {
        to_be_signed.take(VERSION)?;
    }
    to_be_signed.take(INTEGER)?; // serial number
    to_be_signed.take(SEQUENCE)?; // signature algorithm
    to_be_signed.take(SEQUENCE)?; // issuer
    let mut validity = Der(to_be_signed.take(SEQUENCE)?);
    Some((validity.time()?, validity.time()?))
}

/// The rest of a sequence of DER values.
struct Der<'a>(&'a [u8]);

impl<'a> Der<'a> {
    /// The content of the next value, if it has this tag.
    fn take(&mut self, tag: u8) -> Option<&'a [u8]> {
        let (found, rest) = self.0.split_first()?;
        let (first, rest) = rest.split_first()?;
        let (length, rest) = match first {
            0..=0x7f => (usize::from(*first), rest),
            0x81..=0x84 => {
                let (digits, rest) = rest.split_at_checked(usize::from(first & 0x7f))?;
                (digits.iter().fold(0, |sum, digit| sum << 8 | usize::from(*digit)), rest)
            }
            _ => return None,
        };
        let (content, rest) = rest.split_at_checked(length)?;
        self.0 = rest;
        (*found == tag).then_some(content)
    }

    /// `YYMMDDhhmmssZ` or `YYYYMMDDhhmmssZ`, the only forms allowed in a certificate.
    fn time(&mut self) -> Option<Millis> {
        let short = self.0.first() == Some(&UTC_TIME);
        let digits = std::str::from_utf8(self.take(if short { UTC_TIME } else { GENERALIZED_TIME })?).ok()?;
        let full = match short {
            true if digits < "50" => format!("20{digits}"),
            true => format!("19{digits}"),
            false => digits.to_owned(),
        };
        let part = |from: usize, to: usize| full.get(from..to);
        let (year, month, day) = (part(0, 4)?, part(4, 6)?, part(6, 8)?);
        let (hour, minute, second) = (part(8, 10)?, part(10, 12)?, part(12, 14)?);
        Millis::parse(&format!("{year}-{month}-{day}T{hour}:{minute}:{second}Z")).ok()
    }
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
        let expected = ["2024-02-29T00:00:00.000Z", "2061-11-14T00:00:00.000Z"];
        let (from, until) = validity(certificate.der()).unwrap();
        assert_eq!([from.zulu(), until.zulu()], expected);
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
