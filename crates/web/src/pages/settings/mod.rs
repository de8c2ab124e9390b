//! `/settings`: each page shows one part of the settings, with the forms that change it. This file has the profile, its
//! picture, and the lists of followees and followers.

mod account;
mod credentials;
mod hooks;
mod second_factor;
mod sources;

use crate::account_cursor::AccountList;
use crate::accounts::{Accounts, Changes};
use crate::pages::form::{Upload, VerifiedForm, field};
use crate::pages::{Person, get_and_post, get_only, go, post_only};
use crate::pictures;
use crate::problem::Problem;
use crate::service::{Service, page_part};
use crate::site::Site;
use crate::views::frame::{Frame, Section};
use crate::views::settings::{PeoplePage, ProfilePage};
use crate::views::{Policy, html};
use auth::session::SignedIn;
use axum::extract::{Request, State};
use axum::response::{IntoResponse, Response};
use axum::routing::{MethodRouter, get, post};
use http::{StatusCode, Uri};
use model::{Account, AccountName, AddressableBy, Clock, Decision, Picture, Uid, Version, person_name};
use std::sync::Arc;
use store::Store;

page_part! {
    /// The parts for pages of the profile and of people.
    ProfilePages {
        site: Site,
        store: Arc<dyn Store>,
        clock: Clock,
        accounts: Accounts,
    }
}

/// The routes of the settings.
macro_rules! pages {
    ($($name:ident = $methods:expr;)*) => {
        $(pub(crate) fn $name() -> MethodRouter<Service> { $methods })*
    };
}

pages! {
    profile_methods = get_only(get(show_profile));
    change_profile_methods = post_only(post(change_profile));
    picture_methods = post_only(post(change_picture));
    keys_methods = get_and_post(get(credentials::show_keys).post(credentials::add_key));
    revoke_key_methods = post_only(post(credentials::revoke_key));
    applications_methods = get_and_post(get(credentials::show_applications).post(credentials::register));
    renew_secret_methods = post_only(post(credentials::renew));
    remove_application_methods = post_only(post(credentials::remove));
    end_grant_methods = post_only(post(credentials::end_grant));
    people_methods = get_and_post(get(show_people).post(follow));
    sources_methods = get_and_post(get(sources::show).post(sources::connect));
    preview_source_methods = post_only(post(sources::preview));
    check_source_methods = post_only(post(sources::check));
    pause_source_methods = post_only(post(sources::pause));
    resume_source_methods = post_only(post(sources::resume));
    remove_source_methods = post_only(post(sources::remove));
    opml_methods = get_and_post(get(sources::export_opml).post(sources::import_opml));
    hooks_methods = get_and_post(get(hooks::show).post(hooks::add));
    resume_hook_methods = post_only(post(hooks::resume));
    rotate_hook_methods = post_only(post(hooks::rotate));
    test_hook_methods = post_only(post(hooks::test));
    remove_hook_methods = post_only(post(hooks::remove));
    security_methods = get_only(get(account::show_security));
    change_password_methods = post_only(post(account::change_password));
    begin_factor_methods = post_only(post(second_factor::begin));
    confirm_factor_methods = post_only(post(second_factor::confirm));
    recovery_code_methods = post_only(post(second_factor::renew_codes));
    refuse_basic_methods = post_only(post(second_factor::refuse_basic));
    remove_factor_methods = post_only(post(second_factor::remove));
    end_session_methods = post_only(post(account::end_session));
    data_methods = get_only(get(account::show_data));
    export_methods = get_only(get(account::export));
    delete_account_methods = post_only(post(account::delete));
}

/// The frame of a settings page.
fn settings_frame<'a>(site: &'a Site, person: &'a SignedIn, uri: &Uri) -> Frame<'a> {
    Frame::new(site, person, Section::Settings, uri)
}

async fn show_profile(State(pages): State<ProfilePages>, Person(person): Person, uri: Uri) -> Response {
    let page = ProfilePage {
        site: &pages.site,
        frame: settings_frame(&pages.site, &person, &uri),
        account: &person.account,
        complaint: None,
    };
    html(StatusCode::OK, &page, Policy::SAME_ORIGIN)
}

async fn change_profile(
    State(pages): State<ProfilePages>,
    uri: Uri,
    VerifiedForm { person, fields }: VerifiedForm,
) -> Result<Response, Problem> {
    let name = |field: &str| person_name(&fields.get(field).unwrap_or_default());
    let changes = name("GivenName").and_then(|given_name| {
        let public = Some(fields.get("Public").as_deref() == Some("true"));
        let addressable_by = fields.get("AddressableBy").as_deref().and_then(AddressableBy::parse);
        let family_name = Some(name("FamilyName")?);
        Ok(Changes { given_name: Some(given_name), family_name, public, addressable_by })
    });
    let changes = match changes {
        Ok(changes) => changes,
        Err(refused) => {
            let page = ProfilePage {
                site: &pages.site,
                frame: settings_frame(&pages.site, &person, &uri),
                account: &person.account,
                complaint: Some(&refused.to_string()),
            };
            return Ok(html(StatusCode::UNPROCESSABLE_ENTITY, &page, Policy::SAME_ORIGIN));
        }
    };
    pages.accounts.change(person.account.uid, &changes).await?;
    Ok(go(&pages.site, "/settings?done=saved"))
}

