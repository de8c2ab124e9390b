//! All routes.

use crate::access::Access;
use crate::middleware::{self, Entry, MiddlewareState, handle_request};
use crate::pages::{operator, settings};
use crate::service::Service;
use crate::users::{edges, hooks, keys, relations, sources};
use crate::{activity, authenticated, collection, docs, files, oauth, pages, unread, users, writing};
use axum::Router;
use axum::middleware::from_fn_with_state;
use axum::routing::MethodRouter;
use listen::Responder;

/// A route.
pub struct Route {
    /// The path below the base address.
    pub path: &'static str,
    /// The credential that it requires.
    pub access: Access,
    handler: Handler,
}

type Handler = fn() -> MethodRouter<Service>;

const fn api(path: &'static str, handler: Handler) -> Route {
    Route { path, access: Access::Credential, handler }
}

const fn application(path: &'static str, handler: Handler) -> Route {
    Route { path, access: Access::Application, handler }
}

const fn page(path: &'static str, handler: Handler) -> Route {
    Route { path, access: Access::Page, handler }
}

const fn page_or_api(path: &'static str, handler: Handler) -> Route {
    Route { path, access: Access::PageOrCredential, handler }
}

const fn open(path: &'static str, handler: Handler) -> Route {
    Route { path, access: Access::Open, handler }
}

/// All routes of the server.
pub const ROUTES: &[Route] = &[
    // API.
    api("/200909/activity/{user}/{collection}", collection::methods),
    api("/200909/activity/{user}/from/{service}/{source}", writing::item_methods),
    api("/200909/activity/{user}/to/{activity}", writing::removal_methods),
    // One route for each collection: the routes below `to` and `from` would hide one with a placeholder.
    api("/200909/activity/{user}/to/seen", unread::seen_methods),
    api("/200909/activity/{user}/from/seen", unread::seen_methods),
    api("/200909/activity/{user}/tofrom/seen", unread::seen_methods),
    api("/200909/activity/{user}/to/unread", unread::unread_methods),
    api("/200909/activity/{user}/from/unread", unread::unread_methods),
    api("/200909/activity/{user}/tofrom/unread", unread::unread_methods),
    api("/200909/user/{user}", users::account_methods),
    api("/200909/user/{user}/following", edges::following_methods),
    api("/200909/user/{user}/followers", edges::follower_methods),
    api("/200909/user/{user}/following/{other}", edges::edge_methods),
    api("/200909/user/{user}/followers/{other}", relations::follower_methods),
    api("/200909/user/{user}/blocked", relations::blocked_list_methods),
    api("/200909/user/{user}/blocked/{other}", relations::blocked_methods),
    api("/200909/user/{user}/muted", relations::muted_list_methods),
    api("/200909/user/{user}/muted/{other}", relations::muted_methods),
    api("/200909/user/{user}/keys", keys::all_methods),
    api("/200909/user/{user}/keys/{id}", keys::one_methods),
    api("/200909/user/{user}/hooks", hooks::all_methods),
    api("/200909/user/{user}/hooks/{name}", hooks::one_methods),
    api("/200909/user/{user}/hooks/{name}/resume", hooks::resume_methods),
    api("/200909/user/{user}/hooks/{name}/rotate", hooks::rotate_methods),
    api("/200909/user/{user}/hooks/{name}/test", hooks::test_methods),
    api("/200909/user/{user}/sources", sources::all_methods),
    api("/200909/user/{user}/sources/{name}", sources::one_methods),
    api("/200909/whoami", users::whoami_methods),
    api("/200909/whoami/token", users::token_methods),
    // OAuth: applications request access, and users approve.
    application("/oauth/request_token", oauth::request_token_methods),
    page("/oauth/authorize", oauth::authorize_methods),
    application("/oauth/access_token", oauth::access_token_methods),
    // API and pages.
    page_or_api("/activity/{activity}", activity::methods),
    // Pages.
    page("/", pages::home_methods),
    page("/sign-in", pages::sign_in_methods),
    page("/sign-in/code", pages::code_methods),
    page("/sign-in/again", pages::again_methods),
    page("/sign-out", pages::sign_out_methods),
    page("/compose", pages::compose_methods),
    page("/feed", pages::feed_methods),
    page("/feed/live", pages::live_methods),
    page("/feed/raw", pages::raw_methods),
    page("/feed/seen", pages::seen_methods),
    page("/feed/unread", pages::unread_methods),
    page("/activity/{activity}/remove", activity::remove_methods),
    page("/activity/{activity}/delete", activity::delete_methods),
    page("/search", pages::search_methods),
    page("/people", pages::people_methods),
    page("/user/{name}", pages::person_methods),
    page("/user/{name}/follow", pages::follow_methods),
    page("/user/{name}/unfollow", pages::unfollow_methods),
    page("/user/{name}/block", pages::block_methods),
    page("/user/{name}/unblock", pages::unblock_methods),
    page("/user/{name}/mute", pages::mute_methods),
    page("/user/{name}/unmute", pages::unmute_methods),
    page("/user/{name}/remove-follower", pages::remove_follower_methods),
    page("/join", pages::join_methods),
    page("/join/{ticket}", pages::invited_methods),
    page("/reset/{ticket}", pages::reset_methods),
    page("/settings", settings::profile_methods),
    page("/settings/profile", settings::change_profile_methods),
    page("/settings/picture", settings::picture_methods),
    page("/settings/keys", settings::keys_methods),
    page("/settings/keys/{id}/revoke", settings::revoke_key_methods),
    page("/settings/applications", settings::applications_methods),
    page("/settings/applications/{key}/secret", settings::renew_secret_methods),
    page("/settings/applications/{key}/remove", settings::remove_application_methods),
    page("/settings/grants/{token}/end", settings::end_grant_methods),
    page("/settings/hooks", settings::hooks_methods),
    page("/settings/hooks/{name}/resume", settings::resume_hook_methods),
    page("/settings/hooks/{name}/rotate", settings::rotate_hook_methods),
    page("/settings/hooks/{name}/test", settings::test_hook_methods),
    page("/settings/hooks/{name}/remove", settings::remove_hook_methods),
    page("/settings/people", settings::people_methods),
    page("/settings/sources", settings::sources_methods),
    page("/settings/sources/preview", settings::preview_source_methods),
    page("/settings/sources/opml", settings::opml_methods),
    page("/settings/sources/{name}/check", settings::check_source_methods),
    page("/settings/sources/{name}/pause", settings::pause_source_methods),
    page("/settings/sources/{name}/resume", settings::resume_source_methods),
    page("/settings/sources/{name}/remove", settings::remove_source_methods),
    page("/settings/security", settings::security_methods),
    page("/settings/password", settings::change_password_methods),
    page("/settings/second-factor", settings::begin_factor_methods),
    page("/settings/second-factor/confirm", settings::confirm_factor_methods),
    page("/settings/second-factor/codes", settings::recovery_code_methods),
    page("/settings/second-factor/basic", settings::refuse_basic_methods),
    page("/settings/second-factor/remove", settings::remove_factor_methods),
    page("/settings/sessions/{id}/end", settings::end_session_methods),
    page("/settings/data", settings::data_methods),
    page("/settings/export", settings::export_methods),
    page("/settings/delete", settings::delete_account_methods),
    // Operator pages.
    page("/operator", operator::overview_methods),
    page("/operator/deadletters/{number}/replay", operator::replay_methods),
    page("/operator/accounts", operator::accounts_methods),
    page("/operator/invite", operator::invite_methods),
    page("/operator/accounts/{name}/reset", operator::reset_methods),
    page("/operator/accounts/{name}/disable", operator::disable_methods),
    page("/operator/accounts/{name}/enable", operator::enable_methods),
    page("/operator/applications", operator::applications_methods),
    page("/operator/storage", operator::storage_methods),
    page("/operator/applications/{key}/remove", operator::remove_application_methods),
    page("/operator/audit", operator::audit_methods),
    // Notifications of WebSub hubs.
    open("/websub/{subscription}", sources::websub_methods),
    // Documentation.
    open("/openapi.json", docs::openapi_methods),
    open("/docs", docs::reference_methods),
    page("/docs/try", docs::try_methods),
    open("/docs/problems/{kind}", docs::problem_methods),
    open("/docs/categories", docs::category_methods),
    // Pictures and assets of pages.
    open("/user/{user}/avatar/{size}", files::avatar_methods),
    open("/media/{width}/{mac}/{address}", files::media_methods),
    open("/assets/{asset}", files::asset_methods),
    open("/favicon.ico", files::favicon_methods),
    open("/robots.txt", files::robots_methods),
    open("/manifest.webmanifest", files::manifest_methods),
];

