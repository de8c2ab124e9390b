//! Nobody passes without saying who they are.

use super::intake::Intake;
use super::listen::Peer;
use super::{Problem, Service, body};
use crate::auth::oauth::Refusal;
use crate::auth::{AuthError, AuthRequest, Principal, credentials_of, is_secret_in_headers};
use axum::body::Body;
use axum::extract::{Extension, OriginalUri, Request, State};
use axum::middleware::Next;
use axum::response::Response;
use http::Uri;
use std::net::IpAddr;
use std::sync::Arc;

/// Who asks, as an extractor: there behind [`authenticated`], and nowhere else.
pub(super) type Caller = Extension<Arc<Principal>>;

/// The largest body that any address takes; one with a hash is read as a whole before anybody acts on it.
const MAX_HASHED_BODY: usize = 8 << 20;

/// Lets a request pass that proves who sent it, and tells its handler who that is. A password or a key is checked before
/// anything of the body is read; a signature may be in a form, and covers it.
pub(super) async fn authenticated(
    State(service): State<Arc<Service>>,
    Extension(Peer(address)): Extension<Peer>,
    request: Request,
    next: Next,
) -> Result<Response, Problem> {
    let (mut request, authenticated) = if is_secret_in_headers(request.headers()) {
        let authenticated =
            service.authenticator.authenticate(&asking(&service, &request, None, address)).await?;
        charge(&request, &authenticated.principal);
        let (request, form) = body::with_form(request).await?;
        // A form may carry a second credential.
        credentials_of(&asking(&service, &request, form.as_deref(), address))?;
        (request, authenticated)
    } else {
        let (request, form) = body::with_form(request).await?;
        let asking = asking(&service, &request, form.as_deref(), address);
        let authenticated = service.authenticator.authenticate(&asking).await?;
        charge(&request, &authenticated.principal);
        (request, authenticated)
    };
    if let Some(signed) = authenticated.signed.filter(|signed| signed.has_body_hash()) {
        let (head, sent) = request.into_parts();
        let whole = body::read(sent, MAX_HASHED_BODY).await?;
        signed.check_body(&whole).map_err(|_| AuthError::from(Refusal::BodyChanged))?;
        request = Request::from_parts(head, Body::from(whole));
    }
    let principal = Arc::new(authenticated.principal);
    request.extensions_mut().insert(Arc::clone(&principal));
    let mut response = next.run(request).await;
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

/// A request as the authenticator wants to know it. The address is the public one, not what the Host header says.
pub(super) fn asking<'a>(
    service: &'a Service,
    request: &'a Request,
    form: Option<&'a [u8]>,
    remote: IpAddr,
) -> AuthRequest<'a> {
    // The router takes the prefix off the address; signatures are over the whole of it.
    let uri: &Uri = request.extensions().get::<OriginalUri>().map_or(request.uri(), |original| &original.0);
    AuthRequest {
        method: request.method().as_str(),
        origin: service.site.origin(),
        path: uri.path(),
        query: uri.query().unwrap_or_default().as_bytes(),
        headers: request.headers(),
        form,
        remote,
    }
}
