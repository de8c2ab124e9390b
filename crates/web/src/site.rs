//! Builds all public addresses and identifiers of the server from the configured base address, never from a request.

use model::{AccountName, ActivityId, Collection, CursorKeys, FeedQuery, ParameterError, RawQuery, Uid};
use std::sync::Arc;

/// The public addresses of the server. Cloning it is cheap.
#[derive(Clone, Debug)]
pub struct Site {
    base: Arc<str>,
    /// Where the path prefix begins in `base`.
    prefix_at: usize,
    tag_host: Arc<str>,
    cursor_keys: CursorKeys,
    searches_text: bool,
    authority: Option<Arc<str>>,
}

impl Site {
    /// A site at that base address (`https://host[:port][/prefix]`, without a trailing slash). `tag_host` is the host
    /// in Atom ids: it is set once and stays when the base address changes. `cursor_keys` seal the cursors in links.
    pub fn new(base: impl Into<String>, tag_host: impl Into<String>, cursor_keys: CursorKeys) -> Site {
        let (base, tag_host): (String, String) = (base.into(), tag_host.into());
        let base = base.trim_end_matches('/');
        let after_scheme = base.find("://").map_or(0, |at| at + 3);
        let path = base.get(after_scheme..).and_then(|rest| rest.find('/'));
        Site {
            base: base.into(),
            prefix_at: path.map_or(base.len(), |at| after_scheme + at),
            tag_host: tag_host.into(),
            searches_text: false,
            authority: None,
            cursor_keys,
        }
    }

    /// The site whose certificate only this authority vouches for, a file: commands on pages name it.
    pub fn trusted_by(self, authority: &str) -> Site {
        Site { authority: Some(authority.into()), ..self }
    }

    /// The start of a curl command for this site.
    pub(crate) fn curl(&self) -> String {
        match &self.authority {
            Some(file) => format!("curl --cacert '{}'", file.replace('\'', r"'\''")),
            None => "curl".to_owned(),
        }
    }

    /// The site whose search also finds activities by their words.
    pub(crate) fn searching_text(self, searches_text: bool) -> Site {
        Site { searches_text, ..self }
    }

    /// Whether the search finds activities by their words, not only people.
    pub(crate) fn searches_text(&self) -> bool {
        self.searches_text
    }

    /// The base address.
    pub fn base(&self) -> &str {
        &self.base
    }

    /// Scheme, host and port.
    pub fn origin(&self) -> &str {
        self.base.strip_suffix(self.prefix()).unwrap_or(&self.base)
    }

    /// The path prefix of all routes: empty, or `/prefix`.
    pub fn prefix(&self) -> &str {
        self.base.get(self.prefix_at..).unwrap_or_default()
    }

    /// The HTML page of an activity.
    pub fn activity_url(&self, id: ActivityId) -> String {
        format!("{}/activity/{id}", self.base)
    }

    /// The HTML page of an account.
    pub fn profile_url(&self, name: &AccountName) -> String {
        format!("{}/user/{name}", self.base)
    }

    /// The account's picture, `pixels` wide and high.
    pub fn avatar_url(&self, name: &AccountName, pixels: u16) -> String {
        format!("{}/user/{name}/avatar/{pixels}.png", self.base)
    }

    /// The keys of cursors.
    pub fn cursor_keys(&self) -> &CursorKeys {
        &self.cursor_keys
    }

    /// Validates the parameters of a query of this collection.
    pub fn query(
        &self,
        raw: &RawQuery,
        owner: Uid,
        collection: Collection,
    ) -> Result<FeedQuery, ParameterError> {
        FeedQuery::resolve(raw, owner, collection, &self.cursor_keys)
    }

    /// The address of an account's collection with this query.
    pub fn collection_url(&self, name: &AccountName, query: &FeedQuery) -> String {
        let (collection, rendered) = (query.collection.as_str(), query.render(&self.cursor_keys));
        let separator = if rendered.is_empty() { "" } else { "?" };
        format!("{}/200909/activity/{name}/{collection}{separator}{rendered}", self.base)
    }

    /// The page that explains a problem type.
    pub fn problem_url(&self, kind: &str) -> String {
        format!("{}/docs/problems/{kind}", self.base)
    }

    /// The scheme of Atom categories, which is also the address of their documentation.
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
