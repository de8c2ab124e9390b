//! The unread activities of a page: a line below them where that is true, otherwise a label on each.

use super::frame::MAX_BADGE;
use super::item::ItemView;
use std::fmt;

/// The number of unread activities that are known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Badge {
    /// The number, as far as it was counted.
    pub count: usize,
    /// There are more, or there may be.
    pub at_least: bool,
}

impl fmt::Display for Badge {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // 100 would not fit.
        match self.count {
            MAX_BADGE.. => write!(f, "{}+", MAX_BADGE - 1),
            count if self.at_least => write!(f, "{count}+"),
            count => write!(f, "{count}"),
        }
    }
}

/// What is unread on the first page of the whole feed and below it.
#[derive(Clone, Debug)]
pub struct PageUnread {
    /// The unread activities of the feed.
    pub badge: Badge,
    /// Their exact number, if it is known. Once the page shows as many, its cursor marks nothing as read that it has not
    /// shown.
    pub exact: Option<usize>,
    /// Marks as read what was there when the page was made.
    pub cursor: String,
    /// The number of activities above the line. `None`: no line would be true.
    pub line: Option<usize>,
}

impl PageUnread {
    /// `countable` of the page's unread items have arrived, so that the badge counts them.
    pub fn new(badge: Badge, countable: usize, items: &[ItemView], cursor: &str) -> PageUnread {
        let shown = items.iter().filter(|item| item.is_unread).count();
        let on_top = items.iter().take_while(|item| item.is_unread).count();
        // What is unread further down was delivered late.
        let is_all = !badge.at_least && badge.count == countable && shown == on_top;
        PageUnread {
            badge: Badge { count: badge.count.max(shown), ..badge },
            exact: (!badge.at_least).then_some(badge.count.max(shown)),
            cursor: cursor.to_owned(),
            line: (is_all && (1..items.len()).contains(&on_top)).then_some(on_top),
        }
    }

    /// Whether everything is read.
    pub fn is_none(&self) -> bool {
        self.badge.count == 0
    }
}
