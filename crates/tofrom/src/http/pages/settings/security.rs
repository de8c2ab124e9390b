//! The password and the active sessions.

use super::super::super::listen::Peer;
use super::super::super::{Problem, Service};
use super::super::form::{VerifiedForm, browser, throttled_message};
use super::super::{Person, cookie};
use crate::auth::session::{SignedIn, public_id};
use crate::auth::{AuthError, PasswordChangeError};
use crate::pages::settings::{SecurityPage, SessionView};
use crate::pages::{Policy, html};
use axum::extract::{Extension, Path, State};
use axum::response::Response;
use http::{HeaderMap, StatusCode, Uri};
use std::sync::Arc;

pub(super) async fn show(
    State(service): State<Arc<Service>>,
    Person(person): Person,
    uri: Uri,
) -> Result<Response, Problem> {
    service.security_page(&person, &uri, StatusCode::OK, None).await
}

pub(super) async fn change_password(
    State(service): State<Arc<Service>>,
    Extension(Peer(remote)): Extension<Peer>,
    headers: HeaderMap,
    uri: Uri,
    VerifiedForm { person, fields }: VerifiedForm,
) -> Result<Response, Problem> {
    let (old, new, again) = (fields.secret("old"), fields.secret("new"), fields.secret("again"));
    if *new != *again {
        let complaint = Some("The new passwords do not match.");
        return service.security_page(&person, &uri, StatusCode::UNPROCESSABLE_ENTITY, complaint).await;
    }
    let (revoke, browser) = (fields.get("revoke").is_some(), browser(&headers, remote));
    let changed = service.authenticator.change_password(&person, &old, &new, revoke, &browser).await;
    let (status, complaint) = match changed {
        Ok(cookies) => {
            return Ok(service.go_with("/settings/security?done=password", cookie::set(&cookies)));
        }
        Err(PasswordChangeError::Wrong) => {
            (StatusCode::FORBIDDEN, "Incorrect current password. Your password was not changed.".to_owned())
        }
        Err(PasswordChangeError::Weak(why)) => (StatusCode::UNPROCESSABLE_ENTITY, why.to_string()),
        Err(PasswordChangeError::AuthError(AuthError::Throttled { retry_after_seconds })) => {
            (StatusCode::TOO_MANY_REQUESTS, throttled_message(retry_after_seconds))
        }
        Err(PasswordChangeError::AuthError(other)) => return Err(other.into()),
    };
    service.security_page(&person, &uri, status, Some(&complaint)).await
}

pub(super) async fn end_session(
    State(service): State<Arc<Service>>,
    Path(id): Path<String>,
    VerifiedForm { person, .. }: VerifiedForm,
) -> Result<Response, Problem> {
    if !service.authenticator.end_session_of(&person.account, &id).await? {
        return Err(Problem::not_found());
    }
    Ok(service.go("/settings/security?done=ended"))
}

impl Service {
    async fn security_page(
        &self,
        person: &SignedIn,
        uri: &Uri,
        status: StatusCode,
        complaint: Option<&str>,
    ) -> Result<Response, Problem> {
        let (this, now) = (person.session_id(), self.clock.now());
        let sessions = self.authenticator.sessions_of(&person.account).await?;
        let view = |session| {
            let id = public_id(session);
            SessionView::of(session, id == this, id, now)
        };
        let page = SecurityPage {
            site: &self.site,
            frame: self.settings_frame(person, uri),
            complaint,
            sessions: sessions.iter().map(view).collect(),
        };
        Ok(html(status, &page, Policy::SAME_ORIGIN))
    }
}
