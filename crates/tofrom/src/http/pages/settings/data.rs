//! Data export and account deletion.

use super::super::super::listen::Peer;
use super::super::super::{Problem, Service, run_to_completion};
use super::super::form::{VerifiedForm, password_error, with_retry_after};
use super::super::{Person, cookie};
use crate::auth::session::SignedIn;
use crate::export;
use crate::pages::settings::DataPage;
use crate::pages::{Policy, html};
use axum::body::Body;
use axum::extract::{Extension, State};
use axum::response::{IntoResponse, Response};
use http::header::{CACHE_CONTROL, CONTENT_DISPOSITION, CONTENT_TYPE};
use http::{StatusCode, Uri};
use std::sync::Arc;

pub(super) async fn show(State(service): State<Arc<Service>>, Person(person): Person, uri: Uri) -> Response {
    service.data_page(&person, &uri, StatusCode::OK, None)
}

/// The account's activities, in the format that `tofrom import` and the batch endpoint accept.
pub(super) async fn export(State(service): State<Arc<Service>>, Person(person): Person) -> Response {
    let lines = export::lines(Arc::clone(&service.store), person.account.uid);
    let name = format!("attachment; filename=\"{}.ndjson\"", person.account.name);
    let headers = [
        (CONTENT_TYPE, "application/x-ndjson".to_owned()),
        (CONTENT_DISPOSITION, name),
        (CACHE_CONTROL, "no-store".to_owned()),
    ];
    (headers, Body::from_stream(lines)).into_response()
}

/// Deletes the account. Asks for the password, so that an unattended browser is not enough.
pub(super) async fn delete(
    State(service): State<Arc<Service>>,
    Extension(Peer(remote)): Extension<Peer>,
    uri: Uri,
    VerifiedForm { person, fields }: VerifiedForm,
) -> Result<Response, Problem> {
    let password = fields.secret("password");
    if let Err(denied) = service.authenticator.check_password(&person, &password, remote).await {
        let wrong = "Incorrect password. Your account was not deleted.";
        let (status, text, after) = password_error(denied, wrong)?;
        return Ok(with_retry_after(service.data_page(&person, &uri, status, Some(&text)), after));
    }
    let uid = person.account.uid;
    let removing = Arc::clone(&service);
    run_to_completion(async move { removing.remove_account(uid).await }).await??;
    Ok(service.go_with("/sign-in", cookie::clear()))
}

impl Service {
    fn data_page(
        &self,
        person: &SignedIn,
        uri: &Uri,
        status: StatusCode,
        complaint: Option<&str>,
    ) -> Response {
        let frame = self.settings_frame(person, uri);
        html(status, &DataPage { site: &self.site, frame, complaint }, Policy::SAME_ORIGIN)
    }
}
