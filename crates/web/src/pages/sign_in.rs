//! Signing in and out: `/`, `/sign-in`, `/sign-out`. `/sign-in/code` takes the code of a second factor, `/sign-in/again` the
//! password before a dangerous change. Creating an account and resetting a password: `/join/{ticket}`,
//! `/join` if registration is open, `/reset/{ticket}`.
//!
//! The ticket is in the address, so these addresses are never logged. As on all pages, other sites get no referrer.

use crate::body;
use crate::body::is_form;
use crate::pages::form::{
    Fields, INCORRECT_SIGN_IN, VerifiedForm, browser, field, foreign_form, is_same_origin, password_error,
    with_retry_after,
};
use crate::pages::{Person, Visitor, cookie, get_and_post, get_only, go, go_with, post_only};
use crate::problem::Problem;
use crate::service::{Service, page_part};
use crate::site::Site;
use crate::views::sign_in::{JoinPage, ResetPage, SignIn, SignInAgain, SignInCode};
use crate::views::{Failure, FormTargets, html};
use auth::session::SignedIn;
use auth::{Auth, AuthError, Cookies, PasswordResetError, SignInStep, SignUpError};
use axum::extract::{Extension, Path, Request, State};
use axum::response::Response;
use axum::routing::{MethodRouter, get, post};
use http::{HeaderMap, StatusCode, Uri};
use listen::Peer;
use model::Purpose;
use std::sync::Arc;
use zeroize::Zeroizing;

page_part! {
    /// The parts for pages before a user is signed in.
    SignInPages {
        site: Site,
        auth: Arc<Auth>,
    }
}

pub(crate) fn home_methods() -> MethodRouter<Service> {
    get_only(get(home))
}

pub(crate) fn sign_in_methods() -> MethodRouter<Service> {
    get_and_post(get(show_sign_in).post(sign_in))
}

pub(crate) fn code_methods() -> MethodRouter<Service> {
    get_and_post(get(show_code).post(sign_in_with_code))
}

pub(crate) fn again_methods() -> MethodRouter<Service> {
    get_and_post(get(show_again).post(sign_in_again))
}

pub(crate) fn sign_out_methods() -> MethodRouter<Service> {
    post_only(post(sign_out))
}

/// The home page is the feed. It redirects visitors to sign in.
async fn home(State(pages): State<SignInPages>) -> Response {
    go(&pages.site, "/feed")
}

async fn show_sign_in(State(pages): State<SignInPages>, Visitor(person): Visitor, uri: Uri) -> Response {
    let then = destination(field(uri.query().unwrap_or_default().as_bytes(), "then"));
    match person {
        Some(_) => go(&pages.site, &then),
        None => pages.sign_in_page(StatusCode::OK, &then, "", None),
    }
}

async fn sign_in(
    State(pages): State<SignInPages>,
    Extension(Peer(remote)): Extension<Peer>,
    request: Request,
) -> Result<Response, Problem> {
    let (head, body) = request.into_parts();
    if !is_same_origin(&head.headers, &pages.site) || !is_form(&head.headers) {
        return Ok(foreign_form(&pages.site));
    }
    let fields = Fields::read(body).await?;
    let (name, then) = (fields.get("username").unwrap_or_default(), destination(fields.get("then")));
    match pages
        .auth
        .sign_in
        .with_password(&name, &fields.secret("password"), &browser(&head.headers, remote))
        .await
    {
        Ok(SignInStep::Done(_, cookies)) => pages.signed_in(&head.headers, &cookies, &then).await,
        Ok(SignInStep::Code(pending)) => Ok(code_page(&pages.site, StatusCode::OK, &then, &pending, None)),
        Err(denied) => {
            let (status, text, after) = password_error(denied, INCORRECT_SIGN_IN)?;
            Ok(with_retry_after(pages.sign_in_page(status, &then, &name, Some(&text)), after))
        }
    }
}

/// The code follows the password, so it starts there.
async fn show_code(State(pages): State<SignInPages>) -> Response {
    go(&pages.site, "/sign-in")
}

