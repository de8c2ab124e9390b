//! `/operator`: health with dead letters and plots of the last hours, accounts and applications. Accounts that are not
//! operators get 404.

use crate::accounts::Accounts;
use crate::media::Media;
use crate::pages::form::field;
use crate::pages::{Person, form, get_and_post, get_only, go, post_only};
use crate::problem::Problem;
use crate::service::{Entrance, Service, page_part};
use crate::site::Site;
use crate::views::frame::{Frame, Section};
use crate::views::hooks::HookView;
use crate::views::operator::{
    AccountsPage, ApplicationRow, ApplicationsPage, AuditPage, LetterView, OverviewPage, Plot, PlotRow,
    StoragePage, TicketLink,
};
use crate::views::security::EventView;
use crate::views::{Policy, html};
use auth::audit::{Actor, Event};
use auth::session::SignedIn;
use auth::{Auth, remove_ended};
use axum::extract::{FromRequest, FromRequestParts, Path, Request, State};
use axum::response::{IntoResponse, Response};
use axum::routing::{MethodRouter, get, post};
use domain::fanout::described;
use domain::health::Health;
use domain::hooks::{Hooks, ListedHook};
use domain::live::Hub;
use http::request::Parts;
use http::{StatusCode, Uri};
use model::{Account, AccountName, AuditOffset, Clock, Millis, Uid, Version, person_name};
use std::sync::Arc;
use store::{NewAccount, Store};

page_part! {
    /// The parts for pages of operators.
    OperatorPages {
        site: Site,
        store: Arc<dyn Store>,
        clock: Clock,
        hub: Arc<Hub>,
        accounts: Accounts,
        auth: Arc<Auth>,
        entrance: Arc<Entrance>,
        hooks: Hooks,
        media: Media,
    }
}

pub(crate) fn overview_methods() -> MethodRouter<Service> {
    get_only(get(show_overview))
}

pub(crate) fn replay_methods() -> MethodRouter<Service> {
    post_only(post(replay))
}

pub(crate) fn accounts_methods() -> MethodRouter<Service> {
    get_and_post(get(show_accounts).post(create))
}

pub(crate) fn invite_methods() -> MethodRouter<Service> {
    post_only(post(invite))
}

pub(crate) fn reset_methods() -> MethodRouter<Service> {
    post_only(post(reset))
}

pub(crate) fn disable_methods() -> MethodRouter<Service> {
    post_only(post(disable))
}

pub(crate) fn enable_methods() -> MethodRouter<Service> {
    post_only(post(enable))
}

pub(crate) fn applications_methods() -> MethodRouter<Service> {
    get_only(get(show_applications))
}

pub(crate) fn audit_methods() -> MethodRouter<Service> {
    get_only(get(show_audit))
}

pub(crate) fn remove_application_methods() -> MethodRouter<Service> {
    post_only(post(remove_application))
}

pub(crate) fn storage_methods() -> MethodRouter<Service> {
    get_only(get(show_storage))
}

/// Extracts the signed-in operator.
struct Operator(SignedIn);

impl FromRequestParts<Service> for Operator {
    type Rejection = Response;

    async fn from_request_parts(parts: &mut Parts, service: &Service) -> Result<Operator, Response> {
        let Person(person) = Person::from_request_parts(parts, service).await?;
        demand_operator(service, &person).await?;
        Ok(Operator(person))
    }
}

/// Fails unless the account is an operator, with a second factor if the settings demand one.
async fn demand_operator(service: &Service, person: &SignedIn) -> Result<(), Response> {
    if !person.account.operator {
        return Err(Problem::not_found().into_response());
    }
    if service.auth.operators_need_second_factor {
        let factor = service.auth.second_factors.of(person.account.uid).await;
        if factor.map_err(|error| Problem::from(error).into_response())?.is_none() {
            return Err(go(&service.site, "/settings/security?done=factor-needed"));
        }
    }
    Ok(())
}

/// A verified form from an operator, after a fresh sign-in.
struct OperatorForm(form::FreshForm);

impl FromRequest<Service> for OperatorForm {
    type Rejection = Response;

    async fn from_request(request: Request, service: &Service) -> Result<OperatorForm, Response> {
        let form = form::FreshForm::from_request(request, service).await?;
        demand_operator(service, &form.person).await?;
        Ok(OperatorForm(form))
    }
}

