//! `GET` and `POST /oauth/authorize`: a user signs in, sees what an application requests, and decides.
//!
//! GET shows a page, POST takes its forms: sign-in, decision, switch of account. Deciding requires a CSRF field that only
//! pages of this session have. Forms of other sites are rejected.

use crate::auth::Authenticator;
use crate::auth::oauth::{PendingGrant, callback};
use crate::auth::session::SignedIn;
use crate::http::listen::Peer;
use crate::http::pages::form::{
    INCORRECT_SIGN_IN, MAX_PAGE_FORM, browser, field, is_same_origin, password_error, with_retry_after,
};
use crate::http::pages::{cookie, redirect};
use crate::http::{Problem, Service, body};
use crate::pages::authorize::{Consent, Declined, SignIn, Verifier};
use crate::pages::{Failure, FormTargets, html};
use crate::site::Site;
use axum::extract::{Extension, Request, State};
use axum::response::Response;
use axum::routing::{MethodRouter, get};
use http::header::SET_COOKIE;
use http::{HeaderMap, HeaderValue, StatusCode};
use std::net::IpAddr;
use std::sync::Arc;
use zeroize::Zeroizing;

pub(in crate::http) fn methods() -> MethodRouter<Arc<Service>> {
    get(show).post(submit).fallback(|| async { Problem::method_not_allowed("GET, HEAD, POST") })
}

async fn show(State(service): State<Arc<Service>>, request: Request) -> Response {
    let token = field(request.uri().query().unwrap_or_default().as_bytes(), "oauth_token");
    let visit = AuthorizeRequest::new(&service, request.headers(), token);
    let shown = visit.show().await;
    shown.unwrap_or_else(|problem| problem.page(&service.site))
}

async fn submit(
    State(service): State<Arc<Service>>,
    Extension(Peer(address)): Extension<Peer>,
    request: Request,
) -> Response {
    let (head, sent) = request.into_parts();
    let form = match body::read(sent, MAX_PAGE_FORM).await {
        Ok(form) => Zeroizing::new(form.to_vec()),
        Err(problem) => return problem.page(&service.site),
    };
    let visit = AuthorizeRequest::new(&service, &head.headers, field(&form, "oauth_token"));
    let done = visit.submit(&form, address).await;
    done.unwrap_or_else(|problem| problem.page(&service.site))
}

/// A request of a browser to this page.
struct AuthorizeRequest<'a> {
    authenticator: &'a Authenticator,
    site: &'a Site,
    headers: &'a HeaderMap,
    /// The request token to decide about.
    token: Option<String>,
}

