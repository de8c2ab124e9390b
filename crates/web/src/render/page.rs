//! Renders a page in one of the five formats, from cached fragments.

use super::activity_streams;
use super::atom::{self, FeedHead};
use super::document::{self, Elements, Fields, Object};
use crate::site::Site;
use domain::feed::Item;
use infoset::{FastInfosetWriter, Name, Namespace, Sink, XmlWriter};
use model::{Account, ActivityId, Body, Collection, Format, Version};
use std::sync::Arc;

/// The memory limit of cached fragments.
const MAX_FRAGMENT_BYTES: u64 = 64 << 20;

/// The links of a page: relation and address, in order.
pub type Links = Vec<(&'static str, String)>;

/// The metadata of a page.
pub struct PageView<'a> {
    /// The owner of the collection.
    pub owner: &'a Account,
    /// The collection.
    pub collection: Collection,
    /// The links of the page.
    pub links: &'a Links,
}

/// A fragment is valid as long as neither the activity nor its actor's profile changes.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
struct FragmentKey {
    id: ActivityId,
    version: Version,
    actor: Version,
    format: Format,
}

/// Renders pages, and caches the fragment of each activity.
pub struct Renderer {
    pub(super) site: Site,
    fragments: moka::sync::Cache<FragmentKey, Arc<[u8]>>,
}

impl Renderer {
    /// A renderer for this site.
    pub fn new(site: Site) -> Renderer {
        let weigh =
            |_: &FragmentKey, fragment: &Arc<[u8]>| u32::try_from(fragment.len() + 128).unwrap_or(u32::MAX);
        let fragments = moka::sync::Cache::builder().max_capacity(MAX_FRAGMENT_BYTES).weigher(weigh).build();
        Renderer { site, fragments }
    }

    /// The cached fragments of these items. The bodies of the others are needed to render them.
    pub fn cached_fragments(&self, items: &[Item], format: Format) -> Vec<Option<Arc<[u8]>>> {
        let cached =
            |item| if format == Format::FastInfoset { None } else { self.fragments.get(&key(item, format)) };
        items.iter().map(cached).collect()
    }

