//! The properties that must hold once everything is delivered.

use super::super::support::chance::Chance;
use super::clients::{ActivityVersion, Appearance, ClientKind, FeedClient};
use super::sequence::{DeliverySubject, Harness, Violation, any_filter};
use model::{ActivityId, Collection, FeedQuery, Filter, Order, Reader, Start, Uid, Version, Visibility};
use std::collections::{BTreeMap, BTreeSet};

pub(crate) const COLLECTIONS: [Collection; 3] = [Collection::To, Collection::From, Collection::ToFrom];

/// Checks every client and every collection.
pub(super) async fn check_all(harness: &mut Harness<'_>, chance: &mut Chance) -> Result<(), Violation> {
    for number in 0..harness.clients.len() {
        let size = *chance.pick(&[1, 2, 100]);
        harness.read(number, size, true, None).await?;
        let client = &harness.clients[number];
        if harness.may_read(client) {
            check_client(harness, client)?;
            let shown_before = client.shown.clone();
            harness.read(number, 10, true, None).await?;
            if shown_before != harness.clients[number].shown {
                return Err(format!("{} received something without a change", harness.clients[number]));
            }
        }
    }
    let uids: Vec<Uid> = harness.naive.accounts.iter().filter(|a| !a.removed).map(|a| a.uid).collect();
    for owner in &uids {
        for collection in COLLECTIONS {
            let order = *chance.pick(&[Order::Received, Order::Published]);
            walk(harness, chance, Reader::Owner, query(*owner, collection, order, Filter::default())).await?;
        }
        let other = *chance.pick(&uids);
        let reader = harness.naive.reader(other, *owner);
        let (collection, order) =
            (*chance.pick(&COLLECTIONS), *chance.pick(&[Order::Received, Order::Published]));
        let filter = if chance.one_in(2) { Filter::default() } else { any_filter(chance, harness.first) };
        let query = query(*owner, collection, order, filter);
        // The service refuses a reader that the owner blocks before it reads.
        if !harness.naive.relation(other, *owner).blocked_by {
            walk(harness, chance, reader, query.clone()).await?;
        }
        unread(harness, chance, &query).await?;
        start(harness, chance, Reader::Owner, query).await?;
    }
    Ok(())
}

/// A poller was shown every arrival, and none twice; the events of a stream add up to the collection.
fn check_client(harness: &Harness<'_>, client: &FeedClient) -> Result<(), Violation> {
    let missing = |(seen, appeared): (&ActivityVersion, &Appearance)| {
        (*appeared == Appearance::ByArrival && !client.shown.contains_key(seen)).then_some(*seen)
    };
    if client.kind == ClientKind::Poller
        && let Some((id, version)) = client.visible.iter().find_map(missing)
    {
        return Err(format!("{client} was never shown {id} in version {}", version.0));
    }
    let expected: BTreeMap<ActivityId, Version> = client.visible.keys().copied().collect();
    // An activity was public when the reader followed, became followers-only, and changed again before the reader was
    // notified. Its retraction may be missing, because only the narrowing version carried it.
    let may_lack_retraction = |id: &ActivityId| {
        let state = &harness.naive.states[id];
        !expected.contains_key(id) && !state.deleted && state.visibility == Visibility::Followers
    };
    let view: BTreeMap<_, _> = client
        .view
        .iter()
        .filter(|(id, _)| !may_lack_retraction(id))
        .map(|(id, version)| (*id, *version))
        .collect();
    if client.kind == ClientKind::Stream && view != expected {
        return Err(format!("{client} knows {view:?}, expected {expected:?}"));
    }
    for (seen, times) in &client.shown {
        let appeared = client.appeared.get(seen).copied().unwrap_or(0);
        if *times > appeared && !may_repeat(harness, client, seen.0) {
            return Err(format!(
                "{client} was shown {seen:?} {times} times, but it appeared {appeared} times"
            ));
        }
    }
    Ok(())
}

