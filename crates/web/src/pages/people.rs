//! `/people`: public accounts, with a search by prefix.

use crate::pages::form::field;
use crate::pages::{Person, get_only};
use crate::problem::Problem;
use crate::service::Service;
use crate::site::Site;
use crate::views::frame::{Frame, Section};
use crate::views::people::{FindPeoplePage, Listed};
use crate::views::{Policy, html};
use axum::extract::State;
use axum::response::Response;
use axum::routing::{MethodRouter, get};
use http::{StatusCode, Uri};
use model::{Account, AccountName, Relation, Uid};
use std::sync::Arc;
use store::Store;

/// Accounts that a search shows.
const MAX_FOUND: usize = 50;
/// Accounts that the page suggests without a search, and how many it reads to find them.
const MAX_SUGGESTED: usize = 20;
const MAX_READ: usize = 200;
/// Maximum characters of a search.
const MAX_PREFIX: usize = 64;

pub(crate) fn methods() -> MethodRouter<Service> {
    get_only(get(show))
}

async fn show(
    State(site): State<Site>,
    State(store): State<Arc<dyn Store>>,
    Person(person): Person,
    uri: Uri,
) -> Result<Response, Problem> {
    let query = uri.query().unwrap_or_default().as_bytes();
    let words = field(query, "q").unwrap_or_default();
    let words: String = words.trim().chars().take(MAX_PREFIX).collect();
    let me = &person.account;
    let accounts = if words.is_empty() {
        suggested(store.as_ref(), me, MAX_SUGGESTED).await?
    } else {
        // One more shows whether there are more.
        without_blocked(store.as_ref(), me, store.find_accounts(&words, MAX_FOUND + 1).await?).await?
    };
    let more = accounts.len() > MAX_FOUND;
    let people = listed(store.as_ref(), me, accounts.into_iter().take(MAX_FOUND).collect()).await?;
    let frame = Frame::new(&site, &person, Section::People, &uri);
    let page = FindPeoplePage { site: &site, frame, words: &words, people, more };
    Ok(html(StatusCode::OK, &page, Policy::SAME_ORIGIN))
}

/// Public accounts of others, to follow.
pub(super) async fn suggested(store: &dyn Store, me: &Account, limit: usize) -> store::Result<Vec<Account>> {
    let accounts = store.list_accounts(None, MAX_READ).await?;
    let suggested = |account: &Account| account.public && !account.disabled && account.uid != me.uid;
    let accounts = accounts.into_iter().filter(suggested).collect();
    let mut suggested = without_blocked(store, me, accounts).await?;
    suggested.truncate(limit);
    Ok(suggested)
}

/// The accounts without those that the account blocks or that block it: these look private.
async fn without_blocked(
    store: &dyn Store,
    me: &Account,
    accounts: Vec<Account>,
) -> store::Result<Vec<Account>> {
    let names: Vec<AccountName> = accounts.iter().map(|account| account.name.clone()).collect();
    let relations = store.relations(&me.name, &names).await?;
    let is_open = |relation: &Relation| !relation.blocks && !relation.blocked_by;
    let found = accounts.into_iter().zip(relations).filter(|(_, relation)| is_open(relation));
    Ok(found.map(|(account, _)| account).collect())
}

/// The accounts, and which of them the account follows.
async fn listed(store: &dyn Store, me: &Account, accounts: Vec<Account>) -> store::Result<Vec<Listed>> {
    let uids: Vec<Uid> = accounts.iter().map(|account| account.uid).collect();
    let edges = store.edges(me.uid, &uids).await?;
    let listed = accounts.into_iter().zip(edges).map(|(account, edge)| Listed {
        itself: account.uid == me.uid,
        followed: edge.is_some_and(|edge| edge.following),
        account,
    });
    Ok(listed.collect())
}