    /// Renders the page from cached fragments and the bodies of the other items, which must be hydrated.
    pub fn page(
        &self,
        view: &PageView<'_>,
        items: &[Item],
        cached: Vec<Option<Arc<[u8]>>>,
        format: Format,
    ) -> Vec<u8> {
        let fragments = items.iter().zip(cached).filter_map(|(item, fragment)| {
            fragment.or_else(|| item.body.as_ref().map(|body| self.fragment(item, body, format)))
        });
        match format {
            Format::Json => json_page((br#"{"Activities":{"Activity":["#.to_vec(), b"]}}"), fragments),
            Format::ActivityStreams => json_page(activity_streams::page(view, &feed_title(view)), fragments),
            Format::Xml => {
                let mut writer = XmlWriter::new();
                writer.open(Name::local("Activities"));
                fragments.for_each(|fragment| writer.raw(&fragment));
                writer.end();
                writer.finish()
            }
            Format::Atom => {
                let mut writer = XmlWriter::new();
                atom::open_feed(&self.feed_head(view, items).as_ref(), &mut writer);
                fragments.for_each(|fragment| writer.raw(&fragment));
                writer.end();
                writer.finish()
            }
            Format::FastInfoset => {
                let mut writer = FastInfosetWriter::new();
                writer.open(Name::local("Activities"));
                for item in items {
                    if let Some(body) = &item.body {
                        self.activity_element(item, body, &mut writer);
                    }
                }
                writer.end();
                writer.finish()
            }
        }
    }

    /// Renders a document of plain fields. `None` for Atom and ActivityStreams, which have no representation for it.
    pub fn fields(
        root: &str,
        format: Format,
        describe: impl Fn(&mut dyn FnMut(&str, &str)),
    ) -> Option<Vec<u8>> {
        fn elements(sink: &mut impl Sink, root: &str, describe: impl Fn(&mut dyn FnMut(&str, &str))) {
            let mut fields = Elements(sink);
            fields.group(root);
            describe(&mut |name, value| fields.text(name, value));
            fields.end();
        }
        match format {
            Format::Json => {
                let mut object = Object::new();
                object.group(root);
                describe(&mut |name, value| object.text(name, value));
                object.end();
                Some(object.finish())
            }
            Format::Xml => {
                let mut writer = XmlWriter::new();
                elements(&mut writer, root, describe);
                Some(writer.finish())
            }
            Format::FastInfoset => {
                let mut writer = FastInfosetWriter::new();
                elements(&mut writer, root, describe);
                Some(writer.finish())
            }
            Format::Atom | Format::ActivityStreams => None,
        }
    }

    /// A problem document (RFC 9457; the namespace is still that of RFC 7807).
    pub fn problem_xml(members: &[(&str, &str)]) -> Vec<u8> {
        const PROBLEM: &str = "urn:ietf:rfc:7807";
        let mut writer = XmlWriter::new();
        writer.start(Name::qualified("", PROBLEM, "problem"), &[Namespace::new("", PROBLEM)], &[]);
        for (name, value) in members {
            writer.leaf(Name::qualified("", PROBLEM, name), value);
        }
        writer.end();
        writer.finish()
    }

    fn fragment(&self, item: &Item, body: &Body, format: Format) -> Arc<[u8]> {
        let fragment: Arc<[u8]> = self.write_fragment(item, body, format).into();
        self.fragments.insert(key(item, format), Arc::clone(&fragment));
        fragment
    }

    fn write_fragment(&self, item: &Item, body: &Body, format: Format) -> Vec<u8> {
        match format {
            Format::Json => {
                let mut object = Object::new();
                document::activity(&self.site, &item.state, body, &item.actor, &mut object);
                object.finish()
            }
            Format::ActivityStreams => activity_streams::activity(&self.site, &item.state, body, &item.actor),
            Format::Atom => {
                let mut writer = XmlWriter::fragment();
                atom::entry(&self.site, &item.state, body, &item.actor, &mut writer);
                writer.finish()
            }
            Format::Xml | Format::FastInfoset => {
                let mut writer = XmlWriter::fragment();
                self.activity_element(item, body, &mut writer);
                writer.finish()
            }
        }
    }

    fn activity_element(&self, item: &Item, body: &Body, sink: &mut impl Sink) {
        let mut fields = Elements(sink);
        fields.group("Activity");
        document::activity(&self.site, &item.state, body, &item.actor, &mut fields);
        fields.end();
    }

    fn feed_head<'a>(&self, view: &PageView<'a>, items: &[Item]) -> OwnedHead<'a> {
        let updated = items.iter().map(|item| item.state.updated).max().unwrap_or(view.owner.created).zulu();
        OwnedHead {
            id: self.site.feed_tag(view.collection, &view.owner.name),
            title: feed_title(view),
            updated,
            links: view.links,
        }
    }
}

struct OwnedHead<'a> {
    id: String,
    title: String,
    updated: String,
    links: &'a Links,
}

impl OwnedHead<'_> {
    fn as_ref(&self) -> FeedHead<'_> {
        FeedHead { id: &self.id, title: &self.title, updated: &self.updated, links: self.links }
    }
}

fn key(item: &Item, format: Format) -> FragmentKey {
    FragmentKey { id: item.state.id, version: item.state.version, actor: item.actor.version, format }
}

/// The title of a collection, for people.
fn feed_title(view: &PageView<'_>) -> String {
    let name = view.owner.display_name();
    match view.collection {
        Collection::To => format!("Activities that reach {name}"),
        Collection::From => format!("Activities of {name}"),
        Collection::ToFrom => format!("Activities to and from {name}"),
    }
}

/// The fragments as the items of an array between two texts.
fn json_page((mut page, end): (Vec<u8>, &[u8]), fragments: impl Iterator<Item = Arc<[u8]>>) -> Vec<u8> {
    for (at, fragment) in fragments.enumerate() {
        if at > 0 {
            page.push(b',');
        }
        page.extend_from_slice(&fragment);
    }
    page.extend_from_slice(end);
    page
}
