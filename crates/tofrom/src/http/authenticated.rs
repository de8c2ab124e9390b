//! Nobody passes without saying who they are.

use super::listen::Peer;
use super::{Problem, Service};
use crate::auth::Principal;
use axum::extract::{Extension, Request, State};
use axum::middleware::Next;
use axum::response::Response;
use std::sync::Arc;

/// Who asks, as an extractor: there behind [`authenticated`], and nowhere else.
pub(super) type Caller = Extension<Arc<Principal>>;

/// Lets a request pass that proves who sent it, and tells its handler who that is.
pub(super) async fn authenticated(
    State(service): State<Arc<Service>>,
    Extension(Peer(address)): Extension<Peer>,
    mut request: Request,
    next: Next,
) -> Result<Response, Problem> {
    let principal = Arc::new(service.authenticator.authenticate(request.headers(), address).await?);
    request.extensions_mut().insert(Arc::clone(&principal));
    let mut response = next.run(request).await;
    // For the log.
    response.extensions_mut().insert(principal);
    Ok(response)
}
