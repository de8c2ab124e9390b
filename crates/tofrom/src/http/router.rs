//! The map of all addresses.

use super::envelope::{self, envelope};
use super::{Service, authenticated, collection, docs, whoami};
use axum::Router;
use axum::middleware::from_fn_with_state;
use axum::routing::MethodRouter;
use std::sync::Arc;

/// Who may come to an address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    /// Only callers that prove who they are.
    Credential,
    /// Everybody.
    Open,
}

/// One line of the map.
pub struct Route {
    /// The address below the base address.
    pub path: &'static str,
    /// Who may come to it.
    pub access: Access,
    handler: fn() -> MethodRouter<Arc<Service>>,
}

/// Every address that the service answers at.
pub const ROUTES: &[Route] = &[
    // Programs.
    Route {
        path: "/200909/activity/{user}/{collection}",
        access: Access::Credential,
        handler: collection::methods,
    },
    Route { path: "/200909/whoami", access: Access::Credential, handler: whoami::methods },
    // People who met a problem or a category.
    Route { path: "/docs/problems/{kind}", access: Access::Open, handler: docs::problem_methods },
    Route { path: "/docs/categories", access: Access::Open, handler: docs::category_methods },
];

/// The service behind its addresses.
pub fn router(service: Arc<Service>) -> Router {
    let on_the_map = |access| {
        let lines = ROUTES.iter().filter(move |route| route.access == access);
        lines.fold(Router::new(), |router, route| router.route(route.path, (route.handler)()))
    };
    let guarded = on_the_map(Access::Credential)
        // What is not on the map below the version is nobody's business either.
        .route("/200909", axum::routing::any(envelope::not_found))
        .route("/200909/", axum::routing::any(envelope::not_found))
        .route("/200909/{*rest}", axum::routing::any(envelope::not_found))
        .layer(from_fn_with_state(Arc::clone(&service), authenticated::authenticated));
    let all = guarded.merge(on_the_map(Access::Open)).fallback(envelope::not_found);
    let prefix = service.site.prefix().to_owned();
    let all =
        if prefix.is_empty() { all } else { Router::new().nest(&prefix, all).fallback(envelope::not_found) };
    all.layer(from_fn_with_state(Arc::clone(&service), envelope)).with_state(service)
}
