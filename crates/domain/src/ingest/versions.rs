//! Versions of activities: their identifiers, fingerprints and contents. Pure functions, apart from randomness.

use super::accept::ExistingActivity;
use super::{Draft, Refused};
use aws_lc_rs::digest::{Context, SHA256};
use aws_lc_rs::rand;
use model::{
    AccountName, Activity, ActivityId, Body, Comments, Facet, Millis, Object, PriorAudience, Service,
    ServiceName, State, Uid, Version, Visibility,
};
use std::collections::HashMap;
use std::sync::Arc;
use store::{Acceptance, ActivityRecord, Claim, ExternalKey, Result, StoreError, Usage};

/// The source of randomness for identifiers. Tests can provide their own.
#[derive(Clone)]
pub struct Randomness(Arc<Fill>);

type Fill = dyn Fn(&mut [u8]) -> Result<()> + Send + Sync;

impl Randomness {
    /// The randomness of the system.
    pub fn system() -> Randomness {
        let none = |_| StoreError::Unavailable("system randomness failed".to_owned());
        Randomness::from(move |bytes| rand::fill(bytes).map_err(none))
    }

    /// Randomness from `fill`.
    pub fn from(fill: impl Fn(&mut [u8]) -> Result<()> + Send + Sync + 'static) -> Randomness {
        Randomness(Arc::new(fill))
    }

    fn bytes<const N: usize>(&self) -> Result<[u8; N]> {
        let mut bytes = [0; N];
        (self.0)(&mut bytes)?;
        Ok(bytes)
    }
}

/// Generates the identifiers of a batch: random, and ascending within a millisecond. So a batch keeps its order in
/// collections, where ties are ordered by identifier.
pub(super) struct Ids<'a> {
    randomness: &'a Randomness,
    latest: Option<(Millis, [u8; 10])>,
}

impl Ids<'_> {
    pub(super) fn new(randomness: &Randomness) -> Ids<'_> {
        Ids { randomness, latest: None }
    }

    /// The identifier of an activity received at this time.
    pub(super) fn next(&mut self, received: Millis) -> Result<ActivityId> {
        let random = match self.latest {
            Some((millis, before)) if millis == received => self.incremented(before)?,
            _ => self.fresh()?,
        };
        self.latest = Some((received, random));
        Ok(ActivityId::new(received, random))
    }

    /// The last eight bytes carry 62 bits of an identifier; one bit is left 0, as room to count up.
    fn fresh(&self) -> Result<[u8; 10]> {
        let [a, b, c, rest @ ..] = self.randomness.bytes::<10>()?;
        let [d, e, f, g, h, i, j] = rest;
        Ok([a, b, c & 0x1f, d, e, f, g, h, i, j])
    }

    fn incremented(&self, before: [u8; 10]) -> Result<[u8; 10]> {
        let [a, b, counter @ ..] = before;
        let step = 1 + u64::from(u32::from_be_bytes(self.randomness.bytes()?));
        let [c, d, e, f, g, h, i, j] = u64::from_be_bytes(counter).wrapping_add(step).to_be_bytes();
        Ok([a, b, c, d, e, f, g, h, i, j])
    }
}

/// A hash of all content that a new version can change. Fields fixed by the first version (type, verb, published time) are
/// not included. Recipients count by the names that were sent, which are part of the body, and not by the accounts behind
/// them: the outcome of a write must not reveal which names exist.
fn fingerprint(body: &Body, visibility: Visibility) -> Result<[u8; 16]> {
    // The fields of a body are written in a fixed order and quoted, so only equal bodies have equal texts.
    // The importing connection is not content: two connections with the same items would otherwise overwrite each other
    // forever.
    let body = Body { imported_by: None, ..body.clone() };
    let body = serde_json::to_vec(&body).map_err(|error| StoreError::Corrupt(error.to_string()))?;
    let mut context = Context::new(&SHA256);
    context.update(&body);
    context.update(visibility.as_str().as_bytes());
    let digest = context.finish();
    digest.as_ref().first_chunk().copied().ok_or_else(|| StoreError::Corrupt("a hash is 32 bytes".to_owned()))
}

/// The size of a body, for the usage of its actor.
fn size(body: &Body) -> i64 {
    i64::try_from(body.size()).unwrap_or(i64::MAX)
}

/// The external key of a draft.
pub(super) fn external_key(actor: Uid, draft: &Draft) -> ExternalKey {
    ExternalKey { actor, service: draft.body.service.name.folded(), id: draft.body.source_id.clone() }
}

/// The uids of the names that `find` knows, sorted and without repeats.
pub(super) fn addressed(to: &[AccountName], find: impl Fn(&AccountName) -> Option<Uid>) -> Vec<Uid> {
    let mut uids: Vec<Uid> = to.iter().filter_map(find).collect();
    uids.sort_unstable();
    uids.dedup();
    uids
}

/// The drafts of an actor as activities with their claims, for a store that has none of them. The result depends only on
/// the arguments, so that an interrupted writer can repeat it.
pub fn first_versions(
    actor: Uid,
    drafts: &[Draft],
    names: &HashMap<AccountName, Uid>,
    randomness: &Randomness,
    now: Millis,
) -> Result<Vec<ActivityRecord>> {
    let mut ids = Ids::new(randomness);
    let to_record = |draft: &Draft| {
        let addressed = draft.to.as_deref().map(|to| addressed(to, |name| names.get(name).copied()));
        let first = first_version(external_key(actor, draft), draft, addressed, None, &mut ids, now)?;
        let Acceptance { source, fingerprint, activity, .. } = first;
        let (id, version) = (activity.state.id, activity.state.version);
        let claim = Claim { id, version, fingerprint, deleted: false };
        Ok(ActivityRecord { activity, prior: None, claim: Some((source, claim)) })
    };
    drafts.iter().map(to_record).collect()
}

