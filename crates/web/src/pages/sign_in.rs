//! Signing in and out: `/`, `/sign-in`, `/sign-out`. Creating an account and resetting a password: `/join/{ticket}`,
//! `/join` if registration is open, `/reset/{ticket}`.
//!
//! The ticket is in the address, so these addresses are never logged. As on all pages, other sites get no referrer.

use crate::body;
use crate::body::is_form;
use crate::pages::form::{
    Fields, INCORRECT_SIGN_IN, VerifiedForm, browser, field, foreign_form, is_same_origin, password_error,
    with_retry_after,
};
use crate::pages::{Visitor, cookie, get_and_post, get_only, go, go_with, post_only};
use crate::problem::Problem;
use crate::service::{Service, page_part};
use crate::site::Site;
use crate::views::sign_in::{JoinPage, ResetPage, SignIn};
use crate::views::{Failure, FormTargets, html};
use auth::{Auth, AuthError, Cookies, PasswordResetError, SignUpError};
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
        Ok(cookies) => {
            // A session that the browser had before is ended, not left behind.
            if let Some(previous) = cookie::of(&head.headers) {
                pages.auth.sessions.end(previous).await?;
            }
            Ok(go_with(&pages.site, &then, cookie::set(&cookies)))
        }
        Err(denied) => {
            let (status, text, after) = password_error(denied, INCORRECT_SIGN_IN)?;
            Ok(with_retry_after(pages.sign_in_page(status, &then, &name, Some(&text)), after))
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
        Ok(cookies) => Ok(pages.welcome(&cookies)),
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
