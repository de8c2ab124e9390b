//! `/settings`: what a person decides about the account. Each page shows one thing and has the forms that change it.

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
use super::{both, sent, shown};
use crate::auth::session::SignedIn;
use crate::pages::frame::{Frame, Here};
use axum::routing::{MethodRouter, get, post};
use http::Uri;
use std::sync::Arc;

/// What each address of the settings takes.
macro_rules! pages {
    ($($name:ident = $methods:expr;)*) => {
        $(pub(in crate::http) fn $name() -> MethodRouter<Arc<Service>> { $methods })*
    };
}

pages! {
    profile_methods = shown(get(profile::show));
    change_profile_methods = sent(post(profile::change));
    picture_methods = sent(post(picture::change));
    keys_methods = both(get(keys::show).post(keys::add));
    revoke_key_methods = sent(post(keys::revoke));
    applications_methods = both(get(applications::show).post(applications::register));
    renew_secret_methods = sent(post(applications::renew));
    remove_application_methods = sent(post(applications::remove));
    end_grant_methods = sent(post(applications::end_grant));
    people_methods = both(get(people::show).post(people::follow));
    sources_methods = both(get(sources::show).post(sources::connect));
    preview_source_methods = sent(post(sources::preview));
    check_source_methods = sent(post(sources::check));
    pause_source_methods = sent(post(sources::pause));
    resume_source_methods = sent(post(sources::resume));
    remove_source_methods = sent(post(sources::remove));
    opml_methods = both(get(opml::export).post(opml::import));
    security_methods = shown(get(security::show));
    change_password_methods = sent(post(security::change_password));
    end_session_methods = sent(post(security::end_session));
    data_methods = shown(get(data::show));
    export_methods = shown(get(data::export));
    delete_account_methods = sent(post(data::delete));
}

impl Service {
    /// The frame of a page of settings.
    fn settings_frame<'a>(&'a self, person: &'a SignedIn, uri: &Uri) -> Frame<'a> {
        Frame::new(&self.site, person, Here::Settings, uri)
    }
}
