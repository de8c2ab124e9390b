//! Filters of a query.

use super::{ParameterError, RawQuery, instant};
use crate::{Entry, Facet, Kind, Millis, Verb};
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

// A text that is not a word is folded and may become one, so that the rendered query is parsed to the same filter.

fn kind(text: &str) -> String {
    let folded = text.to_lowercase();
    Kind::parse(&folded).map_or(folded, |kind| kind.as_str().to_owned())
}

fn verb(text: &str) -> String {
    let folded = text.to_lowercase();
    Verb::parse(&folded).map_or(folded, |verb| verb.as_str().to_owned())
}

/// Whether the sets select service, type and verb. An empty set selects everything.
fn select(
    services: &BTreeSet<String>,
    kinds: &BTreeSet<String>,
    verbs: &BTreeSet<String>,
    facet: &Facet,
) -> bool {
    let any = |set: &BTreeSet<String>, word: &str| set.is_empty() || set.contains(word);
    any(services, &facet.service) && any(kinds, facet.kind.as_str()) && any(verbs, facet.verb.as_str())
}

/// The activities that come through an edge: any word of each list, all lists together. An empty list selects
/// everything. Words are in the form for comparisons.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct EdgeFilter {
    /// Any of these services, folded.
    pub services: BTreeSet<String>,
    /// Any of these types.
    pub kinds: BTreeSet<String>,
    /// Any of these verbs.
    pub verbs: BTreeSet<String>,
}

impl EdgeFilter {
    /// The filter with these words, in any spelling.
    pub fn of(services: &[String], kinds: &[String], verbs: &[String]) -> EdgeFilter {
        EdgeFilter {
            services: services.iter().map(|text| text.to_lowercase()).collect(),
            kinds: kinds.iter().map(|text| kind(text)).collect(),
            verbs: verbs.iter().map(|text| verb(text)).collect(),
        }
    }

    /// Whether it selects everything.
    pub fn is_empty(&self) -> bool {
        self.services.is_empty() && self.kinds.is_empty() && self.verbs.is_empty()
    }

    /// Whether an activity with this facet comes through.
    pub fn selects(&self, facet: &Facet) -> bool {
        select(&self.services, &self.kinds, &self.verbs, facet)
    }
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
