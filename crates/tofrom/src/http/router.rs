//! The map of all addresses.

use super::envelope::{self, envelope};
use super::oauth::{authorize, steps};
use super::users::{account, edge, listing};
use super::writing::{item, removal};
use super::{Service, assets, authenticated, collection, docs, whoami};
use axum::Router;
use axum::middleware::from_fn_with_state;
use axum::routing::MethodRouter;
use std::sync::Arc;

/// Who may come to an address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    /// Only callers that prove who they are.
    Credential,
    /// Only applications that sign, and only to send something.
    Application,
    /// People with a browser; what they may do there, the page finds out.
    Page,
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
    Route {
        path: "/200909/activity/{user}/from/{service}/{source}",
        access: Access::Credential,
        handler: item::methods,
    },
    Route {
        path: "/200909/activity/{user}/to/{activity}",
        access: Access::Credential,
        handler: removal::methods,
    },
    Route { path: "/200909/user/{user}", access: Access::Credential, handler: account::methods },
    Route { path: "/200909/user/{user}/following", access: Access::Credential, handler: listing::methods },
    Route { path: "/200909/user/{user}/followers", access: Access::Credential, handler: listing::methods },
    Route {
        path: "/200909/user/{user}/following/{other}",
        access: Access::Credential,
        handler: edge::methods,
    },
    Route { path: "/200909/whoami", access: Access::Credential, handler: whoami::methods },
    Route { path: "/200909/whoami/token", access: Access::Credential, handler: whoami::token_methods },
    // Applications that ask for access, and the people whom they ask.
    Route {
        path: "/oauth/request_token",
        access: Access::Application,
        handler: steps::request_token_methods,
    },
    Route { path: "/oauth/authorize", access: Access::Page, handler: authorize::methods },
    Route { path: "/oauth/access_token", access: Access::Application, handler: steps::access_token_methods },
    // People who met a problem or a category.
    Route { path: "/docs/problems/{kind}", access: Access::Open, handler: docs::problem_methods },
    Route { path: "/docs/categories", access: Access::Open, handler: docs::category_methods },
    // Browsers, for what pages refer to.
    Route { path: "/assets/{asset}", access: Access::Open, handler: assets::methods },
];

/// The service behind its addresses.
pub fn router(service: Arc<Service>) -> Router {
    let on_the_map = |guarded| {
        let lines = ROUTES.iter().filter(move |route| (route.access == Access::Credential) == guarded);
        lines.fold(Router::new(), |router, route| router.route(route.path, (route.handler)()))
    };
    let guarded = on_the_map(true)
        // What is not on the map below the version is nobody's business either.
        .route("/200909", axum::routing::any(envelope::not_found))
        .route("/200909/", axum::routing::any(envelope::not_found))
        .route("/200909/{*rest}", axum::routing::any(envelope::not_found))
        .layer(from_fn_with_state(Arc::clone(&service), authenticated::authenticated));
    let all = guarded.merge(on_the_map(false)).fallback(envelope::not_found);
    let prefix = service.site.prefix().to_owned();
    let all =
        if prefix.is_empty() { all } else { Router::new().nest(&prefix, all).fallback(envelope::not_found) };
    all.layer(from_fn_with_state(Arc::clone(&service), envelope)).with_state(service)
}
