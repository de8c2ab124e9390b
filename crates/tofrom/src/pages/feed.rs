//! The collection as people read it.

use super::frame::Frame;
use super::group::Group;
use crate::site::Site;
use askama::Template;
use model::{AccountName, Collection, FeedQuery, Format, Order, Start};

/// The page.
#[derive(Template)]
#[template(path = "feed/page.html")]
pub struct FeedPage<'a> {
    /// The public face.
    pub site: &'a Site,
    /// What stands around it.
    pub frame: Frame<'a>,
    /// What is selected.
    pub selection: Selection<'a>,
    /// What is wrong with what was asked for.
    pub complaint: Option<&'a str>,
    /// What is shown.
    pub groups: Vec<Group>,
    /// Where it goes on.
    pub next: Option<FeedQuery>,
    /// From where new ones are announced, if the page is the newest one.
    pub sync_token: Option<String>,
    /// Whether pictures of other sites are shown.
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

    fn seen(&self, of: fn(&super::item::ItemView) -> &String) -> Vec<&str> {
        let items = self.groups.iter().flat_map(|group| &group.items);
        let mut words: Vec<&str> = items.map(|item| of(item).as_str()).collect();
        words.sort_unstable();
        words.dedup();
        words
    }

    fn services(&self) -> Vec<&str> {
        self.seen(|item| &item.service)
    }

    fn kinds(&self) -> Vec<&str> {
        self.seen(|item| &item.kind)
    }

    fn verbs(&self) -> Vec<&str> {
        self.seen(|item| &item.done)
    }
}

/// What is selected, as the form shows it and as a program would ask for it.
pub struct Selection<'a> {
    site: &'a Site,
    name: &'a AccountName,
    query: FeedQuery,
    pictures: bool,
}

impl<'a> Selection<'a> {
    /// That selection of the account's collection.
    pub fn new(site: &'a Site, name: &'a AccountName, query: &FeedQuery, pictures: bool) -> Selection<'a> {
        Selection { site, name, query: query.clone(), pictures }
    }

    /// The address of a page of ours with that query.
    fn address(&self, path: &str, query: &FeedQuery) -> String {
        let mut parts = vec![format!("collection={}", query.collection.as_str())];
        parts.extend(Some(query.render()).filter(|rendered| !rendered.is_empty()));
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
        // A cursor is of one collection.
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

    /// The same for a program.
    fn curl(&self) -> String {
        let query = self.query.from(Start::Skip(0));
        let address = self.site.collection_url(self.name, &query);
        format!("curl -H \"ServicePSK: $KEY\" \"{address}\"")
    }

    /// The same in each format, for the eye.
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

/// The day of a time, as HTML's date field has it.
fn day(time: Option<model::Millis>) -> String {
    time.map_or_else(String::new, |time| time.zulu().get(..10).unwrap_or_default().to_owned())
}
