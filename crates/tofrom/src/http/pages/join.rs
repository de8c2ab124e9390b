//! Creating an account and resetting a password: `/join/{ticket}`, `/join` if registration is open, `/reset/{ticket}`.
//!
//! The ticket is in the address, so these addresses are never logged. As on all pages, other sites get no referrer.

use super::super::listen::Peer;
use super::super::{Problem, Service, body};
use super::form::{Fields, browser, foreign_form, is_same_origin};
use super::{cookie, get_and_post};
use crate::auth::{AuthError, Cookies, PasswordResetError, SignUpError};
use crate::pages::join::{JoinPage, ResetPage};
use crate::pages::{Failure, FormTargets, html};
use axum::extract::{Extension, Path, Request, State};
use axum::response::Response;
use axum::routing::{MethodRouter, get};
use http::{HeaderMap, StatusCode};
use model::Purpose;
use std::sync::Arc;
use zeroize::Zeroizing;

pub(in crate::http) fn invited_methods() -> MethodRouter<Arc<Service>> {
    get_and_post(get(show_invited).post(join_invited))
}

pub(in crate::http) fn open_methods() -> MethodRouter<Arc<Service>> {
    get_and_post(get(show_open).post(join_open))
}

pub(in crate::http) fn reset_methods() -> MethodRouter<Arc<Service>> {
    get_and_post(get(show_reset).post(reset))
}

async fn show_invited(
    State(service): State<Arc<Service>>,
    Path(ticket): Path<String>,
) -> Result<Response, Problem> {
    let found = service.authenticator.ticket(&ticket).await?;
    match found.map(|ticket| ticket.purpose) {
        Some(Purpose::Invitation) => Ok(service.join_page(StatusCode::OK, &Fields::none(), None)),
        _ => Ok(service.no_ticket()),
    }
}

async fn show_open(State(service): State<Arc<Service>>) -> Response {
    match service.authenticator.is_registration_open() {
        true => service.join_page(StatusCode::OK, &Fields::none(), None),
        false => service.closed(),
    }
}

async fn join_invited(
    State(service): State<Arc<Service>>,
    Extension(Peer(remote)): Extension<Peer>,
    Path(ticket): Path<String>,
    request: Request,
) -> Result<Response, Problem> {
    let Some((fields, headers)) = service.received(request).await? else {
        return Ok(foreign_form(&service.site));
    };
    let form = JoinForm::of(&fields);
    let joined = service
        .authenticator
        .accept_invitation(
            &ticket,
            &form.name,
            &form.given,
            &form.family,
            &form.password,
            &browser(&headers, remote),
        )
        .await;
    service.joined(joined, &fields)
}

async fn join_open(
    State(service): State<Arc<Service>>,
    Extension(Peer(remote)): Extension<Peer>,
    request: Request,
) -> Result<Response, Problem> {
    let Some((fields, headers)) = service.received(request).await? else {
        return Ok(foreign_form(&service.site));
    };
    let form = JoinForm::of(&fields);
    let joined = service
        .authenticator
        .register(&form.name, &form.given, &form.family, &form.password, &browser(&headers, remote))
        .await;
    service.joined(joined, &fields)
}

async fn show_reset(
    State(service): State<Arc<Service>>,
    Path(ticket): Path<String>,
) -> Result<Response, Problem> {
    let found = service.authenticator.ticket(&ticket).await?;
    match found.map(|ticket| ticket.purpose) {
        Some(Purpose::Reset(_)) => Ok(service.reset_page(StatusCode::OK, None)),
        _ => Ok(service.no_ticket()),
    }
}

async fn reset(
    State(service): State<Arc<Service>>,
    Extension(Peer(remote)): Extension<Peer>,
    Path(ticket): Path<String>,
    request: Request,
) -> Result<Response, Problem> {
    let Some((fields, headers)) = service.received(request).await? else {
        return Ok(foreign_form(&service.site));
    };
    let browser = browser(&headers, remote);
    match service.authenticator.reset_password(&ticket, &fields.secret("password"), &browser).await {
        Ok(cookies) => Ok(service.welcome(&cookies)),
        Err(PasswordResetError::NoTicket) => Ok(service.no_ticket()),
        Err(PasswordResetError::Weak(why)) => {
            Ok(service.reset_page(StatusCode::UNPROCESSABLE_ENTITY, Some(&why.to_string())))
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

impl Service {
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
        self.go_with("/feed", cookie::set(cookies))
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
        html(status, &Failure { site: &self.site, title, text }, FormTargets::None)
    }
}
