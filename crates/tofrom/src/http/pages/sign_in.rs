//! Signing in and out: `/`, `/sign-in`, `/sign-out`.

use super::super::body::is_form;
use super::super::listen::Peer;
use super::super::{Problem, Service};
use super::form::{
    Fields, INCORRECT_SIGN_IN, VerifiedForm, browser, field, foreign_form, is_same_origin, password_error,
    with_retry_after,
};
use super::{Visitor, cookie, get_and_post, get_only, post_only};
use crate::pages::sign_in::SignIn;
use crate::pages::{FormTargets, html};
use axum::extract::{Extension, Request, State};
use axum::response::Response;
use axum::routing::{MethodRouter, get, post};
use http::{StatusCode, Uri};
use std::sync::Arc;

pub(in crate::http) fn home_methods() -> MethodRouter<Arc<Service>> {
    get_only(get(home))
}

pub(in crate::http) fn sign_in_methods() -> MethodRouter<Arc<Service>> {
    get_and_post(get(show).post(submit))
}

pub(in crate::http) fn sign_out_methods() -> MethodRouter<Arc<Service>> {
    post_only(post(sign_out))
}

/// The home page is the feed. It redirects visitors to sign in.
async fn home(State(service): State<Arc<Service>>) -> Response {
    service.go("/feed")
}

async fn show(State(service): State<Arc<Service>>, Visitor(person): Visitor, uri: Uri) -> Response {
    let then = destination(field(uri.query().unwrap_or_default().as_bytes(), "then"));
    match person {
        Some(_) => service.go(&then),
        None => service.sign_in_page(StatusCode::OK, &then, "", None),
    }
}

async fn submit(
    State(service): State<Arc<Service>>,
    Extension(Peer(remote)): Extension<Peer>,
    request: Request,
) -> Result<Response, Problem> {
    let (head, body) = request.into_parts();
    if !is_same_origin(&head.headers, &service.site) || !is_form(&head.headers) {
        return Ok(foreign_form(&service.site));
    }
    let fields = Fields::read(body).await?;
    let (name, then) = (fields.get("username").unwrap_or_default(), destination(fields.get("then")));
    match service
        .authenticator
        .sign_in(&name, &fields.secret("password"), &browser(&head.headers, remote))
        .await
    {
        Ok(cookies) => {
            // A session that the browser had before is ended, not left behind.
            if let Some(previous) = cookie::of(&head.headers) {
                service.authenticator.sign_out(previous).await?;
            }
            Ok(service.go_with(&then, cookie::set(&cookies)))
        }
        Err(denied) => {
            let (status, text, after) = password_error(denied, INCORRECT_SIGN_IN)?;
            Ok(with_retry_after(service.sign_in_page(status, &then, &name, Some(&text)), after))
        }
    }
}

async fn sign_out(
    State(service): State<Arc<Service>>,
    headers: http::HeaderMap,
    _: VerifiedForm,
) -> Result<Response, Problem> {
    if let Some(session) = cookie::of(&headers) {
        service.authenticator.sign_out(session).await?;
    }
    Ok(service.go_with("/sign-in", cookie::clear()))
}

impl Service {
    fn sign_in_page(
        &self,
        status: StatusCode,
        then: &str,
        username: &str,
        complaint: Option<&str>,
    ) -> Response {
        let open = self.authenticator.is_registration_open();
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
