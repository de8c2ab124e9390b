//! A submitted activity, and the fields that it keeps of an existing one.

use super::accept::ExistingActivity;
use super::{Draft, RawActivity, RawValue, Refused, normalise};
use model::{AccountName, Facet, Format, Millis, ServiceName, Uid};
use std::borrow::Cow;
use store::ExternalKey;

/// A parsed activity and its format.
pub struct Submission {
    /// The fields as written.
    pub raw: RawActivity,
    /// The format of the body.
    pub format: Format,
}

/// The treatment of names in `To` that no account has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum UnknownRecipients {
    /// They are skipped. A private account looks the same as an unknown one.
    Skip,
    /// The activity is refused, for callers that may know every account.
    Refuse,
}

impl Submission {
    /// Its external key; `None` if service or id is missing or invalid.
    pub fn external_key(&self, actor: Uid) -> Option<ExternalKey> {
        let (RawValue::Text(service), RawValue::Text(id)) = (&self.raw.service.name, &self.raw.source_id)
        else {
            return None;
        };
        Some(ExternalKey { actor, service: ServiceName::parse(service)?.folded(), id: id.clone() })
    }

    /// Validates it as a later version of the existing activity, or as a new one.
    pub(super) fn validate(
        &self,
        existing: Option<&ExistingActivity>,
        now: Millis,
    ) -> Result<Draft, Refused> {
        let raw = match existing {
            Some(existing) => keep_facets(&self.raw, &existing.state.facet),
            None => Cow::Borrowed(&self.raw),
        };
        let mut draft = normalise(&raw, now)?;
        draft.omitted.counts = self.format == Format::Atom;
        if let Some(body) = existing.and_then(|existing| existing.body.as_ref()) {
            // Service names are case-insensitive: the first spelling stays. Otherwise the body of a response could not
            // be sent back to an address with another spelling.
            draft.body.service.name = body.service.name.clone();
        }
        Ok(draft)
    }

    /// Refuses it if a name in `To` is unknown.
    pub(super) fn check_recipients(&self, is_known: impl Fn(&AccountName) -> bool) -> Result<(), Refused> {
        let names = self.raw.to.iter().flatten().filter_map(|value| match value {
            RawValue::Text(name) => Some(name.as_str()),
            RawValue::Absent | RawValue::Other => None,
        });
        let unknown: Vec<&str> =
            names.filter(|text| !AccountName::parse(text).is_ok_and(|name| is_known(&name))).collect();
        match unknown.is_empty() {
            true => Ok(()),
            false => Err(Refused::new("To", format!("unknown accounts: {}", unknown.join(", ")))),
        }
    }
}

/// Type and verb are fixed by the first version; a later one may omit them.
fn keep_facets<'a>(raw: &'a RawActivity, facet: &Facet) -> Cow<'a, RawActivity> {
    let has_both = raw.kind != RawValue::Absent && raw.verb != RawValue::Absent;
    let has_names = raw.objects.iter().all(|(name, _)| !name.is_empty());
    if raw.category != RawValue::Absent || (has_both && has_names) {
        return Cow::Borrowed(raw);
    }
    let mut raw = raw.clone();
    for (value, word) in [(&mut raw.kind, facet.kind.as_str()), (&mut raw.verb, facet.verb.as_str())] {
        if *value == RawValue::Absent {
            *value = RawValue::text(word);
        }
    }
    // In an entry whose object has no type, the object has no name.
    for (name, _) in raw.objects.iter_mut().filter(|(name, _)| name.is_empty()) {
        *name = facet.kind.element();
    }
    Cow::Owned(raw)
}
