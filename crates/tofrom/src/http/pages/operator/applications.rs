//! The list of all applications.

use super::super::super::{Problem, Service};
use super::{Operator, OperatorForm};
use crate::pages::operator::{ApplicationRow, ApplicationsPage};
use crate::pages::{Policy, html};
use axum::extract::{Path, State};
use axum::response::Response;
use http::{StatusCode, Uri};
use std::sync::Arc;

pub(super) async fn show(
    State(service): State<Arc<Service>>,
    Operator(person): Operator,
    uri: Uri,
) -> Result<Response, Problem> {
    let all = service.store.applications().await?;
    let live: Vec<_> = all.iter().filter(|application| application.removed.is_none()).collect();
    let owners = service.accounts.get_many(live.iter().filter_map(|application| application.owner)).await?;
    let now = service.clock.now();
    let row = |application: &&model::Application| {
        let owner = application.owner.and_then(|uid| owners.get(&uid)).map(|owner| owner.name.to_string());
        ApplicationRow::of(application, owner, now)
    };
    let page = ApplicationsPage {
        site: &service.site,
        frame: service.operator_frame(&person, &uri),
        applications: live.iter().map(row).collect(),
    };
    Ok(html(StatusCode::OK, &page, Policy::SAME_ORIGIN))
}

pub(super) async fn remove(
    State(service): State<Arc<Service>>,
    Path(key): Path<String>,
    _: OperatorForm,
) -> Result<Response, Problem> {
    if !service.store.remove_application(&key, service.clock.now()).await? {
        return Err(Problem::not_found());
    }
    Ok(service.go("/operator/applications?done=application"))
}
