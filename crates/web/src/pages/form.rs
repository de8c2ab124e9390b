//! Forms and file uploads, verified to come from a page of this session (CSRF protection).

use crate::body;
use crate::pages::{Person, cookie, go};
use crate::problem::Problem;
use crate::service::Service;
use crate::site::Site;
use crate::views::Failure;
use auth::audit::{Actor, Event};
use auth::session::SignedIn;
use auth::{AuthError, Browser};
use axum::body::{Body, Bytes};
use axum::extract::{FromRequest, FromRequestParts, Multipart, Request};
use axum::response::{IntoResponse, Response};
use http::header::{ORIGIN, RETRY_AFTER, USER_AGENT};
use http::{HeaderMap, StatusCode, Uri};
use http_body_util::Limited;
use model::encode_component;
use std::net::IpAddr;
use zeroize::Zeroizing;

/// Maximum characters of a name.
const MAX_NAME: usize = 100;

/// Maximum bytes of a form: a post of 5,000 characters, each up to 12 bytes when encoded, and the other fields.
pub(crate) const MAX_PAGE_FORM: usize = 64 << 10;

/// The fields of a form. They may contain a password, so the memory is zeroed on drop.
pub(crate) struct Fields(Zeroizing<Vec<u8>>);

impl Fields {
    /// The fields of an empty form.
    pub(crate) fn none() -> Fields {
        Fields(Zeroizing::new(Vec::new()))
    }

    /// Reads the fields from a request body.
    pub(crate) async fn read(body: axum::body::Body) -> Result<Fields, Problem> {
        Ok(Fields(Zeroizing::new(body::read(body, MAX_PAGE_FORM).await?.to_vec())))
    }

    /// The first field with this name.
    pub(crate) fn get(&self, name: &str) -> Option<String> {
        field(&self.0, name)
    }

    /// The first field with this name, trimmed; `None` if it is empty.
    pub(crate) fn text(&self, name: &str) -> Option<String> {
        self.get(name).map(|text| text.trim().to_owned()).filter(|text| !text.is_empty())
    }

    /// The field `name`, or an error message: `missing` if it is empty.
    pub(crate) fn name(&self, missing: &'static str) -> Result<String, &'static str> {
        let name = self.text("name").ok_or(missing)?;
        if name.chars().count() > MAX_NAME || name.chars().any(char::is_control) {
            return Err("The name is too long: at most 100 characters, on one line.");
        }
        Ok(name)
    }

    /// A secret field, zeroed on drop; empty if it is missing.
    pub(crate) fn secret(&self, name: &str) -> Zeroizing<String> {
        Zeroizing::new(self.get(name).unwrap_or_default())
    }
}

/// The first field with this name in a query or a form.
pub(crate) fn field(form: &[u8], name: &str) -> Option<String> {
    url::form_urlencoded::parse(form).find(|(found, _)| found == name).map(|(_, value)| value.into_owned())
}

/// A form with a valid CSRF token, submitted by a signed-in user.
pub(crate) struct VerifiedForm {
    /// The user.
    pub(crate) person: SignedIn,
    /// The submitted fields.
    pub(crate) fields: Fields,
}

impl FromRequest<Service> for VerifiedForm {
    type Rejection = Response;

    async fn from_request(request: Request, service: &Service) -> Result<VerifiedForm, Response> {
        let (mut head, form) = request.into_parts();
        if !is_same_origin(&head.headers, &service.site) || !body::is_form(&head.headers) {
            return Err(foreign_form(&service.site));
        }
        let Person(person) = Person::from_request_parts(&mut head, service).await?;
        let fields = Fields::read(form).await.map_err(IntoResponse::into_response)?;
        let token = fields.get("csrf").unwrap_or_default();
        if !person.is_ours(head.uri.path(), &token) {
            return Err(foreign_form(&service.site));
        }
        Ok(VerifiedForm { person, fields })
    }
}

/// A verified form for a dangerous change. If the password was given too long ago, the browser goes to confirm it, and
/// returns to the page of the form.
pub(crate) struct FreshForm {
    /// The user.
    pub(crate) person: SignedIn,
    /// The submitted fields.
    pub(crate) fields: Fields,
}

impl FreshForm {
    /// An event that the user causes.
    pub(crate) fn event(&self, name: &'static str) -> Event {
        Event::new(name, Actor::Account(&self.person.account))
    }
}

impl FromRequest<Service> for FreshForm {
    type Rejection = Response;

    async fn from_request(request: Request, service: &Service) -> Result<FreshForm, Response> {
        let page = page_of(request.uri().path());
        let VerifiedForm { person, fields } = VerifiedForm::from_request(request, service).await?;
        if person.is_fresh(service.clock.now()) {
            return Ok(FreshForm { person, fields });
        }
        Err(go(&service.site, &format!("/sign-in/again?then={}", encode_component(page))))
    }
}

/// The page with the form that posts to this path.
fn page_of(path: &str) -> &'static str {
    const PAGES: [(&str, &str); 6] = [
        ("/settings/keys", "/settings/keys"),
        ("/settings/applications", "/settings/applications"),
        ("/settings/", "/settings/security"),
        ("/operator/applications", "/operator/applications"),
        ("/operator/deadletters", "/operator"),
        ("/operator/", "/operator/accounts"),
    ];
    PAGES.iter().find(|(prefix, _)| path.starts_with(prefix)).map_or("/feed", |(_, page)| page)
}

