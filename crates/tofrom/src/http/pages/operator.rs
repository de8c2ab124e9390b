//! `/operator`: health, accounts and applications. Accounts that are not operators get 404.

mod accounts;
mod applications;
mod overview;

use super::super::{Problem, Service};
use super::{Person, form, get_and_post, get_only, post_only};
use crate::auth::session::SignedIn;
use crate::pages::frame::{Frame, Section};
use axum::extract::{FromRequest, FromRequestParts, Request};
use axum::response::{IntoResponse, Response};
use axum::routing::{MethodRouter, get, post};
use http::Uri;
use http::request::Parts;
use std::sync::Arc;

pub(in crate::http) fn overview_methods() -> MethodRouter<Arc<Service>> {
    get_only(get(overview::show))
}

pub(in crate::http) fn replay_methods() -> MethodRouter<Arc<Service>> {
    post_only(post(overview::replay))
}

pub(in crate::http) fn accounts_methods() -> MethodRouter<Arc<Service>> {
    get_and_post(get(accounts::show).post(accounts::create))
}

pub(in crate::http) fn invite_methods() -> MethodRouter<Arc<Service>> {
    post_only(post(accounts::invite))
}

pub(in crate::http) fn reset_methods() -> MethodRouter<Arc<Service>> {
    post_only(post(accounts::reset))
}

pub(in crate::http) fn disable_methods() -> MethodRouter<Arc<Service>> {
    post_only(post(accounts::disable))
}

pub(in crate::http) fn enable_methods() -> MethodRouter<Arc<Service>> {
    post_only(post(accounts::enable))
}

pub(in crate::http) fn applications_methods() -> MethodRouter<Arc<Service>> {
    get_only(get(applications::show))
}

pub(in crate::http) fn remove_application_methods() -> MethodRouter<Arc<Service>> {
    post_only(post(applications::remove))
}

/// Extracts the signed-in operator.
struct Operator(SignedIn);

impl FromRequestParts<Arc<Service>> for Operator {
    type Rejection = Response;

    async fn from_request_parts(parts: &mut Parts, service: &Arc<Service>) -> Result<Operator, Response> {
        let Person(person) = Person::from_request_parts(parts, service).await?;
        if person.account.operator { Ok(Operator(person)) } else { Err(Problem::not_found().into_response()) }
    }
}

/// A verified form from an operator.
struct OperatorForm(form::VerifiedForm);

impl FromRequest<Arc<Service>> for OperatorForm {
    type Rejection = Response;

    async fn from_request(request: Request, service: &Arc<Service>) -> Result<OperatorForm, Response> {
        let form = form::VerifiedForm::from_request(request, service).await?;
        if form.person.account.operator {
            Ok(OperatorForm(form))
        } else {
            Err(Problem::not_found().into_response())
        }
    }
}

impl Service {
    fn operator_frame<'a>(&'a self, person: &'a SignedIn, uri: &Uri) -> Frame<'a> {
        Frame::new(&self.site, person, Section::Operator, uri)
    }
}
