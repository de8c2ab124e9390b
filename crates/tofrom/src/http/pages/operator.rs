//! `/operator`: how the service is, and who has an account. To everybody else there is nothing here.

mod accounts;
mod applications;
mod overview;

use super::super::{Problem, Service};
use super::{Person, both, form, sent, shown};
use crate::auth::session::SignedIn;
use crate::pages::frame::{Frame, Here};
use axum::extract::{FromRequest, FromRequestParts, Request};
use axum::response::{IntoResponse, Response};
use axum::routing::{MethodRouter, get, post};
use http::Uri;
use http::request::Parts;
use std::sync::Arc;

pub(in crate::http) fn overview_methods() -> MethodRouter<Arc<Service>> {
    shown(get(overview::show))
}

pub(in crate::http) fn replay_methods() -> MethodRouter<Arc<Service>> {
    sent(post(overview::replay))
}

pub(in crate::http) fn accounts_methods() -> MethodRouter<Arc<Service>> {
    both(get(accounts::show).post(accounts::create))
}

pub(in crate::http) fn invite_methods() -> MethodRouter<Arc<Service>> {
    sent(post(accounts::invite))
}

pub(in crate::http) fn reset_methods() -> MethodRouter<Arc<Service>> {
    sent(post(accounts::reset))
}

pub(in crate::http) fn disable_methods() -> MethodRouter<Arc<Service>> {
    sent(post(accounts::disable))
}

pub(in crate::http) fn enable_methods() -> MethodRouter<Arc<Service>> {
    sent(post(accounts::enable))
}

pub(in crate::http) fn applications_methods() -> MethodRouter<Arc<Service>> {
    shown(get(applications::show))
}

pub(in crate::http) fn remove_application_methods() -> MethodRouter<Arc<Service>> {
    sent(post(applications::remove))
}

/// An operator who is signed in.
struct Operator(SignedIn);

impl FromRequestParts<Arc<Service>> for Operator {
    type Rejection = Response;

    async fn from_request_parts(parts: &mut Parts, service: &Arc<Service>) -> Result<Operator, Response> {
        let Person(person) = Person::from_request_parts(parts, service).await?;
        if person.account.operator { Ok(Operator(person)) } else { Err(Problem::not_found().into_response()) }
    }
}

/// A form that an operator sent.
struct Ordered(form::Sent);

impl FromRequest<Arc<Service>> for Ordered {
    type Rejection = Response;

    async fn from_request(request: Request, service: &Arc<Service>) -> Result<Ordered, Response> {
        let sent = form::Sent::from_request(request, service).await?;
        if sent.person.account.operator {
            Ok(Ordered(sent))
        } else {
            Err(Problem::not_found().into_response())
        }
    }
}

impl Service {
    fn operator_frame<'a>(&'a self, person: &'a SignedIn, uri: &Uri) -> Frame<'a> {
        Frame::new(&self.site, person, Here::Operator, uri)
    }
}
