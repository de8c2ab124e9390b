//! From what was said to what became of it. One activity and many come the same way.

use super::super::{Problem, Service};
use super::standing::keep_facets;
use crate::auth::Principal;
use crate::ingest::{Draft, Outcome, RawActivity, Refused, Said, normalise};
use futures::{StreamExt, TryStreamExt, stream};
use model::{Account, AccountName, Activity, ActivityId, Format, Millis, ServiceName};
use std::collections::HashSet;
use store::SourceKey;

/// How many look-ups are under way at once.
const AT_ONCE: usize = 16;

/// What was said, and in which representation.
pub(super) struct Submitted {
    pub(super) raw: RawActivity,
    pub(super) form: Format,
}

impl Submitted {
    /// Where it belongs; `None` if it does not say so in words that can be an address.
    pub(super) fn source(&self, actor: &Account) -> Option<SourceKey> {
        let (Said::Text(service), Said::Text(id)) = (&self.raw.service.name, &self.raw.source_id) else {
            return None;
        };
        let service = ServiceName::parse(service)?.folded();
        Some(SourceKey { actor: actor.uid, service, id: id.clone() })
    }
}

/// What was taken in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Taken {
    /// Its identifier.
    pub(super) id: ActivityId,
    /// It is a new activity.
    pub(super) new: bool,
}

/// A draft, and whom it addresses, as it was said.
struct Judged {
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
        submitted: Vec<Result<Submitted, Problem>>,
    ) -> Result<Vec<Result<Taken, Problem>>, Problem> {
        let sources: Vec<SourceKey> =
            submitted.iter().flatten().filter_map(|one| one.source(actor)).collect();
        let standing = self.standing(&sources).await?;
        let now = self.clock.now();
        let judge_where_it_belongs = |one: Result<Submitted, Problem>| {
            let one = one?;
            let source = one.source(actor);
            Ok(judge(one, source.and_then(|source| standing.get(&source)), now)?)
        };
        let mut judged: Vec<Result<Judged, Problem>> =
            submitted.into_iter().map(judge_where_it_belongs).collect();
        // Operators are told of names that nobody has: they may know every account. To all others a private
        // account must look like none, so they are told nothing.
        if caller.is_operator() {
            let there = self.there(&judged).await?;
            let addressed = |one: Judged| one.addressed_among(&there).map_err(Problem::from);
            judged = judged.into_iter().map(|one| one.and_then(addressed)).collect();
        }
        let drafts = judged.iter().flatten().map(|one| one.draft.clone()).collect();
        let mut outcomes = self.ingest.accept(actor, drafts).await?.into_iter();
        self.hub.wrote();
        let become_of = |judged: Result<Judged, Problem>| {
            judged?;
            match outcomes.next().ok_or_else(Problem::internal)? {
                Outcome::Created(id) => Ok(Taken { id, new: true }),
                Outcome::Updated(id) | Outcome::Unchanged(id) => Ok(Taken { id, new: false }),
                Outcome::Refused(refused) => Err(refused.into()),
            }
        };
        Ok(judged.into_iter().map(become_of).collect())
    }

    /// Those of the addressed names that somebody has.
    async fn there(&self, judged: &[Result<Judged, Problem>]) -> Result<HashSet<AccountName>, Problem> {
        let named = judged.iter().flatten().flat_map(|one| one.draft.to.iter().flatten().cloned());
        let names: HashSet<AccountName> = named.collect();
        let look_ups: Vec<_> = names.iter().map(|name| self.store.account_by_name(name)).collect();
        let accounts: Vec<Option<Account>> =
            stream::iter(look_ups).buffer_unordered(AT_ONCE).try_collect().await?;
        let there = accounts.into_iter().flatten().filter(|account| !account.removed);
        Ok(there.map(|account| account.name).collect())
    }
}

fn judge(one: Submitted, standing: Option<&Activity>, now: Millis) -> Result<Judged, Refused> {
    let Submitted { mut raw, form } = one;
    if let Some(standing) = standing {
        keep_facets(&mut raw, standing);
    }
    let mut draft = normalise(&raw, now)?;
    draft.unsaid.counts = form == Format::Atom;
    if let Some(standing) = standing {
        // One service, however its name is spelled: the first spelling stays, or what a read gives could not be
        // put back at an address in other letters.
        draft.body.service.name = standing.body.service.name.clone();
    }
    let names = raw.to.into_iter().flatten().filter_map(|said| match said {
        Said::Text(name) => Some(name),
        Said::Nothing | Said::Other => None,
    });
    Ok(Judged { draft, to: names.collect() })
}

impl Judged {
    /// Itself, if all whom it addresses are there.
    fn addressed_among(self, there: &HashSet<AccountName>) -> Result<Judged, Refused> {
        let known = |text: &str| AccountName::parse(text).is_ok_and(|name| there.contains(&name));
        let unknown: Vec<&str> = self.to.iter().map(String::as_str).filter(|name| !known(name)).collect();
        if unknown.is_empty() {
            return Ok(self);
        }
        Err(Refused { field: "To".to_owned(), detail: format!("nobody has the name {}", unknown.join(", ")) })
    }
}
