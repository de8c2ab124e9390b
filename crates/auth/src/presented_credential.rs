//! Parses the credential of a request, without checking whether it is valid.

use super::AuthError;
use super::refusal::Refusal;
use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use http::header::AUTHORIZATION;
use http::{HeaderMap, HeaderName, HeaderValue};
use oauth1::Signed;
use std::net::IpAddr;
use zeroize::Zeroizing;

/// The header of a pre-shared key.
static SERVICE_PSK: HeaderName = HeaderName::from_static("servicepsk");
/// The header of the consumer key.
static SERVICE_CONSUMER_KEY: HeaderName = HeaderName::from_static("serviceconsumerkey");

/// The parts of a request that authentication needs.
pub struct AuthRequest<'a> {
    /// The method.
    pub method: &'a str,
    /// Scheme, host and port of the public address. Signatures cover it, never the Host header.
    pub origin: &'a str,
    /// The path as it was sent, including the prefix of the base address.
    pub path: &'a str,
    /// The query as it was sent.
    pub query: &'a [u8],
    /// The headers.
    pub headers: &'a HeaderMap,
    /// The body, if it is a form.
    pub form: Option<&'a [u8]>,
    /// The client's address.
    pub remote: IpAddr,
}

impl<'a> AuthRequest<'a> {
    /// A plain GET with these headers, for callers that need the headers only.
    pub fn plain(headers: &'a HeaderMap, remote: IpAddr) -> AuthRequest<'a> {
        let (method, origin, path) = ("GET", "https://tofrom.invalid", "/");
        AuthRequest { method, origin, path, query: &[], headers, form: None, remote }
    }

    fn as_signed(&self, authorization: Option<&'a HeaderValue>) -> oauth1::Request<'a> {
        oauth1::Request {
            method: self.method,
            origin: self.origin,
            path: self.path,
            query: self.query,
            authorization: authorization.map(HeaderValue::as_bytes),
            form: self.form,
        }
    }
}

/// A request's only credential, and its consumer key. Debug shows no secret.
#[derive(Debug)]
pub struct PresentedCredential {
    /// The credential.
    pub credential: Credential,
    /// The consumer key. Empty if the header is not text.
    pub consumer: Option<String>,
}

/// An unchecked credential.
#[derive(Debug)]
pub enum Credential {
    /// Name and password (RFC 7617, UTF-8).
    Basic {
        /// The name, possibly an invalid one.
        name: String,
        /// The password.
        password: Zeroizing<String>,
    },
    /// The text of a pre-shared key, possibly malformed.
    Psk(Zeroizing<String>),
    /// A request that an application signed.
    OAuth(Box<Signed>),
}

/// The values of a header. An empty one counts as absent, because some clients send the header of an unset credential.
fn values<'a>(headers: &'a HeaderMap, name: &HeaderName) -> impl Iterator<Item = &'a HeaderValue> {
    headers.get_all(name).into_iter().filter(|value| !value.as_bytes().trim_ascii().is_empty())
}

/// Parses the credential of a request. More than one is refused before any is parsed: a request must not authenticate
/// with one credential and be logged or cached under another.
pub fn credentials_of(request: &AuthRequest<'_>) -> Result<PresentedCredential, AuthError> {
    let headers = request.headers;
    let mut authorization = values(headers, &AUTHORIZATION);
    let mut keys = values(headers, &SERVICE_PSK);
    let (header, key) = (authorization.next(), keys.next());
    if authorization.next().is_some() || keys.next().is_some() {
        return Err(AuthError::TwoCredentials);
    }
    let signed_request = request.as_signed(header);
    let by_oauth_header = header.is_some_and(has_oauth_scheme);
    let credential = match (header, key) {
        // A signature in the header is the header's credential. In the query or form it is a separate one.
        (Some(_), None) if by_oauth_header => from_signature(&signed_request),
        (None, None) if signed_request.is_signed() => from_signature(&signed_request),
        (None, None) => return Err(AuthError::Missing),
        (Some(_), Some(_)) => return Err(AuthError::TwoCredentials),
        _ if signed_request.is_signed() => return Err(AuthError::TwoCredentials),
        (Some(value), None) => from_authorization(value),
        (None, Some(value)) => from_service_psk(value),
    };
    let mut consumers = values(headers, &SERVICE_CONSUMER_KEY);
    let consumer = consumers.next().map(|value| value.to_str().unwrap_or_default().to_owned());
    if consumers.next().is_some() {
        return Err(AuthError::TwoCredentials);
    }
    Ok(PresentedCredential { credential: credential?, consumer })
}

