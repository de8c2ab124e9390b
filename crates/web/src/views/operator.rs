//! The operator pages.

use crate::site::Site;
use crate::views::display_time::DisplayTime;
use crate::views::frame::Frame;
use crate::views::hooks::HookView;
pub use crate::views::plot::{Plot, PlotRow};
use crate::views::security::EventView;
use askama::Template;
use domain::health::Health;
use model::{Account, Application, Millis, Uid};
use store::{AccountUse, DeadLetter, StorageUse};

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
    /// Hooks that fail or are disabled, each with its account.
    pub hooks: Vec<(String, HookView)>,
    /// Plots of this process's last hours.
    pub plots: Vec<Plot>,
    /// The values of the plots.
    pub rows: Vec<PlotRow>,
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

/// The audit log.
#[derive(Template)]
#[template(path = "operator/audit.html")]
pub struct AuditPage<'a> {
    /// The public addresses of the server.
    pub site: &'a Site,
    /// Header and navigation.
    pub frame: Frame<'a>,
    /// The events of this page, newest first.
    pub events: Vec<EventView>,
    /// The place of the last event, if more follow.
    pub more: Option<String>,
}

/// How much storage is used.
#[derive(Template)]
#[template(path = "operator/storage.html")]
pub struct StoragePage<'a> {
    /// The public addresses of the server.
    pub site: &'a Site,
    /// Header and navigation.
    pub frame: Frame<'a>,
    /// The sizes of the store; `None` on a cluster.
    pub sizes: Option<&'a StorageUse>,
    /// The size of the media cache; `None` if the proxy is off.
    pub pictures: Option<u64>,
    /// The largest accounts.
    pub largest: Vec<(AccountUse, Account)>,
}

impl StoragePage<'_> {
    /// The parts with their colours on the bar.
    fn parts(&self) -> Vec<(&'static str, &'static str, u64)> {
        let mut parts = Vec::new();
        if let Some(sizes) = self.sizes {
            let used = sizes.database.saturating_sub(sizes.unused);
            parts.extend([
                ("Activities and accounts", "part-1", used),
                ("Log", "part-3", sizes.log),
                ("Free in the database", "part-4", sizes.unused),
            ]);
        }
        parts.extend(self.pictures.map(|bytes| ("Picture cache", "part-2", bytes)));
        parts
    }

    fn total(&self) -> u64 {
        self.parts().iter().map(|(_, _, bytes)| bytes).sum()
    }

    /// Left end and width of each part on a bar of 1,000 units.
    fn bar(&self) -> Vec<(&'static str, u64, u64)> {
        let total = self.total().max(1);
        let mut left = 0;
        let parts = self.parts().into_iter().map(|(_, class, bytes)| {
            let width = bytes.saturating_mul(1_000) / total;
            left += width;
            (class, left - width, width)
        });
        parts.collect()
    }
}

/// `1.4 GB`.
pub fn size(bytes: impl std::borrow::Borrow<u64>) -> String {
    let bytes = *bytes.borrow();
    let units = [(1_000_000_000, "GB"), (1_000_000, "MB"), (1_000, "kB")];
    match units.into_iter().find(|(unit, _)| bytes >= *unit) {
        Some((unit, name)) if bytes / unit < 10 => {
            format!("{}.{} {name}", bytes / unit, bytes % unit * 10 / unit)
        }
        Some((unit, name)) => format!("{} {name}", bytes / unit),
        None => format!("{bytes} bytes"),
    }
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

#[cfg(test)]
mod tests {
    use super::size;

    #[test]
    fn sizes_are_short() {
        for (bytes, text) in [
            (0, "0 bytes"),
            (999, "999 bytes"),
            (1_499, "1.4 kB"),
            (58_000_000, "58 MB"),
            (2_150_000_000, "2.1 GB"),
        ] {
            assert_eq!(size(bytes), text);
        }
    }
}
