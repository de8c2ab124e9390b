//! Query parameters of addresses other than collections.

use super::super::Problem;
use super::super::negotiate::Accept;
use http::{HeaderMap, Uri};
use model::{Format, ParameterError};
use url::form_urlencoded;

/// The maximum of a number, as in collections.
const MAX_NUMBER: u32 = i32::MAX as u32;

/// The parameters of a query string. Names are case-insensitive.
pub(in crate::http) struct Parameters(Vec<(String, String)>);

impl Parameters {
    pub(in crate::http) fn of(uri: &Uri) -> Parameters {
        let pairs = form_urlencoded::parse(uri.query().unwrap_or_default().as_bytes());
        // Empty values count as absent.
        Parameters(pairs.into_owned().filter(|(_, value)| !value.is_empty()).collect())
    }

    /// A parameter that may be sent once.
    pub(in crate::http) fn scalar(&self, parameter: &'static str) -> Result<Option<&str>, ParameterError> {
        let named = self.0.iter().filter(|(name, _)| name.eq_ignore_ascii_case(parameter));
        let mut values = named.map(|(_, value)| value.as_str());
        let first = values.next();
        match values.next() {
            None => Ok(first),
            Some(_) => {
                Err(ParameterError { parameter, detail: "it was sent twice; send it once".to_owned() })
            }
        }
    }

    /// A numeric parameter.
    pub(in crate::http) fn number(&self, parameter: &'static str) -> Result<Option<u32>, ParameterError> {
        let number = |text: &str| {
            let digits = text.bytes().all(|byte| byte.is_ascii_digit());
            text.parse().ok().filter(|number| digits && *number <= MAX_NUMBER).ok_or_else(|| {
                let detail = format!("expected a whole number from 0 to {MAX_NUMBER}");
                ParameterError { parameter, detail }
            })
        };
        self.scalar(parameter)?.map(number).transpose()
    }

    /// A boolean parameter.
    pub(in crate::http) fn flag(&self, parameter: &'static str) -> Result<Option<bool>, ParameterError> {
        let flag = |text: &str| match text {
            "true" => Ok(true),
            "false" => Ok(false),
            _ => Err(ParameterError { parameter, detail: "expected true or false".to_owned() }),
        };
        self.scalar(parameter)?.map(flag).transpose()
    }

    /// The `format` parameter.
    pub(in crate::http) fn format(&self) -> Result<Option<Format>, ParameterError> {
        let named = |word: &str| {
            let found = Format::ALL.into_iter().find(|format| word.eq_ignore_ascii_case(format.as_str()));
            found.ok_or_else(|| {
                let detail = "expected xml, atom, json or fastinfoset".to_owned();
                ParameterError { parameter: "format", detail }
            })
        };
        self.scalar("format")?.map(named).transpose()
    }

    /// The format of the response: the `format` parameter takes precedence over `Accept`.
    pub(in crate::http) fn choose(&self, headers: &HeaderMap, offers: &[Format]) -> Result<Format, Problem> {
        let chosen = match self.format()? {
            Some(format) => Some(format).filter(|format| offers.contains(format)),
            None => Accept::of(headers).choose(offers),
        };
        chosen.ok_or_else(|| Problem::not_acceptable(offers))
    }
}
