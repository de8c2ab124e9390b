//! Extractors: the caller, the account and the resource that a path names, and the parameters. Each rejects with a
//! [`Problem`], so a handler runs only with valid values. They run in the order of the handler's arguments.
//!
//! A path is split before it is decoded, because a source id may contain escaped slashes.

use crate::accounts::Accounts;
use crate::body;
use crate::negotiate::Accept;
use crate::problem::Problem;
use auth::{Method, Principal};
use axum::extract::{FromRef, FromRequest, FromRequestParts, OptionalFromRequestParts, Request};
use domain::ingest::Refused;
use http::request::Parts;
use http::{HeaderMap, Uri};
use model::{
    Account, AccountName, ActivityId, Collection, Format, ParameterError, RawQuery, Reader, ServiceName, Uid,
};
use std::convert::Infallible;
use std::sync::Arc;
use store::ExternalKey;
use url::form_urlencoded;

/// The maximum size of a source id in bytes.
const MAX_SOURCE_ID: usize = 512;
/// The maximum of a number, as in collections.
const MAX_NUMBER: u32 = i32::MAX as u32;

/// The authenticated caller. Only available behind the authentication middleware.
pub(crate) struct Caller(pub(crate) Arc<Principal>);

impl<S: Send + Sync> FromRequestParts<S> for Caller {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Caller, Problem> {
        parts.extensions.get().cloned().map(Caller).ok_or_else(Problem::internal)
    }
}

impl<S: Send + Sync> OptionalFromRequestParts<S> for Caller {
    type Rejection = Infallible;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Option<Caller>, Infallible> {
        Ok(parts.extensions.get().cloned().map(Caller))
    }
}

/// The name of the account in the path. An invalid name is not found.
pub(crate) struct AccountPath(pub(crate) AccountName);

impl<S: Send + Sync> FromRequestParts<S> for AccountPath {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<AccountPath, Problem> {
        account_name(parts).map(AccountPath).ok_or_else(Problem::not_found)
    }
}

/// The account in the path, which the caller may read, and the role in which it reads.
pub(crate) struct ReadableAccount {
    pub(crate) account: Arc<Account>,
    pub(crate) reader: Reader,
}

impl<S: Send + Sync> FromRequestParts<S> for ReadableAccount
where
    Accounts: FromRef<S>,
{
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<ReadableAccount, Problem> {
        let Caller(caller) = <Caller as FromRequestParts<S>>::from_request_parts(parts, state).await?;
        let AccountPath(name) = AccountPath::from_request_parts(parts, state).await?;
        let (account, reader) = Accounts::from_ref(state).open_collection(&caller, &name).await?;
        Ok(ReadableAccount { account, reader })
    }
}

/// The account in the path, which the caller may write for.
pub(crate) struct WritableAccount(pub(crate) Arc<Account>);

impl<S: Send + Sync> FromRequestParts<S> for WritableAccount
where
    Accounts: FromRef<S>,
{
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<WritableAccount, Problem> {
        let Caller(caller) = <Caller as FromRequestParts<S>>::from_request_parts(parts, state).await?;
        let name = account_name(parts);
        Accounts::from_ref(state).open_for_writing(&caller, name).await.map(WritableAccount)
    }
}

/// The account in the path, whose private data the caller may see.
pub(crate) struct PrivateAccount(pub(crate) Arc<Account>);

impl<S: Send + Sync> FromRequestParts<S> for PrivateAccount
where
    Accounts: FromRef<S>,
{
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<PrivateAccount, Problem> {
        let Caller(caller) = <Caller as FromRequestParts<S>>::from_request_parts(parts, state).await?;
        let AccountPath(name) = AccountPath::from_request_parts(parts, state).await?;
        Accounts::from_ref(state).open_private(&caller, &name).await.map(PrivateAccount)
    }
}

/// The collection in `/200909/activity/{user}/{collection}`. Its name may not be escaped.
pub(crate) struct CollectionPath(pub(crate) Collection);

impl<S: Send + Sync> FromRequestParts<S> for CollectionPath {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<CollectionPath, Problem> {
        let word = parts.uri.path().split('/').nth(4);
        word.and_then(Collection::parse).map(CollectionPath).ok_or_else(Problem::not_found)
    }
}

/// The activity in `/200909/activity/{user}/from/{service}/{source}`. The account's rights are checked first, so invalid
/// names are rejected later.
pub(crate) struct ItemPath {
    service: Option<ServiceName>,
    source_id: Option<String>,
}

impl ItemPath {
    fn of(uri: &Uri) -> ItemPath {
        let mut later = segments(uri).skip(2).map(Option::unwrap_or_default);
        let (service, source_id) = (later.next().unwrap_or_default(), later.next());
        ItemPath {
            service: ServiceName::parse(&service),
            source_id: source_id.filter(|id| is_valid_source_id(id)),
        }
    }