impl<'a> AuthorizeRequest<'a> {
    fn new(service: &'a Service, headers: &'a HeaderMap, token: Option<String>) -> AuthorizeRequest<'a> {
        AuthorizeRequest { authenticator: &service.authenticator, site: &service.site, headers, token }
    }

    async fn show(&self) -> Result<Response, Problem> {
        let Some(pending) = self.pending().await? else { return Ok(self.nothing_pending()) };
        Ok(match self.signed_in().await? {
            Some(person) => self.consent(&pending, &person),
            None => self.sign_in_page(StatusCode::OK, &pending, "", None),
        })
    }

    async fn submit(&self, form: &[u8], remote: IpAddr) -> Result<Response, Problem> {
        if !is_same_origin(self.headers, self.site) || !body::is_form(self.headers) {
            return Ok(self.rejected_form());
        }
        let Some(pending) = self.pending().await? else { return Ok(self.nothing_pending()) };
        if let Some(name) = field(form, "username") {
            let password = Zeroizing::new(field(form, "password").unwrap_or_default());
            return self.sign_in(&pending, &name, &password, remote).await;
        }
        let Some(person) = self.signed_in().await? else { return Ok(self.redirect_to_page(&pending, None)) };
        let csrf = field(form, "csrf").unwrap_or_default();
        if !person.is_ours(&purpose(&pending), &csrf) {
            return Ok(self.rejected_form());
        }
        match field(form, "decision").as_deref() {
            Some("allow") => self.allow(&pending, &person).await,
            Some("deny") => self.deny(&pending).await,
            None if field(form, "switch").is_some() => self.switch(&pending).await,
            _ => Ok(self.failure(
                StatusCode::BAD_REQUEST,
                "No decision received",
                "The form did not say whether to allow or deny. Go back and use one of the two buttons.",
            )),
        }
    }

    async fn pending(&self) -> Result<Option<PendingGrant>, Problem> {
        match self.token.as_deref() {
            Some(token) => Ok(self.authenticator.pending_grant(token).await?),
            None => Ok(None),
        }
    }

    async fn signed_in(&self) -> Result<Option<SignedIn>, Problem> {
        match cookie::of(self.headers) {
            Some(cookie) => Ok(self.authenticator.signed_in(cookie).await?),
            None => Ok(None),
        }
    }

    async fn sign_in(
        &self,
        pending: &PendingGrant,
        name: &str,
        password: &str,
        remote: IpAddr,
    ) -> Result<Response, Problem> {
        match self.authenticator.sign_in(name, password, &browser(self.headers, remote)).await {
            Ok(cookies) => {
                // An earlier session of the browser is ended and its cookie replaced.
                if let Some(before) = cookie::of(self.headers) {
                    self.authenticator.sign_out(before).await?;
                }
                Ok(self.redirect_to_page(pending, cookie::set(&cookies)))
            }
            Err(denied) => {
                let (status, text, after) = password_error(denied, INCORRECT_SIGN_IN)?;
                Ok(with_retry_after(self.sign_in_page(status, pending, name, Some(&text)), after))
            }
        }
    }

    async fn allow(&self, pending: &PendingGrant, person: &SignedIn) -> Result<Response, Problem> {
        let key = &pending.temporary.key;
        let Some(verifier) = self.authenticator.allow(key, &person.account).await? else {
            return Ok(self.nothing_pending());
        };
        Ok(match &pending.temporary.callback {
            Some(callback) => self.back_to(callback, &[("oauth_token", key), ("oauth_verifier", &verifier)]),
            None => {
                let application = &pending.application.name;
                let page = Verifier { site: self.site, application, verifier: &verifier };
                html(StatusCode::OK, &page, FormTargets::None)
            }
        })
    }

    async fn deny(&self, pending: &PendingGrant) -> Result<Response, Problem> {
        let key = &pending.temporary.key;
        if !self.authenticator.refuse(key).await? {
            return Ok(self.nothing_pending());
        }
        Ok(match &pending.temporary.callback {
            Some(callback) => {
                self.back_to(callback, &[("oauth_token", key), ("oauth_problem", "user_refused")])
            }
            None => {
                let page = Declined { site: self.site, application: &pending.application.name };
                html(StatusCode::OK, &page, FormTargets::None)
            }
        })
    }

    async fn switch(&self, pending: &PendingGrant) -> Result<Response, Problem> {
        if let Some(session) = cookie::of(self.headers) {
            self.authenticator.sign_out(session).await?;
        }
        Ok(self.redirect_to_page(pending, cookie::clear()))
    }

    fn consent(&self, pending: &PendingGrant, person: &SignedIn) -> Response {
        let callback = pending.temporary.callback.as_deref();
        let (host, source) = (callback.and_then(callback::host), callback.and_then(callback::policy_source));
        let page = Consent {
            site: self.site,
            application: &pending.application.name,
            returns_to: host.as_deref(),
            account: &person.account,
            scopes: pending.temporary.scopes,
            token: &pending.temporary.key,
            csrf: &person.csrf(&purpose(pending)),
        };
        html(StatusCode::OK, &page, source.as_deref().map_or(FormTargets::Own, FormTargets::OwnThen))
    }

    fn sign_in_page(
        &self,
        status: StatusCode,
        pending: &PendingGrant,
        name: &str,
        complaint: Option<&str>,
    ) -> Response {
        let (application, token) = (&pending.application.name, &pending.temporary.key);
        let page = SignIn { site: self.site, application, token, username: name, complaint };
        html(status, &page, FormTargets::Own)
    }

    /// Redirects to this page, so that reloading it does not send a form again.
    fn redirect_to_page(
        &self,
        pending: &PendingGrant,
        cookies: impl IntoIterator<Item = HeaderValue>,
    ) -> Response {
        let token = oauth1::encode(pending.temporary.key.as_bytes());
        let mut response = redirect(&format!("{}/oauth/authorize?oauth_token={token}", self.site.base()));
        for cookie in cookies {
            response.headers_mut().append(SET_COOKIE, cookie);
        }
        response
    }

    fn back_to(&self, address: &str, parameters: &[(&str, &str)]) -> Response {
        redirect(&callback::with_parameters(address, parameters))
    }

    fn nothing_pending(&self) -> Response {
        let (status, text) = match self.token.as_deref() {
            None | Some("") => (
                StatusCode::BAD_REQUEST,
                "This page needs a request of an application. Start from the application.",
            ),
            Some(_) => (
                StatusCode::NOT_FOUND,
                "The request of the application was already decided, or is older than 15 minutes. Go back to the \
                 application and start again.",
            ),
        };
        self.failure(status, "No pending authorization request", text)
    }

    fn rejected_form(&self) -> Response {
        self.failure(
            StatusCode::FORBIDDEN,
            "Form rejected",
            "The form did not come from a page of your session, so nothing was changed. Go back to the \
             application and start again.",
        )
    }

    fn failure(&self, status: StatusCode, title: &str, text: &str) -> Response {
        html(status, &Failure { site: self.site, title, text }, FormTargets::None)
    }
}

/// The purpose that the CSRF field of this page is bound to.
fn purpose(pending: &PendingGrant) -> String {
    format!("authorize {}", pending.temporary.key)
}
