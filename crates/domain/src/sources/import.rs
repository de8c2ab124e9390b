//! Turns items of a feed into activities of an account.

use super::Sources;
use super::connection::Connection;
use crate::ingest::{
    Draft, MAX_DESCRIPTION, Outcome, RawActivity, RawObject, RawService, RawThumbnail, RawValue, normalise,
};
use feeds::catalogue;
use feeds::{Feed, FeedItem};
use model::{Account, Body, Kind, Millis};
use std::sync::Arc;
use store::Result;

/// The maximum number of activities in one write.
const MAX_BATCH: usize = 100;

impl Sources {
    /// Creates activities for these items, or updates existing ones, and returns how many were created. Idempotent.
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
        // Oldest first: activities that arrive together are ordered by arrival. Feeds mostly begin with the newest.
        let drafts = items.iter().rev().filter_map(|item| draft(&account, connection, feed, item, now));
        let mut drafts: Vec<Draft> = drafts.collect();
        drafts.sort_by_key(|draft| draft.published.unwrap_or(now));
        for batch in drafts.chunks(MAX_BATCH) {
            for outcome in self.ingest.import(&account, batch.to_vec()).await? {
                imported += u32::from(matches!(outcome, Outcome::Created(_)));
            }
            self.hub.wrote();
        }
        Ok(imported)
    }
}

/// The activity for an item; `None` if the item has too little content.
pub(super) fn draft(
    account: &Arc<Account>,
    connection: &Connection,
    feed: &Feed,
    item: &FeedItem,
    now: Millis,
) -> Option<Draft> {
    let display_name = account.given_name.as_deref().unwrap_or(account.name.as_str());
    let mapped =
        catalogue::activity(catalogue::by_name(&connection.settings.service), feed, item, display_name);
    let (settings, kind) = (&connection.settings, Kind::parse(&mapped.kind)?);
    let mut raw = RawActivity {
        source_id: RawValue::text(mapped.id),
        title: RawValue::text(mapped.title),
        verb: RawValue::text(mapped.verb),
        kind: RawValue::text(mapped.kind),
        service: RawService {
            name: RawValue::text(&settings.service),
            icon: optional(settings.icon.clone()),
            website: optional(settings.site.clone()),
        },
        comment_count: optional(mapped.comments.map(|count| count.to_string())),
        ..RawActivity::default()
    };
    let object = RawObject {
        title: optional(mapped.object_title),
        description: optional(mapped.object_text.map(|text| shortened(&text))),
        url: optional(mapped.object_url),
        thumbnail: mapped.picture.map_or_else(RawThumbnail::default, |picture| RawThumbnail {
            url: RawValue::text(picture.url),
            height: optional(picture.height.map(|pixels| pixels.to_string())),
            width: optional(picture.width.map(|pixels| pixels.to_string())),
        }),
        ..RawObject::default()
    };
    raw.objects = vec![(kind.element(), object)];
    // Content of other sites may be invalid. Without the optional fields the rest may still be valid.
    let draft = normalise(&raw, now).or_else(|_| normalise(&without_optional_fields(raw), now)).ok()?;
    Some(Draft {
        published: mapped.published.map(|published| Millis(published.0.min(now.0))),
        body: Body { imported_by: Some(connection.name.clone()), ..draft.body },
        ..draft
    })
}

fn optional(text: Option<String>) -> RawValue {
    text.map_or(RawValue::Absent, RawValue::text)
}

fn shortened(text: &str) -> String {
    let end = text.floor_char_boundary(MAX_DESCRIPTION.min(text.len()));
    text.get(..end).unwrap_or_default().to_owned()
}

/// The activity with only its required fields.
fn without_optional_fields(raw: RawActivity) -> RawActivity {
    let object = |(name, object): (String, RawObject)| {
        (name, RawObject { title: object.title, url: object.url, ..RawObject::default() })
    };
    RawActivity {
        service: RawService { name: raw.service.name, ..RawService::default() },
        objects: raw.objects.into_iter().map(object).collect(),
        comment_count: RawValue::Absent,
        ..raw
    }
}
