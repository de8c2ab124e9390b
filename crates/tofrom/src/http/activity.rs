//! `/activity/{activity}`, the `ActivityUrl`: one address for browsers and API clients. A browser gets a page, an API
//! client gets the activity in the negotiated format.

use super::authenticated::{auth_request, authenticated};
use super::collection::percent_decode;
use super::listen::Peer;
use super::negotiate::Accept;
use super::pages::{self, problems_as_pages};
use super::writing::parameters::Parameters;
use super::{Problem, Service, body};
use crate::auth::{AuthError, Principal, credentials_of, is_secret_in_headers};
use axum::extract::{Extension, Request, State};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use axum::routing::{MethodRouter, get};
use http::HeaderValue;
use http::header::VARY;
use model::{Account, Activity, ActivityId, Format, Reader, belongs, may_see};
use std::sync::Arc;

pub(super) fn methods() -> MethodRouter<Arc<Service>> {
    get(show).fallback(|| async { Problem::method_not_allowed("GET, HEAD") })
}

/// Authenticates API clients and serves pages to browsers. A request is an API request if it has a credential or a
/// `format`, or does not prefer HTML.
pub(super) async fn authenticate_api_or_page(
    State(service): State<Arc<Service>>,
    Extension(peer): Extension<Peer>,
    request: Request,
    next: Next,
) -> Response {
    let (request, has_credential) = if is_secret_in_headers(request.headers()) {
        (request, true)
    } else {
        let (request, form) = match body::with_form(request).await {
            Ok(both) => both,
            Err(problem) => return problem.into_response(),
        };
        let credentials = credentials_of(&auth_request(&service, &request, form.as_deref(), peer.0));
        (request, !matches!(credentials, Err(AuthError::Missing)))
    };
    let names_format = !matches!(Parameters::of(request.uri()).format(), Ok(None));
    let (mut response, vary) =
        if has_credential || names_format || !Accept::of(request.headers()).prefers_html() {
            let response = authenticated(State(service), Extension(peer), request, next).await;
            (response.into_response(), "Accept, Accept-Encoding, Authorization, ServicePSK")
        } else {
            let response = problems_as_pages(State(service), request, next).await;
            (response, "Accept, Accept-Encoding, Authorization, ServicePSK, Cookie")
        };
    response.headers_mut().insert(VARY, HeaderValue::from_static(vary));
    response
}

/// Serves the activity to authenticated API clients, and the page to all others.
async fn show(State(service): State<Arc<Service>>, request: Request) -> Result<Response, Problem> {
    let id = identifier(request.uri().path());
    match request.extensions().get::<Arc<Principal>>() {
        Some(caller) => {
            let (activity, actor) = service.visible(caller, id).await?;
            let format = Parameters::of(request.uri()).choose(request.headers(), &Format::ALL)?;
            service.show(&actor, &activity, format, request.headers())
        }
        None => pages::show_activity(service, id, request).await,
    }
}

/// The identifier in a path (below the base address's prefix, which the router took off).
fn identifier(path: &str) -> Option<ActivityId> {
    ActivityId::parse(&percent_decode(path.strip_prefix("/activity/")?)?)
}

impl Service {
    /// An activity that the caller may see: it is in one of the caller's collections, or the caller may see it in the
    /// actor's `from` collection. Otherwise it is not found.
    pub(super) async fn visible(
        &self,
        caller: &Principal,
        id: Option<ActivityId>,
    ) -> Result<(Activity, Arc<Account>), Problem> {
        let id = id.ok_or_else(Problem::not_found)?;
        let found = self.store.activities(&[id]).await?.into_iter().flatten().next();
        let found = found.filter(|one| !one.state.deleted && self.retains(one.state.received));
        let Activity { state, body } = found.ok_or_else(Problem::not_found)?;
        let actor = self.accounts.get(state.actor).await?.filter(|actor| !actor.removed);
        let actor = actor.ok_or_else(Problem::not_found)?;
        let me = caller.account.uid;
        let edge = self.store.edges(me, &[state.actor]).await?.into_iter().flatten().next();
        let mine = belongs(&state, me, edge.as_ref(), false);
        // The caller's role in the actor's `from` collection, by the account and the edge that are loaded already.
        let follows_owner = edge.is_some_and(|edge| edge.following);
        let reader = match (caller.is_operator(), actor.public) {
            (true, _) => Some(Reader::Owner),
            (false, true) => Some(Reader::Other { uid: me, follows_owner }),
            (false, false) => None,
        };
        let theirs = reader.is_some_and(|reader| may_see(reader, actor.uid, &state, &actor));
        if !(mine.from || mine.to || theirs) {
            return Err(Problem::not_found());
        }
        Ok((Activity { state, body }, actor))
    }
}
