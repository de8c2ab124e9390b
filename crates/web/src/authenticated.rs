//! Middleware that authenticates API requests.

use crate::body;
use crate::intake::Intake;
use crate::problem::Problem;
use crate::service::Service;
use crate::site::Site;
use auth::oauth::Refusal;
use auth::{AuthError, AuthRequest, Principal, credentials_of, is_secret_in_headers};
use axum::body::Body;
use axum::extract::{Extension, OriginalUri, Request, State};
use axum::middleware::Next;
use axum::response::Response;
use http::Uri;
use listen::Peer;
use std::net::IpAddr;
use std::sync::Arc;

/// The maximum size of a body with a hash, which is verified before the handler runs: the largest body of any route.
const MAX_HASHED_BODY: usize = 8 << 20;

/// Authenticates the request and adds the principal to it. A password or a key is checked before the body is read. A
/// signature may be in a form, and covers it.
pub(crate) async fn authenticated(
    State(service): State<Service>,
    Extension(Peer(address)): Extension<Peer>,
    request: Request,
    next: Next,
) -> Result<Response, Problem> {
    let (mut request, authenticated) = if is_secret_in_headers(request.headers()) {
        let authenticated = service
            .auth
            .authenticator
            .authenticate(&auth_request(&service.site, &request, None, address))
            .await?;
        charge(&request, &authenticated.principal);
        let (request, form) = body::with_form(request).await?;
        // A form may carry a second credential.
        credentials_of(&auth_request(&service.site, &request, form.as_deref(), address))?;
        (request, authenticated)
    } else {
        let (request, form) = body::with_form(request).await?;
        let auth_request = auth_request(&service.site, &request, form.as_deref(), address);
        let authenticated = service.auth.authenticator.authenticate(&auth_request).await?;
        charge(&request, &authenticated.principal);
        (request, authenticated)
    };
    let remaining = service.requests.take(&authenticated.principal.account)?;
    if let Some(signed) = authenticated.signed.filter(|signed| signed.has_body_hash()) {
        let (head, sent) = request.into_parts();
        let whole = body::read(sent, MAX_HASHED_BODY).await?;
        signed.check_body(&whole).map_err(|_| AuthError::from(Refusal::BodyChanged))?;
        request = Request::from_parts(head, Body::from(whole));
    }
    begin_work(&request)?;
    let principal = Arc::new(authenticated.principal);
    request.extensions_mut().insert(Arc::clone(&principal));
    let mut response = next.run(request).await;
    if let Some(remaining) = remaining {
        remaining.add_to(response.headers_mut());
    }
    // For the log.
    response.extensions_mut().insert(principal);
    Ok(response)
}

/// Counts the request's body against the share of its sender.
fn charge(request: &Request, principal: &Principal) {
    if let Some(intake) = request.extensions().get::<Arc<Intake>>() {
        intake.charge(principal.account.uid);
    }
}

/// Counts the request as one in flight from now on. It did not while its password waited to be hashed.
fn begin_work(request: &Request) -> Result<(), Problem> {
    request.extensions().get::<Arc<Intake>>().map_or(Ok(()), |intake| intake.begin_work())
}

/// The request as the authenticator sees it, with the public address instead of the Host header.
pub(crate) fn auth_request<'a>(
    site: &'a Site,
    request: &'a Request,
    form: Option<&'a [u8]>,
    remote: IpAddr,
) -> AuthRequest<'a> {
    // The router strips the prefix from the path, but signatures cover the full path.
    let uri: &Uri = request.extensions().get::<OriginalUri>().map_or(request.uri(), |original| &original.0);
    AuthRequest {
        method: request.method().as_str(),
        origin: site.origin(),
        path: uri.path(),
        query: uri.query().unwrap_or_default().as_bytes(),
        headers: request.headers(),
        form,
        remote,
    }
}
