//! The feed page: a collection of the signed-in account.

use super::filter::{kind_label, service_label, verb_label};
use super::{frame, service_icon};
use crate::site::Site;
pub use crate::views::filter::Choices;
use crate::views::first_steps::FirstSteps;
use crate::views::frame::Frame;
use crate::views::group::Day;
use crate::views::item::ItemView;
use crate::views::sources::PageLink;
use crate::views::unread::PageUnread;
use askama::Template;
use model::{
    Account, AccountName, Collection, FeedQuery, Filter, Format, Millis, Order, Relation, Start, State,
    category_label,
};

/// The page.
#[derive(Template)]
#[template(path = "feed/page.html")]
pub struct FeedPage<'a> {
    /// The public addresses of the server.
    pub site: &'a Site,
    /// Header and navigation.
    pub frame: Frame<'a>,
    /// The selected collection and filter.
    pub selection: Selection<'a>,
    /// The error in the query, if any.
    pub complaint: Option<&'a str>,
    /// The activities, by day and grouped.
    pub days: Vec<Day>,
    /// The values that the filter offers.
    pub choices: Choices,
    /// The query of the next page.
    pub next: Option<FeedQuery>,
    /// Where the live stream starts; only on the newest page.
    pub sync_token: Option<String>,
    /// What is unread here and below; only on the first page of the whole feed, and only if something is.
    pub unread: Option<PageUnread>,
    /// The first steps of a new account with an empty feed.
    pub steps: Option<FirstSteps>,
}

impl FeedPage<'_> {
    fn live(&self) -> Option<String> {
        let query = self.selection.query.from(Start::Skip(0));
        let sync_token = self.sync_token.as_deref()?;
        Some(format!("{}&cursor={sync_token}", self.selection.address("/feed/live", &query)))
    }

    fn older(&self) -> Option<String> {
        Some(self.selection.address("/feed", self.next.as_ref()?))
    }

    fn is_first(&self) -> bool {
        self.selection.query.start == Start::Skip(0)
    }

    fn heading(&self) -> &'static str {
        frame::label(self.selection.query.collection)
    }

    /// The actors of today's activities on this page, each with one of them and their number, the most active first.
    fn active(&self) -> Vec<(&ItemView, usize)> {
        let today = self.days.iter().filter(|day| day.day.name == "Today").flat_map(|day| &day.groups);
        let mut active: Vec<(&ItemView, usize)> = Vec::new();
        for item in today.flat_map(|group| &group.items) {
            match active.iter_mut().find(|(other, _)| other.actor == item.actor) {
                Some((_, number)) => *number += 1,
                None => active.push((item, 1)),
            }
        }
        active.sort_by_key(|(_, number)| std::cmp::Reverse(*number));
        active.truncate(MAX_ACTIVE);
        active
    }
}

/// People listed as active today.
const MAX_ACTIVE: usize = 5;

/// An active filter, with the address of the page without it.
struct ActiveFilter {
    label: String,
    icon: Option<String>,
    without: String,
}

/// The selected collection and filter: as form values, as page addresses and as API requests.
pub struct Selection<'a> {
    site: &'a Site,
    name: &'a AccountName,
    query: FeedQuery,
}

