//! Operations of pages: rate-limited polls, unused names, OPML lists, and verified pages.

use super::connection::{Connection, ConnectionSettings, name_for};
use super::source::id_of;
use super::{NotConnected, PollOutcome, Sources};
use feeds::catalogue;
use feeds::opml::Outline;
use feeds::{Feed, Format};
use model::{Account, Millis};
use store::StoreError;
use url::Url;

/// The delay of the first poll of an imported source in milliseconds: its connection is stored first.
const FIRST_POLL_DELAY: i64 = 5_000;

impl Sources {
    /// Polls a connection's source now, within the account's fetch budget. `None` if there is no connection with this
    /// name.
    pub async fn check_again(
        &self,
        account: &Account,
        name: &str,
    ) -> Result<Option<PollOutcome>, NotConnected> {
        self.spend_fetch(account)?;
        Ok(self.check(account, name).await?)
    }

    /// The distinct pages that link to the account, as of the last check.
    pub async fn verified_pages(&self, account: &Account) -> Result<Vec<Url>, StoreError> {
        let mut pages: Vec<Url> = Vec::new();
        for stored in self.store.connections_of(account.uid).await? {
            let ConnectionSettings { page, verified, .. } = Connection::read(stored)?.settings;
            let page = page.filter(|_| verified.is_some()).map(|page| (*page).clone());
            pages.extend(page.filter(|page| !pages.contains(page)));
        }
        Ok(pages)
    }

    /// Connects an account to a feed of an OPML list without fetching it: the worker polls the feeds later. Returns whether
    /// the connection is new.
    pub async fn connect_without_fetching(
        &self,
        account: &Account,
        outline: &Outline,
    ) -> Result<bool, NotConnected> {
        let mut address = self.fetcher.check(outline.address.as_str())?;
        address.set_fragment(None);
        let connections = self.store.connections_of(account.uid).await?;
        let source = id_of(&address);
        if connections.iter().any(|connection| connection.source == source) {
            return Ok(false);
        }
        self.require_room(connections.len())?;
        let name = free_name(&name_for(&address), |name| {
            connections.iter().any(|connection| connection.name == name)
        });
        let known = catalogue::recognise(address.as_str()).and_then(|recognised| recognised.service);
        let service =
            catalogue::source(known, &unfetched_feed(), &address).ok_or(NotConnected::NotUnderstood)?;
        let page = outline.site.as_ref().and_then(|site| self.fetcher.check(site.as_str()).ok());
        let now = self.clock.now();
        let settings = ConnectionSettings::new(service, address.to_string(), page, now);
        let by = Millis(now.0 + FIRST_POLL_DELAY);
        let update = self.change_source_at(&address, |source| {
            source.known.ended = false;
            source.poll_by(by);
        });
        update.await?;
        let connection =
            Connection { owner: account.uid, name, version: None, source, removed: false, settings };
        self.add_connection(connection).await?;
        Ok(true)
    }
}

/// The name, with a number appended if it is taken.
pub fn free_name(name: &str, is_taken: impl Fn(&str) -> bool) -> String {
    let numbered = (2..).map(|number| format!("{name}-{number}"));
    let mut names = std::iter::once(name.to_owned()).chain(numbered);
    names.find(|name| !is_taken(name)).unwrap_or_default()
}

/// A feed that has not been fetched.
fn unfetched_feed() -> Feed {
    Feed {
        format: Format::Atom,
        title: None,
        site: None,
        icon: None,
        hubs: Vec::new(),
        own_address: None,
        every: None,
        provider: None,
        items: Vec::new(),
    }
}
