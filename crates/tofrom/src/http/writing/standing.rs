//! What stands at an address already, and what a later version keeps of it.

use super::super::Service;
use crate::ingest::{RawActivity, Said};
use futures::{StreamExt, TryStreamExt, stream};
use model::Activity;
use std::collections::HashMap;
use store::{Claim, Result, SourceKey, StoreError};

/// How many look-ups are under way at once.
const AT_ONCE: usize = 16;
/// How often a body may overtake its state before that is taken for a fault.
const ATTEMPTS: usize = 4;

impl Service {
    /// What stands at these addresses, each as of one version; nothing where it was taken back.
    pub(super) async fn standing(&self, sources: &[SourceKey]) -> Result<HashMap<SourceKey, Activity>> {
        let mut found = HashMap::with_capacity(sources.len());
        let mut wanted = sources.to_vec();
        for _ in 0..ATTEMPTS {
            let look_ups: Vec<_> = wanted.iter().map(|source| self.store.claim(source)).collect();
            let claims: Vec<Option<Claim>> = stream::iter(look_ups).buffered(AT_ONCE).try_collect().await?;
            let claimed = wanted.into_iter().zip(claims);
            let live = claimed.filter_map(|(source, claim)| Some((source, claim?)));
            let live: Vec<_> = live.filter(|(_, claim)| !claim.deleted).collect();
            if live.is_empty() {
                return Ok(found);
            }
            let ids: Vec<_> = live.iter().map(|(_, claim)| claim.id).collect();
            let (states, bodies) = (self.store.states(&ids).await?, self.store.bodies(&ids).await?);
            wanted = Vec::new();
            for (((source, _), state), body) in live.into_iter().zip(states).zip(bodies) {
                match (state, body) {
                    (Some(state), Some((version, body))) if version == state.version => {
                        if !state.deleted {
                            found.insert(source, Activity { state, body });
                        }
                    }
                    _ => wanted.push(source),
                }
            }
            if wanted.is_empty() {
                return Ok(found);
            }
        }
        Err(StoreError::Unavailable("an activity changed faster than it could be read".to_owned()))
    }
}

/// Type and verb are fixed by the first version, so a later one need not say them.
pub(super) fn keep_facets(raw: &mut RawActivity, standing: &Activity) {
    if raw.category != Said::Nothing {
        return;
    }
    let facet = &standing.state.facet;
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
