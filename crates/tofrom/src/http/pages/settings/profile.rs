//! Names and profile visibility.

use super::super::super::users::profile::Changes;
use super::super::super::{Problem, Service};
use super::super::Person;
use super::super::form::VerifiedForm;
use crate::accounts::person_name;
use crate::pages::settings::ProfilePage;
use crate::pages::{Policy, html};
use axum::extract::State;
use axum::response::Response;
use http::{StatusCode, Uri};
use std::sync::Arc;

pub(super) async fn show(State(service): State<Arc<Service>>, Person(person): Person, uri: Uri) -> Response {
    let page = ProfilePage {
        site: &service.site,
        frame: service.settings_frame(&person, &uri),
        account: &person.account,
        complaint: None,
    };
    html(StatusCode::OK, &page, Policy::SAME_ORIGIN)
}

pub(super) async fn change(
    State(service): State<Arc<Service>>,
    uri: Uri,
    VerifiedForm { person, fields }: VerifiedForm,
) -> Result<Response, Problem> {
    let name = |field: &str| person_name(&fields.get(field).unwrap_or_default());
    let changes = name("GivenName").and_then(|given_name| {
        let public = Some(fields.get("Public").as_deref() == Some("true"));
        Ok(Changes { given_name: Some(given_name), family_name: Some(name("FamilyName")?), public })
    });
    let changes = match changes {
        Ok(changes) => changes,
        Err(refused) => {
            let page = ProfilePage {
                site: &service.site,
                frame: service.settings_frame(&person, &uri),
                account: &person.account,
                complaint: Some(&refused.to_string()),
            };
            return Ok(html(StatusCode::UNPROCESSABLE_ENTITY, &page, Policy::SAME_ORIGIN));
        }
    };
    service.change(person.account.uid, &changes).await?;
    Ok(service.go("/settings?done=saved"))
}
