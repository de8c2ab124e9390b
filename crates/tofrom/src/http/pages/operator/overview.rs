//! Health: store, delivery log, dead letters and plots of the last hours.

use super::super::super::{Problem, Service};
use super::{Operator, OperatorForm};
use crate::fanout::described;
use crate::pages::operator::{LetterView, OverviewPage};
use crate::pages::plot::Plot;
use crate::pages::{Policy, html};
use crate::telemetry::admin::Health;
use axum::extract::{Path, State};
use axum::response::Response;
use http::{StatusCode, Uri};
use std::sync::Arc;

/// Maximum dead letters in the list.
const MAX_LISTED: usize = 50;

pub(super) async fn show(
    State(service): State<Arc<Service>>,
    Operator(person): Operator,
    uri: Uri,
) -> Result<Response, Problem> {
    let health = Health::of(service.store.as_ref(), &service.clock).await;
    // The page is shown even if the store fails: the health section reports the error.
    let letters = service.store.dead_letters(None, MAX_LISTED).await.unwrap_or_default();
    let now = service.clock.now();
    let page = OverviewPage {
        site: &service.site,
        frame: service.operator_frame(&person, &uri),
        complaint: health.unready_reason(),
        health: &health,
        letters: letters.iter().map(|letter| LetterView::of(letter, described(&letter.work), now)).collect(),
        plots: Plot::all(&service.history.samples()),
    };
    Ok(html(StatusCode::OK, &page, Policy::SAME_ORIGIN))
}

pub(super) async fn replay(
    State(service): State<Arc<Service>>,
    Path(number): Path<u64>,
    _: OperatorForm,
) -> Result<Response, Problem> {
    if !service.store.replay(number).await? {
        return Err(Problem::not_found());
    }
    service.hub.wrote();
    Ok(service.go("/operator?done=replayed"))
}
