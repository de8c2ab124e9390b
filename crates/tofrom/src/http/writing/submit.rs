//! From what was said to what became of it. One activity and many come the same way.

use super::super::{Problem, Service};
use super::existing::keep_facets;
use crate::auth::Principal;
use crate::ingest::{Draft, Outcome, RawActivity, Refused, Said, normalise};
use futures::{StreamExt, TryStreamExt, stream};
use model::{Account, AccountName, Activity, ActivityId, Format, Millis, ServiceName};
use std::collections::HashSet;
use store::ExternalKey;

/// How many look-ups are under way at once.
const CONCURRENCY: usize = 16;

/// What was said, and in which representation.
pub(super) struct Submission {
    pub(super) raw: RawActivity,
    pub(super) form: Format,
}

impl Submission {
    /// Where it belongs; `None` if it does not say so in words that can be an address.
    pub(super) fn source(&self, actor: &Account) -> Option<ExternalKey> {
        let (Said::Text(service), Said::Text(id)) = (&self.raw.service.name, &self.raw.source_id) else {
            return None;
        };
        let service = ServiceName::parse(service)?.folded();
        Some(ExternalKey { actor: actor.uid, service, id: id.clone() })
    }
}

/// What was taken in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct SubmitOutcome {
    /// Its identifier.
    pub(super) id: ActivityId,
    /// It is a new activity.
    pub(super) new: bool,
}

/// A draft, and whom it addresses, as it was said.
struct Validated {
    draft: Draft,
    to: Vec<String>,
}

impl Service {
    /// Takes in what `actor` did, for each what became of it, in their order. No two may be of one address: a later
    /// version builds upon what stands there.
    pub(super) async fn take_in(
        &self,
        caller: &Principal,
        actor: &Account,
        submitted: Vec<Result<Submission, Problem>>,
    ) -> Result<Vec<Result<SubmitOutcome, Problem>>, Problem> {
        let sources: Vec<ExternalKey> =
            submitted.iter().flatten().filter_map(|one| one.source(actor)).collect();
        let existing = self.existing(&sources).await?;
        let now = self.clock.now();
        let validate_in_context = |one: Result<Submission, Problem>| {
            let one = one?;
            let source = one.source(actor);
            Ok(validate(one, source.and_then(|source| existing.get(&source)), now)?)
        };
        let mut validated: Vec<Result<Validated, Problem>> =
            submitted.into_iter().map(validate_in_context).collect();
        // Operators are told of names that nobody has: they may know every account. To all others a private
        // account must look like none, so they are told nothing.
        if caller.is_operator() {
            let there = self.there(&validated).await?;
            let addressed = |one: Validated| one.addressed_among(&there).map_err(Problem::from);
            validated = validated.into_iter().map(|one| one.and_then(addressed)).collect();
        }
        let drafts = validated.iter().flatten().map(|one| one.draft.clone()).collect();
        let mut outcomes = self.ingest.accept(actor, drafts).await?.into_iter();
        self.hub.wrote();
        let become_of = |validated: Result<Validated, Problem>| {
            validated?;
            match outcomes.next().ok_or_else(Problem::internal)? {
                Outcome::Created(id) => Ok(SubmitOutcome { id, new: true }),
                Outcome::Updated(id) | Outcome::Unchanged(id) => Ok(SubmitOutcome { id, new: false }),
                Outcome::Refused(refused) => Err(refused.into()),
            }
        };
        Ok(validated.into_iter().map(become_of).collect())
    }

    /// Those of the addressed names that somebody has.
    async fn there(&self, validated: &[Result<Validated, Problem>]) -> Result<HashSet<AccountName>, Problem> {
        let named = validated.iter().flatten().flat_map(|one| one.draft.to.iter().flatten().cloned());
        let names: HashSet<AccountName> = named.collect();
        let look_ups: Vec<_> = names.iter().map(|name| self.store.account_by_name(name)).collect();
        let accounts: Vec<Option<Account>> =
            stream::iter(look_ups).buffer_unordered(CONCURRENCY).try_collect().await?;
        let there = accounts.into_iter().flatten().filter(|account| !account.removed);
        Ok(there.map(|account| account.name).collect())
    }
}

fn validate(one: Submission, existing: Option<&Activity>, now: Millis) -> Result<Validated, Refused> {
    let Submission { mut raw, form } = one;
    if let Some(existing) = existing {
        keep_facets(&mut raw, existing);
    }
    let mut draft = normalise(&raw, now)?;
    draft.unsaid.counts = form == Format::Atom;
    if let Some(existing) = existing {
        // One service, however its name is spelled: the first spelling stays, or what a read gives could not be
        // put back at an address in other letters.
        draft.body.service.name = existing.body.service.name.clone();
    }
    let names = raw.to.into_iter().flatten().filter_map(|said| match said {
        Said::Text(name) => Some(name),
        Said::Nothing | Said::Other => None,
    });
    Ok(Validated { draft, to: names.collect() })
}

impl Validated {
    /// Itself, if all whom it addresses are there.
    fn addressed_among(self, there: &HashSet<AccountName>) -> Result<Validated, Refused> {
        let known = |text: &str| AccountName::parse(text).is_ok_and(|name| there.contains(&name));
        let unknown: Vec<&str> = self.to.iter().map(String::as_str).filter(|name| !known(name)).collect();
        if unknown.is_empty() {
            return Ok(self);
        }
        Err(Refused { field: "To".to_owned(), detail: format!("nobody has the name {}", unknown.join(", ")) })
    }
}
