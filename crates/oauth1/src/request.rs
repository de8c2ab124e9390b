//! An incoming request, and reading its parameters.

use std::fmt;

use crate::base_string::base_uri;
use crate::encoding::{Plus, decode_into};
use crate::limits::{MAX_FORM_LENGTH, MAX_HEADER_LENGTH};
use crate::malformed::Malformed;
use crate::parameters::Parameters;
use crate::protocol::{ParameterLocation, UncheckedProtocol, is_protocol_name};
use crate::signed::Signed;
use crate::{form, header, names};

/// An incoming request.
#[derive(Clone, Copy)]
pub struct Request<'a> {
    /// The method. It is signed in upper case; HEAD stays HEAD.
    pub method: &'a str,
    /// The server's public address, `https://host` or `https://host:port`, from its configuration and never
    /// from the `Host` header: a client that controls it could have a signature for another server accepted
    /// here.
    pub origin: &'a str,
    /// The path exactly as sent, still percent-encoded. An empty path means `/`.
    pub path: &'a str,
    /// The query exactly as sent, without the `?`.
    pub query: &'a [u8],
    /// The complete value of the `Authorization` header, if there is one. A scheme other than OAuth is ignored.
    pub authorization: Option<&'a [u8]>,
    /// The body, if its type is `application/x-www-form-urlencoded`, for any method.
    pub form: Option<&'a [u8]>,
}

impl Request<'_> {
    /// Whether the request is meant to be signed: the header's scheme is OAuth, or a protocol parameter is in
    /// the query or in the form.
    ///
    /// This scans the names and allocates next to nothing, so it is cheap enough for every request.
    #[must_use]
    pub fn is_signed(&self) -> bool {
        self.authorization.is_some_and(|header| header::pairs(header).is_some())
            || [self.query, self.form.unwrap_or_default()].into_iter().any(has_protocol_parameter)
    }

    /// Reads all parameters and checks that the protocol parameters are complete and valid.
    ///
    /// This involves no consumers, tokens or clocks; the result is only a claim until [`Signed::verify`]
    /// succeeds.
    ///
    /// # Errors
    ///
    /// If the request is not signed, or not readable in exactly one way.
    pub fn read(&self) -> Result<Signed, Malformed> {
        let form = self.form.unwrap_or_default();
        if self.query.len().saturating_add(form.len()) > MAX_FORM_LENGTH {
            return Err(Malformed::FormTooLong);
        }
        let header = self.authorization.and_then(header::pairs);
        let header_length = header.as_ref().map_or(0, header::Pairs::header_length);
        if header_length > MAX_HEADER_LENGTH {
            return Err(Malformed::HeaderTooLong);
        }

        let mut reader = RequestReader {
            parameters: Parameters::with_capacity(header_length + self.query.len() + form.len()),
            protocol: UncheckedProtocol::default(),
        };
        for pair in header.into_iter().flatten() {
            reader.add(ParameterLocation::Header, pair?)?;
        }
        for (location, text) in [(ParameterLocation::Query, self.query), (ParameterLocation::Form, form)] {
            for pair in form::pairs(text) {
                reader.add(location, pair)?;
            }
        }
        let RequestReader { mut parameters, protocol } = reader;
        let protocol = protocol.check()?;
        parameters.sort();
        Ok(Signed {
            http_method: self.method.to_ascii_uppercase(),
            base_uri: base_uri(self.origin, self.path),
            has_bare_plus: self.query.contains(&b'+') || form.contains(&b'+'),
            parameters,
            protocol,
        })
    }
}

/// Shows the destination of the request, and none of its content.
impl fmt::Debug for Request<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Request")
            .field("method", &self.method)
            .field("origin", &self.origin)
            .field("path", &self.path)
            .finish_non_exhaustive()
    }
}

/// The state of reading a request.
struct RequestReader {
    parameters: Parameters,
    protocol: UncheckedProtocol,
}

impl RequestReader {
    fn add(&mut self, location: ParameterLocation, (name, value): (&[u8], &[u8])) -> Result<(), Malformed> {
        let plus = if location == ParameterLocation::Header { Plus::Itself } else { Plus::Space };
        let decoded = self.parameters.push(name, value, plus)?;
        match self.protocol.store(location, &decoded)? {
            // The signature is the only protocol parameter that is not signed.
            Some(names::SIGNATURE) => self.parameters.pop(),
            // Header values are percent-encoded by definition. In queries and forms a stray percent sign is
            // literal, as in browsers.
            None if location == ParameterLocation::Header && !decoded.well_formed => {
                let name = String::from_utf8_lossy(decoded.name).into_owned();
                return Err(Malformed::BadEscape { name: name.into() });
            }
            _ => {}
        }
        Ok(())
    }
}

fn has_protocol_parameter(text: &[u8]) -> bool {
    // The lengths of the shortest protocol name, and of the longest one with every character percent-encoded.
    let plausible =
        |name: &[u8]| (11..=66).contains(&name.len()) && matches!(name.first(), Some(b'o' | b'%'));
    let mut decoded = Vec::new();
    form::pairs(text).any(|(name, _)| {
        plausible(name) && {
            decoded.clear();
            decode_into(&mut decoded, name, Plus::Space);
            is_protocol_name(&decoded)
        }
    })
}
