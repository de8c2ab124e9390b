//! `/settings/second-factor`: sets up, changes and removes the second factor. All of it needs a fresh sign-in.

use super::settings_frame;
use crate::pages::form::FreshForm;
use crate::pages::go;
use crate::problem::Problem;
use crate::service::page_part;
use crate::site::Site;
use crate::views::security::{SecondFactorPage, SetupView};
use crate::views::{Policy, html};
use auth::Auth;
use auth::audit::Event;
use auth::second_factor::Setup;
use auth::session::SignedIn;
use axum::extract::State;
use axum::response::Response;
use http::{StatusCode, Uri};
use std::sync::Arc;
use zeroize::Zeroizing;

page_part! {
    /// The parts for pages of the second factor.
    FactorPages {
        site: Site,
        auth: Arc<Auth>,
    }
}

pub(super) async fn begin(
    State(pages): State<FactorPages>,
    uri: Uri,
    FreshForm { person, .. }: FreshForm,
) -> Result<Response, Problem> {
    let setup = pages.auth.second_factors.begin(&person.account, pages.issuer())?;
    Ok(pages.setup_page(&person, &uri, StatusCode::OK, &setup, None))
}

pub(super) async fn confirm(
    State(pages): State<FactorPages>,
    uri: Uri,
    FreshForm { person, fields }: FreshForm,
) -> Result<Response, Problem> {
    let (sealed, code) = (fields.get("setup").unwrap_or_default(), fields.secret("code"));
    match pages.auth.second_factors.confirm(&person, &sealed, &code).await? {
        Some(codes) => {
            pages.auth.audit.record(Event::own("second-factor-added", &person.account)).await;
            Ok(pages.codes_page(&person, &uri, &codes))
        }
        None => match pages.auth.second_factors.resume(&person.account, pages.issuer(), &sealed)? {
            Some(setup) => {
                let complaint = Some("Incorrect code. Check the clock of your device, and try again.");
                Ok(pages.setup_page(&person, &uri, StatusCode::FORBIDDEN, &setup, complaint))
            }
            None => Ok(go(&pages.site, "/settings/security")),
        },
    }
}

pub(super) async fn renew_codes(
    State(pages): State<FactorPages>,
    uri: Uri,
    FreshForm { person, .. }: FreshForm,
) -> Result<Response, Problem> {
    let codes = pages.auth.second_factors.renew_codes(person.account.uid).await?;
    let codes = codes.ok_or_else(Problem::not_found)?;
    pages.auth.audit.record(Event::own("recovery-codes-renewed", &person.account)).await;
    Ok(pages.codes_page(&person, &uri, &codes))
}

pub(super) async fn refuse_basic(
    State(pages): State<FactorPages>,
    FreshForm { person, fields }: FreshForm,
) -> Result<Response, Problem> {
    let refuses = fields.get("refuse").is_some();
    if !pages.auth.second_factors.set_refuses_basic(person.account.uid, refuses).await? {
        return Err(Problem::not_found());
    }
    let about = if refuses { "password refused on the API" } else { "password accepted on the API" };
    pages.auth.audit.record(Event::own("second-factor-changed", &person.account).about(about)).await;
    Ok(go(&pages.site, "/settings/security?done=saved"))
}

pub(super) async fn remove(
    State(pages): State<FactorPages>,
    FreshForm { person, .. }: FreshForm,
) -> Result<Response, Problem> {
    if !pages.auth.second_factors.remove(person.account.uid).await? {
        return Err(Problem::not_found());
    }
    pages.auth.audit.record(Event::own("second-factor-removed", &person.account)).await;
    Ok(go(&pages.site, "/settings/security?done=factor-off"))
}

impl FactorPages {
    /// The name under which authenticator apps list the account: the host.
    fn issuer(&self) -> &str {
        let origin = self.site.origin();
        origin.split_once("://").map_or(origin, |(_, host)| host)
    }

    fn setup_page(
        &self,
        person: &SignedIn,
        uri: &Uri,
        status: StatusCode,
        setup: &Setup,
        complaint: Option<&str>,
    ) -> Response {
        let frame = settings_frame(&self.site, person, uri);
        let setup = Some(SetupView::of(setup));
        html(
            status,
            &SecondFactorPage { site: &self.site, frame, complaint, setup, codes: &[] },
            Policy::SAME_ORIGIN,
        )
    }

    fn codes_page(&self, person: &SignedIn, uri: &Uri, codes: &[Zeroizing<String>]) -> Response {
        let frame = settings_frame(&self.site, person, uri);
        let page = SecondFactorPage { site: &self.site, frame, complaint: None, setup: None, codes };
        html(StatusCode::OK, &page, Policy::SAME_ORIGIN)
    }
}
