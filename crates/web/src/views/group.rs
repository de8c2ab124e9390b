//! Groups similar activities on a page: the same verb and object by several actors, or a series of similar activities
//! by one actor. Groups never span pages, so every page is complete by itself.

use super::item::ItemView;
use model::Uid;
use std::collections::HashMap;

/// Similar items that make a group.
const MIN_ITEMS: usize = 3;
/// Items of a series are at most this far apart, in milliseconds.
const MAX_SERIES_GAP: i64 = 60 * 60 * 1_000;
/// Names in a group's heading.
const MAX_NAMES: usize = 2;

/// One or several items that are shown together.
#[derive(Debug)]
pub struct Group {
    /// What the items have in common; `None` for a single item.
    pub heading: Option<String>,
    /// The items, in the page's order.
    pub items: Vec<ItemView>,
}

/// The key by which items are grouped.
#[derive(Clone, PartialEq, Eq, Hash)]
enum GroupKey {
    /// The same verb and the same object, by any actor.
    Object { link: String, verb: String },
    /// The same actor, verb, object type and service.
    Series { actor: Uid, verb: String, kind: String, service: String },
}

impl GroupKey {
    fn object(item: &ItemView) -> Option<GroupKey> {
        Some(GroupKey::Object { link: item.link.as_ref()?.href.clone(), verb: item.verb.clone() })
    }

    fn series(item: &ItemView) -> GroupKey {
        let (verb, kind, service) = (item.verb.clone(), item.kind.clone(), item.service.clone());
        GroupKey::Series { actor: item.actor, verb, kind, service }
    }
}

/// Groups the items. A group takes the position of its first item.
pub fn of(items: Vec<ItemView>) -> Vec<Group> {
    let mut by_same: HashMap<GroupKey, Vec<usize>> = HashMap::new();
    for (at, item) in items.iter().enumerate() {
        for same in GroupKey::object(item).into_iter().chain([GroupKey::series(item)]) {
            by_same.entry(same).or_default().push(at);
        }
    }
    // An item belongs to one group. Grouping by object comes first.
    let mut group_of: Vec<Option<usize>> = vec![None; items.len()];
    for (at, item) in items.iter().enumerate() {
        if group_of.get(at).is_none_or(Option::is_some) {
            continue;
        }
        let together = |same: GroupKey| {
            let all = by_same.get(&same)?.iter().copied();
            let close = |other: &usize| {
                let free = group_of.get(*other).is_some_and(Option::is_none);
                let near = items
                    .get(*other)
                    .is_some_and(|o| (o.published_at.0 - item.published_at.0).abs() <= MAX_SERIES_GAP);
                free && (near || matches!(same, GroupKey::Object { .. }))
            };
            let all: Vec<usize> = all.filter(close).collect();
            (all.len() >= MIN_ITEMS).then_some(all)
        };
        let found = GroupKey::object(item).and_then(together).or_else(|| together(GroupKey::series(item)));
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
    if let [name] = names.as_slice() {
        return Some(format!("{name} {} {} {kind}s on {}", first.done, items.len(), first.service));
    }
    let (named, rest) = names.split_at(names.len().min(MAX_NAMES));
    let named = named.join(if rest.is_empty() { " and " } else { ", " });
    let others = match rest.len() {
        0 => String::new(),
        1 => " and 1 other".to_owned(),
        more => format!(" and {more} others"),
    };
    let what = first.object.as_deref().unwrap_or(&first.title);
    Some(format!("{named}{others} {} the same {kind}: {what}", first.done))
}

#[cfg(test)]
mod tests {
    use super::super::display_time::DisplayTime;
    use super::super::item::WebLink;
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
            published: DisplayTime::new(at, at),
            published_at: at,
            why: String::new(),
            own: false,
            removable: true,
        }
    }

    fn shape(groups: &[Group]) -> Vec<Vec<&str>> {
        groups.iter().map(|group| group.items.iter().map(|item| item.id.as_str()).collect()).collect()
    }

    #[test]
    fn activities_with_one_object_are_grouped() {
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
    fn a_series_by_one_actor_is_grouped() {
        let post = |at: usize, minutes| item(at, 1, "post", &format!("https://a/{at}"), minutes);
        let groups = of(vec![post(0, 100), post(1, 90), post(2, 80), post(3, 10)]);
        assert_eq!(shape(&groups), [vec!["0", "1", "2"], vec!["3"]]);
        let heading = groups.first().and_then(|group| group.heading.as_deref());
        assert_eq!(heading, Some("User 1 posted 3 photos on Flickr"));
    }

    #[test]
    fn two_similar_items_are_not_grouped() {
        let groups = of(vec![item(0, 1, "post", "https://a/x", 0), item(1, 1, "post", "https://a/x", 0)]);
        assert_eq!(shape(&groups), [vec!["0"], vec!["1"]]);
        assert!(of(Vec::new()).is_empty());
    }
}