async fn sign_in_with_code(
    State(pages): State<SignInPages>,
    Extension(Peer(remote)): Extension<Peer>,
    request: Request,
) -> Result<Response, Problem> {
    let Some((fields, headers)) = pages.received(request).await? else {
        return Ok(foreign_form(&pages.site));
    };
    let (pending, then) = (fields.get("pending").unwrap_or_default(), destination(fields.get("then")));
    match pages.auth.sign_in.with_code(&pending, &fields.secret("code"), &browser(&headers, remote)).await {
        Ok(Some((_, cookies))) => pages.signed_in(&headers, &cookies, &then).await,
        Ok(None) => {
            let complaint = Some("Signing in took too long. Enter your password again.");
            Ok(pages.sign_in_page(StatusCode::FORBIDDEN, &then, "", complaint))
        }
        Err(AuthError::BadCredentials) => {
            let complaint = Some("Incorrect code. Wait for the next one, and try again.");
            Ok(code_page(&pages.site, StatusCode::FORBIDDEN, &then, &pending, complaint))
        }
        Err(AuthError::Throttled { retry_after_seconds }) => {
            let complaint = format!("Too many wrong codes. Try again in {retry_after_seconds} seconds.");
            let status = StatusCode::TOO_MANY_REQUESTS;
            let page = code_page(&pages.site, status, &then, &pending, Some(&complaint));
            Ok(with_retry_after(page, Some(retry_after_seconds)))
        }
        Err(other) => Err(other.into()),
    }
}

/// The page that asks for the code of the second factor.
pub(crate) fn code_page(
    site: &Site,
    status: StatusCode,
    then: &str,
    pending: &str,
    complaint: Option<&str>,
) -> Response {
    html(status, &SignInCode { site, then, pending, complaint }, FormTargets::Own)
}

async fn show_again(State(pages): State<SignInPages>, Person(person): Person, uri: Uri) -> Response {
    let then = destination(field(uri.query().unwrap_or_default().as_bytes(), "then"));
    pages.again_page(StatusCode::OK, &person, &then, None)
}

async fn sign_in_again(
    State(pages): State<SignInPages>,
    Extension(Peer(remote)): Extension<Peer>,
    headers: HeaderMap,
    VerifiedForm { person, fields }: VerifiedForm,
) -> Result<Response, Problem> {
    let then = destination(fields.get("then"));
    let browser = browser(&headers, remote);
    match pages.auth.sign_in.again(&person, &fields.secret("password"), &browser).await {
        Ok(cookies) => Ok(go_with(&pages.site, &then, cookie::set(&cookies))),
        Err(denied) => {
            let (status, text, after) = password_error(denied, "Incorrect password. Try again.")?;
            Ok(with_retry_after(pages.again_page(status, &person, &then, Some(&text)), after))
        }
    }
}

async fn sign_out(
    State(pages): State<SignInPages>,
    headers: http::HeaderMap,
    _: VerifiedForm,
) -> Result<Response, Problem> {
    if let Some(session) = cookie::of(&headers) {
        pages.auth.sessions.end(session).await?;
    }
    Ok(go_with(&pages.site, "/sign-in", cookie::clear()))
}

impl SignInPages {
    /// Continues in the new session.
    async fn signed_in(
        &self,
        headers: &HeaderMap,
        cookies: &Cookies,
        then: &str,
    ) -> Result<Response, Problem> {
        // A session that the browser had before is ended, not left behind.
        if let Some(previous) = cookie::of(headers) {
            self.auth.sessions.end(previous).await?;
        }
        Ok(go_with(&self.site, then, cookie::set(cookies)))
    }

    fn again_page(
        &self,
        status: StatusCode,
        person: &SignedIn,
        then: &str,
        complaint: Option<&str>,
    ) -> Response {
        let (name, csrf) = (person.account.name.as_str(), &person.csrf("/sign-in/again"));
        html(status, &SignInAgain { site: &self.site, name, csrf, then, complaint }, FormTargets::Own)
    }

    fn sign_in_page(
        &self,
        status: StatusCode,
        then: &str,
        username: &str,
        complaint: Option<&str>,
    ) -> Response {
        let open = self.auth.sign_up.is_open;
        html(status, &SignIn { site: &self.site, then, username, open, complaint }, FormTargets::Own)
    }
}

