//! Recognises a typed address: its service, and the address of the feed.

use super::pattern::Values;
use super::service::host_of;
use super::{Service, by_name, services};
use crate::address;
use crate::limits::MAX_URL;
use url::Url;

/// The result of [`recognise`].
#[derive(Clone, Debug)]
pub struct Recognised {
    /// The service, if the catalogue has it.
    pub service: Option<&'static Service>,
    /// The feed's address, if it follows from the typed text.
    pub feed: Option<Url>,
    /// The page that was typed. If `feed` is `None` or does not exist, discover the feed from this page.
    pub page: Url,
}

/// Recognises the address of a page or a feed with or without a scheme, a bare domain, and a fediverse handle
/// (`@alice@example.org`). `None` for any other text.
pub fn recognise(typed: &str) -> Option<Recognised> {
    let typed = typed.trim();
    if typed.is_empty() || typed.len() > MAX_URL || typed.contains(char::is_whitespace) {
        return None;
    }
    if let Some(recognised) = handle(typed) {
        return Some(recognised);
    }
    let page = web(typed)?;
    // A service with a fixed host is certain; software that runs on any host is a guess.
    let (certain, guessed): (Vec<_>, Vec<_>) =
        services().iter().partition(|service| !service.feed.has("host"));
    let services: Vec<&'static Service> = certain.into_iter().chain(guessed).collect();
    if let Some(service) = services.iter().find(|service| has_feed(service, &page)) {
        return Some(Recognised { service: Some(service), feed: Some(page.clone()), page });
    }
    let known = services.iter().find_map(|service| Some((*service, has_page(service, &page)?)));
    let service = known.as_ref().map(|(service, _)| *service);
    let feed = known.and_then(|(service, values)| service.feed.filled(&values));
    Some(Recognised { service, feed, page })
}

fn has_feed(service: &Service, address: &Url) -> bool {
    std::iter::once(&service.feed).chain(&service.feeds).any(|pattern| pattern.values_of(address).is_some())
}

fn has_page(service: &Service, address: &Url) -> Option<Values> {
    service.pages.iter().find_map(|pattern| pattern.values_of(address))
}

/// `@alice@example.org`: nearly all fediverse servers use Mastodon's addresses.
fn handle(typed: &str) -> Option<Recognised> {
    let (name, host) = typed.strip_prefix('@')?.split_once('@')?;
    let host = host_of(host)?;
    let mastodon = by_name("Mastodon")?;
    let page = Url::parse(&format!("https://{host}/@{}", super::pattern::encoded(name)?)).ok()?;
    Some(Recognised { service: Some(mastodon), feed: mastodon.feed_of(&format!("{name}@{host}")), page })
}

/// A web address; the scheme may be missing.
fn web(typed: &str) -> Option<Url> {
    let typed = typed.strip_prefix("feed:").unwrap_or(typed);
    let typed = typed.strip_prefix("//").unwrap_or(typed);
    let url = if typed.contains("://") {
        Url::parse(typed).ok()?
    } else {
        let host = typed.split(['/', '?', '#', ':']).next()?;
        Url::parse(&format!("https://{typed}")).ok().filter(|_| host.contains('.') && !host.contains('@'))?
    };
    Some(url).filter(address::is_web)
}
