//! Selection of activities by service, type and verb: of an edge, and as part of a query.

use crate::{Facet, Kind, Verb};
use std::collections::BTreeSet;

// A text that is not a word is folded and may become one, so that the rendered query is parsed to the same filter.

pub(crate) fn kind(text: &str) -> String {
    let folded = text.to_lowercase();
    Kind::parse(&folded).map_or(folded, |kind| kind.as_str().to_owned())
}

pub(crate) fn verb(text: &str) -> String {
    let folded = text.to_lowercase();
    Verb::parse(&folded).map_or(folded, |verb| verb.as_str().to_owned())
}

/// Whether the sets select service, type and verb. An empty set selects everything.
pub(crate) fn select(
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