/// The path to continue to after signing in. Anything but a path on this server becomes `/feed`.
fn destination(then: Option<String>) -> String {
    let is_local = |path: &String| {
        let plain = path.bytes().all(|byte| byte.is_ascii_graphic() && byte != b'\\');
        path.starts_with('/') && !path.starts_with("//") && plain
    };
    then.filter(is_local).unwrap_or_else(|| "/feed".to_owned())
}

pub(crate) fn invited_methods() -> MethodRouter<Service> {
    get_and_post(get(show_invited).post(join_invited))
}

pub(crate) fn open_methods() -> MethodRouter<Service> {
    get_and_post(get(show_open).post(join_open))
}

pub(crate) fn reset_methods() -> MethodRouter<Service> {
    get_and_post(get(show_reset).post(reset))
}

async fn show_invited(
    State(pages): State<SignInPages>,
    Path(ticket): Path<String>,
) -> Result<Response, Problem> {
    let found = pages.auth.tickets.get(&ticket).await?;
    match found.map(|ticket| ticket.purpose) {
        Some(Purpose::Invitation) => Ok(pages.join_page(StatusCode::OK, &Fields::none(), None)),
        _ => Ok(pages.no_ticket()),
    }
}

async fn show_open(State(pages): State<SignInPages>) -> Response {
    match pages.auth.sign_up.is_open {
        true => pages.join_page(StatusCode::OK, &Fields::none(), None),
        false => pages.closed(),
    }
}

async fn join_invited(
    State(pages): State<SignInPages>,
    Extension(Peer(remote)): Extension<Peer>,
    Path(ticket): Path<String>,
    request: Request,
) -> Result<Response, Problem> {
    let Some((fields, headers)) = pages.received(request).await? else {
        return Ok(foreign_form(&pages.site));
    };
    let form = JoinForm::of(&fields);
    let joined = pages
        .auth
        .sign_up
        .accept_invitation(
            &ticket,
            &form.name,
            &form.given,
            &form.family,
            &form.password,
            &browser(&headers, remote),
        )
        .await;
    pages.joined(joined, &fields)
}

async fn join_open(
    State(pages): State<SignInPages>,
    Extension(Peer(remote)): Extension<Peer>,
    request: Request,
) -> Result<Response, Problem> {
    let Some((fields, headers)) = pages.received(request).await? else {
        return Ok(foreign_form(&pages.site));
    };
    let form = JoinForm::of(&fields);
    let joined = pages
        .auth
        .sign_up
        .register(&form.name, &form.given, &form.family, &form.password, &browser(&headers, remote))
        .await;
    pages.joined(joined, &fields)
}

async fn show_reset(
    State(pages): State<SignInPages>,
    Path(ticket): Path<String>,
) -> Result<Response, Problem> {
    let found = pages.auth.tickets.get(&ticket).await?;
    match found.map(|ticket| ticket.purpose) {
        Some(Purpose::Reset(_)) => Ok(pages.reset_page(StatusCode::OK, None)),
        _ => Ok(pages.no_ticket()),
    }
}

async fn reset(
    State(pages): State<SignInPages>,
    Extension(Peer(remote)): Extension<Peer>,
    Path(ticket): Path<String>,
    request: Request,
) -> Result<Response, Problem> {
    let Some((fields, headers)) = pages.received(request).await? else {
        return Ok(foreign_form(&pages.site));
    };
    let browser = browser(&headers, remote);
    match pages.auth.password_change.reset(&ticket, &fields.secret("password"), &browser).await {
        Ok(SignInStep::Done(_, cookies)) => Ok(pages.welcome(&cookies)),
        Ok(SignInStep::Code(pending)) => Ok(code_page(&pages.site, StatusCode::OK, "/feed", &pending, None)),
        Err(PasswordResetError::NoTicket) => Ok(pages.no_ticket()),
        Err(PasswordResetError::Weak(why)) => {
            Ok(pages.reset_page(StatusCode::UNPROCESSABLE_ENTITY, Some(&why.to_string())))
        }
        Err(PasswordResetError::AuthError(denied)) => Err(denied.into()),
    }
}

