//! Submits activities to `ingest`, single ones and batches alike.

use super::super::{Problem, Service};
use super::existing::keep_facets;
use crate::auth::Principal;
use crate::ingest::{Draft, Outcome, RawActivity, RawValue, Refused, normalise};
use futures::{StreamExt, TryStreamExt, stream};
use model::{Account, AccountName, Activity, ActivityId, Format, Millis, ServiceName};
use std::collections::HashSet;
use store::ExternalKey;

/// The maximum number of concurrent lookups.
const CONCURRENCY: usize = 16;

/// A parsed activity and its format.
pub(super) struct Submission {
    pub(super) raw: RawActivity,
    pub(super) form: Format,
}

impl Submission {
    /// Its external key; `None` if service or id is missing or invalid.
    pub(super) fn source(&self, actor: &Account) -> Option<ExternalKey> {
        let (RawValue::Text(service), RawValue::Text(id)) = (&self.raw.service.name, &self.raw.source_id)
        else {
            return None;
        };
        let service = ServiceName::parse(service)?.folded();
        Some(ExternalKey { actor: actor.uid, service, id: id.clone() })
    }
}

/// An accepted activity.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct SubmitOutcome {
    /// Its identifier.
    pub(super) id: ActivityId,
    /// Whether the activity was created.
    pub(super) new: bool,
}

/// A validated draft, and its recipients as they were written.
struct Validated {
    draft: Draft,
    to: Vec<String>,
}

impl Service {
    /// Submits activities of `actor` and returns their outcomes in order. No two may have the same external key, because
    /// a later version builds upon the existing one.
    pub(super) async fn submit(
        &self,
        caller: &Principal,
        actor: &Account,
        submitted: Vec<Result<Submission, Problem>>,
    ) -> Result<Vec<Result<SubmitOutcome, Problem>>, Problem> {
        let sources: Vec<ExternalKey> =
            submitted.iter().flatten().filter_map(|item| item.source(actor)).collect();
        let existing = self.existing(&sources).await?;
        let now = self.clock.now();
        let validate_in_context = |item: Result<Submission, Problem>| {
            let item = item?;
            let source = item.source(actor);
            Ok(validate(item, source.and_then(|source| existing.get(&source)), now)?)
        };
        let mut validated: Vec<Result<Validated, Problem>> =
            submitted.into_iter().map(validate_in_context).collect();
        // Operators may know every account, so unknown recipients are an error for them. To all others a private account
        // must look like an unknown one, so they get no error.
        if caller.is_operator() {
            let existing_recipients = self.existing_recipients(&validated).await?;
            let check_recipients =
                |item: Validated| item.with_known_recipients(&existing_recipients).map_err(Problem::from);
            validated = validated.into_iter().map(|item| item.and_then(check_recipients)).collect();
        }
        let drafts = validated.iter().flatten().map(|item| item.draft.clone()).collect();
        let mut outcomes = self.ingest.accept(actor, drafts).await?.into_iter();
        self.hub.wrote();
        let outcome_of = |validated: Result<Validated, Problem>| {
            validated?;
            match outcomes.next().ok_or_else(Problem::internal)? {
                Outcome::Created(id) => Ok(SubmitOutcome { id, new: true }),
                Outcome::Updated(id) | Outcome::Unchanged(id) => Ok(SubmitOutcome { id, new: false }),
                Outcome::Refused(refused) => Err(refused.into()),
            }
        };
        Ok(validated.into_iter().map(outcome_of).collect())
    }

    /// The recipients that exist.
    async fn existing_recipients(
        &self,
        validated: &[Result<Validated, Problem>],
    ) -> Result<HashSet<AccountName>, Problem> {
        let named = validated.iter().flatten().flat_map(|item| item.draft.to.iter().flatten().cloned());
        let names: HashSet<AccountName> = named.collect();
        let lookups: Vec<_> = names.iter().map(|name| self.store.account_by_name(name)).collect();
        let accounts: Vec<Option<Account>> =
            stream::iter(lookups).buffer_unordered(CONCURRENCY).try_collect().await?;
        let existing_recipients = accounts.into_iter().flatten().filter(|account| !account.removed);
        Ok(existing_recipients.map(|account| account.name).collect())
    }
}

fn validate(item: Submission, existing: Option<&Activity>, now: Millis) -> Result<Validated, Refused> {
    let Submission { mut raw, form } = item;
    if let Some(existing) = existing {
        keep_facets(&mut raw, existing);
    }
    let mut draft = normalise(&raw, now)?;
    draft.omitted.counts = form == Format::Atom;
    if let Some(existing) = existing {
        // Service names are case-insensitive: the first spelling stays. Otherwise the body of a response could not be
        // sent back to an address with another spelling.
        draft.body.service.name = existing.body.service.name.clone();
    }
    let names = raw.to.into_iter().flatten().filter_map(|value| match value {
        RawValue::Text(name) => Some(name),
        RawValue::Absent | RawValue::Other => None,
    });
    Ok(Validated { draft, to: names.collect() })
}

impl Validated {
    /// The draft, if all its recipients exist.
    fn with_known_recipients(self, existing_recipients: &HashSet<AccountName>) -> Result<Validated, Refused> {
        let known =
            |text: &str| AccountName::parse(text).is_ok_and(|name| existing_recipients.contains(&name));
        let unknown: Vec<&str> = self.to.iter().map(String::as_str).filter(|name| !known(name)).collect();
        if unknown.is_empty() {
            return Ok(self);
        }
        let detail = format!("unknown accounts: {}", unknown.join(", "));
        Err(Refused { field: "To".to_owned(), detail })
    }
}
