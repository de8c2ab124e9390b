//! `/200909/user/{user}/hooks` and below: the hooks of an account.

use super::fields::{FieldValue, OFFERS, Row, Values, format_of, list, one, refused, values};
use crate::body;
use crate::extract::{HookPath, Parameters, PrivateAccount, WritableAccount};
use crate::problem::Problem;
use crate::render::Renderer;
use crate::respond::{Caching, Representation};
use crate::service::Service;
use crate::site::Site;
use axum::extract::{Request, State};
use axum::response::Response;
use axum::routing::{MethodRouter, get, post};
use domain::hooks::{HookError, HookRequest, Hooks, ListedHook, PingOutcome};
use domain::ingest::{MAX_BODY, Refused};
use http::header::LOCATION;
use http::{HeaderMap, HeaderValue, StatusCode};
use model::{Account, Clock, Millis};

pub(crate) fn all_methods() -> MethodRouter<Service> {
    get(show_all).fallback(|| async { Problem::method_not_allowed("GET, HEAD") })
}

pub(crate) fn one_methods() -> MethodRouter<Service> {
    get(show)
        .put(put)
        .delete(remove)
        .fallback(|| async { Problem::method_not_allowed("GET, HEAD, PUT, DELETE") })
}

pub(crate) fn resume_methods() -> MethodRouter<Service> {
    post(resume).fallback(|| async { Problem::method_not_allowed("POST") })
}

pub(crate) fn test_methods() -> MethodRouter<Service> {
    post(test).fallback(|| async { Problem::method_not_allowed("POST") })
}

pub(crate) fn rotate_methods() -> MethodRouter<Service> {
    post(rotate).fallback(|| async { Problem::method_not_allowed("POST") })
}

/// Only the account itself and operators see its hooks, even if its collections are public.
async fn show_all(
    State(hooks): State<Hooks>,
    State(clock): State<Clock>,
    PrivateAccount(account): PrivateAccount,
    parameters: Parameters,
    headers: HeaderMap,
) -> Result<Response, Problem> {
    let format = parameters.choose(&headers, OFFERS)?;
    let rows: Vec<Row> = hooks.list(account.uid).await?.iter().map(|hook| row(hook, clock.now())).collect();
    Representation::private(format).respond(|| list(("Hooks", "Hook"), &rows, format))
}

async fn show(
    State(hooks): State<Hooks>,
    State(clock): State<Clock>,
    PrivateAccount(account): PrivateAccount,
    path: HookPath,
    parameters: Parameters,
    headers: HeaderMap,
) -> Result<Response, Problem> {
    let format = parameters.choose(&headers, OFFERS)?;
    let found = hooks.find(account.uid, &path.name()?).await?.ok_or_else(Problem::not_found)?;
    Representation::private(format).respond(|| one("Hook", &row(&found, clock.now()), format))
}

/// Creates a hook, or changes its settings. Only the response of a new one contains the secret.
async fn put(
    State(hooks): State<Hooks>,
    State(clock): State<Clock>,
    State(site): State<Site>,
    WritableAccount(account): WritableAccount,
    path: HookPath,
    parameters: Parameters,
    request: Request,
) -> Result<Response, Problem> {
    let format = parameters.choose(request.headers(), OFFERS)?;
    let (head, sent) = request.into_parts();
    let form = format_of(&head.headers)?;
    let fields = values(&body::read(sent, MAX_BODY).await?, form, "Hook")?;
    let name = path.name().map_err(|_| HookError::BadName)?;
    let done = hooks.put(&account, &name, requested(fields)?).await?;
    let listed = hooks.find(account.uid, &name).await?.ok_or_else(Problem::busy)?;
    let mut row = row(&listed, clock.now());
    let Some(secret) = &done.secret else {
        return Representation::private(format).respond(|| one("Hook", &row, format));
    };
    row.push(("Secret".to_owned(), secret.as_str().into()));
    let address = hook_url(&site, &account, &name);
    let address = HeaderValue::from_str(&address).map_err(|_| Problem::internal())?;
    let created = Representation::new(format.media_type(), Caching::Never).header((LOCATION, address));
    let mut response = created.respond(|| one("Hook", &row, format))?;
    *response.status_mut() = StatusCode::CREATED;
    Ok(response)
}

async fn remove(
    State(hooks): State<Hooks>,
    WritableAccount(account): WritableAccount,
    path: HookPath,
) -> Result<StatusCode, Problem> {
    match hooks.remove(account.uid, &path.name()?).await? {
        true => Ok(StatusCode::NO_CONTENT),
        false => Err(Problem::not_found()),
    }
}