/// The form to create an account.
struct JoinForm {
    name: String,
    given: String,
    family: String,
    password: Zeroizing<String>,
}

impl JoinForm {
    fn of(fields: &Fields) -> JoinForm {
        let text = |name: &str| fields.get(name).unwrap_or_default();
        JoinForm {
            name: text("username").trim().to_owned(),
            given: text("given"),
            family: text("family"),
            password: fields.secret("password"),
        }
    }
}

impl SignInPages {
    /// Fields and headers of a form submission; `None` if it comes from another site.
    async fn received(&self, request: Request) -> Result<Option<(Fields, HeaderMap)>, Problem> {
        let (head, form) = request.into_parts();
        if !is_same_origin(&head.headers, &self.site) || !body::is_form(&head.headers) {
            return Ok(None);
        }
        Ok(Some((Fields::read(form).await?, head.headers)))
    }

    fn joined(&self, joined: Result<Cookies, SignUpError>, fields: &Fields) -> Result<Response, Problem> {
        let wrong = StatusCode::UNPROCESSABLE_ENTITY;
        let (status, complaint) = match joined {
            Ok(cookies) => return Ok(self.welcome(&cookies)),
            Err(SignUpError::Closed) => return Ok(self.closed()),
            Err(SignUpError::NoTicket) => return Ok(self.no_ticket()),
            Err(SignUpError::BadName(why)) => (wrong, why.to_string()),
            Err(SignUpError::NameTaken) => {
                (StatusCode::CONFLICT, "This username is taken. Choose another one.".to_owned())
            }
            Err(SignUpError::BadPersonName(why)) => (wrong, why.to_string()),
            Err(SignUpError::Weak(why)) => (wrong, why.to_string()),
            Err(SignUpError::AuthError(AuthError::Throttled { retry_after_seconds })) => {
                let text = format!(
                    "Too many new accounts from your network. Try again in {retry_after_seconds} seconds."
                );
                (StatusCode::TOO_MANY_REQUESTS, text)
            }
            Err(SignUpError::AuthError(denied)) => return Err(denied.into()),
        };
        Ok(self.join_page(status, fields, Some(&complaint)))
    }

    fn welcome(&self, cookies: &Cookies) -> Response {
        go_with(&self.site, "/feed", cookie::set(cookies))
    }

    fn join_page(&self, status: StatusCode, fields: &Fields, complaint: Option<&str>) -> Response {
        let text = |name: &str| fields.get(name).unwrap_or_default();
        let (username, given, family) = (&text("username"), &text("given"), &text("family"));
        html(status, &JoinPage { site: &self.site, username, given, family, complaint }, FormTargets::Own)
    }

    fn reset_page(&self, status: StatusCode, complaint: Option<&str>) -> Response {
        html(status, &ResetPage { site: &self.site, complaint }, FormTargets::Own)
    }

    fn no_ticket(&self) -> Response {
        self.refused(
            StatusCode::NOT_FOUND,
            "This link is no longer valid",
            "It has been used already or has expired. Ask the administrator of this server for a new one.",
        )
    }

    fn closed(&self) -> Response {
        self.refused(
            StatusCode::NOT_FOUND,
            "Registration is by invitation only",
            "Ask the administrator of this server for an invitation link.",
        )
    }

    fn refused(&self, status: StatusCode, title: &str, text: &str) -> Response {
        Failure::new(&self.site, None, title, text).respond(status)
    }
}

#[cfg(test)]
mod tests {
    use super::destination;

    #[test]
    fn sign_in_never_redirects_to_another_site() {
        for local in ["/feed", "/user/alice?cursor=x", "/"] {
            assert_eq!(destination(Some(local.to_owned())), local);
        }
        for other in ["", "https://evil.example/", "//evil.example", "/\\evil.example", "/\nx", "feed", "/é"]
        {
            assert_eq!(destination(Some(other.to_owned())), "/feed", "{other:?}");
        }
        assert_eq!(destination(None), "/feed");
    }
}
