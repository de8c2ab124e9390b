//! The reader's place in the feed. `/feed/seen` is the form that moves the seen position, `/feed/unread` the number of unread
//! activities for the page's script.
//!
//! Pages use one seen position, that of `tofrom`: the other collections and all filters select from the same activities.

use crate::pages::form::VerifiedForm;
use crate::pages::{Person, get_only, go, post_only};
use crate::problem::Problem;
use crate::respond::Caching;
use crate::service::{Collections, Service};
use crate::views::frame::MAX_BADGE;
use crate::views::item::ItemView;
use crate::views::unread::{Badge, PageUnread};
use axum::extract::State;
use axum::response::{IntoResponse, Response};
use axum::routing::{MethodRouter, get, post};
use domain::feed::{Item, Page, ReadError};
use domain::live::Hub;
use model::{Account, Collection, FeedQuery, RawQuery, SyncToken};
use std::sync::Arc;

pub(crate) fn seen_methods() -> MethodRouter<Service> {
    post_only(post(mark_as_read))
}

pub(crate) fn unread_methods() -> MethodRouter<Service> {
    get_only(get(count))
}

/// Marks as read what the page of the form knew, not what arrived since.
async fn mark_as_read(
    State(collections): State<Arc<Collections>>,
    State(hub): State<Arc<Hub>>,
    VerifiedForm { person, fields }: VerifiedForm,
) -> Result<Response, Problem> {
    let query = collections.everything(&person.account)?;
    let cursor = fields.get("cursor").unwrap_or_default();
    let sync_token = query.parse_sync_token(&cursor, collections.site.cursor_keys())?;
    if collections.feed.mark_seen(&query, &sync_token).await? {
        hub.seen_moved(collections.store.as_ref(), person.account.uid).await;
    }
    Ok(go(&collections.site, "/feed?done=read"))
}

/// The badge's text, such as `12`, `99+` or `0`.
async fn count(
    State(collections): State<Arc<Collections>>,
    Person(person): Person,
) -> Result<Response, Problem> {
    let query = collections.everything(&person.account)?;
    let badge = collections.badge(MAX_BADGE, &person.account, &query).await?;
    Ok(([Caching::Never.header()], badge.to_string()).into_response())
}

impl Collections {
    /// The query of all that the account sees, whose seen position the pages use.
    fn everything(&self, account: &Account) -> Result<FeedQuery, Problem> {
        Ok(self.site.query(&RawQuery::default(), account.uid, Collection::ToFrom)?)
    }

    /// The number of unread activities, counted up to `max`.
    async fn badge(&self, max: usize, account: &Account, query: &FeedQuery) -> Result<Badge, ReadError> {
        let unread = self.feed.unread_up_to(max, account, query).await?;
        Ok(Badge { count: unread.count, at_least: unread.at_least })
    }

    /// The seen position, if the account has ever marked its feed as read.
    pub(super) async fn seen(&self, account: &Account) -> Result<Option<SyncToken>, Problem> {
        Ok(self.feed.seen(&self.everything(account)?).await?)
    }

    /// What is unread on the first page of the whole feed, by date received, and below it.
    pub(super) async fn page_unread(
        &self,
        account: &Account,
        page: &Page,
        seen: Option<&SyncToken>,
        items: &[ItemView],
        cursor: &str,
    ) -> Result<PageUnread, Problem> {
        // After the page, so that it counts at least what the page shows. If there are more than a page has, neither the
        // line nor the script needs their number.
        let badge = self.badge(page.items.len(), account, &self.everything(account)?).await?;
        let is_countable = |item: &&Item| seen.is_some_and(|seen| !item.is_seen(seen)) && item.has_arrived();
        let countable = page.items.iter().filter(is_countable).count();
        Ok(PageUnread::new(badge, countable, items, cursor))
    }
}
