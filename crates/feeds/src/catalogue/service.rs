//! A service of the catalogue, parsed from its file.

use super::pattern::{Pattern, Values, encoded};
use crate::feed::{FeedItem, Medium};
use crate::words;
use model::Verb;
use serde::Deserialize;
use url::Url;

/// A service that publishes feeds.
#[derive(Debug)]
pub struct Service {
    /// Its name, as shown in activities.
    pub name: String,
    /// The name with a description, for a list to choose from.
    pub title: String,
    /// Its site.
    pub site: String,
    /// Its icon.
    pub icon: String,
    /// What a person has to enter, in words for that person: a name, or an address.
    pub asks: String,
    /// The verb of items that match no rule.
    pub verb: String,
    /// The object type of items that match no rule.
    pub kind: String,
    /// Whether item titles are complete sentences ("Alice liked …").
    pub(super) sentences: bool,
    /// The address of a person's feed.
    pub(super) feed: Pattern,
    /// Other feeds of this service. They are used as typed.
    pub(super) feeds: Vec<Pattern>,
    /// Pages that a person may enter instead of a feed.
    pub(super) pages: Vec<Pattern>,
    rules: Vec<Rule>,
}

/// Verb and object type of items that contain all of these texts.
#[derive(Debug)]
struct Rule {
    id: Option<String>,
    title: Option<String>,
    link: Option<String>,
    medium: Option<Medium>,
    verb: String,
    kind: String,
}

impl Service {
    pub(super) fn parse(text: &str) -> Result<Service, String> {
        let raw: RawService = toml::from_str(text).map_err(|error| error.to_string())?;
        let patterns =
            |texts: Vec<String>| texts.iter().map(|text| pattern(text)).collect::<Result<Vec<_>, _>>();
        Ok(Service {
            site: web(&raw.site)?,
            icon: web(&raw.icon)?,
            verb: verb(&raw.verb)?,
            kind: kind(&raw.kind)?,
            feed: pattern(&raw.feed)?,
            feeds: patterns(raw.feeds)?,
            pages: patterns(raw.pages)?,
            rules: raw.rules.iter().map(rule).collect::<Result<_, _>>()?,
            name: raw.name,
            title: raw.title,
            asks: raw.asks,
            sentences: raw.sentences,
        })
    }

    /// The feed of a person, if the name is enough to build its address: `alice`, `@alice`, or
    /// `alice@example.org` for a service with many hosts.
    pub fn feed_of(&self, person: &str) -> Option<Url> {
        let person = person.trim();
        let person = person.strip_prefix('@').unwrap_or(person);
        let mut values = Values::new();
        let name = match person.split_once('@').filter(|_| self.feed.has("host")) {
            Some((name, host)) => {
                values.push(("host".to_owned(), host_of(host)?));
                name
            }
            None => person,
        };
        values.push(("person".to_owned(), encoded(name)?));
        self.feed.has("person").then(|| self.feed.filled(&values))?
    }

    /// Verb and object type of an item: from the first rule that matches.
    pub(super) fn facets_of(&self, item: &FeedItem) -> (&str, &str) {
        let rule = self.rules.iter().find(|rule| rule.matches(item));
        rule.map_or((&self.verb, &self.kind), |rule| (&rule.verb, &rule.kind))
    }
}

impl Rule {
    fn matches(&self, item: &FeedItem) -> bool {
        let has = |expected: &Option<String>, actual: Option<&str>| {
            expected.as_ref().is_none_or(|text| actual.is_some_and(|actual| actual.contains(text.as_str())))
        };
        has(&self.id, Some(&item.id))
            && has(&self.title, item.title.as_deref())
            && has(&self.link, item.url.as_deref())
            && (self.medium.is_none() || self.medium == item.medium)
    }
}

/// Normalises a typed host name. `None` unless it is a domain name.
pub(super) fn host_of(written: &str) -> Option<String> {
    let is_plain = !written.contains(['/', '?', '#', '@', ':', '\\', ' ']) && written.contains('.');
    let url = Url::parse(&format!("https://{written}/")).ok().filter(|_| is_plain)?;
    url.domain().map(str::to_owned)
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawService {
    name: String,
    title: String,
    site: String,
    icon: String,
    asks: String,
    verb: String,
    kind: String,
    feed: String,
    #[serde(default)]
    feeds: Vec<String>,
    #[serde(default)]
    pages: Vec<String>,
    #[serde(default)]
    sentences: bool,
    #[serde(default)]
    rules: Vec<RawRule>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawRule {
    id: Option<String>,
    title: Option<String>,
    link: Option<String>,
    medium: Option<String>,
    verb: String,
    kind: String,
}

fn rule(raw: &RawRule) -> Result<Rule, String> {
    let medium = match raw.medium.as_deref() {
        None => None,
        Some("photo") => Some(Medium::Photo),
        Some("video") => Some(Medium::Video),
        Some("audio") => Some(Medium::Audio),
        Some(other) => return Err(format!("invalid medium: {other}: expected photo, video or audio")),
    };
    Ok(Rule {
        id: raw.id.clone(),
        title: raw.title.clone(),
        link: raw.link.clone(),
        medium,
        verb: verb(&raw.verb)?,
        kind: kind(&raw.kind)?,
    })
}

fn pattern(text: &str) -> Result<Pattern, String> {
    Pattern::parse(text).ok_or_else(|| format!("invalid address pattern: {text}"))
}

fn web(text: &str) -> Result<String, String> {
    let url = Url::parse(text).ok().filter(crate::address::is_web);
    url.map(String::from).ok_or_else(|| format!("invalid address: {text}"))
}

/// A verb with a known past tense.
fn verb(text: &str) -> Result<String, String> {
    let known = Verb::parse(text).filter(|verb| verb.past_tense() != verb.as_str() || text == "read");
    known.map(|verb| verb.as_str().to_owned()).ok_or_else(|| format!("unknown verb: {text}"))
}

fn kind(text: &str) -> Result<String, String> {
    words::kind(text).ok_or_else(|| format!("invalid kind: {text}"))
}
