//! What pages ask for besides: looks that are counted, names that are free, lists of feed readers, and the pages that
//! say whose they are.

use super::connection::{Connection, ConnectionSettings, MAX_CONNECTIONS, name_for};
use super::source::id_of;
use super::{NotConnected, PollOutcome, Sources};
use feeds::catalogue;
use feeds::opml::Outline;
use feeds::{Feed, Format};
use model::{Account, Millis};
use store::StoreError;
use url::Url;

/// When a source of a list is outcome at: the connection has to be written before.
const SOON: i64 = 5_000;

impl Sources {
    /// Looks at a connection's source now, as often as the account may have something outcome at. `None`: there is none
    /// of that name.
    pub async fn check_again(
        &self,
        account: &Account,
        name: &str,
    ) -> Result<Option<PollOutcome>, NotConnected> {
        self.may_ask(account)?;
        Ok(self.check(account, name).await?)
    }

    /// The pages that said, when they were last outcome at, that they are the account's; each once.
    pub async fn verified_pages(&self, account: &Account) -> Result<Vec<Url>, StoreError> {
        let mut pages: Vec<Url> = Vec::new();
        for stored in self.store.connections_of(account.uid).await? {
            let ConnectionSettings { page, verified, .. } = Connection::read(stored)?.settings;
            let page = page.filter(|_| verified.is_some()).map(|page| (*page).clone());
            pages.extend(page.filter(|page| !pages.contains(page)));
        }
        Ok(pages)
    }

    /// Connects an account to a feed of a list, unseen: a list is long, so its feeds are outcome at in their turn. Gives
    /// whether that is new.
    pub async fn connect_unseen(&self, account: &Account, outline: &Outline) -> Result<bool, NotConnected> {
        let mut address = self.fetcher.check(outline.address.as_str())?;
        address.set_fragment(None);
        let there = self.store.connections_of(account.uid).await?;
        let source = id_of(&address);
        if there.iter().any(|one| one.source == source) {
            return Ok(false);
        }
        if there.len() >= MAX_CONNECTIONS {
            return Err(NotConnected::TooMany);
        }
        let name = free_name(&name_for(&address), |name| there.iter().any(|one| one.name == name));
        let known = catalogue::recognise(address.as_str()).and_then(|recognised| recognised.service);
        let service =
            catalogue::source(known, &nothing_yet(), &address).ok_or(NotConnected::NotUnderstood)?;
        let page = outline.site.as_ref().and_then(|site| self.fetcher.check(site.as_str()).ok());
        let now = self.clock.now();
        let settings = ConnectionSettings::new(service, address.to_string(), page, now);
        let by = Millis(now.0 + SOON);
        let awaited = self.change_source_at(&address, |source| {
            source.known.ended = false;
            source.is_awaited_by(by);
        });
        awaited.await?;
        let connection =
            Connection { owner: account.uid, name, version: None, source, removed: false, settings };
        self.add_connection(connection).await?;
        Ok(true)
    }
}

/// That name, or with a number after it if it is taken.
pub fn free_name(name: &str, is_taken: impl Fn(&str) -> bool) -> String {
    let numbered = (2..).map(|number| format!("{name}-{number}"));
    let mut names = std::iter::once(name.to_owned()).chain(numbered);
    names.find(|name| !is_taken(name)).unwrap_or_default()
}

/// A feed that nobody has read.
fn nothing_yet() -> Feed {
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
