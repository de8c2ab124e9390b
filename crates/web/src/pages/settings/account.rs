//! The password and the active sessions, data export and account deletion.

use super::settings_frame;
use crate::accounts::Accounts;
use crate::pages::form::{VerifiedForm, browser, password_error, throttled_message, with_retry_after};
use crate::pages::{Person, cookie, go, go_with};
use crate::problem::Problem;
use crate::respond::Caching;
use crate::service::page_part;
use crate::site::Site;
use crate::views::security::{EventView, SecurityPage, SessionView};
use crate::views::settings::DataPage;
use crate::views::{Policy, html};
use auth::audit::Event;
use auth::session::{SignedIn, public_id};
use auth::{Auth, AuthError, PasswordChangeError};
use axum::body::Body;
use axum::extract::{Extension, Path, State};
use axum::response::{IntoResponse, Response};
use domain::export;
use http::header::{CONTENT_DISPOSITION, CONTENT_TYPE};
use http::{HeaderMap, StatusCode, Uri};
use listen::Peer;
use model::Clock;
use std::sync::Arc;
use store::Store;

page_part! {
    /// The parts for pages of the password and of the whole account.
    AccountPages {
        site: Site,
        store: Arc<dyn Store>,
        clock: Clock,
        accounts: Accounts,
        auth: Arc<Auth>,
    }
}

/// Events of the audit log on the page.
const MAX_EVENTS: usize = 20;

pub(super) async fn show_security(
    State(pages): State<AccountPages>,
    Person(person): Person,
    uri: Uri,
) -> Result<Response, Problem> {
    pages.security_page(&person, &uri, StatusCode::OK, None).await
}

pub(super) async fn change_password(
    State(pages): State<AccountPages>,
    Extension(Peer(remote)): Extension<Peer>,
    headers: HeaderMap,
    uri: Uri,
    VerifiedForm { person, fields }: VerifiedForm,
) -> Result<Response, Problem> {
    let (old, new, again) = (fields.secret("old"), fields.secret("new"), fields.secret("again"));
    if *new != *again {
        let complaint = Some("The new passwords do not match.");
        return pages.security_page(&person, &uri, StatusCode::UNPROCESSABLE_ENTITY, complaint).await;
    }
    let (revoke, browser) = (fields.get("revoke").is_some(), browser(&headers, remote));
    let changed = pages.auth.password_change.change(&person, &old, &new, revoke, &browser).await;
    let (status, complaint) = match changed {
        Ok(cookies) => {
            return Ok(go_with(&pages.site, "/settings/security?done=password", cookie::set(&cookies)));
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
    pages.security_page(&person, &uri, status, Some(&complaint)).await
}

pub(super) async fn end_session(
    State(pages): State<AccountPages>,
    Path(id): Path<String>,
    VerifiedForm { person, .. }: VerifiedForm,
) -> Result<Response, Problem> {
    if !pages.auth.sessions.end_of(&person.account, &id).await? {
        return Err(Problem::not_found());
    }
    pages.auth.audit.record(Event::own("session-ended", &person.account)).await;
    Ok(go(&pages.site, "/settings/security?done=ended"))
}

impl AccountPages {
    async fn security_page(
        &self,
        person: &SignedIn,
        uri: &Uri,
        status: StatusCode,
        complaint: Option<&str>,
    ) -> Result<Response, Problem> {
        let (this, now) = (person.session_id(), self.clock.now());
        let sessions = self.auth.sessions.of(&person.account).await?;
        let events = self.store.audit_of(person.account.uid, MAX_EVENTS).await?;
        let view = |session| {
            let id = public_id(session);
            SessionView::of(session, id == this, id, now)
        };
        let page = SecurityPage {
            site: &self.site,
            frame: settings_frame(&self.site, person, uri),
            complaint,
            factor: self.auth.second_factors.of(person.account.uid).await?,
            sessions: sessions.iter().map(view).collect(),
            events: events.iter().map(|record| EventView::of(record, now)).collect(),
        };
        Ok(html(status, &page, Policy::SAME_ORIGIN))
    }
}

pub(super) async fn show_data(
    State(pages): State<AccountPages>,
    Person(person): Person,
    uri: Uri,
) -> Response {
    pages.data_page(&person, &uri, StatusCode::OK, None)
}

/// The account's activities, in the format that `tofrom import` and the batch endpoint accept.
pub(super) async fn export(State(pages): State<AccountPages>, Person(person): Person) -> Response {
    pages.auth.audit.record(Event::own("export", &person.account)).await;
    let lines = export::lines(Arc::clone(&pages.store), person.account.uid);
    let name = format!("attachment; filename=\"{}.ndjson\"", person.account.name);
    let headers = [(CONTENT_TYPE, "application/x-ndjson".to_owned()), (CONTENT_DISPOSITION, name)];
    (headers, [Caching::Never.header()], Body::from_stream(lines)).into_response()
}

/// Deletes the account. Asks for the password, so that an unattended browser is not enough.
pub(super) async fn delete(
    State(pages): State<AccountPages>,
    Extension(Peer(remote)): Extension<Peer>,
    uri: Uri,
    VerifiedForm { person, fields }: VerifiedForm,
) -> Result<Response, Problem> {
    let password = fields.secret("password");
    if let Err(denied) = pages.auth.sign_in.check_password(&person, &password, remote).await {
        let wrong = "Incorrect password. Your account was not deleted.";
        let (status, text, after) = password_error(denied, wrong)?;
        return Ok(with_retry_after(pages.data_page(&person, &uri, status, Some(&text)), after));
    }
    pages.accounts.remove(person.account.uid).await?;
    pages.auth.audit.record(Event::own("account-removed", &person.account)).await;
    Ok(go_with(&pages.site, "/sign-in", cookie::clear()))
}

impl AccountPages {
    fn data_page(
        &self,
        person: &SignedIn,
        uri: &Uri,
        status: StatusCode,
        complaint: Option<&str>,
    ) -> Response {
        let frame = settings_frame(&self.site, person, uri);
        html(status, &DataPage { site: &self.site, frame, complaint }, Policy::SAME_ORIGIN)
    }
}
