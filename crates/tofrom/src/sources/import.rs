//! From a feed's items to an account's activities.

use super::Sources;
use super::connection::Connection;
use crate::ingest::{
    Draft, MAX_DESCRIPTION, Outcome, RawActivity, RawObject, RawService, RawThumbnail, Said, normalise,
};
use feeds::catalogue;
use feeds::{Feed, FeedItem};
use model::{Account, Body, Kind, Millis};
use std::sync::Arc;
use store::Result;

/// How many activities are taken in at once.
const CONCURRENCY: usize = 100;

impl Sources {
    /// Makes activities of these items, or new versions of those that there are; gives how many are new. To do it again
    /// changes nothing.
    pub(super) async fn import(
        &self,
        connection: &Connection,
        feed: &Feed,
        items: &[&FeedItem],
    ) -> Result<u32> {
        let mut imported = 0;
        let Some(account) = self.accounts.get(connection.owner).await?.filter(|account| !account.removed)
        else {
            return Ok(imported);
        };
        let now = self.clock.now();
        // The oldest first: what comes in together lies in the order of its coming. Feeds begin with the newest, mostly.
        let drafts = items.iter().rev().filter_map(|item| draft(&account, connection, feed, item, now));
        let mut drafts: Vec<Draft> = drafts.collect();
        drafts.sort_by_key(|draft| draft.published.unwrap_or(now));
        for batch in drafts.chunks(CONCURRENCY) {
            for outcome in self.ingest.import(&account, batch.to_vec()).await? {
                imported += u32::from(matches!(outcome, Outcome::Created(_)));
            }
            self.hub.wrote();
        }
        Ok(imported)
    }
}

/// The activity that an item tells of; nothing where it tells too little to be one.
pub(super) fn draft(
    account: &Arc<Account>,
    connection: &Connection,
    feed: &Feed,
    item: &FeedItem,
    now: Millis,
) -> Option<Draft> {
    let named = account.given_name.as_deref().unwrap_or(account.name.as_str());
    let told = catalogue::activity(catalogue::by_name(&connection.settings.service), feed, item, named);
    let (settings, kind) = (&connection.settings, Kind::parse(&told.kind)?);
    let mut raw = RawActivity {
        source_id: Said::text(told.id),
        title: Said::text(told.title),
        verb: Said::text(told.verb),
        kind: Said::text(told.kind),
        service: RawService {
            name: Said::text(&settings.service),
            icon: said(settings.icon.clone()),
            website: said(settings.site.clone()),
        },
        comment_count: said(told.comments.map(|count| count.to_string())),
        ..RawActivity::default()
    };
    let object = RawObject {
        title: said(told.object_title),
        description: said(told.object_text.map(|text| shortened(&text))),
        url: said(told.object_url),
        thumbnail: told.picture.map_or_else(RawThumbnail::default, |picture| RawThumbnail {
            url: Said::text(picture.url),
            height: said(picture.height.map(|pixels| pixels.to_string())),
            width: said(picture.width.map(|pixels| pixels.to_string())),
        }),
        ..RawObject::default()
    };
    raw.objects = vec![(kind.element(), object)];
    // What others write need not be fit to be shown; without what is not, the rest is.
    let draft = normalise(&raw, now).or_else(|_| normalise(&bare(raw), now)).ok()?;
    Some(Draft {
        published: told.published.map(|published| Millis(published.0.min(now.0))),
        body: Body { imported_by: Some(connection.name.clone()), ..draft.body },
        ..draft
    })
}

fn said(text: Option<String>) -> Said {
    text.map_or(Said::Nothing, Said::text)
}

fn shortened(text: &str) -> String {
    let end = text.floor_char_boundary(MAX_DESCRIPTION.min(text.len()));
    text.get(..end).unwrap_or_default().to_owned()
}

/// Only what an activity must have.
fn bare(raw: RawActivity) -> RawActivity {
    let object = |(name, object): (String, RawObject)| {
        (name, RawObject { title: object.title, url: object.url, ..RawObject::default() })
    };
    RawActivity {
        service: RawService { name: raw.service.name, ..RawService::default() },
        objects: raw.objects.into_iter().map(object).collect(),
        comment_count: Said::Nothing,
        ..raw
    }
}
