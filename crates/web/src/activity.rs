//! `/activity/{activity}`, the `ActivityUrl`: one address for browsers and API clients. A browser gets a page, with the
//! forms to remove or delete the activity; an API client gets the activity in the negotiated format.

use crate::authenticated::{auth_request, authenticated};
use crate::body;
use crate::extract::{ActivityPath, Caller, Parameters};
use crate::negotiate::Accept;
use crate::pages::form::VerifiedForm;
use crate::pages::{Person, go, post_only, problems_as_pages};
use crate::problem::Problem;
use crate::respond::Representation;
use crate::service::{Collections, Service, Writer};
use crate::views::feed::ActivityPage;
use crate::views::frame::{Frame, Section};
use crate::views::item::Viewer;
use crate::views::{Policy, html};
use auth::{AuthError, Principal, credentials_of, is_secret_in_headers};
use axum::extract::{Extension, FromRequestParts, Path, Request, State};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use axum::routing::{MethodRouter, get, post};
use domain::following;
use http::header::VARY;
use http::{HeaderMap, HeaderValue, StatusCode};
use listen::Peer;
use model::{
    Account, Activity, ActivityId, Format, Millis, Order, Reader, State as ActivityState, Version, belongs,
    may_see,
};
use std::sync::Arc;
use store::ExternalKey;

pub(crate) fn methods() -> MethodRouter<Service> {
    get(show).fallback(|| async { Problem::method_not_allowed("GET, HEAD") })
}

pub(crate) fn remove_methods() -> MethodRouter<Service> {
    post_only(post(remove))
}

pub(crate) fn delete_methods() -> MethodRouter<Service> {
    post_only(post(delete))
}