/// Whether the headers have a password or a key, so that authentication does not need the body.
pub fn is_secret_in_headers(headers: &HeaderMap) -> bool {
    let by_authorization = values(headers, &AUTHORIZATION).any(|value| !has_oauth_scheme(value));
    by_authorization || values(headers, &SERVICE_PSK).next().is_some()
}

fn has_oauth_scheme(value: &HeaderValue) -> bool {
    let scheme = value.as_bytes().split(|byte| matches!(byte, b' ' | b'\t')).next().unwrap_or_default();
    scheme.eq_ignore_ascii_case(b"oauth")
}

fn from_signature(request: &oauth1::Request<'_>) -> Result<Credential, AuthError> {
    let signed = request.read().map_err(Refusal::from)?;
    Ok(Credential::OAuth(Box::new(signed)))
}

fn from_authorization(value: &HeaderValue) -> Result<Credential, AuthError> {
    let text =
        value.to_str().map_err(|_| AuthError::Malformed("Authorization may only have ASCII characters."))?;
    let (scheme, rest) = text.split_once(' ').unwrap_or((text, ""));
    if scheme.eq_ignore_ascii_case("basic") {
        basic(rest.trim_matches(' '))
    } else {
        Err(AuthError::ForeignScheme)
    }
}

fn basic(encoded: &str) -> Result<Credential, AuthError> {
    let malformed =
        |_| AuthError::Malformed("Basic must be followed by name:password in base64, with padding.");
    let bytes = Zeroizing::new(BASE64_STANDARD.decode(encoded).map_err(malformed)?);
    let text =
        str::from_utf8(&bytes).map_err(|_| AuthError::Malformed("Name and password must be UTF-8."))?;
    if text.bytes().any(|byte| byte.is_ascii_control()) {
        return Err(AuthError::Malformed("Name and password must not have control characters."));
    }
    let (name, password) = text.split_once(':').ok_or(AuthError::Malformed(
        "Name and password must have a colon between them, inside the base64.",
    ))?;
    Ok(Credential::Basic { name: name.to_owned(), password: Zeroizing::new(password.to_owned()) })
}

fn from_service_psk(value: &HeaderValue) -> Result<Credential, AuthError> {
    match value.to_str() {
        Ok(text) => Ok(Credential::Psk(Zeroizing::new(text.to_owned()))),
        Err(_) => Err(AuthError::Malformed("ServicePSK must be a key: tfk_ and 43 characters.")),
    }
}