fn operator_frame<'a>(site: &'a Site, person: &'a SignedIn, uri: &Uri) -> Frame<'a> {
    Frame::new(site, person, Section::Operator, uri)
}

/// Maximum dead letters, and failing hooks, in the lists.
const MAX_LISTED: usize = 50;
/// Hooks that are looked at for the list of failing ones.
const MAX_HOOKS_READ: usize = 2_000;

async fn show_overview(
    State(pages): State<OperatorPages>,
    Operator(person): Operator,
    uri: Uri,
) -> Result<Response, Problem> {
    let health = Health::of(pages.store.as_ref(), &pages.clock).await;
    // The page is shown even if the store fails: the health section reports the error.
    let letters = pages.store.dead_letters(None, MAX_LISTED).await.unwrap_or_default();
    let hooks = pages.failing_hooks().await.unwrap_or_default();
    let (now, samples) = (pages.clock.now(), pages.entrance.history.samples());
    let page = OverviewPage {
        hooks: hooks.iter().map(|(owner, hook)| (owner.clone(), HookView::of(hook, now))).collect(),
        site: &pages.site,
        frame: operator_frame(&pages.site, &person, &uri),
        complaint: health.unready_reason(),
        health: &health,
        letters: letters
            .iter()
            .map(|letter| LetterView::of(letter, described(letter.work.as_ref()), now))
            .collect(),
        plots: Plot::all(&samples, now),
        rows: PlotRow::all(&samples, now),
    };
    Ok(html(StatusCode::OK, &page, Policy::SAME_ORIGIN))
}

impl OperatorPages {
    /// Hooks that fail or are disabled, each with the name of its account.
    async fn failing_hooks(&self) -> Result<Vec<(String, ListedHook)>, Problem> {
        let failing = self.hooks.failing(MAX_LISTED, MAX_HOOKS_READ).await?;
        let owners: Vec<Uid> = failing.iter().map(|listed| listed.hook.owner).collect();
        let accounts = self.store.accounts(&owners).await?;
        let named = failing.into_iter().zip(accounts).filter_map(|(listed, owner)| {
            let owner = owner.filter(|owner| !owner.removed)?;
            Some((owner.name.to_string(), listed))
        });
        Ok(named.collect())
    }
}

async fn replay(
    State(pages): State<OperatorPages>,
    Path(number): Path<u64>,
    OperatorForm(form): OperatorForm,
) -> Result<Response, Problem> {
    if !pages.store.replay(number).await? {
        return Err(Problem::not_found());
    }
    pages.hub.wrote();
    let event = form.event("dead-letter-replayed").about(number.to_string());
    pages.auth.audit.record(event).await;
    Ok(go(&pages.site, "/operator?done=replayed"))
}

/// Accounts in the list of the largest.
const MAX_LARGEST: usize = 10;

async fn show_storage(
    State(pages): State<OperatorPages>,
    Operator(person): Operator,
    uri: Uri,
) -> Result<Response, Problem> {
    let sizes = pages.store.storage_use(MAX_LARGEST).await?;
    let largest = sizes.iter().flat_map(|sizes| &sizes.accounts);
    let uids: Vec<Uid> = largest.clone().map(|account| account.uid).collect();
    let accounts = pages.store.accounts(&uids).await?;
    let page = StoragePage {
        site: &pages.site,
        frame: operator_frame(&pages.site, &person, &uri),
        largest: largest.zip(accounts).filter_map(|(sizes, account)| Some((*sizes, account?))).collect(),
        sizes: sizes.as_ref(),
        pictures: pages.media.cached_bytes(),
    };
    Ok(html(StatusCode::OK, &page, Policy::SAME_ORIGIN))
}

/// Accounts per page.
const PAGE: usize = 50;

async fn show_accounts(
    State(pages): State<OperatorPages>,
    Operator(person): Operator,
    uri: Uri,
) -> Result<Response, Problem> {
    pages.accounts_page(&person, &uri, StatusCode::OK, FormResult::default()).await
}