/// Authenticates API clients and serves pages to browsers. A request is an API request if it has a credential or a
/// `format`, or does not prefer HTML.
pub(crate) async fn authenticate_api_or_page(
    State(service): State<Service>,
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
        let credentials = credentials_of(&auth_request(&service.site, &request, form.as_deref(), peer.0));
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
async fn show(
    State(service): State<Service>,
    caller: Option<Caller>,
    ActivityPath(id): ActivityPath,
    parameters: Parameters,
    request: Request,
) -> Result<Response, Problem> {
    let collections = &service.collections;
    match caller {
        Some(Caller(caller)) => {
            let (activity, actor) = collections.visible(&caller, id).await?;
            let format = parameters.choose(request.headers(), &Format::ALL)?;
            collections.show(&actor, &activity, format, request.headers())
        }
        None => show_page(service, id, request).await,
    }
}

/// The page of an activity, for a signed-in user.
async fn show_page(service: Service, id: Option<ActivityId>, request: Request) -> Result<Response, Problem> {
    let (mut parts, _) = request.into_parts();
    let Person(person) = match Person::from_request_parts(&mut parts, &service).await {
        Ok(person) => person,
        Err(to_sign_in) => return Ok(to_sign_in),
    };
    let uri = &parts.uri;
    let (activity, actor) = service.collections.visible(&person.principal(), id).await?;
    let (now, order) = (service.clock.now(), Order::Received);
    let viewer = Viewer { site: &service.site, person: &person, now, order, media: &service.media };
    let page = ActivityPage {
        site: &service.site,
        frame: Frame::new(&service.site, &person, Section::Other, uri),
        item: viewer.item(&activity.state, &actor, &activity.body),
        state: &activity.state,
    };
    Ok(html(StatusCode::OK, &page, Policy::SAME_ORIGIN))
}

/// Removes the activity from the user's feed.
async fn remove(
    State(collections): State<Arc<Collections>>,
    State(writer): State<Arc<Writer>>,
    Path(id): Path<String>,
    form: VerifiedForm,
) -> Result<Response, Problem> {
    let id = ActivityId::parse(&id).ok_or_else(Problem::not_found)?;
    let owner = &form.person.account;
    writer.remove(owner, &collections.received_activity(owner, id).await?).await?;
    Ok(go(&writer.site, "/feed?done=removed"))
}

/// Deletes the user's own activity from every feed.
async fn delete(
    State(collections): State<Arc<Collections>>,
    State(writer): State<Arc<Writer>>,
    Path(id): Path<String>,
    form: VerifiedForm,
) -> Result<Response, Problem> {
    let (activity, actor) = collections.visible(&form.person.principal(), ActivityId::parse(&id)).await?;
    if actor.uid != form.person.account.uid {
        return Err(Problem::not_found());
    }
    let service_name = activity.state.facet.service.clone();
    let source = ExternalKey { actor: actor.uid, service: service_name, id: activity.body.source_id };
    writer.ingest.delete(&source).await?;
    writer.hub.wrote();
    Ok(go(&writer.site, "/feed?done=deleted"))
}

impl Writer {
    /// Removes a received activity from the account's `to`.
    pub(crate) async fn remove(&self, owner: &Account, state: &ActivityState) -> Result<(), Problem> {
        let version = Version::next(self.clock.now(), None);
        self.store.remove(owner.uid, state.id, state.received, version).await?;
        self.hub.wrote();
        Ok(())
    }
}

impl Collections {
    /// Whether an activity received at that time is still shown.
    pub(crate) fn retains(&self, received: Millis) -> bool {
        let age = self.clock.now().0.saturating_sub(received.0);
        self.retention.is_none_or(|longest| u128::try_from(age).unwrap_or(0) <= longest.as_millis())
    }

    /// The activity in the requested format.
    pub(crate) fn show(
        &self,
        actor: &Account,
        activity: &Activity,
        format: Format,
        headers: &HeaderMap,
    ) -> Result<Response, Problem> {
        // The versions of one external key only increase, even across a deletion. Together with the version of the
        // account, whose name is shown, they identify the content.
        let (content, profile) = (activity.state.version.0, actor.version.0);
        let version = format!("{content:x}.{profile:x}.{}", format.as_str());
        let representation = Representation::private(format).encoded(headers).versioned(headers, version);
        representation.respond(|| self.renderer.single(&activity.state, actor, &activity.body, format))
    }

    /// An activity that the caller may see: it is in one of the caller's collections, or the caller may see it in the
    /// actor's `from` collection. Otherwise it is not found.
    pub(crate) async fn visible(
        &self,
        caller: &Principal,
        id: Option<ActivityId>,
    ) -> Result<(Activity, Arc<Account>), Problem> {
        let id = id.ok_or_else(Problem::not_found)?;
        let found = self.store.activities(&[id]).await?.into_iter().flatten().next();
        let found = found.filter(|one| !one.state.deleted && self.retains(one.state.received));
        let Activity { state, body } = found.ok_or_else(Problem::not_found)?;
        let actor = self.accounts.cache.get(state.actor).await?.filter(|actor| !actor.removed);
        let actor = actor.ok_or_else(Problem::not_found)?;
        let me = caller.account.uid;
        let actors = [state.actor];
        let (edges, relation) = tokio::try_join!(
            self.store.edges(me, &actors),
            following::relation(self.store.as_ref(), &caller.account.name, &actor.name),
        )?;
        let edge = edges.into_iter().flatten().next();
        let mine = belongs(&state, me, edge.as_ref(), false, relation);
        // The caller's role in the actor's `from` collection, by the account and the edge that are loaded already.
        let follows_owner = edge.is_some_and(|edge| edge.following);
        let reader = match (caller.is_operator(), actor.public && !relation.blocked_by) {
            (true, _) => Some(Reader::Owner),
            (false, true) => Some(Reader::Other { uid: me, follows_owner, blocks: Version::default() }),
            (false, false) => None,
        };
        let theirs = reader.is_some_and(|reader| may_see(reader, actor.uid, &state, &actor, false));
        if !(mine.from || mine.to || theirs) {
            return Err(Problem::not_found());
        }
        Ok((Activity { state, body }, actor))
    }

    /// An activity that is currently in the account's `to`.
    pub(crate) async fn received_activity(
        &self,
        owner: &Account,
        id: ActivityId,
    ) -> Result<ActivityState, Problem> {
        let found = self.store.states(&[id]).await?.into_iter().flatten().next();
        let state = found.ok_or_else(Problem::not_found)?;
        let edge = self.store.edges(owner.uid, &[state.actor]).await?.into_iter().flatten().next();
        let removed = self.store.removed(owner.uid, &[(id, state.received)]).await?.contains(&true);
        let actor = self.accounts.cache.get(state.actor).await?.filter(|actor| !actor.removed);
        let actor = actor.ok_or_else(Problem::not_found)?;
        let relation = following::relation(self.store.as_ref(), &owner.name, &actor.name).await?;
        let reaches = belongs(&state, owner.uid, edge.as_ref(), removed, relation).to;
        if reaches { Ok(state) } else { Err(Problem::not_found()) }
    }
}
