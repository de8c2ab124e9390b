//! Every address and identifier that the service gives out is built here, from the one configured base address and
//! never from a request.

use model::{AccountName, ActivityId, Collection, FeedQuery};

/// The public face of the service.
#[derive(Clone, Debug)]
pub struct Site {
    base: String,
    tag_host: String,
}

impl Site {
    /// A site at that base address (`https://host[:port][/prefix]`, no slash at the end). `tag_host` is the host in
    /// Atom ids: fixed once, whatever becomes of the address.
    pub fn new(base: impl Into<String>, tag_host: impl Into<String>) -> Site {
        let base: String = base.into();
        Site { base: base.trim_end_matches('/').to_owned(), tag_host: tag_host.into() }
    }

    /// The base address.
    pub fn base(&self) -> &str {
        &self.base
    }

    /// Scheme, host and port.
    pub fn origin(&self) -> &str {
        self.base.strip_suffix(self.prefix()).unwrap_or(&self.base)
    }

    /// The path below which everything is: empty, or `/prefix`.
    pub fn prefix(&self) -> &str {
        let after_scheme = self.base.find("://").map_or(0, |at| at + 3);
        let rest = self.base.get(after_scheme..).unwrap_or_default();
        rest.find('/').and_then(|at| rest.get(at..)).unwrap_or_default()
    }

    /// The human page of one activity.
    pub fn activity_url(&self, id: ActivityId) -> String {
        format!("{}/activity/{id}", self.base)
    }

    /// The page of one account.
    pub fn profile_url(&self, name: &AccountName) -> String {
        format!("{}/user/{name}", self.base)
    }

    /// The account's picture, so many pixels wide and high.
    pub fn avatar_url(&self, name: &AccountName, pixels: u16) -> String {
        format!("{}/user/{name}/avatar/{pixels}.png", self.base)
    }

    /// The address that asks `query` of that account's collection.
    pub fn collection_url(&self, name: &AccountName, query: &FeedQuery) -> String {
        let (collection, rendered) = (query.collection.as_str(), query.render());
        let sync_token = if rendered.is_empty() { "" } else { "?" };
        format!("{}/200909/activity/{name}/{collection}{sync_token}{rendered}", self.base)
    }

    /// The page that explains one kind of problem.
    pub fn problem_url(&self, kind: &str) -> String {
        format!("{}/docs/problems/{kind}", self.base)
    }

    /// The scheme of Atom categories; it leads to a page about them.
    pub fn category_scheme(&self) -> String {
        format!("{}/docs/categories", self.base)
    }

    /// The Atom id of an activity.
    pub fn activity_tag(&self, id: ActivityId) -> String {
        format!("tag:{},2009:activity/{id}", self.tag_host)
    }

    /// The Atom id of a collection.
    pub fn feed_tag(&self, collection: Collection, name: &AccountName) -> String {
        format!("tag:{},2009:{}/{name}", self.tag_host, collection.as_str())
    }
}