/// The browser that form a request from `remote`.
pub(crate) fn browser(headers: &HeaderMap, remote: IpAddr) -> Browser<'_> {
    let agent =
        headers.get(USER_AGENT).map(|value| std::str::from_utf8(value.as_bytes()).unwrap_or_default());
    Browser { agent: agent.unwrap_or_default(), remote, familiar: cookie::familiar(headers) }
}

/// Whether the form comes from this site, according to `Origin` and `Sec-Fetch-Site`. Old browsers and programs send
/// neither header; for those the CSRF token alone decides, and signing in always needs the password.
pub(crate) fn is_same_origin(headers: &HeaderMap, site: &Site) -> bool {
    let header = |name: &str| headers.get(name).map(|value| value.to_str().unwrap_or_default());
    let origin = header(ORIGIN.as_str()).is_none_or(|origin| origin.eq_ignore_ascii_case(site.origin()));
    let fetched = header("sec-fetch-site").is_none_or(|site| matches!(site, "same-origin" | "none"));
    origin && fetched
}

/// The message after a rejected sign-in, on the sign-in page and before an application is authorised.
pub(crate) const INCORRECT_SIGN_IN: &str = "Incorrect username or password. Try again.";

/// Status, message and retry delay after a rejected password. Errors that are not about the password become a problem.
pub(crate) fn password_error(
    denied: AuthError,
    wrong: &str,
) -> Result<(StatusCode, String, Option<u64>), Problem> {
    match denied {
        AuthError::BadCredentials => Ok((StatusCode::FORBIDDEN, wrong.to_owned(), None)),
        AuthError::Throttled { retry_after_seconds: seconds } => {
            Ok((StatusCode::TOO_MANY_REQUESTS, throttled_message(seconds), Some(seconds)))
        }
        other => Err(other.into()),
    }
}

/// The message after too many wrong passwords.
pub(crate) fn throttled_message(seconds: u64) -> String {
    format!(
        "Too many wrong passwords. Try again in {seconds} seconds, or use a browser or network where you have signed in before."
    )
}

/// Adds `Retry-After` to the page if there is a delay.
pub(crate) fn with_retry_after(mut page: Response, after: Option<u64>) -> Response {
    page.headers_mut().extend(after.map(|seconds| (RETRY_AFTER, seconds.into())));
    page
}

/// The error page for a form without a valid CSRF token or from another site.
pub(crate) fn foreign_form(site: &Site) -> Response {
    let text = "The form does not belong to your current session, so nothing was changed. Go back, reload the page, \
                and try again.";
    Failure::new(site, None, "This form has expired", text).respond(StatusCode::FORBIDDEN)
}

/// Maximum bytes of the form besides the file.
const MAX_OTHER_FIELDS: usize = 64 << 10;

/// A file upload with a valid CSRF token, submitted by a signed-in user.
pub(super) struct Upload {
    /// The user.
    pub(super) person: SignedIn,
    /// The address of the form.
    pub(super) uri: Uri,
    /// The file; empty if none was chosen.
    pub(super) file: Bytes,
    /// The names of the other fields, buttons among them.
    pub(super) fields: Vec<String>,
}

impl Upload {
    /// Receives a multipart form: the CSRF token first, then other fields, then the file in the field `name` with at
    /// most `max` bytes.
    pub(super) async fn receive(
        service: &Service,
        request: Request,
        name: &str,
        max: usize,
    ) -> Result<Upload, Response> {
        let (mut head, body) = request.into_parts();
        if !is_same_origin(&head.headers, &service.site) {
            return Err(foreign_form(&service.site));
        }
        let Person(person) = Person::from_request_parts(&mut head, service).await?;
        let uri = head.uri.clone();
        let limited = Request::from_parts(head, Body::new(Limited::new(body, max + MAX_OTHER_FIELDS)));
        let parts = Multipart::from_request(limited, service).await;
        let parts = parts.map_err(|_| broken(max).into_response())?;
        let mut upload = Upload { person, uri, file: Bytes::new(), fields: Vec::new() };
        match upload.read(parts, name).await {
            Ok(true) => Ok(upload),
            Ok(false) => Err(foreign_form(&service.site)),
            Err(_) => Err(broken(max).into_response()),
        }
    }

    /// Reads all parts; returns whether the CSRF token is valid.
    async fn read(
        &mut self,
        mut parts: Multipart,
        name: &str,
    ) -> Result<bool, axum::extract::multipart::MultipartError> {
        let mut verified = false;
        while let Some(part) = parts.next_field().await? {
            match part.name() {
                Some("csrf") => verified = self.person.is_ours(self.uri.path(), &part.text().await?),
                // The file is read only after the token is verified.
                Some(found) if found == name && verified => self.file = part.bytes().await?,
                Some(other) => self.fields.push(other.to_owned()),
                None => {}
            }
        }
        Ok(verified)
    }
}

fn broken(max: usize) -> Problem {
    Problem::body(format!("The upload is incomplete or the file is larger than {} MiB.", max >> 20))
}