/// Its delivery failed and was logged twice.
fn may_repeat(harness: &Harness<'_>, client: &FeedClient, id: ActivityId) -> bool {
    let actor = harness.naive.states[&id].actor;
    harness.logged_twice.contains(&DeliverySubject::Activity(id))
        || harness.logged_twice.contains(&DeliverySubject::Edge(client.query.owner, actor))
        || harness.logged_twice.contains(&DeliverySubject::CatchUp(client.query.owner))
}

pub(crate) fn query(owner: Uid, collection: Collection, order: Order, filter: Filter) -> FeedQuery {
    FeedQuery { owner, collection, order, filter, start: Start::Skip(0), count: 1, format: None }
}

/// The unread count is the number of activities that the updates bring from its link. Then they are seen.
async fn unread(harness: &Harness<'_>, chance: &mut Chance, query: &FeedQuery) -> Result<(), Violation> {
    let feed = &harness.bed.feed;
    let failed = |error: domain::feed::ReadError| error.to_string();
    let owner = harness.naive.accounts.iter().find(|account| account.uid == query.owner);
    let owner = owner.ok_or("the owner is gone")?;
    let counted = feed.unread(owner, query).await.map_err(failed)?;
    let (mut found, mut start) = (BTreeSet::new(), Start::Updates(counted.sync_token));
    let count = u32::try_from(*chance.pick(&[1, 3, 200])).unwrap();
    let end = loop {
        let page = FeedQuery { count, ..query.from(start) };
        let page = feed.page(Reader::Owner, &page).await.map_err(failed)?;
        found.extend(page.items.iter().map(|item| item.state.id));
        match page.next {
            Some(next) => start = next,
            None => break page.sync_token,
        }
    };
    if counted.count != found.len() {
        return Err(format!("{} unread, but the updates bring {found:?}: {query:?}", counted.count));
    }
    feed.mark_seen(query, &end).await.map_err(|error| error.to_string())?;
    match feed.unread(owner, query).await.map_err(failed)?.count {
        0 => Ok(()),
        count => Err(format!("{count} unread after all were seen: {query:?}")),
    }
}

/// A walk in pages of any size gives the expected collection.
async fn walk(
    harness: &Harness<'_>,
    chance: &mut Chance,
    reader: Reader,
    query: FeedQuery,
) -> Result<(), Violation> {
    let expected = harness.naive.collection(reader, &query);
    let count = u32::try_from(*chance.pick(&[1, 3, 20, 200])).unwrap();
    let mut walked = Vec::new();
    let mut next = FeedQuery { count, ..query.clone() };
    loop {
        let page = harness.bed.feed.page(reader, &next).await.map_err(|error| error.to_string())?;
        walked.extend(page.items.iter().map(|item| (item.state.id, item.state.version)));
        let Some(start) = page.next else { break };
        next = next.from(start);
    }
    if walked != expected {
        return Err(format!("{reader:?} walked {query:?}: found {walked:?}, expected {expected:?}"));
    }
    Ok(())
}

/// A page from any start offset gives the expected items.
async fn start(
    harness: &Harness<'_>,
    chance: &mut Chance,
    reader: Reader,
    query: FeedQuery,
) -> Result<(), Violation> {
    let expected = harness.naive.collection(reader, &query);
    let skipped = chance.below(expected.len() + 1);
    let from = FeedQuery { count: 2, ..query.from(Start::Skip(u32::try_from(skipped).unwrap())) };
    let page = harness.bed.feed.page(reader, &from).await.map_err(|error| error.to_string())?;
    let found: Vec<ActivityVersion> =
        page.items.iter().map(|item| (item.state.id, item.state.version)).collect();
    let expected: Vec<ActivityVersion> = expected.into_iter().skip(skipped).take(2).collect();
    if found != expected {
        return Err(format!(
            "{reader:?} started {query:?} at {skipped}: found {found:?}, expected {expected:?}"
        ));
    }
    Ok(())
}
