//! The protocol parameters: their locations and allowed values.

use std::str;

use crate::limits::MAX_VALUE_LENGTH;
use crate::malformed::Malformed;
use crate::names::{BODY_HASH, CONSUMER_KEY, NONCE, SIGNATURE, SIGNATURE_METHOD, TIMESTAMP, TOKEN, VERSION};
use crate::parameters::Decoded;
use crate::signature::SignatureMethod;

const NAMES: [&str; 8] =
    [CONSUMER_KEY, TOKEN, SIGNATURE_METHOD, SIGNATURE, TIMESTAMP, NONCE, VERSION, BODY_HASH];

/// Whether this is a parameter that makes a request a signed one.
///
/// `oauth_callback` and `oauth_verifier` are not: some clients send them as ordinary parameters, with the
/// protocol parameters in the header.
pub(crate) fn is_protocol_name(name: &[u8]) -> bool {
    NAMES.iter().any(|known| known.as_bytes() == name)
}

/// The location of a parameter in the request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ParameterLocation {
    Header,
    Query,
    Form,
}

/// The protocol parameters, unchecked.
#[derive(Default)]
pub(crate) struct UncheckedProtocol {
    location: Option<ParameterLocation>,
    consumer_key: Option<String>,
    token: Option<String>,
    signature_method: Option<String>,
    signature: Option<String>,
    timestamp: Option<String>,
    nonce: Option<String>,
    version: Option<String>,
    body_hash: Option<String>,
}

/// The protocol parameters, checked.
#[derive(Clone)]
pub(crate) struct Protocol {
    pub(crate) consumer_key: String,
    pub(crate) token: Option<String>,
    pub(crate) signature_method: SignatureMethod,
    pub(crate) signature: String,
    pub(crate) timestamp: Option<u64>,
    pub(crate) nonce: Option<String>,
    pub(crate) body_hash: Option<String>,
}

impl UncheckedProtocol {
    /// Stores a protocol parameter and returns its name; `None` for any other parameter.
    pub(crate) fn store(
        &mut self,
        location: ParameterLocation,
        parameter: &Decoded<'_>,
    ) -> Result<Option<&'static str>, Malformed> {
        let first_location = self.location;
        let Some((name, slot)) = self.slot(parameter.name) else { return Ok(None) };
        if slot.is_some() {
            return Err(Malformed::Repeated { name: name.into() });
        }
        if first_location.is_some_and(|first| first != location) {
            return Err(Malformed::Scattered { name });
        }
        if !parameter.well_formed {
            return Err(Malformed::BadEscape { name: name.into() });
        }
        if parameter.value.len() > MAX_VALUE_LENGTH {
            return Err(Malformed::ValueTooLong { name });
        }
        let value = str::from_utf8(parameter.value).map_err(|_| Malformed::NotUtf8 { name: name.into() })?;
        *slot = Some(value.to_owned());
        self.location = Some(location);
        Ok(Some(name))
    }

    fn slot(&mut self, name: &[u8]) -> Option<(&'static str, &mut Option<String>)> {
        Some(match str::from_utf8(name).ok()? {
            CONSUMER_KEY => (CONSUMER_KEY, &mut self.consumer_key),
            TOKEN => (TOKEN, &mut self.token),
            SIGNATURE_METHOD => (SIGNATURE_METHOD, &mut self.signature_method),
            SIGNATURE => (SIGNATURE, &mut self.signature),
            TIMESTAMP => (TIMESTAMP, &mut self.timestamp),
            NONCE => (NONCE, &mut self.nonce),
            VERSION => (VERSION, &mut self.version),
            BODY_HASH => (BODY_HASH, &mut self.body_hash),
            _ => return None,
        })
    }

    /// Checks that the parameters are complete and valid.
    pub(crate) fn check(self) -> Result<Protocol, Malformed> {
        // The standard defines only 1.0; clients of revision 1.0a may send that, with the same meaning.
        let known = |version: &str| version == "1.0" || version.eq_ignore_ascii_case("1.0a");
        if !self.version.as_deref().is_none_or(known) {
            return Err(Malformed::VersionRejected);
        }
        let consumer_key = not_empty(self.consumer_key);
        let signature_method = not_empty(self.signature_method);
        let signature = not_empty(self.signature);
        let timestamp = not_empty(self.timestamp);
        let nonce = not_empty(self.nonce);
        let method = signature_method.as_deref().map(SignatureMethod::from_name);
        // Checked before missing parameters: the required ones depend on the method.
        if method == Some(None) {
            return Err(Malformed::SignatureMethodRejected);
        }
        let method = method.flatten();
        let replayable = method == Some(SignatureMethod::Plaintext);

        let required = [
            (CONSUMER_KEY, consumer_key.is_some()),
            (SIGNATURE_METHOD, signature_method.is_some()),
            (SIGNATURE, signature.is_some()),
            (TIMESTAMP, timestamp.is_some() || replayable),
            (NONCE, nonce.is_some() || replayable),
        ];
        let absent = || {
            let names = required.iter().filter(|(_, there)| !there).map(|(name, _)| *name).collect();
            Malformed::Absent { names }
        };
        let (Some(consumer_key), Some(method), Some(signature), true) =
            (consumer_key, method, signature, required.iter().all(|(_, there)| *there))
        else {
            return Err(absent());
        };
        Ok(Protocol {
            consumer_key,
            token: not_empty(self.token),
            signature_method: method,
            signature,
            timestamp: timestamp.as_deref().map(seconds).transpose()?,
            nonce,
            body_hash: self.body_hash,
        })
    }
}

/// An empty value counts as missing: no key, secret or number is empty.
fn not_empty(value: Option<String>) -> Option<String> {
    value.filter(|value| !value.is_empty())
}

fn seconds(timestamp: &str) -> Result<u64, Malformed> {
    // Digits only: the standard library's parser accepts a plus sign.
    let digits = timestamp.bytes().all(|byte| byte.is_ascii_digit());
    let parsed = timestamp.parse().ok().filter(|&seconds| digits && seconds > 0);
    parsed.ok_or(Malformed::TimestampRejected)
}
