//! The feed page: a collection of the signed-in account.

use crate::site::Site;
use crate::views::frame::Frame;
use crate::views::group::Group;
use crate::views::item::ItemView;
use crate::views::sources::PageLink;
use askama::Template;
use model::{Account, AccountName, Collection, FeedQuery, Format, Order, Start, State};

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
    /// The activities, grouped.
    pub groups: Vec<Group>,
    /// The query of the next page.
    pub next: Option<FeedQuery>,
    /// Where the live stream starts; only on the newest page.
    pub sync_token: Option<String>,
    /// Whether pictures from other sites are shown.
    pub pictures: bool,
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

    fn distinct(&self, of: fn(&super::item::ItemView) -> &String) -> Vec<&str> {
        let items = self.groups.iter().flat_map(|group| &group.items);
        let mut words: Vec<&str> = items.map(|item| of(item).as_str()).collect();
        words.sort_unstable();
        words.dedup();
        words
    }

    fn services(&self) -> Vec<&str> {
        self.distinct(|item| &item.service)
    }

    fn kinds(&self) -> Vec<&str> {
        self.distinct(|item| &item.kind)
    }

    fn verbs(&self) -> Vec<&str> {
        self.distinct(|item| &item.done)
    }
}

/// The selected collection and filter: as form values, as page addresses and as API requests.
pub struct Selection<'a> {
    site: &'a Site,
    name: &'a AccountName,
    query: FeedQuery,
    pictures: bool,
}

impl<'a> Selection<'a> {
    /// A selection from the account's collections.
    pub fn new(site: &'a Site, name: &'a AccountName, query: &FeedQuery, pictures: bool) -> Selection<'a> {
        Selection { site, name, query: query.clone(), pictures }
    }

    /// The address of the page `path` with this query.
    fn address(&self, path: &str, query: &FeedQuery) -> String {
        let mut parts = vec![format!("collection={}", query.collection.as_str())];
        parts.extend(Some(query.render(self.site.cursor_keys())).filter(|rendered| !rendered.is_empty()));
        parts.extend(self.pictures.then(|| "pictures=1".to_owned()));
        format!("{}{path}?{}", self.site.prefix(), parts.join("&"))
    }

    fn first(&self) -> String {
        self.address("/feed", &self.query.from(Start::Skip(0)))
    }

    fn with_pictures(&self, pictures: bool) -> String {
        Selection::new(self.site, self.name, &self.query, pictures).address("/feed", &self.query)
    }

    fn other(&self, collection: &str) -> String {
        let collection = Collection::parse(collection).unwrap_or(self.query.collection);
        // A cursor belongs to one collection, so the link starts at the first page.
        self.address("/feed", &FeedQuery { collection, ..self.query.from(Start::Skip(0)) })
    }

    fn is(&self, collection: &str) -> bool {
        self.query.collection.as_str() == collection
    }

    fn collection(&self) -> &'static str {
        self.query.collection.as_str()
    }

    fn words(&self, set: &std::collections::BTreeSet<String>) -> String {
        set.iter().map(String::as_str).collect::<Vec<_>>().join(", ")
    }

    fn service(&self) -> String {
        self.words(&self.query.filter.services)
    }

    fn kind(&self) -> String {
        self.words(&self.query.filter.kinds)
    }

    fn verb(&self) -> String {
        self.words(&self.query.filter.verbs)
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

    fn is_narrowed(&self) -> bool {
        self.query.filter != model::Filter::default() || self.by_publication()
    }

    /// The API request for this selection, as a curl command.
    fn curl(&self) -> String {
        let query = self.query.from(Start::Skip(0));
        let address = self.site.collection_url(self.name, &query);
        format!("curl -H \"ServicePSK: $KEY\" \"{address}\"")
    }

    /// Label and address of this selection in each format.
    fn formats(&self) -> Vec<(&'static str, String)> {
        let label = |format: Format| match format {
            Format::Xml => "XML",
            Format::Atom => "Atom",
            Format::Json => "JSON",
            Format::FastInfoset => "Fast Infoset",
        };
        let address = |format: Format| {
            let query = FeedQuery { format: Some(format), ..self.query.clone() };
            Selection::new(self.site, self.name, &query, false).address("/feed/raw", &query)
        };
        Format::ALL.into_iter().map(|format| (label(format), address(format))).collect()
    }
}

/// The date in the form of HTML's date field; empty for none.
fn day(time: Option<model::Millis>) -> String {
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
    /// Whether pictures from other sites are shown.
    pub pictures: bool,
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
    /// Pages on other sites that link back to this profile.
    pub verified: Vec<PageLink>,
    /// The account's activities, grouped.
    pub groups: Vec<Group>,
    /// The query of the next page.
    pub next: Option<FeedQuery>,
    /// Whether pictures from other sites are shown.
    pub pictures: bool,
}

impl PersonPage<'_> {
    fn path(&self, query: &str) -> String {
        let pictures = if self.pictures { "&pictures=1" } else { "" };
        format!("{}/user/{}?{query}{pictures}", self.site.prefix(), self.owner.name)
    }

    fn older(&self) -> Option<String> {
        Some(self.path(&self.next.as_ref()?.render(self.site.cursor_keys())))
    }

    /// The target of the follow or unfollow form.
    fn follow_path(&self) -> String {
        let word = if self.followed { "unfollow" } else { "follow" };
        format!("/user/{}/{word}", self.owner.name)
    }

    fn avatar(&self) -> String {
        format!("{}/user/{}/avatar/120.png", self.site.prefix(), self.owner.name)
    }
}
