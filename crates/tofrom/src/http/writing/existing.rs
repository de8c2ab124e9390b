//! What stands at an address already, and what a later version keeps of it.

use super::super::Service;
use crate::ingest::{RawActivity, Said};
use futures::{StreamExt, TryStreamExt, stream};
use model::Activity;
use std::collections::HashMap;
use store::{Claim, ExternalKey, Result};

/// How many look-ups are under way at once.
const CONCURRENCY: usize = 16;

impl Service {
    /// What stands at these addresses; nothing where it was taken back.
    pub(super) async fn existing(&self, sources: &[ExternalKey]) -> Result<HashMap<ExternalKey, Activity>> {
        let look_ups: Vec<_> = sources.iter().map(|source| self.store.claim(source)).collect();
        let claims: Vec<Option<Claim>> = stream::iter(look_ups).buffered(CONCURRENCY).try_collect().await?;
        let claimed = sources.iter().zip(claims).filter_map(|(source, claim)| Some((source, claim?)));
        let live: Vec<_> = claimed.filter(|(_, claim)| !claim.deleted).collect();
        let ids: Vec<_> = live.iter().map(|(_, claim)| claim.id).collect();
        let activities = self.store.activities(&ids).await?;
        let there = live.into_iter().zip(activities).filter_map(|((source, _), activity)| {
            let activity = activity.filter(|activity| !activity.state.deleted)?;
            Some((source.clone(), activity))
        });
        Ok(there.collect())
    }
}

/// Type and verb are fixed by the first version, so a later one need not say them.
pub(super) fn keep_facets(raw: &mut RawActivity, existing: &Activity) {
    if raw.category != Said::Nothing {
        return;
    }
    let facet = &existing.state.facet;
    for (said, word) in [(&mut raw.kind, facet.kind.as_str()), (&mut raw.verb, facet.verb.as_str())] {
        if *said == Said::Nothing {
            *said = Said::text(word);
        }
    }
    // An entry whose object has no type has an object without a name.
    for (name, _) in raw.objects.iter_mut().filter(|(name, _)| name.is_empty()) {
        *name = facet.kind.element();
    }
}
