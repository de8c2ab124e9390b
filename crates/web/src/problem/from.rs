//! Converts the errors of all layers into problems.

use super::Problem;
use super::kinds::{
    CREDENTIALS, CURSOR_EXPIRED, FORBIDDEN, OAUTH, PARAMETER, QUOTA, THROTTLED, TOO_BROAD, UNAUTHORIZED,
    UNAVAILABLE, UNPROCESSABLE,
};
use crate::parse::MAX_ENTRIES;
use auth::AuthError;
use auth::key::AddKeyError;
use auth::oauth::Refusal;
use domain::feed::ReadError;
use domain::following::FollowError;
use domain::hooks::HookError;
use domain::ingest::{MAX_BODY, Refused, Unreadable};
use domain::relations::DecideError;
use domain::sources::NotConnected;
use http::header::WWW_AUTHENTICATE;
use model::{ParameterError, QuotaReached};
use std::fmt::Write;
use store::StoreError;

impl From<ParameterError> for Problem {
    fn from(error: ParameterError) -> Problem {
        Problem::new(PARAMETER, error.to_string()).member("parameter", error.parameter)
    }
}

impl From<Refused> for Problem {
    fn from(refused: Refused) -> Problem {
        Problem::new(UNPROCESSABLE, refused.to_string()).member("field", refused.field)
    }
}

impl From<Unreadable> for Problem {
    fn from(error: Unreadable) -> Problem {
        match error {
            Unreadable::TooLarge => Problem::too_large(MAX_BODY),
            Unreadable::TooMany => Problem::too_many(MAX_ENTRIES),
            Unreadable::Malformed(detail) => Problem::body(detail),
        }
    }
}

impl From<StoreError> for Problem {
    fn from(error: StoreError) -> Problem {
        tracing::error!(%error, "store failed");
        match error {
            StoreError::Corrupt(_) => Problem::internal(),
            _ => Problem::new(UNAVAILABLE, "The server cannot reach its store. Try again in 5 seconds.")
                .retry_after(5),
        }
    }
}

impl From<NotConnected> for Problem {
    fn from(error: NotConnected) -> Problem {
        match error {
            NotConnected::Store(error) => error.into(),
            NotConnected::TooOften => Problem::too_often(),
            NotConnected::TooMany(reached) => reached.into(),
            NotConnected::BadName | NotConnected::NameTaken(_) => {
                Problem::new(UNPROCESSABLE, error.to_string()).member("field", "Name")
            }
            _ => Problem::new(UNPROCESSABLE, error.to_string()).member("field", "Address"),
        }
    }
}

impl From<HookError> for Problem {
    fn from(error: HookError) -> Problem {
        match error {
            HookError::Store(error) => error.into(),
            HookError::Read(error) => error.into(),
            HookError::TooOften => Problem::too_often(),
            HookError::Quota => Problem::new(QUOTA, error.to_string()).member("quota", "hooks"),
            HookError::BadName => Problem::new(UNPROCESSABLE, error.to_string()).member("field", "Name"),
            HookError::Refused { field, .. } => {
                Problem::new(UNPROCESSABLE, error.to_string()).member("field", field)
            }
            HookError::Seal(error) => AuthError::from(error).into(),
            HookError::NoRandomness(error) => AuthError::from(error).into(),
        }
    }
}

impl From<QuotaReached> for Problem {
    fn from(reached: QuotaReached) -> Problem {
        Problem::new(QUOTA, sentence(&reached)).member("quota", reached.quota.as_str())
    }
}

impl From<DecideError> for Problem {
    fn from(error: DecideError) -> Problem {
        match error {
            DecideError::Quota(reached) => reached.into(),
            DecideError::Store(error) => error.into(),
        }
    }
}

impl From<FollowError> for Problem {
    fn from(error: FollowError) -> Problem {
        match error {
            // An account that blocks the follower looks private.
            FollowError::Blocked(relation) if !relation.blocks => Problem::not_found(),
            FollowError::Blocked(_) => {
                let detail = "the account is blocked: unblock it first".to_owned();
                Refused { field: "following".to_owned(), detail }.into()
            }
            FollowError::Quota(reached) => reached.into(),
            FollowError::Store(error) => error.into(),
        }
    }
}

