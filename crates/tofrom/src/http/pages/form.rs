//! What a form brought, once it is sure that it was ours.

use super::super::{Problem, Service, body};
use super::{Person, cookie};
use crate::auth::session::SignedIn;
use crate::auth::{AuthError, Browser};
use crate::pages::{Failure, FormTargets, html};
use crate::site::Site;
use axum::extract::{FromRequest, FromRequestParts, Request};
use axum::response::{IntoResponse, Response};
use http::header::{ORIGIN, RETRY_AFTER, USER_AGENT};
use http::{HeaderMap, StatusCode};
use std::net::IpAddr;
use std::sync::Arc;
use zeroize::Zeroizing;

/// Characters of a name.
const LONGEST_NAME: usize = 100;

/// How long a form of a page may be: three passwords of 1,024 characters, each of up to 12 bytes when encoded, with room
/// for the other fields.
pub(in crate::http) const MAX_PAGE_FORM: usize = 48 << 10;

/// The fields of a form. They may hold a password, so they are wiped away afterwards.
pub(in crate::http) struct Fields(Zeroizing<Vec<u8>>);

impl Fields {
    /// Those of a form that nobody has sent yet.
    pub(in crate::http) fn none() -> Fields {
        Fields(Zeroizing::new(Vec::new()))
    }

    /// Those of a form that was sent as the body.
    pub(in crate::http) async fn read(body: axum::body::Body) -> Result<Fields, Problem> {
        Ok(Fields(Zeroizing::new(body::read(body, MAX_PAGE_FORM).await?.to_vec())))
    }

    /// The first field of that name.
    pub(in crate::http) fn get(&self, name: &str) -> Option<String> {
        field(&self.0, name)
    }

    /// The same without space around it; nothing where it is empty.
    pub(in crate::http) fn text(&self, name: &str) -> Option<String> {
        self.get(name).map(|text| text.trim().to_owned()).filter(|text| !text.is_empty())
    }

    /// What somebody calls something of theirs; else what is wrong with it, `missing` if nothing is there.
    pub(in crate::http) fn name(&self, missing: &'static str) -> Result<String, &'static str> {
        let name = self.text("name").ok_or(missing)?;
        if name.chars().count() > LONGEST_NAME || name.chars().any(char::is_control) {
            return Err("A name has at most 100 characters, on one line.");
        }
        Ok(name)
    }

    /// A secret.
    pub(in crate::http) fn secret(&self, name: &str) -> Zeroizing<String> {
        Zeroizing::new(self.get(name).unwrap_or_default())
    }
}

/// The first field of that name in a query or a form.
pub(in crate::http) fn field(form: &[u8], name: &str) -> Option<String> {
    url::form_urlencoded::parse(form).find(|(found, _)| found == name).map(|(_, value)| value.into_owned())
}

/// A form that a page of this person's session sent to where it goes.
pub(in crate::http) struct Sent {
    /// Who.
    pub(in crate::http) person: SignedIn,
    /// What.
    pub(in crate::http) fields: Fields,
}

impl FromRequest<Arc<Service>> for Sent {
    type Rejection = Response;

    async fn from_request(request: Request, service: &Arc<Service>) -> Result<Sent, Response> {
        let (mut head, sent) = request.into_parts();
        if !is_from_here(&head.headers, &service.site) || !body::is_form(&head.headers) {
            return Err(not_ours(&service.site));
        }
        let Person(person) = Person::from_request_parts(&mut head, service).await?;
        let fields = Fields::read(sent).await.map_err(IntoResponse::into_response)?;
        let proof = fields.get("csrf").unwrap_or_default();
        if !person.is_ours(head.uri.path(), &proof) {
            return Err(not_ours(&service.site));
        }
        Ok(Sent { person, fields })
    }
}

/// The browser that sent a request from there.
pub(in crate::http) fn browser(headers: &HeaderMap, remote: IpAddr) -> Browser<'_> {
    let agent = headers.get(USER_AGENT).map(|said| std::str::from_utf8(said.as_bytes()).unwrap_or_default());
    Browser { agent: agent.unwrap_or_default(), remote, familiar: cookie::familiar(headers) }
}

/// Browsers say where a form comes from. One that says nothing is old or no browser; then the field in the form decides
/// alone, and signing somebody in needs their password in any case.
pub(in crate::http) fn is_from_here(headers: &HeaderMap, site: &Site) -> bool {
    let said = |name: &str| headers.get(name).map(|value| value.to_str().unwrap_or_default());
    let origin = said(ORIGIN.as_str()).is_none_or(|origin| origin.eq_ignore_ascii_case(site.origin()));
    let fetched = said("sec-fetch-site").is_none_or(|site| matches!(site, "same-origin" | "none"));
    origin && fetched
}

/// What somebody is told whose password was not taken, with the status and when to come again; what is not about the
/// password is a problem.
pub(in crate::http) fn wrong_password(
    denied: AuthError,
    wrong: &str,
) -> Result<(StatusCode, String, Option<u64>), Problem> {
    match denied {
        AuthError::BadCredentials => Ok((StatusCode::FORBIDDEN, wrong.to_owned(), None)),
        AuthError::Throttled { retry_after_seconds: seconds } => {
            let text = too_often(seconds);
            Ok((StatusCode::TOO_MANY_REQUESTS, text, Some(seconds)))
        }
        other => Err(other.into()),
    }
}

/// What somebody is told after too many wrong passwords.
pub(in crate::http) fn too_often(seconds: u64) -> String {
    format!(
        "Too many wrong passwords. Try again in {seconds} seconds, or use a browser or network where you signed in before."
    )
}

/// The page with that complaint, which says when to come again.
pub(in crate::http) fn come_again(mut page: Response, after: Option<u64>) -> Response {
    page.headers_mut().extend(after.map(|seconds| (RETRY_AFTER, seconds.into())));
    page
}

/// What whoever sent a form that is not ours gets to see.
pub(in crate::http) fn not_ours(site: &Site) -> Response {
    let page = Failure {
        site,
        title: "This did not come from our page",
        text: "What was sent does not belong to a page that we showed you, so nothing was done. Go back, load the \
               page anew, and try again.",
    };
    html(StatusCode::FORBIDDEN, &page, FormTargets::None)
}
