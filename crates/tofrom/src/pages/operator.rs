//! The operator pages.

use super::display_time::DisplayTime;
use super::frame::Frame;
use super::plot::Plot;
use crate::site::Site;
use crate::telemetry::admin::Health;
use askama::Template;
use model::{Account, Application, Millis, Uid};
use store::DeadLetter;

/// The health page.
#[derive(Template)]
#[template(path = "operator/overview.html")]
pub struct OverviewPage<'a> {
    /// The public addresses of the server.
    pub site: &'a Site,
    /// Header and navigation.
    pub frame: Frame<'a>,
    /// The problem, if the server is not healthy.
    pub complaint: Option<String>,
    /// The state of store and delivery log.
    pub health: &'a Health,
    /// The dead letters.
    pub letters: Vec<LetterView>,
    /// Plots of this process's last hours.
    pub plots: Vec<Plot>,
}

/// A dead letter as listed.
pub struct LetterView {
    /// Its number.
    pub number: u64,
    /// The failed work.
    pub what: String,
    /// The number of attempts.
    pub attempts: u32,
    /// The last error.
    pub why: String,
    /// When the last attempt failed.
    pub at: DisplayTime,
}

impl LetterView {
    /// A dead letter, shown at the time `now`.
    pub fn of(letter: &DeadLetter, what: String, now: Millis) -> LetterView {
        let at = DisplayTime::new(letter.at, now);
        LetterView { number: letter.number, what, attempts: letter.attempts, why: letter.error.clone(), at }
    }

    fn replay_path(&self) -> String {
        format!("/operator/deadletters/{}/replay", self.number)
    }
}

/// The list of accounts.
#[derive(Template)]
#[template(path = "operator/accounts.html")]
pub struct AccountsPage<'a> {
    /// The public addresses of the server.
    pub site: &'a Site,
    /// Header and navigation.
    pub frame: Frame<'a>,
    /// The operator's account.
    pub me: Uid,
    /// The searched name, or empty.
    pub search: &'a str,
    /// A link that was just created.
    pub link: Option<&'a TicketLink>,
    /// The error to show, if any.
    pub complaint: Option<&'a str>,
    /// The accounts of this page.
    pub accounts: Vec<Account>,
    /// The last account of this page, if more follow.
    pub more: Option<i64>,
}

impl AccountsPage<'_> {
    fn path(&self, account: &&Account, what: &str) -> String {
        format!("/operator/accounts/{}/{what}", account.name)
    }
}

/// An invitation or password reset link. It is shown once.
pub struct TicketLink {
    /// The purpose of the link.
    pub about: String,
    /// The address.
    pub address: String,
}

/// The list of applications.
#[derive(Template)]
#[template(path = "operator/applications.html")]
pub struct ApplicationsPage<'a> {
    /// The public addresses of the server.
    pub site: &'a Site,
    /// Header and navigation.
    pub frame: Frame<'a>,
    /// All applications that are not removed.
    pub applications: Vec<ApplicationRow>,
}

/// An application as listed for operators.
pub struct ApplicationRow {
    /// Its consumer key.
    pub key: String,
    /// The application's name.
    pub name: String,
    /// The callback.
    pub callback: String,
    /// The name of the account that registered it.
    pub owner: Option<String>,
    /// When it was registered.
    pub created: DisplayTime,
}

impl ApplicationRow {
    /// An application, shown at the time `now`.
    pub fn of(application: &Application, owner: Option<String>, now: Millis) -> ApplicationRow {
        ApplicationRow {
            key: application.key.clone(),
            name: application.name.clone(),
            callback: application.callback.clone(),
            owner,
            created: DisplayTime::new(application.created, now),
        }
    }

    fn remove_path(&self) -> String {
        format!("/operator/applications/{}/remove", self.key)
    }
}
