//! Existing activities, and the facets that later versions keep.

use super::super::Service;
use crate::ingest::{RawActivity, RawValue};
use futures::{StreamExt, TryStreamExt, stream};
use model::Activity;
use std::collections::HashMap;
use store::{Claim, ExternalKey, Result};

/// The maximum number of concurrent lookups.
const CONCURRENCY: usize = 16;

impl Service {
    /// The existing activities with these external keys. Deleted ones are left out.
    pub(super) async fn existing(&self, sources: &[ExternalKey]) -> Result<HashMap<ExternalKey, Activity>> {
        let look_ups: Vec<_> = sources.iter().map(|source| self.store.claim(source)).collect();
        let claims: Vec<Option<Claim>> = stream::iter(look_ups).buffered(CONCURRENCY).try_collect().await?;
        let claimed = sources.iter().zip(claims).filter_map(|(source, claim)| Some((source, claim?)));
        let live: Vec<_> = claimed.filter(|(_, claim)| !claim.deleted).collect();
        let ids: Vec<_> = live.iter().map(|(_, claim)| claim.id).collect();
        let activities = self.store.activities(&ids).await?;
        let existing = live.into_iter().zip(activities).filter_map(|((source, _), activity)| {
            let activity = activity.filter(|activity| !activity.state.deleted)?;
            Some((source.clone(), activity))
        });
        Ok(existing.collect())
    }
}

/// Type and verb are fixed by the first version; a later one may omit them.
pub(super) fn keep_facets(raw: &mut RawActivity, existing: &Activity) {
    if raw.category != RawValue::Absent {
        return;
    }
    let facet = &existing.state.facet;
    for (value, word) in [(&mut raw.kind, facet.kind.as_str()), (&mut raw.verb, facet.verb.as_str())] {
        if *value == RawValue::Absent {
            *value = RawValue::text(word);
        }
    }
    // In an entry whose object has no type, the object has no name.
    for (name, _) in raw.objects.iter_mut().filter(|(name, _)| name.is_empty()) {
        *name = facet.kind.element();
    }
}
