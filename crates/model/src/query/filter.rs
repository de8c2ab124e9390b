//! Filters of a query.

use super::{ParameterError, RawQuery, instant};
use crate::edge_filter::{kind, select, verb};
use crate::{Entry, Facet, Millis};
use std::collections::BTreeSet;

/// A range of times: including `since`, excluding `before`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Range {
    /// At or after.
    pub since: Option<Millis>,
    /// Before.
    pub before: Option<Millis>,
}

impl Range {
    /// Whether the range contains a time.
    pub fn contains(self, time: Millis) -> bool {
        self.since.is_none_or(|since| since <= time) && self.before.is_none_or(|before| time < before)
    }
}

/// The conditions of a query, joined by AND. An empty set selects everything. Words are in the form for comparisons.
/// A text that is not a word is kept, and matches nothing.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Filter {
    /// Any of these services, folded.
    pub services: BTreeSet<String>,
    /// Any of these types.
    pub kinds: BTreeSet<String>,
    /// Any of these verbs.
    pub verbs: BTreeSet<String>,
    /// The time of receipt.
    pub received: Range,
    /// The time of publication.
    pub published: Range,
}

impl Filter {
    /// Validates the parameters of a filter.
    pub fn resolve(raw: &RawQuery) -> Result<Filter, ParameterError> {
        Ok(Filter {
            services: raw.values("service")?.iter().map(|text| text.to_lowercase()).collect(),
            kinds: raw.values("type")?.iter().map(|text| kind(text)).collect(),
            verbs: raw.values("verb")?.iter().map(|text| verb(text)).collect(),
            received: Range {
                since: instant(raw, "receivedsince")?,
                before: instant(raw, "receivedbefore")?,
            },
            published: Range {
                since: instant(raw, "publishedsince")?,
                before: instant(raw, "publishedbefore")?,
            },
        })
    }

    /// Whether service, type and verb are all selected.
    pub fn selects(&self, facet: &Facet) -> bool {
        select(&self.services, &self.kinds, &self.verbs, facet)
    }

    /// Whether an entry is selected.
    pub fn matches(&self, entry: &Entry) -> bool {
        self.received.contains(entry.received)
            && self.published.contains(entry.published)
            && self.selects(&entry.facet)
    }

    /// The parameters of this filter, in a fixed order.
    pub(crate) fn parameters(&self) -> Vec<(&'static str, String)> {
        let mut pairs = Vec::new();
        for (name, set) in [("service", &self.services), ("type", &self.kinds), ("verb", &self.verbs)] {
            if !set.is_empty() {
                pairs.push((name, set.iter().map(String::as_str).collect::<Vec<_>>().join(",")));
            }
        }
        let bounds = [
            ("receivedsince", self.received.since),
            ("receivedbefore", self.received.before),
            ("publishedsince", self.published.since),
            ("publishedbefore", self.published.before),
        ];
        pairs.extend(bounds.into_iter().filter_map(|(name, time)| Some((name, time?.zulu()))));
        pairs
    }
}