/// A browser that signs in.
#[derive(Clone, Copy, Debug)]
pub struct Browser<'a> {
    /// Its `User-Agent`.
    pub agent: &'a str,
    /// Its address.
    pub remote: IpAddr,
    /// Its cookie from earlier sign-ins.
    pub familiar: Option<&'a str>,
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn read(lines: &[(&str, &[u8])]) -> Result<PresentedCredential, AuthError> {
        let mut headers = HeaderMap::new();
        for (name, value) in lines {
            let name = HeaderName::from_bytes(name.as_bytes()).unwrap();
            headers.append(name, HeaderValue::from_bytes(value).unwrap());
        }
        credentials_of(&AuthRequest::plain(&headers, "192.0.2.1".parse().unwrap()))
    }

    fn encoded(text: &[u8]) -> Vec<u8> {
        format!("Basic {}", BASE64_STANDARD.encode(text)).into_bytes()
    }

    fn basic_of(value: &[u8]) -> (String, String) {
        match read(&[("authorization", value)]).unwrap().credential {
            Credential::Basic { name, password } => (name, password.to_string()),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn the_first_colon_separates_name_and_password() {
        for (text, name, password) in [
            ("alice:secret", "alice", "secret"),
            ("alice:", "alice", ""),
            (":secret", "", "secret"),
            ("alice:se:cr:et", "alice", "se:cr:et"),
            ("jürgen:pässwörd€", "jürgen", "pässwörd€"),
        ] {
            assert_eq!(basic_of(&encoded(text.as_bytes())), (name.to_owned(), password.to_owned()));
        }
    }

    #[test]
    fn the_scheme_is_case_insensitive_and_allows_more_spaces() {
        for scheme in ["Basic ", "basic ", "BASIC    "] {
            let value = format!("{scheme}{}", BASE64_STANDARD.encode("a:b"));
            assert_eq!(basic_of(value.as_bytes()), ("a".to_owned(), "b".to_owned()), "{scheme:?}");
        }
    }

    #[test]
    fn malformed_headers_are_refused() {
        for value in [
            &b"Basic"[..],
            b"Basic ",
            b"Basic !!!!",
            b"Basic YTpi, Basic YTpi",
            b"Basic \xff",
            &encoded(b"no colon"),
            &encoded(b"a:\xff\xfe"),
            &encoded(b"a:b\nc"),
            &encoded(b"a\0:b"),
            &encoded(b"a:b\x7f"),
        ] {
            let error = read(&[("authorization", value)]).unwrap_err();
            assert!(matches!(error, AuthError::Malformed(_)), "{value:?}: {error:?}");
        }
        for value in [&b"Bearer abc"[..], b"Digest a=b", b"Basicx YTpi"] {
            let error = read(&[("authorization", value)]).unwrap_err();
            assert!(matches!(error, AuthError::ForeignScheme), "{value:?}: {error:?}");
            assert_eq!(error.reason(), "malformed");
        }
        assert!(matches!(read(&[("servicepsk", b"tfk_\xff")]), Err(AuthError::Malformed(_))));
    }

    #[test]
    fn two_credentials_are_refused() {
        let basic = encoded(b"alice:secret");
        let (a, k, c) = ("authorization", "servicepsk", "serviceconsumerkey");
        for two in [
            &[(a, &basic[..]), (a, &basic[..])][..],
            &[(k, b"tfk_x"), (k, b"tfk_x")],
            &[(a, &basic), (k, b"tfk_x")],
            &[(a, b"Bearer x"), (k, b"tfk_x")],
            &[(k, b"tfk_x"), (c, b"tfc_x"), (c, b"tfc_x")],
        ] {
            assert!(matches!(read(two), Err(AuthError::TwoCredentials)), "{two:?}");
        }
        for none in [&[][..], &[(c, &b"tfc_x"[..])], &[(c, b"tfc_x"), (c, b"tfc_x")], &[("cookie", b"a=b")]] {
            assert!(matches!(read(none), Err(AuthError::Missing)), "{none:?}");
        }
        let both = read(&[(k, b"tfk_x"), (c, b"tfc_x")]).unwrap();
        assert_eq!(both.consumer.as_deref(), Some("tfc_x"));
        let beside_empty = read(&[(a, b""), (k, b" "), (k, b"tfk_x"), (c, b"")]).unwrap();
        assert!(matches!(beside_empty.credential, Credential::Psk(_)));
        assert_eq!(beside_empty.consumer, None);
        for empty in [&[(a, &b""[..])][..], &[(k, b"")], &[(a, b""), (k, b" "), (c, b"")]] {
            assert!(matches!(read(empty), Err(AuthError::Missing)), "{empty:?}");
        }
    }

    #[test]
    fn debug_shows_no_secret() {
        for line in [("authorization", encoded(b"alice:hunter2")), ("servicepsk", b"hunter2".to_vec())] {
            let shown = format!("{:?}", read(&[(line.0, &line.1)]).unwrap());
            assert!(!shown.contains("hunter2"), "{shown}");
        }
    }

    proptest! {
        #[test]
        fn any_headers_are_parsed_or_refused(
            lines in prop::collection::vec(
                (prop::sample::select(&["authorization", "servicepsk", "serviceconsumerkey"][..]),
                 "((?i:basic|oauth|bearer) {0,2})?[ -~\u{80}-\u{ff}]{0,40}"),
                0..4,
            )
        ) {
            let lines: Vec<_> = lines.iter().map(|(name, value)| (*name, value.as_bytes())).collect();
            drop(read(&lines));
        }

        #[test]
        fn any_decoded_text_is_parsed_or_refused(bytes in prop::collection::vec(any::<u8>(), 0..60)) {
            drop(read(&[("authorization", &encoded(&bytes))]));
        }
    }
}
