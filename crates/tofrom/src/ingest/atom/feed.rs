//! Parses a feed of many entries. Each entry is parsed as soon as it ends, so that only one is in memory as a tree.

use super::super::read::{LIMITS, MAX_ENTRIES, MAX_FEED, other_root};
use super::super::xml::{self, cost};
use super::super::{MAX_BODY, RawActivity, RawService, Unreadable};
use super::{ATOM, SERVICE, entry, provider};
use infoset::{Attribute, Element, Limits, Name, Namespace, Node, Sink, TreeBuilder};

/// The parser limits of a whole feed; those of an entry apply to each.
const FEED_LIMITS: Limits =
    Limits { bytes: MAX_FEED, depth: LIMITS.depth + 1, output: 4 * MAX_FEED, ..LIMITS };

/// Parses the entries of a feed.
pub(in super::super) fn read(bytes: &[u8]) -> Result<Vec<Result<RawActivity, Unreadable>>, Unreadable> {
    let mut feed = Feed::default();
    xml::read(bytes, &FEED_LIMITS, &mut feed)?;
    if !feed.root.name.is(ATOM, "feed") {
        return Err(other_root(&feed.root, "an Atom feed, in Atom's namespace,"));
    }
    if feed.count > MAX_ENTRIES {
        return Err(Unreadable::TooMany);
    }
    // The service of the feed applies to entries that name none. It may come after them.
    if let Some(service) = provider(&feed.root)? {
        let unnamed = |raw: &&mut RawActivity| raw.service == RawService::default();
        feed.entries.iter_mut().flatten().filter(unnamed).for_each(|raw| raw.service = service.clone());
    }
    Ok(feed.entries)
}

/// Receives the events of a feed.
#[derive(Default)]
struct Feed {
    /// The feed element itself, with nothing in it but its providers.
    root: Element,
    /// The number of open elements.
    depth: usize,
    /// The open child of the feed.
    part: Part,
    /// The number of entries.
    count: usize,
    entries: Vec<Result<RawActivity, Unreadable>>,
}

#[derive(Default)]
enum Part {
    /// An ignored element.
    #[default]
    Other,
    Entry(PartialElement),
    Provider(PartialElement),
}

/// A partially received element.
struct PartialElement {
    /// `None` if it exceeded a limit.
    tree: Option<TreeBuilder>,
    /// The bytes of text and values that are left of its budget.
    bytes: usize,
    /// How much more it may cost.
    output: usize,
}

impl PartialElement {
    fn new() -> PartialElement {
        PartialElement { tree: Some(TreeBuilder::new()), bytes: MAX_BODY, output: LIMITS.output }
    }

    /// The tree to add a node of this size and cost to; `None` if it exceeds a limit.
    fn spend(&mut self, bytes: usize, output: usize) -> Option<&mut TreeBuilder> {
        match (self.bytes.checked_sub(bytes), self.output.checked_sub(output)) {
            (Some(bytes), Some(output)) => (self.bytes, self.output) = (bytes, output),
            _ => self.tree = None,
        }
        self.tree.as_mut()
    }

    fn finish(self) -> Result<Element, Unreadable> {
        self.tree.and_then(TreeBuilder::finish).ok_or(Unreadable::TooLarge)
    }
}

impl Feed {
    fn partial(&mut self) -> Option<&mut PartialElement> {
        match &mut self.part {
            Part::Other => None,
            Part::Entry(partial) | Part::Provider(partial) => Some(partial),
        }
    }

    /// The kind of a child element of the feed.
    fn part(&mut self, name: Name<'_>) -> Part {
        match (name.namespace, name.local) {
            (ATOM, "entry") => {
                self.count += 1;
                if self.count <= MAX_ENTRIES { Part::Entry(PartialElement::new()) } else { Part::Other }
            }
            // A second provider is an error, and a third need not be kept to report it.
            (SERVICE, "provider") if self.root.children.len() < 2 => Part::Provider(PartialElement::new()),
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
        let bytes = attributes.iter().map(|one| one.value.len()).sum();
        let output = cost(name, namespaces, attributes);
        if let Some(tree) = self.partial().and_then(|partial| partial.spend(bytes, output)) {
            tree.start(name, namespaces, attributes);
        }
    }

    fn text(&mut self, text: &str) {
        if let Some(tree) = self.partial().and_then(|partial| partial.spend(text.len(), text.len())) {
            tree.text(text);
        }
    }

    fn end(&mut self) {
        self.depth = self.depth.saturating_sub(1);
        if let Some(tree) = self.partial().and_then(|partial| partial.tree.as_mut()) {
            tree.end();
        }
        if self.depth == 1 {
            match std::mem::take(&mut self.part) {
                Part::Other => {}
                Part::Entry(partial) => self.entries.push(partial.finish().and_then(|tree| entry(&tree))),
                // An oversized provider counts as an empty one.
                Part::Provider(partial) => {
                    self.root.children.extend(partial.finish().map(Node::Element));
                }
            }
        }
    }
}
