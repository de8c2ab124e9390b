//! The settings pages.

use super::display_time::DisplayTime;
use super::frame::Frame;
use crate::site::Site;
use askama::Template;
use model::{AccessToken, Account, AccountName, Application, Key, Millis, Scopes};

/// Names, picture and profile visibility.
#[derive(Template)]
#[template(path = "settings/profile.html")]
pub struct ProfilePage<'a> {
    /// The public addresses of the server.
    pub site: &'a Site,
    /// Header and navigation.
    pub frame: Frame<'a>,
    /// The account.
    pub account: &'a Account,
    /// The error to show, if any.
    pub complaint: Option<&'a str>,
}

impl ProfilePage<'_> {
    fn is_addressable_by(&self, word: &str) -> bool {
        self.account.addressable_by.as_str() == word
    }
}

/// The keys of the account.
#[derive(Template)]
#[template(path = "settings/keys.html")]
pub struct KeysPage<'a> {
    /// The public addresses of the server.
    pub site: &'a Site,
    /// Header and navigation.
    pub frame: Frame<'a>,
    /// The key that was just created.
    pub made: Option<NewKey<'a>>,
    /// The error to show, if any.
    pub complaint: Option<&'a str>,
    /// Active keys, newest first.
    pub keys: Vec<KeyView>,
}

impl KeysPage<'_> {
    /// A curl command with the new key.
    fn curl(&self, made: &NewKey<'_>) -> String {
        let (base, name) = (self.site.base(), self.frame.name());
        let curl = self.site.curl();
        format!("{curl} -H \"ServicePSK: {}\" {base}/200909/activity/{name}/tofrom", made.text)
    }
}

/// A key that was just created. It is shown once.
pub struct NewKey<'a> {
    /// The name its owner gave it.
    pub name: &'a str,
    /// The key itself.
    pub text: &'a str,
}

/// A key as listed.
pub struct KeyView {
    /// The key's id, which is not secret.
    pub id: String,
    /// The name its owner gave it.
    pub name: String,
    /// Its access, as text.
    pub scopes: &'static str,
    /// When it was created.
    pub created: DisplayTime,
    /// When it expires.
    pub expires: Option<DisplayTime>,
    /// Approximately when it was last used.
    pub used: Option<DisplayTime>,
}

impl KeyView {
    /// A key, shown at the time `now`.
    pub fn of(key: &Key, now: Millis) -> KeyView {
        let time = |at: Millis| DisplayTime::new(at, now);
        KeyView {
            id: key.id.to_string(),
            name: key.name.clone(),
            scopes: scope_text(key.scopes),
            created: time(key.created),
            expires: key.expires.map(time),
            used: key.used.map(time),
        }
    }

    fn revoke_path(&self) -> String {
        format!("/settings/keys/{}/revoke", self.id)
    }
}

/// Connected applications, and the applications that the account has registered.
#[derive(Template)]
#[template(path = "settings/applications.html")]
pub struct ApplicationsPage<'a> {
    /// The public addresses of the server.
    pub site: &'a Site,
    /// Header and navigation.
    pub frame: Frame<'a>,
    /// A secret that was just created.
    pub made: Option<NewSecret<'a>>,
    /// The error to show, if any.
    pub complaint: Option<&'a str>,
    /// Connected applications, newest first.
    pub granted: Vec<GrantView>,
    /// The account's registered applications.
    pub mine: Vec<ApplicationView>,
}

/// An application's secret that was just created. It is shown once.
pub struct NewSecret<'a> {
    /// The application's name.
    pub name: &'a str,
    /// Its consumer key.
    pub key: &'a str,
    /// The secret.
    pub secret: &'a str,
}

/// An access token as listed.
pub struct GrantView {
    /// The token's public key.
    pub token: String,
    /// The application's name.
    pub application: String,
    /// Its access, as text.
    pub scopes: &'static str,
    /// When access was granted.
    pub created: DisplayTime,
    /// When it expires.
    pub expires: Option<DisplayTime>,
    /// Approximately when it was last used.
    pub used: Option<DisplayTime>,
}

impl GrantView {
    /// A token, shown at the time `now`.
    pub fn of(token: &AccessToken, application: String, now: Millis) -> GrantView {
        let time = |at: Millis| DisplayTime::new(at, now);
        GrantView {
            token: token.key.clone(),
            application,
            scopes: scope_text(token.scopes),
            created: time(token.created),
            expires: token.expires.map(time),
            used: token.used.map(time),
        }
    }

    fn end_path(&self) -> String {
        format!("/settings/grants/{}/end", self.token)
    }
}

/// An application that the account has registered.
pub struct ApplicationView {
    /// Its consumer key.
    pub key: String,
    /// The application's name.
    pub name: String,
    /// The callback.
    pub callback: String,
    /// Whether it has an RSA key.
    pub rsa: bool,
    /// When it was created.
    pub created: DisplayTime,
}

impl ApplicationView {
    /// An application, shown at the time `now`.
    pub fn of(application: &Application, now: Millis) -> ApplicationView {
        ApplicationView {
            key: application.key.clone(),
            name: application.name.clone(),
            callback: application.callback.clone(),
            rsa: application.rsa_key.is_some(),
            created: DisplayTime::new(application.created, now),
        }
    }

    fn path(&self, what: &str) -> String {
        format!("/settings/applications/{}/{what}", self.key)
    }
}

/// Followees and followers.
#[derive(Template)]
#[template(path = "settings/people.html")]
pub struct PeoplePage<'a> {
    /// The public addresses of the server.
    pub site: &'a Site,
    /// Header and navigation.
    pub frame: Frame<'a>,
    /// The error to show, if any.
    pub complaint: Option<&'a str>,
    /// Followed accounts.
    pub following: Vec<Account>,
    /// Followers.
    pub followers: Vec<Account>,
    /// The cursor of the next followees, if there are more.
    pub more_following: Option<String>,
    /// The cursor of the next followers, if there are more.
    pub more_followers: Option<String>,
    /// Names that the account blocks.
    pub blocked: Vec<AccountName>,
    /// Names that the account mutes.
    pub muted: Vec<AccountName>,
}

impl PeoplePage<'_> {
    fn unfollow_path(&self, account: &&Account) -> String {
        format!("/user/{}/unfollow", account.name)
    }

    /// The lists of blocked and muted accounts.
    fn decided(&self) -> [DecidedList<'_>; 2] {
        [
            DecidedList {
                heading: "Blocked accounts",
                about: "They cannot follow or address you, and see your profile as private.",
                word: "unblock",
                label: "Unblock",
                names: &self.blocked,
            },
            DecidedList {
                heading: "Muted accounts",
                about: "Their activities do not appear in your feed. They do not learn of it.",
                word: "unmute",
                label: "Unmute",
                names: &self.muted,
            },
        ]
    }

    /// The target of another form about this name.
    fn path(&self, name: &AccountName, word: &str) -> String {
        format!("/user/{name}/{word}")
    }
}

/// A list of names with a button each.
struct DecidedList<'a> {
    heading: &'static str,
    about: &'static str,
    /// The last segment of the forms' target.
    word: &'static str,
    label: &'static str,
    names: &'a [AccountName],
}

/// Data export and account deletion.
#[derive(Template)]
#[template(path = "settings/data.html")]
pub struct DataPage<'a> {
    /// The public addresses of the server.
    pub site: &'a Site,
    /// Header and navigation.
    pub frame: Frame<'a>,
    /// The error to show, if any.
    pub complaint: Option<&'a str>,
}

fn scope_text(scopes: Scopes) -> &'static str {
    if scopes.can_write() { "read and write" } else { "read only" }
}