/// Enables a disabled hook, and delivers at once.
async fn resume(
    State(hooks): State<Hooks>,
    WritableAccount(account): WritableAccount,
    path: HookPath,
) -> Result<StatusCode, Problem> {
    match hooks.resume(account.uid, &path.name()?).await? {
        true => Ok(StatusCode::NO_CONTENT),
        false => Err(Problem::not_found()),
    }
}

/// Sends a ping now. The response says what the receiver responded.
async fn test(
    State(hooks): State<Hooks>,
    WritableAccount(account): WritableAccount,
    path: HookPath,
    parameters: Parameters,
    headers: HeaderMap,
) -> Result<Response, Problem> {
    let format = parameters.choose(&headers, OFFERS)?;
    let outcome = hooks.test(account.uid, &path.name()?).await?.ok_or_else(Problem::not_found)?;
    let body = Renderer::fields("Ping", format, |field| {
        field("Delivered", if outcome.is_success() { "true" } else { "false" });
        match &outcome {
            PingOutcome::Status(status) => field("Status", &status.to_string()),
            PingOutcome::Failed(error) => field("Reason", &error.to_string()),
        }
    });
    let body = body.ok_or_else(|| Problem::not_acceptable(OFFERS))?;
    Representation::private(format).respond(|| body)
}

/// Makes a new secret, which only this response contains. Both sign for a day.
async fn rotate(
    State(hooks): State<Hooks>,
    WritableAccount(account): WritableAccount,
    path: HookPath,
    parameters: Parameters,
    headers: HeaderMap,
) -> Result<Response, Problem> {
    let format = parameters.choose(&headers, OFFERS)?;
    let name = path.name()?;
    let secret = hooks.rotate(account.uid, &name).await?.ok_or_else(Problem::not_found)?;
    let row = vec![("Name".to_owned(), name.into()), ("Secret".to_owned(), secret.as_str().into())];
    Representation::new(format.media_type(), Caching::Never).respond(|| one("Hook", &row, format))
}

fn hook_url(site: &Site, account: &Account, name: &str) -> String {
    format!("{}/200909/user/{}/hooks/{name}", site.base(), account.name)
}

/// The settings in a body.
fn requested(mut fields: Values) -> Result<HookRequest, Refused> {
    let mut text = |field: &'static str| match fields.remove(field) {
        None => Ok(String::new()),
        Some(Some(mut all)) if all.len() <= 1 => Ok(all.pop().unwrap_or_default()),
        Some(_) => Err(refused(field, "expected a string")),
    };
    let (url, collection) = (text("Url")?, text("Collection")?);
    let mut list = |field: &'static str| match fields.remove(field) {
        None => Ok(Vec::new()),
        Some(Some(all)) => Ok(all),
        Some(None) => Err(refused(field, "expected a list of strings")),
    };
    Ok(HookRequest {
        url,
        collection,
        services: list("Service")?,
        kinds: list("Type")?,
        verbs: list("Verb")?,
    })
}

/// The fields of a hook.
fn row(ListedHook { hook, progress }: &ListedHook, now: Millis) -> Row {
    let config = &hook.config;
    let one = |text: String| Some(FieldValue::One(text));
    let many =
        |values: &Vec<String>| Some(values.clone()).filter(|values| !values.is_empty()).map(FieldValue::Many);
    let time = |at: Option<Millis>| at.map(|at| FieldValue::One(at.with_offset()));
    let failed = progress.last_error.clone().filter(|_| progress.failing_since.is_some());
    let reason = config.disabled.as_ref().map(|disabled| disabled.reason.clone()).or(failed);
    let fields = [
        ("Name", one(hook.name.clone())),
        ("Url", one(config.url.to_string())),
        ("Collection", one(config.collection.as_str().to_owned())),
        ("Service", many(&config.services)),
        ("Type", many(&config.kinds)),
        ("Verb", many(&config.verbs)),
        ("CreatedDate", time(Some(config.created))),
        ("LastStatus", progress.last_status.map(|status| FieldValue::One(status.to_string()))),
        ("LastDate", time(progress.last_date)),
        ("NextDate", time(progress.next_try.filter(|_| config.disabled.is_none()))),
        ("Lag", one(progress.lag(now).to_string())),
        ("Disabled", one(config.disabled.is_some().to_string())),
        ("Reason", reason.map(FieldValue::One)),
    ];
    fields.into_iter().filter_map(|(name, value)| Some((name.to_owned(), value?))).collect()
}
