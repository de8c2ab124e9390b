//! A request as it came in, and reading it.

use std::fmt;

use crate::base_string::base_uri;
use crate::encoding::{Plus, decode_into};
use crate::limits::{MAX_FORM_LENGTH, MAX_HEADER_LENGTH};
use crate::malformed::Malformed;
use crate::parameters::Parameters;
use crate::protocol::{self, Incoming, Place, is_protocol_name};
use crate::signed::Signed;
use crate::{form, header};

/// A request as it came in.
#[derive(Clone, Copy)]
pub struct Request<'a> {
    /// The method. The base string has it in upper case; HEAD stays HEAD.
    pub method: &'a str,
    /// The address under which clients know the server, `https://host` or `https://host:port`, from its settings and
    /// never from the `Host` header: whoever writes that could have a signature for another server accepted here.
    pub origin: &'a str,
    /// The path exactly as it was sent, still percent-encoded. An empty one means `/`.
    pub path: &'a str,
    /// The query exactly as it was sent, without the `?`.
    pub query: &'a [u8],
    /// The whole value of the `Authorization` header, if there is one. With another scheme than OAuth it counts as
    /// none.
    pub authorization: Option<&'a [u8]>,
    /// The body, if its type is `application/x-www-form-urlencoded`, whatever the method.
    pub form: Option<&'a [u8]>,
}

impl Request<'_> {
    /// Whether somebody meant to sign this: the header's scheme is OAuth, or a protocol parameter is in the query or
    /// in the form.
    ///
    /// Costs a look at each name and allocates next to nothing, so that it can be asked of every request.
    #[must_use]
    pub fn is_signed(&self) -> bool {
        self.authorization.is_some_and(|header| header::pairs(header).is_some())
            || [self.query, self.form.unwrap_or_default()].into_iter().any(has_protocol_parameter)
    }

    /// Reads all parameters and checks that the protocol parameters are complete and sound.
    ///
    /// This knows nothing of consumers, tokens and clocks; what comes out is only a claim until
    /// [`Signed::verify`] has held.
    ///
    /// # Errors
    ///
    /// If it is not a signed request, or not one that can be read in one way only.
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

        let mut reading = Reading {
            parameters: Parameters::with_capacity(header_length + self.query.len() + form.len()),
            incoming: Incoming::default(),
        };
        for pair in header.into_iter().flatten() {
            reading.add(Place::Header, pair?)?;
        }
        for (place, text) in [(Place::Query, self.query), (Place::Form, form)] {
            for pair in form::pairs(text) {
                reading.add(place, pair)?;
            }
        }
        let Reading { mut parameters, incoming } = reading;
        let protocol = incoming.check()?;
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

/// Shows where the request went, and nothing of what it carries.
impl fmt::Debug for Request<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Request")
            .field("method", &self.method)
            .field("origin", &self.origin)
            .field("path", &self.path)
            .finish_non_exhaustive()
    }
}

/// A request that is half read.
struct Reading {
    parameters: Parameters,
    incoming: Incoming,
}

impl Reading {
    fn add(&mut self, place: Place, (name, value): (&[u8], &[u8])) -> Result<(), Malformed> {
        let plus = if place == Place::Header { Plus::Itself } else { Plus::Space };
        let decoded = self.parameters.push(name, value, plus)?;
        match self.incoming.take(place, &decoded)? {
            // The only one that is not signed.
            Some(protocol::SIGNATURE) => self.parameters.pop(),
            // What a header holds is percent-encoded by definition. In queries and forms a stray percent sign
            // stands for itself, as it does in browsers.
            None if place == Place::Header && !decoded.well_formed => {
                let name = String::from_utf8_lossy(decoded.name).into_owned();
                return Err(Malformed::BadEscape { name: name.into() });
            }
            _ => {}
        }
        Ok(())
    }
}

fn has_protocol_parameter(text: &[u8]) -> bool {
    // As long as the shortest protocol name, and as the longest with every character percent-encoded.
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
