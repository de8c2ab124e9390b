//! The map of all addresses.

use super::envelope::{self, envelope};
use super::oauth::{authorize, steps};
use super::people::{operator, settings};
use super::users::{account, edge, listing};
use super::writing::{item, removal};
use super::{Service, assets, authenticated, avatar, collection, docs, people, whoami};
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
    // People.
    Route { path: "/", access: Access::Page, handler: people::front_methods },
    Route { path: "/sign-in", access: Access::Page, handler: people::sign_in_methods },
    Route { path: "/sign-out", access: Access::Page, handler: people::sign_out_methods },
    Route { path: "/feed", access: Access::Page, handler: people::feed_methods },
    Route { path: "/feed/live", access: Access::Page, handler: people::live_methods },
    Route { path: "/feed/raw", access: Access::Page, handler: people::raw_methods },
    Route { path: "/activity/{id}", access: Access::Page, handler: people::activity_methods },
    Route { path: "/activity/{id}/remove", access: Access::Page, handler: people::remove_methods },
    Route { path: "/activity/{id}/delete", access: Access::Page, handler: people::delete_methods },
    Route { path: "/user/{name}", access: Access::Page, handler: people::person_methods },
    Route { path: "/user/{name}/follow", access: Access::Page, handler: people::follow_methods },
    Route { path: "/user/{name}/unfollow", access: Access::Page, handler: people::unfollow_methods },
    Route { path: "/join", access: Access::Page, handler: people::join_methods },
    Route { path: "/join/{ticket}", access: Access::Page, handler: people::invited_methods },
    Route { path: "/reset/{ticket}", access: Access::Page, handler: people::reset_methods },
    Route { path: "/settings", access: Access::Page, handler: settings::profile_methods },
    Route { path: "/settings/profile", access: Access::Page, handler: settings::change_profile_methods },
    Route { path: "/settings/picture", access: Access::Page, handler: settings::picture_methods },
    Route { path: "/settings/keys", access: Access::Page, handler: settings::keys_methods },
    Route { path: "/settings/keys/{id}/revoke", access: Access::Page, handler: settings::revoke_key_methods },
    Route { path: "/settings/applications", access: Access::Page, handler: settings::applications_methods },
    Route {
        path: "/settings/applications/{key}/secret",
        access: Access::Page,
        handler: settings::renew_secret_methods,
    },
    Route {
        path: "/settings/applications/{key}/remove",
        access: Access::Page,
        handler: settings::remove_application_methods,
    },
    Route {
        path: "/settings/grants/{token}/end",
        access: Access::Page,
        handler: settings::end_grant_methods,
    },
    Route { path: "/settings/people", access: Access::Page, handler: settings::people_methods },
    Route { path: "/settings/security", access: Access::Page, handler: settings::security_methods },
    Route { path: "/settings/password", access: Access::Page, handler: settings::change_password_methods },
    Route {
        path: "/settings/sessions/{id}/end",
        access: Access::Page,
        handler: settings::end_session_methods,
    },
    Route { path: "/settings/data", access: Access::Page, handler: settings::data_methods },
    Route { path: "/settings/export", access: Access::Page, handler: settings::export_methods },
    Route { path: "/settings/delete", access: Access::Page, handler: settings::delete_account_methods },
    // Operators.
    Route { path: "/operator", access: Access::Page, handler: operator::overview_methods },
    Route {
        path: "/operator/deadletters/{number}/replay",
        access: Access::Page,
        handler: operator::replay_methods,
    },
    Route { path: "/operator/accounts", access: Access::Page, handler: operator::accounts_methods },
    Route { path: "/operator/invite", access: Access::Page, handler: operator::invite_methods },
    Route { path: "/operator/accounts/{name}/reset", access: Access::Page, handler: operator::reset_methods },
    Route {
        path: "/operator/accounts/{name}/disable",
        access: Access::Page,
        handler: operator::disable_methods,
    },
    Route {
        path: "/operator/accounts/{name}/enable",
        access: Access::Page,
        handler: operator::enable_methods,
    },
    Route { path: "/operator/applications", access: Access::Page, handler: operator::applications_methods },
    Route {
        path: "/operator/applications/{key}/remove",
        access: Access::Page,
        handler: operator::remove_application_methods,
    },
    // People who met a problem or a category.
    Route { path: "/docs/problems/{kind}", access: Access::Open, handler: docs::problem_methods },
    Route { path: "/docs/categories", access: Access::Open, handler: docs::category_methods },
    // Browsers, for what pages refer to.
    Route { path: "/user/{user}/avatar/{size}", access: Access::Open, handler: avatar::methods },
    Route { path: "/assets/{asset}", access: Access::Open, handler: assets::methods },
];

/// The service behind its addresses.
pub fn router(service: Arc<Service>) -> Router {
    let on_the_map = |chosen: fn(Access) -> bool| {
        let lines = ROUTES.iter().filter(move |route| chosen(route.access));
        lines.fold(Router::new(), |router, route| router.route(route.path, (route.handler)()))
    };
    let guarded = on_the_map(|access| access == Access::Credential)
        // What is not on the map below the version is nobody's business either.
        .route("/200909", axum::routing::any(envelope::not_found))
        .route("/200909/", axum::routing::any(envelope::not_found))
        .route("/200909/{*rest}", axum::routing::any(envelope::not_found))
        .layer(from_fn_with_state(Arc::clone(&service), authenticated::authenticated));
    let pages = on_the_map(|access| access == Access::Page)
        .layer(from_fn_with_state(Arc::clone(&service), people::problems_as_pages));
    let open = on_the_map(|access| matches!(access, Access::Application | Access::Open));
    let all = guarded.merge(pages).merge(open).fallback(envelope::not_found);
    let prefix = service.site.prefix().to_owned();
    let all =
        if prefix.is_empty() { all } else { Router::new().nest(&prefix, all).fallback(envelope::not_found) };
    all.layer(from_fn_with_state(Arc::clone(&service), envelope)).with_state(service)
}
