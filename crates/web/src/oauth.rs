//! OAuth 1.0a over HTTP.
//!
//! `/oauth/request_token` and `/oauth/access_token` are the steps of an application, with POST, or with GET as in OAuth
//! Core 1.0. HEAD is rejected: it would issue a token that the application never sees.
//!
//! `GET` and `POST /oauth/authorize`: between the steps a user signs in, sees what an application requests, and decides.
//!
//! GET shows a page, POST takes its forms: sign-in, decision, switch of account. Deciding requires a CSRF field that only
//! pages of this session have. Forms of other sites are rejected.

use crate::authenticated::auth_request;
use crate::body;
use crate::pages::form::{
    INCORRECT_SIGN_IN, MAX_PAGE_FORM, browser, field, is_same_origin, password_error, with_retry_after,
};
use crate::pages::{code_page, cookie, problem_page, redirect};
use crate::problem::Problem;
use crate::respond::Caching;
use crate::service::Service;
use crate::site::Site;
use crate::views::sign_in::{Consent, ConsentSignIn, Declined, Verifier};
use crate::views::{Failure, FormTargets, html};
use auth::audit::Event;
use auth::oauth::{Issued, PendingGrant, callback};
use auth::session::SignedIn;
use auth::{Auth, SignInStep};
use axum::body::{Body, Bytes};
use axum::extract::{Extension, Request, State};
use axum::handler::Handler;
use axum::response::{IntoResponse, Response};
use axum::routing::{MethodRouter, get};
use http::header::{CONTENT_TYPE, SET_COOKIE};
use http::{HeaderMap, HeaderValue, StatusCode};
use listen::Peer;
use std::net::IpAddr;
use std::sync::Arc;
use zeroize::Zeroizing;

pub(crate) fn authorize_methods() -> MethodRouter<Service> {
    get(show).post(submit).fallback(|| async { Problem::method_not_allowed("GET, HEAD, POST") })
}

pub(crate) fn request_token_methods() -> MethodRouter<Service> {
    step(request_token)
}

pub(crate) fn access_token_methods() -> MethodRouter<Service> {
    step(access_token)
}

fn step<T: 'static>(handler: impl Handler<T, Service>) -> MethodRouter<Service> {
    let refuse = || async { Problem::method_not_allowed("GET, POST") };
    get(handler.clone()).post(handler).head(refuse).fallback(refuse)
}

/// The request without its body, and the whole body, which the signature covers.
async fn whole_request(request: Request) -> Result<(Request, Bytes), Problem> {
    let (head, sent) = request.into_parts();
    let whole = body::read(sent, body::MAX_FORM).await?;
    Ok((Request::from_parts(head, Body::empty()), whole))
}

async fn request_token(
    State(site): State<Site>,
    State(auth): State<Arc<Auth>>,
    Extension(Peer(address)): Extension<Peer>,
    request: Request,
) -> Result<Response, Problem> {
    let (request, whole) = whole_request(request).await?;
    let form = body::is_form(request.headers()).then_some(&*whole);
    let auth_request = auth_request(&site, &request, form, address);
    let issued = auth.oauth.request_token(&auth_request, &whole).await?;
    Ok(form_response(&issued, "&oauth_callback_confirmed=true"))
}

async fn access_token(
    State(site): State<Site>,
    State(auth): State<Arc<Auth>>,
    Extension(Peer(address)): Extension<Peer>,
    request: Request,
) -> Result<Response, Problem> {
    let (request, whole) = whole_request(request).await?;
    let form = body::is_form(request.headers()).then_some(&*whole);
    let auth_request = auth_request(&site, &request, form, address);
    let issued = auth.oauth.exchange(&auth_request, &whole).await?;
    Ok(form_response(&issued, ""))
}

/// The token and its secret, which are shown only once. Both have only characters that need no form encoding.
fn form_response(issued: &Issued, suffix: &str) -> Response {
    let body = format!("oauth_token={}&oauth_token_secret={}{suffix}", issued.key, issued.secret.as_str());
    ([(CONTENT_TYPE, "application/x-www-form-urlencoded")], [Caching::Never.header()], body).into_response()
}

async fn show(State(site): State<Site>, State(auth): State<Arc<Auth>>, request: Request) -> Response {
    let token = field(request.uri().query().unwrap_or_default().as_bytes(), "oauth_token");
    let visit = AuthorizeRequest::new(&auth, &site, request.headers(), token);
    let shown = visit.show().await;
    shown.unwrap_or_else(|problem| problem_page(&problem, &site))
}

async fn submit(
    State(site): State<Site>,
    State(auth): State<Arc<Auth>>,
    Extension(Peer(address)): Extension<Peer>,
    request: Request,
) -> Response {
    let (head, sent) = request.into_parts();
    let form = match body::read(sent, MAX_PAGE_FORM).await {
        Ok(form) => Zeroizing::new(form.to_vec()),
        Err(problem) => return problem_page(&problem, &site),
    };
    let visit = AuthorizeRequest::new(&auth, &site, &head.headers, field(&form, "oauth_token"));
    let done = visit.submit(&form, address).await;
    done.unwrap_or_else(|problem| problem_page(&problem, &site))
}

/// A request of a browser to this page.
struct AuthorizeRequest<'a> {
    auth: &'a Auth,
    site: &'a Site,
    headers: &'a HeaderMap,
    /// The request token to decide about.
    token: Option<String>,
}

impl<'a> AuthorizeRequest<'a> {
    fn new(
        auth: &'a Auth,
        site: &'a Site,
        headers: &'a HeaderMap,
        token: Option<String>,
    ) -> AuthorizeRequest<'a> {
        AuthorizeRequest { auth, site, headers, token }
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
            Some(token) => Ok(self.auth.oauth.pending_grant(token).await?),
            None => Ok(None),
        }
    }

    async fn signed_in(&self) -> Result<Option<SignedIn>, Problem> {
        match cookie::of(self.headers) {
            Some(cookie) => Ok(self.auth.sessions.open(cookie).await?),
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
        match self.auth.sign_in.with_password(name, password, &browser(self.headers, remote)).await {
            Ok(SignInStep::Code(code)) => {
                let token = auth::oauth::encode(pending.temporary.key.as_bytes());
                let then = format!("/oauth/authorize?oauth_token={token}");
                Ok(code_page(self.site, StatusCode::OK, &then, &code, None))
            }
            Ok(SignInStep::Done(_, cookies)) => {
                // An earlier session of the browser is ended and its cookie replaced.
                if let Some(before) = cookie::of(self.headers) {
                    self.auth.sessions.end(before).await?;
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
        let Some(verifier) = self.auth.oauth.allow(key, &person.account).await? else {
            return Ok(self.nothing_pending());
        };
        let event = Event::own("application-allowed", &person.account).about(&pending.application.name);
        self.auth.audit.record(event).await;
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
        if !self.auth.oauth.refuse(key).await? {
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
            self.auth.sessions.end(session).await?;
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
        let page = ConsentSignIn { site: self.site, application, token, username: name, complaint };
        html(status, &page, FormTargets::Own)
    }

    /// Redirects to this page, so that reloading it does not send a form again.
    fn redirect_to_page(
        &self,
        pending: &PendingGrant,
        cookies: impl IntoIterator<Item = HeaderValue>,
    ) -> Response {
        let token = auth::oauth::encode(pending.temporary.key.as_bytes());
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
        Failure::new(self.site, None, title, text).respond(status)
    }
}

/// The purpose that the CSRF field of this page is bound to.
fn purpose(pending: &PendingGrant) -> String {
    format!("authorize {}", pending.temporary.key)
}
