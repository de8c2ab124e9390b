//! `/settings`: each page shows one part of the settings, with the forms that change it.

mod applications;
mod data;
mod keys;
mod opml;
mod people;
mod picture;
mod profile;
mod security;
mod sources;

use super::super::Service;
use super::{get_and_post, get_only, post_only};
use crate::auth::session::SignedIn;
use crate::pages::frame::{Frame, Section};
use axum::routing::{MethodRouter, get, post};
use http::Uri;
use std::sync::Arc;

/// The routes of the settings.
macro_rules! pages {
    ($($name:ident = $methods:expr;)*) => {
        $(pub(in crate::http) fn $name() -> MethodRouter<Arc<Service>> { $methods })*
    };
}

pages! {
    profile_methods = get_only(get(profile::show));
    change_profile_methods = post_only(post(profile::change));
    picture_methods = post_only(post(picture::change));
    keys_methods = get_and_post(get(keys::show).post(keys::add));
    revoke_key_methods = post_only(post(keys::revoke));
    applications_methods = get_and_post(get(applications::show).post(applications::register));
    renew_secret_methods = post_only(post(applications::renew));
    remove_application_methods = post_only(post(applications::remove));
    end_grant_methods = post_only(post(applications::end_grant));
    people_methods = get_and_post(get(people::show).post(people::follow));
    sources_methods = get_and_post(get(sources::show).post(sources::connect));
    preview_source_methods = post_only(post(sources::preview));
    check_source_methods = post_only(post(sources::check));
    pause_source_methods = post_only(post(sources::pause));
    resume_source_methods = post_only(post(sources::resume));
    remove_source_methods = post_only(post(sources::remove));
    opml_methods = get_and_post(get(opml::export).post(opml::import));
    security_methods = get_only(get(security::show));
    change_password_methods = post_only(post(security::change_password));
    end_session_methods = post_only(post(security::end_session));
    data_methods = get_only(get(data::show));
    export_methods = get_only(get(data::export));
    delete_account_methods = post_only(post(data::delete));
}

impl Service {
    /// The frame of a settings page.
    fn settings_frame<'a>(&'a self, person: &'a SignedIn, uri: &Uri) -> Frame<'a> {
        Frame::new(&self.site, person, Section::Settings, uri)
    }
}
