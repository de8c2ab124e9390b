//! Coming in and going out: `/`, `/sign-in`, `/sign-out`.

use super::super::listen::Peer;
use super::super::{Problem, Service, body};
use super::form::{Fields, Sent, browser, come_again, field, is_from_here, not_ours, wrong_password};
use super::{Visitor, both, cookie, sent, shown};
use crate::pages::entry::SignIn;
use crate::pages::{FormTargets, html};
use axum::extract::{Extension, Request, State};
use axum::response::Response;
use axum::routing::{MethodRouter, get, post};
use http::{StatusCode, Uri};
use std::sync::Arc;

pub(in crate::http) fn front_methods() -> MethodRouter<Arc<Service>> {
    shown(get(front))
}

pub(in crate::http) fn sign_in_methods() -> MethodRouter<Arc<Service>> {
    both(get(show).post(submit))
}

pub(in crate::http) fn sign_out_methods() -> MethodRouter<Arc<Service>> {
    sent(post(sign_out))
}

/// The first page is the feed; who is not signed in is asked to on the way.
async fn front(State(service): State<Arc<Service>>) -> Response {
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
    let (head, sent) = request.into_parts();
    if !is_from_here(&head.headers, &service.site) || !body::is_form(&head.headers) {
        return Ok(not_ours(&service.site));
    }
    let fields = Fields::read(sent).await?;
    let (name, then) = (fields.get("username").unwrap_or_default(), destination(fields.get("then")));
    match service
        .authenticator
        .sign_in(&name, &fields.secret("password"), &browser(&head.headers, remote))
        .await
    {
        Ok(cookies) => {
            // What the browser had before counts for nothing, and is not left behind either.
            if let Some(before) = cookie::of(&head.headers) {
                service.authenticator.sign_out(before).await?;
            }
            Ok(service.go_with(&then, cookie::set(&cookies)))
        }
        Err(denied) => {
            let wrong = "Name and password do not fit together. Try again.";
            let (status, text, after) = wrong_password(denied, wrong)?;
            Ok(come_again(service.sign_in_page(status, &then, &name, Some(&text)), after))
        }
    }
}

async fn sign_out(
    State(service): State<Arc<Service>>,
    headers: http::HeaderMap,
    _: Sent,
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

/// Where somebody goes who has signed in: to a page of ours and nowhere else.
fn destination(wanted: Option<String>) -> String {
    let ours = |path: &String| {
        let plain = path.bytes().all(|byte| byte.is_ascii_graphic() && byte != b'\\');
        path.starts_with('/') && !path.starts_with("//") && plain
    };
    wanted.filter(ours).unwrap_or_else(|| "/feed".to_owned())
}

#[cfg(test)]
mod tests {
    use super::destination;

    #[test]
    fn nobody_is_sent_elsewhere() {
        for ours in ["/feed", "/user/alice?cursor=x", "/"] {
            assert_eq!(destination(Some(ours.to_owned())), ours);
        }
        for not in ["", "https://evil.example/", "//evil.example", "/\\evil.example", "/\nx", "feed", "/é"] {
            assert_eq!(destination(Some(not.to_owned())), "/feed", "{not:?}");
        }
        assert_eq!(destination(None), "/feed");
    }
}