/// Creates an account without a password, and a link to set one.
async fn create(
    State(pages): State<OperatorPages>,
    uri: Uri,
    OperatorForm(form): OperatorForm,
) -> Result<Response, Problem> {
    let reject = |status, complaint| (status, FormResult { complaint: Some(complaint), link: None });
    let wrong = StatusCode::UNPROCESSABLE_ENTITY;
    let text = |name: &str| form.fields.get(name).unwrap_or_default();
    let named = AccountName::parse(text("name").trim());
    let (given, family) = (person_name(&text("given")), person_name(&text("family")));
    let (status, result) = match (named, given, family) {
        (Err(why), _, _) => reject(wrong, why.to_string()),
        (_, Err(why), _) | (_, _, Err(why)) => reject(wrong, why.to_string()),
        (Ok(name), Ok(given_name), Ok(family_name)) => {
            let now = pages.clock.now();
            let new = NewAccount {
                name: name.clone(),
                version: Version::next(now, None),
                given_name,
                family_name,
                public: form.fields.get("public").is_some(),
                operator: form.fields.get("operator").is_some(),
                password: None,
                created: now,
            };
            match pages.store.create_account(new).await? {
                None => {
                    reject(StatusCode::CONFLICT, format!("The username {name} is taken or was used before."))
                }
                Some(account) => {
                    pages.auth.audit.record(form.event("account-added").on(&account)).await;
                    (
                        StatusCode::CREATED,
                        FormResult {
                            complaint: None,
                            link: Some(pages.reset_link(&form.person, &account).await?),
                        },
                    )
                }
            }
        }
    };
    pages.accounts_page(&form.person, &uri, status, result).await
}

async fn invite(
    State(pages): State<OperatorPages>,
    uri: Uri,
    OperatorForm(form): OperatorForm,
) -> Result<Response, Problem> {
    let (text, _) = pages.auth.tickets.invite(Some(form.person.account.uid)).await?;
    pages.auth.audit.record(form.event("invitation-added")).await;
    let link = TicketLink {
        about: "Invitation link. It works once, within 7 days.".to_owned(),
        address: format!("{}/join/{}", pages.site.base(), *text),
    };
    pages.link_page(&form.person, &uri, link).await
}

async fn reset(
    State(pages): State<OperatorPages>,
    Path(name): Path<String>,
    uri: Uri,
    OperatorForm(form): OperatorForm,
) -> Result<Response, Problem> {
    let account = pages.accounts.named(&name).await?;
    let link = pages.reset_link(&form.person, &account).await?;
    pages.link_page(&form.person, &uri, link).await
}

async fn disable(
    State(pages): State<OperatorPages>,
    Path(name): Path<String>,
    OperatorForm(form): OperatorForm,
) -> Result<Response, Problem> {
    let account = pages.accounts.named(&name).await?;
    // Operators cannot lock themselves out.
    if account.uid == form.person.account.uid {
        return Err(Problem::not_found());
    }
    let done = pages.set_disabled(&account, true).await?;
    pages.auth.audit.record(form.event("account-disabled").on(&account)).await;
    Ok(done)
}

async fn enable(
    State(pages): State<OperatorPages>,
    Path(name): Path<String>,
    OperatorForm(form): OperatorForm,
) -> Result<Response, Problem> {
    let account = pages.accounts.named(&name).await?;
    let done = pages.set_disabled(&account, false).await?;
    pages.auth.audit.record(form.event("account-enabled").on(&account)).await;
    Ok(done)
}

/// The result of a form, shown above the list.
#[derive(Default)]
struct FormResult {
    link: Option<TicketLink>,
    complaint: Option<String>,
}

impl OperatorPages {
    async fn set_disabled(&self, account: &Account, disabled: bool) -> Result<Response, Problem> {
        let changed = self.accounts.cache.change(&self.clock, account.uid, |account| {
            account.set_disabled(disabled);
        });
        let changed = changed.await?.ok_or_else(Problem::not_found)?;
        remove_ended(self.store.as_ref(), &self.clock, &changed).await;
        Ok(go(&self.site, &format!("/operator/accounts?name={}&done=account", account.name)))
    }

    async fn reset_link(&self, operator: &SignedIn, account: &Account) -> Result<TicketLink, Problem> {
        let (text, _) = self.auth.tickets.reset_link(account.uid, Some(operator.account.uid)).await?;
        let event = Event::new("reset-link-added", Actor::Account(&operator.account)).on(account);
        self.auth.audit.record(event).await;
        Ok(TicketLink {
            about: format!("Link for {} to set a password. It works once, within 24 hours.", account.name),
            address: format!("{}/reset/{}", self.site.base(), *text),
        })
    }