    /// The external key of the activity. It is not found if service or id are invalid.
    pub(crate) fn external_key(self, actor: Uid) -> Result<ExternalKey, Problem> {
        let (service, id) = self.service.zip(self.source_id).ok_or_else(Problem::not_found)?;
        Ok(ExternalKey { actor, service: service.folded(), id })
    }

    /// The service name and the source id, which must be valid for writing.
    pub(crate) fn names(self) -> Result<(ServiceName, String), Refused> {
        let refuse = |field: &str, rule: &str| Refused { field: field.to_owned(), detail: rule.to_owned() };
        let service = self.service.ok_or_else(|| {
            let rule = "expected 1 to 64 characters in the path, in UTF-8 and percent-encoded, without slash, comma, \
                        control characters or surrounding spaces";
            refuse("SourceService.Name", rule)
        })?;
        let id = self.source_id.ok_or_else(|| {
            let rule = "expected 1 to 512 bytes in the path, in UTF-8 and percent-encoded, without control \
                        characters";
            refuse("SourceId", rule)
        })?;
        Ok((service, id))
    }
}

fn is_valid_source_id(id: &str) -> bool {
    (1..=MAX_SOURCE_ID).contains(&id.len()) && !id.chars().any(char::is_control)
}

impl<S: Send + Sync> FromRequestParts<S> for ItemPath {
    type Rejection = Infallible;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<ItemPath, Infallible> {
        Ok(ItemPath::of(&parts.uri))
    }
}

/// The last segment of a path below an account: a followee, a source or a received activity. The account's rights are
/// checked first, so an invalid name is rejected later.
pub(crate) struct MemberPath(Option<String>);

impl MemberPath {
    /// The decoded segment, if it is UTF-8.
    pub(crate) fn text(self) -> Option<String> {
        self.0
    }

    /// The account name in it.
    pub(crate) fn account_name(self) -> Result<AccountName, Problem> {
        self.0.and_then(|text| AccountName::parse(&text).ok()).ok_or_else(Problem::not_found)
    }

    /// The activity identifier in it.
    pub(crate) fn activity(self) -> Result<ActivityId, Problem> {
        self.0.and_then(|text| ActivityId::parse(&text)).ok_or_else(Problem::not_found)
    }
}

impl<S: Send + Sync> FromRequestParts<S> for MemberPath {
    type Rejection = Infallible;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<MemberPath, Infallible> {
        Ok(MemberPath(segments(&parts.uri).nth(2).flatten()))
    }
}

/// The hook in `/200909/user/{user}/hooks/{name}` and below. The account's rights are checked first, so an invalid name is
/// rejected later.
pub(crate) struct HookPath(Option<String>);

impl HookPath {
    /// The decoded name. It is not found if it is not UTF-8.
    pub(crate) fn name(self) -> Result<String, Problem> {
        self.0.ok_or_else(Problem::not_found)
    }
}

impl<S: Send + Sync> FromRequestParts<S> for HookPath {
    type Rejection = Infallible;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<HookPath, Infallible> {
        Ok(HookPath(segments(&parts.uri).nth(2).flatten()))
    }
}

/// The identifier in `/activity/{activity}`. `None` if it is invalid: visitors are redirected to sign in before.
pub(crate) struct ActivityPath(pub(crate) Option<ActivityId>);

impl<S: Send + Sync> FromRequestParts<S> for ActivityPath {
    type Rejection = Infallible;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<ActivityPath, Infallible> {
        let segment = parts.uri.path().strip_prefix("/activity/").and_then(percent_decode);
        Ok(ActivityPath(segment.and_then(|text| ActivityId::parse(&text))))
    }
}

/// The account in `/200909/activity/{user}/…` or `/200909/user/{user}/…`; `None` if the name is invalid.
fn account_name(parts: &Parts) -> Option<AccountName> {
    AccountName::parse(&segments(&parts.uri).next()??).ok()
}

/// The decoded segments of a path below `/200909/activity/` or `/200909/user/` (the router has stripped the prefix of
/// the base address). `None` for a segment that is not UTF-8.
fn segments(uri: &Uri) -> impl Iterator<Item = Option<String>> {
    uri.path().split('/').skip(3).map(percent_decode)
}

/// Decodes a path segment. `None` if it is not UTF-8. Names have no character that needs an escape, but a client may
/// escape any.
fn percent_decode(text: &str) -> Option<String> {
    let digit = |byte: u8| char::from(byte).to_digit(16).and_then(|value| u8::try_from(value).ok());
    let mut decoded = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((first, after)) = rest.split_first() {
        if *first == b'%' {
            let ([high, low], tail) = after.split_first_chunk::<2>()?;
            decoded.push(digit(*high)? << 4 | digit(*low)?);
            rest = tail;
        } else {
            decoded.push(*first);
            rest = after;
        }
    }
    String::from_utf8(decoded).ok()
}

