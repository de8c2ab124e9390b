//! The filter of the feed as chips: the choices that a collection offers, and the active ones, which remove themselves.

use super::item::ItemView;
use super::sentence::plural;
use super::{capitalised, service_icon};
use crate::site::Site;
use feeds::catalogue;
use model::{Filter, Verb};
use std::collections::{BTreeSet, HashMap};
use std::hash::Hash;

/// Types offered without opening the filter.
const MAX_QUICK: usize = 5;

/// A value that the filter offers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Choice {
    /// The parameter's value.
    pub value: String,
    /// The value as shown.
    pub label: String,
    /// The path of the service's icon.
    pub icon: Option<String>,
    /// Whether the filter has it.
    pub chosen: bool,
}

/// The values that the filter offers: those of some items, the most frequent first, and those it has already.
#[derive(Clone, Debug, Default)]
pub struct Choices {
    /// Services.
    pub services: Vec<Choice>,
    /// Object types.
    pub kinds: Vec<Choice>,
    /// Verbs.
    pub verbs: Vec<Choice>,
}

impl Choices {
    /// The choices from these items.
    pub fn of(site: &Site, items: &[ItemView], filter: &Filter) -> Choices {
        let service = |name: &str| {
            let icon = Some(service_icon::path(name, site));
            Choice { value: name.to_lowercase(), label: name.to_owned(), icon, chosen: false }
        };
        let kind = |word: &str| Choice { label: kind_label(word), ..plain(word) };
        let verb = |word: &str| Choice { label: verb_label(word), ..plain(word) };
        let services = items.iter().map(|item| (item.service.to_lowercase(), item.service.as_str()));
        Choices {
            services: offered(services, &filter.services, service, |folded| service(&service_label(folded))),
            kinds: offered(items.iter().map(|item| same(&item.kind)), &filter.kinds, kind, kind),
            verbs: offered(items.iter().map(|item| same(&item.verb)), &filter.verbs, verb, verb),
        }
    }

    /// The most frequent types.
    pub fn quick(&self) -> &[Choice] {
        self.kinds.get(..MAX_QUICK).unwrap_or(&self.kinds)
    }
}

fn plain(word: &str) -> Choice {
    Choice { value: word.to_owned(), label: String::new(), icon: None, chosen: false }
}

fn same(word: &str) -> (&str, &str) {
    (word, word)
}

/// The choices from values, each with the word that it was found as: one choice for each value.
fn offered<'a, V: Eq + Hash + AsRef<str>>(
    found: impl Iterator<Item = (V, &'a str)>,
    chosen: &BTreeSet<String>,
    choice: impl Fn(&str) -> Choice,
    chosen_choice: impl Fn(&str) -> Choice,
) -> Vec<Choice> {
    let mut counts: HashMap<V, (usize, &str)> = HashMap::new();
    for (value, word) in found {
        counts.entry(value).or_insert((0, word)).0 += 1;
    }
    let is_found = |word: &&String| counts.keys().any(|value| value.as_ref() == word.as_str());
    let missing: Vec<Choice> =
        chosen.iter().filter(|word| !is_found(word)).map(|word| chosen_choice(word)).collect();
    let mut counted: Vec<(usize, Choice)> =
        counts.into_values().map(|(count, word)| (count, choice(word))).collect();
    counted.extend(missing.into_iter().map(|choice| (0, choice)));
    counted.sort_by(|(a, left), (b, right)| b.cmp(a).then_with(|| left.label.cmp(&right.label)));
    let is_chosen = |one: &Choice| chosen.contains(&one.value);
    counted.into_iter().map(|(_, one)| Choice { chosen: is_chosen(&one), ..one }).collect()
}

/// `Photo albums`.
pub(super) fn kind_label(kind: &str) -> String {
    capitalised(&plural(&kind.replace('-', " ")))
}

/// `Checked in`.
pub(super) fn verb_label(verb: &str) -> String {
    let known = Verb::parse(verb);
    capitalised(&known.as_ref().map_or(verb, Verb::past_tense).replace('-', " "))
}

/// The name of a service in lower case as the service writes it, if it is known.
pub(super) fn service_label(folded: &str) -> String {
    catalogue::by_name(folded).map_or_else(|| capitalised(folded), |service| service.name.clone())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frequent_choices_come_first_and_chosen_ones_stay() {
        let choice = |word: &str| Choice { label: kind_label(word), ..plain(word) };
        let chosen = BTreeSet::from(["song".to_owned(), "video".to_owned()]);
        let found = ["photo", "video", "photo", "book"].map(same);
        let offered = offered(found.into_iter(), &chosen, choice, choice);
        let shape: Vec<(&str, bool)> = offered.iter().map(|one| (one.label.as_str(), one.chosen)).collect();
        assert_eq!(shape, [("Photos", false), ("Books", false), ("Videos", true), ("Songs", true)]);
    }

    #[test]
    fn words_are_shown_as_people_write_them() {
        assert_eq!(kind_label("photo-album"), "Photo albums");
        assert_eq!(verb_label("checkin"), "Checked in");
        assert_eq!(service_label("github"), "GitHub");
        assert_eq!(service_label("elsewhere"), "Elsewhere");
    }
}
