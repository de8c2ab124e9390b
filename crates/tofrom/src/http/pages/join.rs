//! How somebody gets an account or a new password: `/join/{ticket}`, `/join` where everybody may, `/reset/{ticket}`.
//!
//! The ticket is in the address, which is why no such address is logged. As on all pages, other sites get no referrer.

use super::super::listen::Peer;
use super::super::{Problem, Service, body};
use super::form::{Fields, browser, is_from_here, not_ours};
use super::{both, cookie};
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
    both(get(show_invited).post(join_invited))
}

pub(in crate::http) fn open_methods() -> MethodRouter<Arc<Service>> {
    both(get(show_open).post(join_open))
}

pub(in crate::http) fn reset_methods() -> MethodRouter<Arc<Service>> {
    both(get(show_reset).post(reset))
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
        return Ok(not_ours(&service.site));
    };
    let told = Told::of(&fields);
    let joined = service
        .authenticator
        .accept_invitation(
            &ticket,
            &told.name,
            &told.given,
            &told.family,
            &told.password,
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
        return Ok(not_ours(&service.site));
    };
    let told = Told::of(&fields);
    let joined = service
        .authenticator
        .register(&told.name, &told.given, &told.family, &told.password, &browser(&headers, remote))
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
        return Ok(not_ours(&service.site));
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

/// What somebody said of themselves.
struct Told {
    name: String,
    given: String,
    family: String,
    password: Zeroizing<String>,
}

impl Told {
    fn of(fields: &Fields) -> Told {
        let text = |name: &str| fields.get(name).unwrap_or_default();
        Told {
            name: text("username").trim().to_owned(),
            given: text("given"),
            family: text("family"),
            password: fields.secret("password"),
        }
    }
}

impl Service {
    /// What a form of ours brought, with the request's headers; `None` if the form is not ours.
    async fn received(&self, request: Request) -> Result<Option<(Fields, HeaderMap)>, Problem> {
        let (head, sent) = request.into_parts();
        if !is_from_here(&head.headers, &self.site) || !body::is_form(&head.headers) {
            return Ok(None);
        }
        Ok(Some((Fields::read(sent).await?, head.headers)))
    }

    fn joined(&self, joined: Result<Cookies, SignUpError>, fields: &Fields) -> Result<Response, Problem> {
        let wrong = StatusCode::UNPROCESSABLE_ENTITY;
        let (status, complaint) = match joined {
            Ok(cookies) => return Ok(self.welcome(&cookies)),
            Err(SignUpError::Closed) => return Ok(self.closed()),
            Err(SignUpError::NoTicket) => return Ok(self.no_ticket()),
            Err(SignUpError::BadName(why)) => (wrong, why.to_string()),
            Err(SignUpError::NameTaken) => {
                (StatusCode::CONFLICT, "That name is taken. Choose another.".to_owned())
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
            "This link does not work any more",
            "It was used already, or it is too old. Whoever runs this service can send you another one.",
        )
    }

    fn closed(&self) -> Response {
        self.refused(
            StatusCode::NOT_FOUND,
            "Accounts are made by invitation here",
            "Whoever runs this service can send you a link.",
        )
    }

    fn refused(&self, status: StatusCode, title: &str, text: &str) -> Response {
        html(status, &Failure { site: &self.site, title, text }, FormTargets::None)
    }
}