/// The parameters of a collection: in the query string, in a form body of a GET (as `curl -X GET -d` sends it), or both.
///
/// A body without a `Content-Type` is parsed as a form, except in signed requests: a signature covers a body only if the
/// headers declare it as a form.
pub(crate) struct FeedParams(pub(crate) RawQuery);

impl<S: Send + Sync> FromRequest<S> for FeedParams {
    type Rejection = Problem;

    async fn from_request(request: Request, state: &S) -> Result<FeedParams, Problem> {
        let (mut head, sent) = request.into_parts();
        let Caller(caller) = <Caller as FromRequestParts<S>>::from_request_parts(&mut head, state).await?;
        let mut raw = RawQuery::parse(head.uri.query().unwrap_or_default().as_bytes());
        let form = body::read(sent, body::MAX_FORM).await?;
        if form.is_empty() {
            return Ok(FeedParams(raw));
        }
        match (body::is_form(&head.headers), body::is_untyped(&head.headers), &caller.method) {
            (false, true, Method::OAuth(_)) => Err(Problem::body(
                "The signature does not cover this body. Send Content-Type: application/x-www-form-urlencoded and \
                 sign its parameters, or put the parameters into the address.",
            )),
            (false, false, _) => Err(Problem::body(
                "The body of a GET must be application/x-www-form-urlencoded. Or send the parameters in the query \
                 string.",
            )),
            _ => {
                raw.extend(&form);
                Ok(FeedParams(raw))
            }
        }
    }
}

/// The parameters of a query string. Names are case-insensitive.
pub(crate) struct Parameters(Vec<(String, String)>);

impl Parameters {
    /// Parses a query string.
    pub(crate) fn of(uri: &Uri) -> Parameters {
        let pairs = form_urlencoded::parse(uri.query().unwrap_or_default().as_bytes());
        // Empty values count as absent.
        Parameters(pairs.into_owned().filter(|(_, value)| !value.is_empty()).collect())
    }

    /// A parameter that may be sent once.
    pub(crate) fn scalar(&self, parameter: &'static str) -> Result<Option<&str>, ParameterError> {
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
    pub(crate) fn number(&self, parameter: &'static str) -> Result<Option<u32>, ParameterError> {
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
    pub(crate) fn flag(&self, parameter: &'static str) -> Result<Option<bool>, ParameterError> {
        let flag = |text: &str| match text {
            "true" => Ok(true),
            "false" => Ok(false),
            _ => Err(ParameterError { parameter, detail: "expected true or false".to_owned() }),
        };
        self.scalar(parameter)?.map(flag).transpose()
    }

    /// The `format` parameter.
    pub(crate) fn format(&self) -> Result<Option<Format>, ParameterError> {
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
    pub(crate) fn choose(&self, headers: &HeaderMap, offers: &[Format]) -> Result<Format, Problem> {
        let chosen = match self.format()? {
            Some(format) => Some(format).filter(|format| offers.contains(format)),
            None => Accept::of(headers).choose(offers),
        };
        chosen.ok_or_else(|| Problem::not_acceptable(offers))
    }
}

impl<S: Send + Sync> FromRequestParts<S> for Parameters {
    type Rejection = Infallible;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Parameters, Infallible> {
        Ok(Parameters::of(&parts.uri))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(path: &str) -> Option<(String, String)> {
        let (service, id) = ItemPath::of(&path.parse().unwrap()).names().ok()?;
        Some((service.as_str().to_owned(), id))
    }

    async fn account(path: &str) -> Option<String> {
        let (mut parts, ()) = http::Request::get(path).body(()).unwrap().into_parts();
        let AccountPath(name) = AccountPath::from_request_parts(&mut parts, &()).await.ok()?;
        Some(name.to_string())
    }

    #[tokio::test]
    async fn segments_are_split_before_they_are_decoded() {
        let path = "/200909/activity/Bob/from/Last.fm/a%2Fb%25%20%c3%bc+c";
        assert_eq!(names(path), Some(("Last.fm".to_owned(), "a/b% ü+c".to_owned())));
        assert_eq!(account(path).await, Some("bob".to_owned()));
    }

    #[tokio::test]
    async fn invalid_segments_are_rejected() {
        for (segment, is_valid) in [
            ("x", true),
            ("%FF", false),
            ("%0A", false),
            ("%C2%80", false),
            ("100%", false),
            ("%+1", false),
            (&"a".repeat(512), true),
            (&"a".repeat(513), false),
        ] {
            let path = format!("/200909/activity/bob/from/flickr/{segment}");
            assert_eq!(names(&path).is_some(), is_valid, "{segment:.20}");
            let key = ItemPath::of(&path.parse().unwrap()).external_key(Uid(1));
            assert_eq!(key.is_ok(), is_valid, "{segment:.20}");
        }
        for service in ["a%2Fb", "a%2Cb", "%20a", "%00", "%FF"] {
            assert_eq!(names(&format!("/200909/activity/bob/from/{service}/1")), None, "{service}");
        }
        assert_eq!(account("/200909/activity/-bob/from/flickr/1").await, None);
    }
}