async fn change_picture(
    State(service): State<Service>,
    State(pages): State<ProfilePages>,
    request: Request,
) -> Result<Response, Response> {
    let upload = Upload::receive(&service, request, "picture", pictures::MAX_BYTES).await?;
    pages.save_picture(upload).await.map_err(IntoResponse::into_response)
}

impl ProfilePages {
    async fn save_picture(&self, upload: Upload) -> Result<Response, Problem> {
        let uid = upload.person.account.uid;
        let before = self.store.picture(uid).await?;
        let version = Version::next(self.clock.now(), before.map(|picture| picture.version));
        let picture = if upload.fields.iter().any(|field| field == "remove") {
            Picture::none(version)
        } else {
            match pictures::convert(upload.file.to_vec()).await {
                Ok(sizes) => Picture { version, sizes },
                Err(why) => {
                    let page = ProfilePage {
                        site: &self.site,
                        frame: settings_frame(&self.site, &upload.person, &upload.uri),
                        account: &upload.person.account,
                        complaint: Some(&why.to_string()),
                    };
                    return Ok(html(StatusCode::UNPROCESSABLE_ENTITY, &page, Policy::SAME_ORIGIN));
                }
            }
        };
        self.store.put_picture(uid, &picture).await?;
        Ok(go(&self.site, "/settings?done=picture"))
    }
}

/// Accounts per page of each list.
const PAGE: usize = 50;
/// The maximum number of blocked and of muted accounts on the page. The API lists more.
const MAX_DECIDED: usize = 1_000;

async fn show_people(
    State(pages): State<ProfilePages>,
    Person(person): Person,
    uri: Uri,
) -> Result<Response, Problem> {
    pages.people_page(&person, &uri, StatusCode::OK, None).await
}

async fn follow(
    State(pages): State<ProfilePages>,
    uri: Uri,
    VerifiedForm { person, fields }: VerifiedForm,
) -> Result<Response, Problem> {
    let name = AccountName::parse(fields.get("name").unwrap_or_default().trim()).ok();
    let found = match name {
        Some(name) => pages.store.account_by_name(&name).await?,
        None => None,
    };
    let mine = &person.account;
    let found =
        found.filter(|other| !other.removed && (other.public || mine.operator) && other.uid != mine.uid);
    let Some(other) = found else {
        let complaint = Some("There is no account with this username that you can follow.");
        return pages.people_page(&person, &uri, StatusCode::NOT_FOUND, complaint).await;
    };
    pages.accounts.follow(mine, &other).await?;
    Ok(go(&pages.site, "/settings/people"))
}

impl ProfilePages {
    async fn people_page(
        &self,
        person: &SignedIn,
        uri: &Uri,
        status: StatusCode,
        complaint: Option<&str>,
    ) -> Result<Response, Problem> {
        let me = person.account.uid;
        let after = |list: AccountList| {
            let cursor = field(uri.query().unwrap_or_default().as_bytes(), list.as_str())?;
            list.decode(me, &cursor, self.site.cursor_keys()).ok()
        };
        let following = self.store.following(me, after(AccountList::Following), PAGE).await?;
        let followers = self.store.followers(me, after(AccountList::Followers), PAGE).await?;
        let following: Vec<Uid> = following.into_iter().map(|(uid, _)| uid).collect();
        let followers: Vec<Uid> = followers.into_iter().map(|follower| follower.uid).collect();
        let more = |list: AccountList, uids: &[Uid]| {
            let last = uids.last().filter(|_| uids.len() == PAGE)?;
            Some(list.encode(me, *last, self.site.cursor_keys()))
        };
        let more_following = more(AccountList::Following, &following);
        let more_followers = more(AccountList::Followers, &followers);
        let both: Vec<Uid> = following.iter().chain(&followers).copied().collect();
        let mut accounts = self.store.accounts(&both).await?;
        let name = &person.account.name;
        let blocked = self.store.decided(name, Decision::Block, None, MAX_DECIDED).await?;
        let muted = self.store.decided(name, Decision::Mute, None, MAX_DECIDED).await?;
        let present = |accounts: Vec<Option<Account>>| {
            accounts.into_iter().flatten().filter(|account| !account.removed).collect::<Vec<_>>()
        };
        let followers = present(accounts.split_off(following.len().min(accounts.len())));
        let page = PeoplePage {
            site: &self.site,
            frame: settings_frame(&self.site, person, uri),
            complaint,
            following: present(accounts),
            followers,
            more_following,
            more_followers,
            blocked,
            muted,
        };
        Ok(html(status, &page, Policy::SAME_ORIGIN))
    }
}