/// All routes and middleware.
pub fn router(service: Service) -> impl Responder {
    let routes_with = |chosen: fn(Access) -> bool| {
        let lines = ROUTES.iter().filter(move |route| chosen(route.access));
        lines.fold(Router::new(), |router, route| router.route(route.path, (route.handler)()))
    };
    let guarded = routes_with(|access| access == Access::Credential)
        // Unknown paths below the version also require a credential.
        .route("/200909", axum::routing::any(middleware::not_found))
        .route("/200909/", axum::routing::any(middleware::not_found))
        .route("/200909/{*rest}", axum::routing::any(middleware::not_found))
        .layer(from_fn_with_state(service.clone(), authenticated::authenticated));
    let pages = routes_with(|access| access == Access::Page)
        .layer(from_fn_with_state(service.clone(), pages::problems_as_pages));
    let both = routes_with(|access| access == Access::PageOrCredential)
        .layer(from_fn_with_state(service.clone(), activity::authenticate_api_or_page));
    let open = routes_with(|access| access == Access::Open)
        .layer(from_fn_with_state(service.clone(), middleware::problems_for_browsers));
    let applications = routes_with(|access| access == Access::Application);
    let all =
        guarded.merge(pages).merge(both).merge(open).merge(applications).fallback(middleware::not_found_page);
    let prefix = service.site.prefix().to_owned();
    let all = if prefix.is_empty() {
        all
    } else {
        Router::new().nest(&prefix, all).fallback(middleware::not_found_page)
    };
    let state = MiddlewareState { service: service.clone(), route_of: known_route };
    let router = all.layer(from_fn_with_state(state, handle_request)).with_state(service.clone());
    Entry { service, router }
}

/// The route's path as a static string, for use as a metrics label.
fn known_route(path: &str) -> &'static str {
    ROUTES.iter().map(|route| route.path).find(|known| path.ends_with(known)).unwrap_or("-")
}