/// The first version of an activity with an unused external key, or one whose activity was deleted.
pub(super) fn first_version(
    source: ExternalKey,
    draft: &Draft,
    addressed: Option<Vec<Uid>>,
    deleted_claim: Option<&Claim>,
    ids: &mut Ids<'_>,
    now: Millis,
) -> Result<Acceptance> {
    let received = draft.received.unwrap_or(now);
    let before = deleted_claim.map(|claim| claim.version);
    let facet = Arc::new(Facet {
        service: source.service.clone(),
        kind: draft.kind.clone(),
        verb: draft.verb.clone(),
    });
    let state = State {
        id: ids.next(received)?,
        version: Version::next(now, before),
        actor: source.actor,
        facet,
        received,
        published: draft.published.unwrap_or(received),
        updated: received,
        deleted: false,
        visibility: draft.visibility.unwrap_or_default(),
        addressed: addressed.unwrap_or_default(),
        pulled: false,
    };
    let body = draft.body_after(None);
    let fingerprint = fingerprint(&body, state.visibility)?;
    let usage = Usage { activities: 1, bytes: size(&body) };
    let activity = Activity { state, body };
    Ok(Acceptance { source, before, fingerprint, prior: None, activity, usage })
}

/// The version that a draft makes of an existing activity: `None` if the content is equal.
pub(super) fn next_version(
    key: &ExternalKey,
    draft: &Draft,
    addressed: Option<Vec<Uid>>,
    (claim, existing): (&Claim, &ExistingActivity),
    now: Millis,
) -> Result<Option<Acceptance>> {
    let state = &existing.state;
    let body = draft.body_after(existing.body.as_ref());
    let visibility = draft.visibility.unwrap_or(state.visibility);
    let fingerprint = fingerprint(&body, visibility)?;
    if fingerprint == claim.fingerprint {
        return Ok(None);
    }
    let next = State {
        version: Version::next(now, Some(claim.version)),
        updated: later_than(state.updated, now),
        visibility,
        addressed: addressed.unwrap_or_else(|| state.addressed.clone()),
        ..state.clone()
    };
    Ok(Some(Acceptance {
        source: key.clone(),
        before: Some(claim.version),
        fingerprint,
        prior: Some(PriorAudience::from(state)),
        usage: Usage { activities: 0, bytes: size(&body) - existing.body.as_ref().map_or(0, size) },
        activity: Activity { state: next, body },
    }))
}

/// An activity keeps its position in every order and under every filter, so these fields cannot change.
pub(super) fn changed_fixed_field(draft: &Draft, state: &State) -> Option<Refused> {
    let fixed = |field: &str, value: &str| {
        Some(Refused::new(field, format!("cannot be changed after the first version: expected {value}")))
    };
    if draft.kind != state.facet.kind {
        return fixed("Type", state.facet.kind.as_str());
    }
    if draft.verb != state.facet.verb {
        return fixed("Verb", state.facet.verb.as_str());
    }
    if draft.published.is_some_and(|published| published != state.published) {
        return fixed("PublishedDate", &state.published.with_offset());
    }
    None
}

/// `updated` always increases, even within a millisecond, so that every change is visible.
fn later_than(before: Millis, now: Millis) -> Millis {
    Millis(now.0.max(before.0.saturating_add(1)))
}

/// The version that deletes an activity. Its content is removed.
pub(super) fn deletion(
    source: &ExternalKey,
    claim: &Claim,
    existing: ExistingActivity,
    now: Millis,
) -> Result<Acceptance> {
    let ExistingActivity { state, body } = existing;
    let usage = Usage { activities: -1, bytes: -body.as_ref().map_or(0, size) };
    let prior = Some(PriorAudience::from(&state));
    let state = State {
        version: Version::next(now, Some(claim.version)),
        updated: later_than(state.updated, now),
        deleted: true,
        ..state
    };
    let (service, imported_by) = match body {
        Some(body) => (body.service, body.imported_by),
        None => {
            let name = ServiceName::parse(&source.service);
            let name = name.ok_or_else(|| StoreError::Corrupt("invalid service of a claim".to_owned()))?;
            (Service { name, icon: None, website: None }, None)
        }
    };
    let body = Body {
        source_id: source.id.clone(),
        title: String::new(),
        summary: None,
        service,
        comments: Comments::Available(false),
        object: Object::default(),
        imported_by,
        to: Vec::new(),
    };
    Ok(Acceptance {
        source: source.clone(),
        before: Some(claim.version),
        fingerprint: claim.fingerprint,
        prior,
        activity: Activity { state, body },
        usage,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_batch_keeps_its_order() {
        let randomness = Randomness::system();
        let mut ids = Ids::new(&randomness);
        let generated: Vec<_> = (0..10_000).map(|_| ids.next(Millis(7)).unwrap()).collect();
        assert!(generated.is_sorted_by(|a, b| a < b));
        let fresh = || Ids::new(&randomness).next(Millis(7)).unwrap();
        assert_ne!(fresh(), fresh());
    }
}
