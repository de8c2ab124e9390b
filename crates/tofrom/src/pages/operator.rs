//! What operators see.

use super::frame::Frame;
use super::moment::Moment;
use super::plot::Plot;
use crate::site::Site;
use crate::telemetry::admin::Health;
use askama::Template;
use model::{Account, Application, Millis, Uid};
use store::DeadLetter;

/// How the service is.
#[derive(Template)]
#[template(path = "operator/overview.html")]
pub struct OverviewPage<'a> {
    /// The public face.
    pub site: &'a Site,
    /// What stands around it.
    pub frame: Frame<'a>,
    /// What is wrong.
    pub complaint: Option<String>,
    /// Store and log.
    pub health: &'a Health,
    /// What was given up.
    pub letters: Vec<LetterView>,
    /// The last hours of this process.
    pub plots: Vec<Plot>,
}

/// A delivery that was given up.
pub struct LetterView {
    /// Its number.
    pub number: u64,
    /// What it was.
    pub what: String,
    /// How often it was tried.
    pub attempts: u32,
    /// Why it did not work.
    pub why: String,
    /// When it was given up.
    pub at: Moment,
}

impl LetterView {
    /// A letter, told now.
    pub fn of(letter: &DeadLetter, what: String, now: Millis) -> LetterView {
        let at = Moment::told(letter.at, now);
        LetterView { number: letter.number, what, attempts: letter.attempts, why: letter.error.clone(), at }
    }

    fn replay_path(&self) -> String {
        format!("/operator/deadletters/{}/replay", self.number)
    }
}

/// Who has an account.
#[derive(Template)]
#[template(path = "operator/accounts.html")]
pub struct AccountsPage<'a> {
    /// The public face.
    pub site: &'a Site,
    /// What stands around it.
    pub frame: Frame<'a>,
    /// The operator's own.
    pub me: Uid,
    /// The name that was looked for.
    pub wanted: &'a str,
    /// A link that was just made.
    pub link: Option<&'a Link>,
    /// What can't be.
    pub complaint: Option<&'a str>,
    /// Those that there are.
    pub accounts: Vec<Account>,
    /// After which it goes on.
    pub more: Option<i64>,
}

impl AccountsPage<'_> {
    fn path(&self, account: &&Account, what: &str) -> String {
        format!("/operator/accounts/{}/{what}", account.name)
    }
}

/// A link for somebody: it is shown once.
pub struct Link {
    /// What it is for.
    pub about: String,
    /// The address.
    pub address: String,
}

/// The applications that there are.
#[derive(Template)]
#[template(path = "operator/applications.html")]
pub struct ApplicationsPage<'a> {
    /// The public face.
    pub site: &'a Site,
    /// What stands around it.
    pub frame: Frame<'a>,
    /// All that work.
    pub applications: Vec<ApplicationRow>,
}

/// An application as operators see it.
pub struct ApplicationRow {
    /// Its consumer key.
    pub key: String,
    /// What it is called.
    pub name: String,
    /// Where it gets people back.
    pub callback: String,
    /// Who registered it.
    pub owner: Option<String>,
    /// When it was made.
    pub created: Moment,
}

impl ApplicationRow {
    /// An application, told now.
    pub fn of(application: &Application, owner: Option<String>, now: Millis) -> ApplicationRow {
        ApplicationRow {
            key: application.key.clone(),
            name: application.name.clone(),
            callback: application.callback.clone(),
            owner,
            created: Moment::told(application.created, now),
        }
    }

    fn remove_path(&self) -> String {
        format!("/operator/applications/{}/remove", self.key)
    }
}
