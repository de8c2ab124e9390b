//! A service of the catalogue, as its file says.

use super::pattern::{Pattern, Values, encoded};
use crate::feed::{Item, Medium};
use crate::words;
use model::Verb;
use serde::Deserialize;
use url::Url;

/// A service that publishes feeds.
#[derive(Debug)]
pub struct Service {
    /// Its name, as activities have it.
    pub name: String,
    /// The name and a word more, for a list to choose from.
    pub title: String,
    /// Its site.
    pub site: String,
    /// Its icon.
    pub icon: String,
    /// What a person has to give, in words for that person: a name, or an address.
    pub asks: String,
    /// What its items say was done, where no rule says more.
    pub verb: String,
    /// The type of what it was done with, where no rule says more.
    pub kind: String,
    /// The titles of its items say who did what.
    pub(super) sentences: bool,
    /// Where a feed lies.
    pub(super) feed: Pattern,
    /// Other feeds of this service, taken as they are.
    pub(super) feeds: Vec<Pattern>,
    /// Pages that a person may give instead.
    pub(super) pages: Vec<Pattern>,
    rules: Vec<Rule>,
}

/// What items are that have all of these texts in them.
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
        let raw: RawService = toml::from_str(text).map_err(|wrong| wrong.to_string())?;
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

    /// Where the feed of a person lies, if a name is enough to know: `alice`, `@alice`, and where the service runs at
    /// many places, `alice@example.org`.
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

    /// What an item is: the first rule that fits says it.
    pub(super) fn facets_of(&self, item: &Item) -> (&str, &str) {
        let rule = self.rules.iter().find(|rule| rule.fits(item));
        rule.map_or((&self.verb, &self.kind), |rule| (&rule.verb, &rule.kind))
    }
}

impl Rule {
    fn fits(&self, item: &Item) -> bool {
        let has = |wanted: &Option<String>, found: Option<&str>| {
            wanted.as_ref().is_none_or(|wanted| found.is_some_and(|found| found.contains(wanted.as_str())))
        };
        has(&self.id, Some(&item.id))
            && has(&self.title, item.title.as_deref())
            && has(&self.link, item.url.as_deref())
            && (self.medium.is_none() || self.medium == item.medium)
    }
}

/// A host as somebody wrote it, in the form that addresses have.
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
        Some(other) => return Err(format!("no medium: {other}")),
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
    Pattern::parse(text).ok_or_else(|| format!("no pattern: {text}"))
}

fn web(text: &str) -> Result<String, String> {
    let url = Url::parse(text).ok().filter(crate::address::is_web);
    url.map(String::from).ok_or_else(|| format!("no address: {text}"))
}

/// A word that is known how to inflect, not just any.
fn verb(text: &str) -> Result<String, String> {
    let known = Verb::parse(text).filter(|verb| verb.past_tense() != verb.as_str() || text == "read");
    known.map(|verb| verb.as_str().to_owned()).ok_or_else(|| format!("no verb: {text}"))
}

fn kind(text: &str) -> Result<String, String> {
    words::kind(text).ok_or_else(|| format!("no kind: {text}"))
}
