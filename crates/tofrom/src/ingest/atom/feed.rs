//! Many entries in one feed, each understood as soon as it has ended, so that no more than one of them is in memory as
//! a tree.

use super::super::read::{LIMITS, MAX_ENTRIES, MAX_FEED, other_root};
use super::super::xml::{self, cost};
use super::super::{MAX_BODY, RawActivity, RawService, Unreadable};
use super::{ATOM, SERVICE, entry, provider};
use infoset::{Attribute, Element, Limits, Name, Namespace, Node, Sink, TreeBuilder};

/// What a whole feed may cost; that of an entry is counted for each.
const FEED_LIMITS: Limits =
    Limits { bytes: MAX_FEED, depth: LIMITS.depth + 1, output: 4 * MAX_FEED, ..LIMITS };

/// What the entries of a feed say.
pub(in super::super) fn read(bytes: &[u8]) -> Result<Vec<Result<RawActivity, Unreadable>>, Unreadable> {
    let mut feed = Feed::default();
    xml::read(bytes, &FEED_LIMITS, &mut feed)?;
    if !feed.root.name.is(ATOM, "feed") {
        return Err(other_root(&feed.root, "an Atom feed, in Atom's namespace,"));
    }
    if feed.count > MAX_ENTRIES {
        return Err(Unreadable::TooMany);
    }
    // The feed's service is that of every entry that names none. It may come after them.
    if let Some(service) = provider(&feed.root)? {
        let unnamed = |raw: &&mut RawActivity| raw.service == RawService::default();
        feed.entries.iter_mut().flatten().filter(unnamed).for_each(|raw| raw.service = service.clone());
    }
    Ok(feed.entries)
}

/// Listens to a feed.
#[derive(Default)]
struct Feed {
    /// The feed itself, with no more in it than its providers.
    root: Element,
    /// How many elements are open.
    depth: usize,
    /// What is open directly inside of the feed.
    part: Part,
    /// How many entries there are.
    count: usize,
    entries: Vec<Result<RawActivity, Unreadable>>,
}

#[derive(Default)]
enum Part {
    /// Something of no interest.
    #[default]
    Other,
    Entry(Heard),
    Provider(Heard),
}

/// What was heard of an element so far.
struct Heard {
    /// `None` when it was too much.
    tree: Option<TreeBuilder>,
    /// How many octets of text and values an activity may still have.
    octets: usize,
    /// How much it may still cost.
    output: usize,
}

impl Heard {
    fn nothing() -> Heard {
        Heard { tree: Some(TreeBuilder::new()), octets: MAX_BODY, output: LIMITS.output }
    }

    /// Where to put what has so many octets and costs so much, unless that is too much.
    fn room_for(&mut self, octets: usize, output: usize) -> Option<&mut TreeBuilder> {
        match (self.octets.checked_sub(octets), self.output.checked_sub(output)) {
            (Some(octets), Some(output)) => (self.octets, self.output) = (octets, output),
            _ => self.tree = None,
        }
        self.tree.as_mut()
    }

    fn finish(self) -> Result<Element, Unreadable> {
        self.tree.and_then(TreeBuilder::finish).ok_or(Unreadable::TooLarge)
    }
}

impl Feed {
    fn heard(&mut self) -> Option<&mut Heard> {
        match &mut self.part {
            Part::Other => None,
            Part::Entry(heard) | Part::Provider(heard) => Some(heard),
        }
    }

    /// What begins directly inside of the feed.
    fn part(&mut self, name: Name<'_>) -> Part {
        match (name.namespace, name.local) {
            (ATOM, "entry") => {
                self.count += 1;
                if self.count <= MAX_ENTRIES { Part::Entry(Heard::nothing()) } else { Part::Other }
            }
            // A second one is one too many, and a third need not be kept to tell.
            (SERVICE, "provider") if self.root.children.len() < 2 => Part::Provider(Heard::nothing()),
            _ => Part::Other,
        }
    }
}

impl Sink for Feed {
    fn start(&mut self, name: Name<'_>, namespaces: &[Namespace<'_>], attributes: &[Attribute<'_>]) {
        match self.depth {
            0 => self.root.name = name.into(),
            1 => self.part = self.part(name),
            _ => {}
        }
        self.depth += 1;
        let octets = attributes.iter().map(|one| one.value.len()).sum();
        let output = cost(name, namespaces, attributes);
        if let Some(tree) = self.heard().and_then(|heard| heard.room_for(octets, output)) {
            tree.start(name, namespaces, attributes);
        }
    }

    fn text(&mut self, text: &str) {
        if let Some(tree) = self.heard().and_then(|heard| heard.room_for(text.len(), text.len())) {
            tree.text(text);
        }
    }

    fn end(&mut self) {
        self.depth = self.depth.saturating_sub(1);
        if let Some(tree) = self.heard().and_then(|heard| heard.tree.as_mut()) {
            tree.end();
        }
        if self.depth == 1 {
            match std::mem::take(&mut self.part) {
                Part::Other => {}
                Part::Entry(heard) => self.entries.push(heard.finish().and_then(|tree| entry(&tree))),
                // One that is too large is kept as one that says nothing.
                Part::Provider(heard) => {
                    self.root.children.extend(heard.finish().map(Node::Element));
                }
            }
        }
    }
}
