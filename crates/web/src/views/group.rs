//! Groups similar activities on a page: the same verb and object by several actors, or a series of similar activities
//! by one actor. Groups never span pages, so every page is complete by itself.

use super::display_time::DisplayDay;
use super::item::ItemView;
use super::picture::PictureView;
use super::sentence::{Words, counted, did_to_object};
use model::{Millis, Uid};
use std::collections::HashMap;

/// Similar items that make a group.
const MIN_ITEMS: usize = 3;
/// Items of a series are at most this far apart, in milliseconds.
const MAX_SERIES_GAP: i64 = 60 * 60 * 1_000;
/// Names in a group's heading.
const MAX_NAMES: usize = 2;
/// Pictures in a mosaic, and in a strip of covers.
const MAX_MOSAIC: usize = 5;
const MAX_STRIP: usize = 8;

/// The groups of one calendar day.
#[derive(Debug)]
pub struct Day {
    /// The day.
    pub day: DisplayDay,
    /// The groups, in the page's order.
    pub groups: Vec<Group>,
}

/// Divides the groups by the day of their first item, at the time `now`. The groups are sorted by time, so that each
/// day is one section.
pub fn by_day(groups: Vec<Group>, now: Millis) -> Vec<Day> {
    let mut days: Vec<Day> = Vec::new();
    for group in groups {
        let Some(first) = group.items.first() else { continue };
        let at = first.sorted_at;
        match days.last_mut().filter(|last| last.day.contains(at)) {
            Some(last) => last.groups.push(group),
            None => days.push(Day { day: DisplayDay::new(at, now), groups: vec![group] }),
        }
    }
    days
}

/// What the items of a group have in common.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Heading {
    /// The actors: `Alice, Bob and 2 others`.
    pub who: String,
    /// Whether there is one actor only.
    pub is_series: bool,
    /// `played 6 songs`, or `liked` before the object.
    pub did: String,
    /// The title of the common object.
    pub what: Option<String>,
    /// How often one actor did it with the same object.
    pub times: Option<usize>,
}

impl Heading {
    /// What was done, as the beginning of a sentence.
    pub fn did_capitalised(&self) -> String {
        super::capitalised(&self.did)
    }
}

/// One or several items that are shown together.
#[derive(Debug)]
pub struct Group {
    /// What the items have in common; `None` for a single item.
    pub heading: Option<Heading>,
    /// The items, in the page's order.
    pub items: Vec<ItemView>,
    /// Whether everything up to here is unread and everything below is read.
    pub ends_unread: bool,
}

impl Group {
    /// Whether an item says that it is unread.
    pub fn is_labelled(&self) -> bool {
        self.items.iter().any(|item| item.is_labelled)
    }

    /// The large pictures of a mosaic, if all that it shows can be shown.
    pub fn mosaic(&self) -> Vec<&ItemView> {
        let is_photo =
            |item: &&ItemView| item.picture.as_ref().is_some_and(|picture| picture.drawing == "photo");
        let shown: Vec<&ItemView> = self.items.iter().filter(is_photo).take(MAX_MOSAIC).collect();
        let is_large =
            |item: &&ItemView| item.picture.as_ref().is_some_and(|picture| picture.large().is_some());
        if shown.len() == MAX_MOSAIC && shown.iter().all(is_large) { shown } else { Vec::new() }
    }

    /// The small pictures of a strip.
    pub fn strip(&self) -> Vec<&PictureView> {
        self.items.iter().filter_map(|item| item.picture.as_ref()).take(MAX_STRIP).collect()
    }
}

/// The key by which items are grouped.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
enum GroupKey<'a> {
    /// The same verb and the same object, by any actor.
    Object { link: &'a str, verb: &'a str },
    /// The same actor, verb, object type and service.
    Series { actor: Uid, verb: &'a str, kind: &'a str, service: &'a str },
}

impl GroupKey<'_> {
    fn object(item: &ItemView) -> Option<GroupKey<'_>> {
        Some(GroupKey::Object { link: &item.link.as_ref()?.href, verb: &item.verb })
    }

    fn series(item: &ItemView) -> GroupKey<'_> {
        GroupKey::Series { actor: item.actor, verb: &item.verb, kind: &item.kind, service: &item.service }
    }
}

/// Groups the items, the first `unread` apart from the others: no group has read and unread ones then.
pub fn with_line(mut items: Vec<ItemView>, unread: usize) -> Vec<Group> {
    let read = items.split_off(unread.min(items.len()));
    let mut groups = of(items);
    if let Some(last) = groups.last_mut() {
        last.ends_unread = true;
    }
    groups.extend(of(read));
    groups
}

/// Groups the items. A group takes the position of its first item.
pub fn of(items: Vec<ItemView>) -> Vec<Group> {
    let group_of = firsts(&items);
    let mut groups: Vec<(usize, Group)> = Vec::new();
    for (item, group) in items.into_iter().zip(group_of) {
        let Some(first) = group else { continue };
        match groups.iter_mut().find(|(at, _)| *at == first) {
            Some((_, group)) => group.items.push(item),
            None => groups.push((first, Group { heading: None, items: vec![item], ends_unread: false })),
        }
    }
    groups.into_iter().map(|(_, group)| Group { heading: heading(&group.items), ..group }).collect()
}

/// The index of the first item of each item's group.
fn firsts(items: &[ItemView]) -> Vec<Option<usize>> {
    let mut by_same: HashMap<GroupKey<'_>, Vec<usize>> = HashMap::new();
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
        let together = |same: GroupKey<'_>| {
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
    group_of
}