impl<'a> Selection<'a> {
    /// A selection from the account's collections.
    pub fn new(site: &'a Site, name: &'a AccountName, query: &FeedQuery) -> Selection<'a> {
        Selection { site, name, query: query.clone() }
    }

    /// The address of the page `path` with this query.
    fn address(&self, path: &str, query: &FeedQuery) -> String {
        let mut parts = vec![format!("collection={}", query.collection.as_str())];
        parts.extend(Some(query.render(self.site.cursor_keys())).filter(|rendered| !rendered.is_empty()));
        format!("{}{path}?{}", self.site.prefix(), parts.join("&"))
    }

    fn first(&self) -> String {
        self.address("/feed", &self.query.from(Start::Skip(0)))
    }

    /// The first page of the collection without a filter.
    fn all(&self) -> String {
        let word = self.query.collection.as_str();
        format!("{}/feed?collection={word}", self.site.prefix())
    }

    /// The first page with only this type.
    fn only_kind(&self, kind: &str) -> String {
        let filter = Filter { kinds: [kind.to_owned()].into(), ..Filter::default() };
        self.address("/feed", &FeedQuery { filter, ..self.query.from(Start::Skip(0)) })
    }

    /// The active filters, each with the address of the page without it.
    fn active(&self) -> Vec<ActiveFilter> {
        let mut active = Vec::new();
        let mut add = |label: String, icon: Option<String>, change: &dyn Fn(&mut FeedQuery)| {
            let mut query = self.query.from(Start::Skip(0));
            change(&mut query);
            active.push(ActiveFilter { label, icon, without: self.address("/feed", &query) });
        };
        let filter = &self.query.filter;
        for word in &filter.services {
            let icon = Some(service_icon::path(word, self.site));
            add(service_label(word), icon, &|query| {
                query.filter.services.remove(word);
            });
        }
        for word in &filter.kinds {
            add(kind_label(word), None, &|query| {
                query.filter.kinds.remove(word);
            });
        }
        for word in &filter.verbs {
            add(verb_label(word), None, &|query| {
                query.filter.verbs.remove(word);
            });
        }
        let ranges = [("Received", filter.received), ("Published", filter.published)];
        for (at, (what, range)) in ranges.into_iter().enumerate() {
            let times = [("since", range.since, true), ("before", range.before, false)];
            for (word, time, is_since) in times {
                let Some(time) = time else { continue };
                add(format!("{what} {word} {}", day(Some(time))), None, &|query| {
                    let filter = &mut query.filter;
                    let range = if at == 0 { &mut filter.received } else { &mut filter.published };
                    *(if is_since { &mut range.since } else { &mut range.before }) = None;
                });
            }
        }
        if self.by_publication() {
            add("By date published".to_owned(), None, &|query| query.order = Order::Received);
        }
        active
    }

    fn is_from(&self) -> bool {
        self.query.collection == Collection::From
    }

    fn collection(&self) -> &'static str {
        self.query.collection.as_str()
    }

    fn since(&self) -> String {
        day(self.query.filter.received.since)
    }

    fn before(&self) -> String {
        day(self.query.filter.received.before)
    }

    fn by_publication(&self) -> bool {
        self.query.order == Order::Published
    }

    /// Whether the selection has a filter or another order than the default.
    pub fn is_narrowed(&self) -> bool {
        self.query.filter != model::Filter::default() || self.by_publication()
    }

    /// The API request for this selection, as a curl command.
    fn curl(&self) -> String {
        let query = self.query.from(Start::Skip(0));
        let address = self.site.collection_url(self.name, &query);
        format!("{} -H \"ServicePSK: $KEY\" \"{address}\"", self.site.curl())
    }

    /// Label and address of this selection in each format.
    fn formats(&self) -> Vec<(&'static str, String)> {
        let label = |format: Format| match format {
            Format::Xml => "XML",
            Format::Atom => "Atom",
            Format::Json => "JSON",
            Format::FastInfoset => "Fast Infoset",
            Format::ActivityStreams => "ActivityStreams",
        };
        let address = |format: Format| {
            let query = FeedQuery { format: Some(format), ..self.query.clone() };
            Selection::new(self.site, self.name, &query).address("/feed/raw", &query)
        };
        Format::ALL.into_iter().map(|format| (label(format), address(format))).collect()
    }
}

/// The date in the form of HTML's date field; empty for none.
fn day(time: Option<Millis>) -> String {
    time.map_or_else(String::new, |time| time.zulu().get(..10).unwrap_or_default().to_owned())
}

/// The page of one activity.
#[derive(Template)]
#[template(path = "feed/activity.html")]
pub struct ActivityPage<'a> {
    /// The public addresses of the server.
    pub site: &'a Site,
    /// Header and navigation.
    pub frame: Frame<'a>,
    /// The activity as shown.
    pub item: ItemView,
    /// Visibility and recipients.
    pub state: &'a State,
}

impl ActivityPage<'_> {
    /// `Bookmark Shared`.
    fn category(&self) -> String {
        category_label(&self.state.facet.kind, &self.state.facet.verb)
    }
}

/// The profile page of an account.
#[derive(Template)]
#[template(path = "feed/person.html")]
pub struct PersonPage<'a> {
    /// The public addresses of the server.
    pub site: &'a Site,
    /// Header and navigation.
    pub frame: Frame<'a>,
    /// The account shown.
    pub owner: &'a Account,
    /// Whether the reader is this account.
    pub itself: bool,
    /// Whether the reader follows this account.
    pub followed: bool,
    /// The reader's relation to this account.
    pub relation: Relation,
    /// Pages on other sites that link back to this profile.
    pub verified: Vec<PageLink>,
    /// The account's activities, by day and grouped.
    pub days: Vec<Day>,
    /// The query of the next page.
    pub next: Option<FeedQuery>,
}

impl PersonPage<'_> {
    fn older(&self) -> Option<String> {
        let query = self.next.as_ref()?.render(self.site.cursor_keys());
        Some(format!("{}/user/{}?{query}", self.site.prefix(), self.owner.name))
    }

    /// The target of the follow or unfollow form.
    fn follow_path(&self) -> String {
        let word = if self.followed { "unfollow" } else { "follow" };
        format!("/user/{}/{word}", self.owner.name)
    }

    /// The forms besides following: the target and the label.
    fn forms(&self) -> Vec<(String, &'static str)> {
        let Relation { blocks, mutes, .. } = self.relation;
        let words = [
            if mutes { ("unmute", "Unmute") } else { ("mute", "Mute") },
            if blocks { ("unblock", "Unblock") } else { ("block", "Block") },
        ];
        words.map(|(word, label)| (format!("/user/{}/{word}", self.owner.name), label)).into()
    }

    fn avatar(&self) -> String {
        format!("{}/user/{}/avatar/120.png", self.site.prefix(), self.owner.name)
    }
}
