//! The settings page of hooks.

use super::display_time::DisplayTime;
use super::frame::{Frame, label};
use crate::site::Site;
use askama::Template;
use domain::hooks::ListedHook;
use model::Millis;

/// The hooks of the account.
#[derive(Template)]
#[template(path = "settings/hooks.html")]
pub struct HooksPage<'a> {
    /// The public addresses of the server.
    pub site: &'a Site,
    /// Header and navigation.
    pub frame: Frame<'a>,
    /// The secret that was just created.
    pub made: Option<NewHookSecret<'a>>,
    /// The error to show, if any.
    pub complaint: Option<&'a str>,
    /// The form as it was sent.
    pub form: &'a HookForm,
    /// The hooks, by name.
    pub hooks: Vec<HookView>,
}

/// A secret that was just created. It is shown once.
pub struct NewHookSecret<'a> {
    /// The name of the hook.
    pub name: &'a str,
    /// The secret.
    pub text: &'a str,
    /// Whether there was one before it.
    pub rotated: bool,
}

/// The form of a new hook.
#[derive(Clone, Debug, Default)]
pub struct HookForm {
    /// The name.
    pub name: String,
    /// The address.
    pub url: String,
    /// The collection.
    pub collection: String,
}

/// A hook as listed.
pub struct HookView {
    /// The name.
    pub name: String,
    /// The address of the receiver.
    pub url: String,
    /// The host of that address.
    pub host: String,
    /// The name of the collection.
    pub collection: &'static str,
    /// How many seconds it is behind, if it is.
    pub lag: Option<u64>,
    /// The filters, as text.
    pub filters: Option<String>,
    /// The status, as a sentence.
    pub status: String,
    /// Whether it works without intervention.
    pub well: bool,
    /// When the last request ended.
    pub last: Option<DisplayTime>,
    can_resume: bool,
}

impl HookView {
    /// A hook, shown at the time `now`.
    pub fn of(ListedHook { hook, progress }: &ListedHook, now: Millis) -> HookView {
        let config = &hook.config;
        let all = [&config.services, &config.kinds, &config.verbs];
        let filters: Vec<&str> = all.into_iter().flatten().map(String::as_str).collect();
        let answer = match (progress.last_status, &progress.last_error) {
            (Some(status), _) => format!("The receiver answered with status {status}."),
            (None, Some(error)) => error.clone(),
            (None, None) => "Nothing was sent yet.".to_owned(),
        };
        let (status, well) = match (&config.disabled, progress.failing_since) {
            (Some(disabled), _) => (format!("Disabled. {}", disabled.reason), false),
            (None, Some(since)) => {
                let since = DisplayTime::new(since, now);
                (format!("Failing since {}. {answer} It is tried again.", since.text), false)
            }
            (None, None) => match progress.lag(now) {
                0 => (answer, true),
                lag => (format!("{answer} {lag} seconds behind."), true),
            },
        };
        HookView {
            name: hook.name.clone(),
            url: config.url.to_string(),
            host: config.url.host_str().unwrap_or_default().to_owned(),
            lag: Some(progress.lag(now)).filter(|lag| *lag > 0),
            collection: label(config.collection),
            filters: Some(filters.join(", ")).filter(|text| !text.is_empty()),
            status,
            can_resume: !well,
            well,
            last: progress.last_date.map(|at| DisplayTime::new(at, now)),
        }
    }

    fn path(&self, action: &str) -> String {
        format!("/settings/hooks/{}/{action}", self.name)
    }

    /// The actions that need no confirmation, each with its label.
    fn actions(&self) -> Vec<(&'static str, &'static str)> {
        let resume = self.can_resume.then_some(("resume", "Resume"));
        resume.into_iter().chain([("test", "Test"), ("rotate", "New secret")]).collect()
    }
}