fn heading(items: &[ItemView]) -> Option<Heading> {
    let [first, _, ..] = items else { return None };
    let mut names: Vec<&str> = Vec::new();
    for item in items {
        if !names.contains(&item.display_name.as_str()) {
            names.push(&item.display_name);
        }
    }
    let did = did_to_object(&Words { verb: &first.verb, done: &first.done, ..Words::default() });
    let is_one_object = first.link.is_some() && items.iter().all(|item| item.link == first.link);
    if let ([name], false) = (names.as_slice(), is_one_object) {
        let did = format!("{did} {}", counted(items.len(), &first.kind));
        return Some(Heading { who: (*name).to_owned(), is_series: true, did, what: None, times: None });
    }
    let (named, rest) = names.split_at(names.len().min(MAX_NAMES));
    let named = named.join(if rest.is_empty() { " and " } else { ", " });
    let others = match rest.len() {
        0 => String::new(),
        1 => " and 1 other".to_owned(),
        more => format!(" and {more} others"),
    };
    let what = Some(first.subject().to_owned());
    let times = (names.len() == 1).then_some(items.len());
    Some(Heading { who: format!("{named}{others}"), is_series: false, did, what, times })
}

#[cfg(test)]
mod tests {
    use super::super::display_time::DisplayTime;
    use super::super::item::WebLink;
    use super::super::picture::Layout;
    use super::super::sentence::Sentence;
    use super::*;

    fn item(id: usize, actor: i64, verb: &str, link: &str, minutes: i64) -> ItemView {
        let at = Millis(minutes * 60_000);
        ItemView {
            id: id.to_string(),
            actor: Uid(actor),
            name: format!("user{actor}"),
            display_name: format!("User {actor}"),
            has_page: true,
            title: "did something".to_owned(),
            kind: "photo".to_owned(),
            done: format!("{verb}ed"),
            verb: verb.to_owned(),
            service: "Flickr".to_owned(),
            website: None,
            icon: String::new(),
            sentence: Sentence { what: Some("Thing".to_owned()), ..Sentence::default() },
            link: WebLink::of(Some(link)),
            picture: None,
            layout: Layout::Plain,
            counts: None,
            time: DisplayTime::new(at, at),
            sorted_at: at,
            shows_published: false,
            published_at: at,
            now: at,
            why: String::new(),
            own: false,
            removable: true,
            is_unread: false,
            is_labelled: false,
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
        let heading = groups.first().and_then(|group| group.heading.clone()).unwrap();
        assert_eq!((heading.who.as_str(), heading.did.as_str()), ("User 1, User 2 and 1 other", "liked"));
        assert_eq!((heading.what.as_deref(), heading.is_series), (Some("Thing"), false));
    }

    #[test]
    fn a_series_by_one_actor_is_grouped() {
        let post = |at: usize, minutes| item(at, 1, "post", &format!("https://a/{at}"), minutes);
        let groups = of(vec![post(0, 100), post(1, 90), post(2, 80), post(3, 10)]);
        assert_eq!(shape(&groups), [vec!["0", "1", "2"], vec!["3"]]);
        let heading = groups.first().and_then(|group| group.heading.clone()).unwrap();
        assert_eq!((heading.who.as_str(), heading.did.as_str()), ("User 1", "posted 3 photos"));
        assert_eq!((heading.what, heading.is_series), (None, true));
    }

    #[test]
    fn one_actor_with_one_object_did_it_several_times() {
        let mut items: Vec<ItemView> = (0..3).map(|at| item(at, 1, "play", "https://a/x", 0)).collect();
        items[1].kind = "video".to_owned();
        let heading = of(items).remove(0).heading.unwrap();
        assert_eq!((heading.who.as_str(), heading.did.as_str()), ("User 1", "played"));
        assert_eq!((heading.what.as_deref(), heading.times), (Some("Thing"), Some(3)));
    }

    #[test]
    fn no_group_spans_the_line() {
        let items: Vec<ItemView> = (0..7).map(|at| item(at, 1, "play", "https://a/x", 0)).collect();
        let groups = with_line(items, 4);
        assert_eq!(shape(&groups), [vec!["0", "1", "2", "3"], vec!["4", "5", "6"]]);
        assert_eq!(groups.iter().map(|group| group.ends_unread).collect::<Vec<_>>(), [true, false]);
    }

    #[test]
    fn two_similar_items_are_not_grouped() {
        let groups = of(vec![item(0, 1, "post", "https://a/x", 0), item(1, 1, "post", "https://a/x", 0)]);
        assert_eq!(shape(&groups), [vec!["0"], vec!["1"]]);
        assert!(of(Vec::new()).is_empty());
    }

    #[test]
    fn groups_are_divided_by_day() {
        let hours = |id: usize, hours: i64| item(id, 1, "post", &format!("https://a/{id}"), hours * 60);
        let groups = of(vec![hours(0, 49), hours(1, 30), hours(2, 24), hours(3, 23), hours(4, 1)]);
        let days = by_day(groups, Millis(50 * 60 * 60_000));
        let shape: Vec<(&str, usize)> =
            days.iter().map(|day| (day.day.name.as_str(), day.groups.len())).collect();
        assert_eq!(shape, [("Today", 1), ("Yesterday", 2), ("Thursday", 2)]);
        assert!(by_day(Vec::new(), Millis(0)).is_empty());
    }
}
