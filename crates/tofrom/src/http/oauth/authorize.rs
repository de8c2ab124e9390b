//! `GET` and `POST /oauth/authorize`: a person signs in, sees what an application asks for, and decides.
//!
//! A page is shown by GET, every form is sent by POST: signing in, deciding, using another account. What a form does
//! needs a field that only this session's pages have; a form of another site is not even looked at.

use crate::auth::Authenticator;
use crate::auth::oauth::{PendingGrant, callback};
use crate::auth::session::SignedIn;
use crate::http::listen::Peer;
use crate::http::pages::form::{
    MAX_PAGE_FORM, browser, field, is_same_origin, password_error, with_retry_after,
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
    let visit = Visit::new(&service, request.headers(), token);
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
    let visit = Visit::new(&service, &head.headers, field(&form, "oauth_token"));
    let done = visit.submit(&form, address).await;
    done.unwrap_or_else(|problem| problem.page(&service.site))
}

/// One request of a browser.
struct Visit<'a> {
    authenticator: &'a Authenticator,
    site: &'a Site,
    headers: &'a HeaderMap,
    /// The temporary token that it is about.
    token: Option<String>,
}

impl<'a> Visit<'a> {
    fn new(service: &'a Service, headers: &'a HeaderMap, token: Option<String>) -> Visit<'a> {
        Visit { authenticator: &service.authenticator, site: &service.site, headers, token }
    }

    async fn show(&self) -> Result<Response, Problem> {
        let Some(asked) = self.asked().await? else { return Ok(self.nothing_to_decide()) };
        Ok(match self.signed_in().await? {
            Some(person) => self.consent(&asked, &person),
            None => self.sign_in_page(StatusCode::OK, &asked, "", None),
        })
    }

    async fn submit(&self, form: &[u8], remote: IpAddr) -> Result<Response, Problem> {
        if !is_same_origin(self.headers, self.site) || !body::is_form(self.headers) {
            return Ok(self.foreign_form());
        }
        let Some(asked) = self.asked().await? else { return Ok(self.nothing_to_decide()) };
        if let Some(name) = field(form, "username") {
            let password = Zeroizing::new(field(form, "password").unwrap_or_default());
            return self.sign_in(&asked, &name, &password, remote).await;
        }
        let Some(person) = self.signed_in().await? else { return Ok(self.to_the_page(&asked, None)) };
        let proof = field(form, "csrf").unwrap_or_default();
        if !person.is_ours(&purpose(&asked), &proof) {
            return Ok(self.foreign_form());
        }
        match field(form, "decision").as_deref() {
            Some("allow") => self.allow(&asked, &person).await,
            Some("deny") => self.deny(&asked).await,
            None if field(form, "switch").is_some() => self.switch(&asked).await,
            _ => Ok(self.failure(
                StatusCode::BAD_REQUEST,
                "Neither yes nor no",
                "Your decision did not arrive as either. Go back and use one of the two buttons.",
            )),
        }
    }

    async fn asked(&self) -> Result<Option<PendingGrant>, Problem> {
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
        asked: &PendingGrant,
        name: &str,
        password: &str,
        remote: IpAddr,
    ) -> Result<Response, Problem> {
        match self.authenticator.sign_in(name, password, &browser(self.headers, remote)).await {
            Ok(cookies) => {
                // What the browser had before counts for nothing, and is not left behind either.
                if let Some(before) = cookie::of(self.headers) {
                    self.authenticator.sign_out(before).await?;
                }
                Ok(self.to_the_page(asked, cookie::set(&cookies)))
            }
            Err(denied) => {
                let wrong = "Name and password do not fit together. Try again.";
                let (status, text, after) = password_error(denied, wrong)?;
                Ok(with_retry_after(self.sign_in_page(status, asked, name, Some(&text)), after))
            }
        }
    }

    async fn allow(&self, asked: &PendingGrant, person: &SignedIn) -> Result<Response, Problem> {
        let key = &asked.temporary.key;
        let Some(verifier) = self.authenticator.allow(key, &person.account).await? else {
            return Ok(self.nothing_to_decide());
        };
        Ok(match &asked.temporary.callback {
            Some(callback) => self.back_to(callback, &[("oauth_token", key), ("oauth_verifier", &verifier)]),
            None => {
                let application = &asked.application.name;
                let page = Verifier { site: self.site, application, verifier: &verifier };
                html(StatusCode::OK, &page, FormTargets::None)
            }
        })
    }

    async fn deny(&self, asked: &PendingGrant) -> Result<Response, Problem> {
        let key = &asked.temporary.key;
        if !self.authenticator.refuse(key).await? {
            return Ok(self.nothing_to_decide());
        }
        Ok(match &asked.temporary.callback {
            Some(callback) => {
                self.back_to(callback, &[("oauth_token", key), ("oauth_problem", "user_refused")])
            }
            None => {
                let page = Declined { site: self.site, application: &asked.application.name };
                html(StatusCode::OK, &page, FormTargets::None)
            }
        })
    }

    async fn switch(&self, asked: &PendingGrant) -> Result<Response, Problem> {
        if let Some(session) = cookie::of(self.headers) {
            self.authenticator.sign_out(session).await?;
        }
        Ok(self.to_the_page(asked, cookie::clear()))
    }

    fn consent(&self, asked: &PendingGrant, person: &SignedIn) -> Response {
        let callback = asked.temporary.callback.as_deref();
        let (host, source) = (callback.and_then(callback::host), callback.and_then(callback::policy_source));
        let page = Consent {
            site: self.site,
            application: &asked.application.name,
            returns_to: host.as_deref(),
            account: &person.account,
            scopes: asked.temporary.scopes,
            token: &asked.temporary.key,
            csrf: &person.csrf(&purpose(asked)),
        };
        html(StatusCode::OK, &page, source.as_deref().map_or(FormTargets::Own, FormTargets::OwnThen))
    }

    fn sign_in_page(
        &self,
        status: StatusCode,
        asked: &PendingGrant,
        name: &str,
        complaint: Option<&str>,
    ) -> Response {
        let (application, token) = (&asked.application.name, &asked.temporary.key);
        let page = SignIn { site: self.site, application, token, username: name, complaint };
        html(status, &page, FormTargets::Own)
    }

    /// The page again, now that something has changed: reloading it sends no form twice.
    fn to_the_page(&self, asked: &PendingGrant, cookies: impl IntoIterator<Item = HeaderValue>) -> Response {
        let token = oauth1::encode(asked.temporary.key.as_bytes());
        let mut response = redirect(&format!("{}/oauth/authorize?oauth_token={token}", self.site.base()));
        for cookie in cookies {
            response.headers_mut().append(SET_COOKIE, cookie);
        }
        response
    }

    fn back_to(&self, address: &str, parameters: &[(&str, &str)]) -> Response {
        redirect(&callback::with_parameters(address, parameters))
    }

    fn nothing_to_decide(&self) -> Response {
        let (status, text) = match self.token.as_deref() {
            None | Some("") => {
                (StatusCode::BAD_REQUEST, "This page needs the question of an application. Start from there.")
            }
            Some(_) => (
                StatusCode::NOT_FOUND,
                "The question of the application was answered already, or is older than 15 minutes. Go back to the \
                 application and start again.",
            ),
        };
        self.failure(status, "There is nothing to decide here", text)
    }

    fn foreign_form(&self) -> Response {
        self.failure(
            StatusCode::FORBIDDEN,
            "This did not come from our page",
            "What was sent does not belong to a page that we showed you, so nothing was done. Go back to the \
             application and start again.",
        )
    }

    fn failure(&self, status: StatusCode, title: &str, text: &str) -> Response {
        html(status, &Failure { site: self.site, title, text }, FormTargets::None)
    }
}

/// What the field in the forms of this page is made for.
fn purpose(asked: &PendingGrant) -> String {
    format!("authorize {}", asked.temporary.key)
}