    /// The page with a new link, which is shown only once.
    async fn link_page(&self, person: &SignedIn, uri: &Uri, link: TicketLink) -> Result<Response, Problem> {
        let result = FormResult { link: Some(link), complaint: None };
        self.accounts_page(person, uri, StatusCode::CREATED, result).await
    }

    async fn accounts_page(
        &self,
        person: &SignedIn,
        uri: &Uri,
        status: StatusCode,
        result: FormResult,
    ) -> Result<Response, Problem> {
        let parameter = |name: &str| field(uri.query().unwrap_or_default().as_bytes(), name);
        let search = parameter("name").map(|name| name.trim().to_owned()).filter(|name| !name.is_empty());
        let accounts = match &search {
            Some(name) => self.accounts.named(name).await.into_iter().collect(),
            None => {
                let after = parameter("after").and_then(|text| text.parse().ok()).map(Uid);
                self.store.list_accounts(after, PAGE).await?
            }
        };
        let more = accounts.last().filter(|_| accounts.len() == PAGE).map(|account: &Account| account.uid.0);
        let page = AccountsPage {
            site: &self.site,
            frame: operator_frame(&self.site, person, uri),
            me: person.account.uid,
            search: search.as_deref().unwrap_or_default(),
            link: result.link.as_ref(),
            complaint: result.complaint.as_deref(),
            accounts,
            more,
        };
        Ok(html(status, &page, Policy::SAME_ORIGIN))
    }
}

async fn show_applications(
    State(pages): State<OperatorPages>,
    Operator(person): Operator,
    uri: Uri,
) -> Result<Response, Problem> {
    let all = pages.store.applications().await?;
    let live: Vec<_> = all.iter().filter(|application| application.removed.is_none()).collect();
    let owners =
        pages.accounts.cache.get_many(live.iter().filter_map(|application| application.owner)).await?;
    let now = pages.clock.now();
    let row = |application: &&model::Application| {
        let owner = application.owner.and_then(|uid| owners.get(&uid)).map(|owner| owner.name.to_string());
        ApplicationRow::of(application, owner, now)
    };
    let page = ApplicationsPage {
        site: &pages.site,
        frame: operator_frame(&pages.site, &person, &uri),
        applications: live.iter().map(row).collect(),
    };
    Ok(html(StatusCode::OK, &page, Policy::SAME_ORIGIN))
}

async fn remove_application(
    State(pages): State<OperatorPages>,
    Path(key): Path<String>,
    OperatorForm(form): OperatorForm,
) -> Result<Response, Problem> {
    if !pages.store.remove_application(&key, pages.clock.now()).await? {
        return Err(Problem::not_found());
    }
    pages.auth.audit.record(form.event("application-removed").about(key)).await;
    Ok(go(&pages.site, "/operator/applications?done=application"))
}

/// Events per page.
const EVENTS: usize = 100;

async fn show_audit(
    State(pages): State<OperatorPages>,
    Operator(person): Operator,
    uri: Uri,
) -> Result<Response, Problem> {
    let (now, before) = (pages.clock.now(), field(uri.query().unwrap_or_default().as_bytes(), "before"));
    let before = before.map(|text| parse_offset(&text).ok_or_else(Problem::not_found)).transpose()?;
    let records = pages.store.audit_before(before, now, EVENTS).await?;
    let more = records.last().filter(|_| records.len() == EVENTS).map(|last| offset_text(last.at));
    let page = AuditPage {
        site: &pages.site,
        frame: operator_frame(&pages.site, &person, &uri),
        events: records.iter().map(|record| EventView::of(record, now)).collect(),
        more,
    };
    Ok(html(StatusCode::OK, &page, Policy::SAME_ORIGIN))
}

/// The place of a record in an address.
fn offset_text(at: AuditOffset) -> String {
    format!("{}-{}-{}", at.time.0, hex::encode(at.shard), at.number)
}

fn parse_offset(text: &str) -> Option<AuditOffset> {
    let mut parts = text.split('-');
    let time = Millis(parts.next()?.parse().ok()?);
    let mut shard = [0; 16];
    hex::decode_to_slice(parts.next()?, &mut shard).ok()?;
    Some(AuditOffset { time, shard, number: parts.next()?.parse().ok()? })
}