impl From<AddKeyError> for Problem {
    fn from(error: AddKeyError) -> Problem {
        match error {
            AddKeyError::Quota(reached) => reached.into(),
            AddKeyError::TooLongLine => Problem::key_limit(&sentence(&error)),
            AddKeyError::Store(error) => error.into(),
            AddKeyError::NoRandomness(error) => AuthError::from(error).into(),
        }
    }
}

/// A message as a sentence.
fn sentence(error: &dyn std::error::Error) -> String {
    let text = error.to_string();
    let mut letters = text.chars();
    letters.next().map_or_else(String::new, |first| format!("{}{}.", first.to_uppercase(), letters.as_str()))
}

impl From<ReadError> for Problem {
    fn from(error: ReadError) -> Problem {
        match error {
            ReadError::Store(error) => error.into(),
            ReadError::StartTooFar(max) => Problem::new(
                PARAMETER,
                format!("start: at most {max} entries can be skipped; follow the links with rel=\"next\" instead"),
            )
            .member("parameter", "start"),
            ReadError::CountTooLarge(max) => Problem::new(
                PARAMETER,
                format!(
                    "count: more than {max} items match, and a page has at most {max}; set count to {max} or less and \
                     follow the links with rel=\"next\""
                ),
            )
            .member("parameter", "count"),
            ReadError::Expired => {
                Problem::new(CURSOR_EXPIRED, CURSOR_EXPIRED.about).member("parameter", "cursor")
            }
            ReadError::TooBroad => Problem::new(TOO_BROAD, TOO_BROAD.about).retry_after(60),
            ReadError::Changed => Problem::busy(),
        }
    }
}

impl From<AuthError> for Problem {
    fn from(error: AuthError) -> Problem {
        let detail = error.detail();
        let reason = error.reason();
        match error {
            AuthError::Store(error) => error.into(),
            AuthError::Sealing(error) => {
                tracing::error!(%error, "sealing or opening a secret failed: check secret_keys");
                Problem::internal()
            }
            AuthError::TwoCredentials | AuthError::TwoConsumers => Problem::new(CREDENTIALS, detail),
            AuthError::Scope(scope) => {
                Problem::new(FORBIDDEN, detail).member("reason", reason).member("scope", scope)
            }
            AuthError::NotAToken | AuthError::NotYours | AuthError::Lent => {
                Problem::new(FORBIDDEN, detail).member("reason", reason)
            }
            AuthError::Signature(refusal) => refused_signature(&refusal),
            AuthError::Busy => Problem::busy(),
            AuthError::Throttled { retry_after_seconds } => {
                Problem::new(THROTTLED, detail).retry_after(retry_after_seconds)
            }
            _ => Problem::new(UNAUTHORIZED, detail)
                .member("reason", reason)
                .header(WWW_AUTHENTICATE, BASIC_CHALLENGE)
                .header(WWW_AUTHENTICATE, OAUTH_CHALLENGE),
        }
    }
}

const BASIC_CHALLENGE: &str = r#"Basic realm="tofrom", charset="UTF-8""#;
const OAUTH_CHALLENGE: &str = r#"OAuth realm="tofrom""#;

/// A refused signed request, described by our members and by those of the OAuth Problem Reporting extension.
fn refused_signature(refusal: &Refusal) -> Problem {
    let oauth_problem = refusal.problem().as_str();
    let mut challenge = format!("{OAUTH_CHALLENGE}, oauth_problem=\"{oauth_problem}\"");
    let (kind, basic) =
        if refusal.is_bad_request() { (OAUTH, None) } else { (UNAUTHORIZED, Some(BASIC_CHALLENGE)) };
    let mut problem = Problem::new(kind, refusal.detail())
        .member("reason", refusal.reason())
        .member("oauth_problem", oauth_problem);
    if let Some((name, value)) = refusal.report() {
        let encoded = auth::oauth::encode(value.as_bytes());
        // Writing to a String can't fail.
        let _ = write!(challenge, ", {name}=\"{encoded}\"");
        problem = problem.member(name, value);
    }
    if let Refusal::SignatureInvalid(seen) = refusal {
        problem = problem
            .member("method", &seen.method)
            .member("base_uri", &seen.base_uri)
            .member("parameters", seen.parameters.join(" "));
    }
    if let Some(basic) = basic {
        problem = problem.header(WWW_AUTHENTICATE, basic);
    }
    problem.header(WWW_AUTHENTICATE, &challenge)
}
