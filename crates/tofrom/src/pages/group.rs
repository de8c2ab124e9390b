//! Repeats of one thing on a page, shown as one: what many did with one object, and what somebody did many times in a
//! row. Within the page only, so that every page stands alone.

use super::item::ItemView;
use model::Uid;
use std::collections::HashMap;

/// How many of a kind make a group.
const ENOUGH: usize = 3;
/// What somebody did in one go is not further apart than this.
const ONE_GO: i64 = 60 * 60 * 1_000;
/// How many names a group's heading has.
const NAMED: usize = 2;

/// One or several items that are shown together.
#[derive(Debug)]
pub struct Group {
    /// What they have in common; `None` for a single one.
    pub heading: Option<String>,
    /// The items, in the page's order.
    pub items: Vec<ItemView>,
}

/// What makes items repeats of each other.
#[derive(Clone, PartialEq, Eq, Hash)]
enum Same {
    /// The same done with the same object, by anybody.
    Object { link: String, verb: String },
    /// The same done by the same account with objects of one type at one service.
    Deed { actor: Uid, verb: String, kind: String, service: String },
}

impl Same {
    fn object(item: &ItemView) -> Option<Same> {
        Some(Same::Object { link: item.link.as_ref()?.href.clone(), verb: item.verb.clone() })
    }

    fn deed(item: &ItemView) -> Same {
        let (verb, kind, service) = (item.verb.clone(), item.kind.clone(), item.service.clone());
        Same::Deed { actor: item.actor, verb, kind, service }
    }
}

/// The items in groups, each where its first item is.
pub fn of(items: Vec<ItemView>) -> Vec<Group> {
    let mut by_same: HashMap<Same, Vec<usize>> = HashMap::new();
    for (at, item) in items.iter().enumerate() {
        for same in Same::object(item).into_iter().chain([Same::deed(item)]) {
            by_same.entry(same).or_default().push(at);
        }
    }
    // Each item goes into one group: that of its object first.
    let mut group_of: Vec<Option<usize>> = vec![None; items.len()];
    for (at, item) in items.iter().enumerate() {
        if group_of.get(at).is_none_or(Option::is_some) {
            continue;
        }
        let together = |same: Same| {
            let all = by_same.get(&same)?.iter().copied();
            let close = |other: &usize| {
                let free = group_of.get(*other).is_some_and(Option::is_none);
                let near = items
                    .get(*other)
                    .is_some_and(|o| (o.published_at.0 - item.published_at.0).abs() <= ONE_GO);
                free && (near || matches!(same, Same::Object { .. }))
            };
            let all: Vec<usize> = all.filter(close).collect();
            (all.len() >= ENOUGH).then_some(all)
        };
        let found = Same::object(item).and_then(together).or_else(|| together(Same::deed(item)));
        for member in found.unwrap_or_else(|| vec![at]) {
            if let Some(group) = group_of.get_mut(member) {
                *group = Some(at);
            }
        }
    }
    let mut groups: Vec<(usize, Group)> = Vec::new();
    for (item, group) in items.into_iter().zip(group_of) {
        let Some(first) = group else { continue };
        match groups.iter_mut().find(|(at, _)| *at == first) {
            Some((_, group)) => group.items.push(item),
            None => groups.push((first, Group { heading: None, items: vec![item] })),
        }
    }
    groups.into_iter().map(|(_, group)| Group { heading: heading(&group.items), ..group }).collect()
}

fn heading(items: &[ItemView]) -> Option<String> {
    let [first, _, ..] = items else { return None };
    let mut names: Vec<&str> = Vec::new();
    for item in items {
        if !names.contains(&item.display_name.as_str()) {
            names.push(&item.display_name);
        }
    }
    let kind = first.kind.replace('-', " ");
    if let [one] = names.as_slice() {
        return Some(format!("{one} {} {} {kind}s on {}", first.done, items.len(), first.service));
    }
    let (told, rest) = names.split_at(names.len().min(NAMED));
    let told = told.join(if rest.is_empty() { " and " } else { ", " });
    let others = match rest.len() {
        0 => String::new(),
        1 => " and 1 other".to_owned(),
        more => format!(" and {more} others"),
    };
    let what = first.object.as_deref().unwrap_or(&first.title);
    Some(format!("{told}{others} {} the same {kind}: {what}", first.done))
}

#[cfg(test)]
mod tests {
    use super::super::item::WebLink;
    use super::super::moment::Moment;
    use super::*;
    use model::Millis;

    fn item(id: usize, actor: i64, verb: &str, link: &str, minutes: i64) -> ItemView {
        let at = Millis(minutes * 60_000);
        ItemView {
            id: id.to_string(),
            actor: Uid(actor),
            name: format!("user{actor}"),
            display_name: format!("User {actor}"),
            has_page: true,
            title: "did something".to_owned(),
            label: String::new(),
            kind: "photo".to_owned(),
            done: format!("{verb}ed"),
            verb: verb.to_owned(),
            service: "Flickr".to_owned(),
            website: None,
            icon: None,
            object: Some("Thing".to_owned()),
            description: None,
            link: WebLink::of(Some(link)),
            picture: None,
            counts: None,
            published: Moment::told(at, at),
            published_at: at,
            why: String::new(),
            own: false,
            reaches: true,
        }
    }

    fn shape(groups: &[Group]) -> Vec<Vec<&str>> {
        groups.iter().map(|group| group.items.iter().map(|item| item.id.as_str()).collect()).collect()
    }

    #[test]
    fn one_object_of_many() {
        let groups = of(vec![
            item(0, 1, "lik", "https://a/x", 0),
            item(1, 9, "post", "https://a/y", 0),
            item(2, 2, "lik", "https://a/x", 9_000),
            item(3, 3, "lik", "https://a/x", 0),
        ]);
        assert_eq!(shape(&groups), [vec!["0", "2", "3"], vec!["1"]]);
        let heading = groups.first().and_then(|group| group.heading.as_deref());
        assert_eq!(heading, Some("User 1, User 2 and 1 other liked the same photo: Thing"));
    }

    #[test]
    fn many_of_one_in_one_go() {
        let one = |at: usize, minutes| item(at, 1, "post", &format!("https://a/{at}"), minutes);
        let groups = of(vec![one(0, 100), one(1, 90), one(2, 80), one(3, 10)]);
        assert_eq!(shape(&groups), [vec!["0", "1", "2"], vec!["3"]]);
        let heading = groups.first().and_then(|group| group.heading.as_deref());
        assert_eq!(heading, Some("User 1 posted 3 photos on Flickr"));
    }

    #[test]
    fn nothing_is_lost_and_two_are_no_group() {
        let groups = of(vec![item(0, 1, "post", "https://a/x", 0), item(1, 1, "post", "https://a/x", 0)]);
        assert_eq!(shape(&groups), [vec!["0"], vec!["1"]]);
        assert!(of(Vec::new()).is_empty());
    }
}
