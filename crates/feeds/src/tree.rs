//! How trees grow, and the tree of a page.

use crate::Unreadable;
use crate::element::{Attribute, Element, Node};
use crate::html::{Tag, Token, tokens};
use crate::limits::{MAX_DEPTH, MAX_NODES};
use crate::namespace::Ns;

/// A tree that grows as its tags come.
pub(crate) struct Growing {
    /// The elements that have no end yet, the root first.
    open: Vec<Element>,
    /// Elements and attributes so far.
    nodes: usize,
}

impl Growing {
    pub(crate) fn new(root: Element) -> Growing {
        Growing { open: vec![root], nodes: 1 }
    }

    pub(crate) fn depth(&self) -> usize {
        self.open.len()
    }

    pub(crate) fn open(&mut self, element: Element) -> Result<(), Unreadable> {
        self.nodes += 1 + element.attributes.len();
        if self.nodes > MAX_NODES {
            return Err(Unreadable::TooMuch("it has more than 300,000 elements and attributes"));
        }
        self.open.push(element);
        Ok(())
    }

    /// Ends the innermost element; the root stays open.
    pub(crate) fn close(&mut self) {
        if self.open.len() > 1
            && let (Some(done), Some(parent)) = (self.open.pop(), self.open.last_mut())
        {
            parent.children.push(Node::Element(done));
        }
    }

    pub(crate) fn text(&mut self, text: &str) {
        let Some(parent) = self.open.last_mut() else { return };
        match parent.children.last_mut() {
            Some(Node::Text(before)) => before.push_str(text),
            _ if text.is_empty() => {}
            _ => parent.children.push(Node::Text(text.to_owned())),
        }
    }

    /// The root, with all that is still open ended.
    pub(crate) fn done(mut self) -> Option<Element> {
        while self.open.len() > 1 {
            self.close();
        }
        self.open.pop()
    }

    /// Ends the innermost element of these names, and what stands open in it, unless one of the others is nearer.
    fn close_nearest(&mut self, names: &[&str], unless: &[&str]) {
        if names.is_empty() {
            return;
        }
        let nearest = self.open.iter().skip(1).rev().find(|one| {
            let name = &*one.name;
            names.contains(&name) || unless.contains(&name)
        });
        if nearest.is_some_and(|one| names.contains(&&*one.name)) {
            while self.open.len() > 1 {
                let was = self.open.last().is_some_and(|one| names.contains(&&*one.name));
                self.close();
                if was {
                    return;
                }
            }
        }
    }
}

/// The attributes of a page that mean something here; pages have many others.
const ATTRIBUTES: [&str; 13] = [
    "alt", "class", "data", "datetime", "height", "href", "poster", "rel", "src", "title", "type", "value",
    "width",
];

/// The elements of a page, in a nameless one. Where ends are missing they are put where a browser would, as far as
/// lists, tables and paragraphs go; what is too deep stands flat.
pub(crate) fn page(html: &str) -> Result<Element, Unreadable> {
    let root = Element::new(Ns::Xhtml, "", Vec::new());
    let mut tree = Growing::new(root);
    for token in tokens(html) {
        match token {
            Token::Text(text) => tree.text(&text),
            Token::End(name) => tree.close_nearest(&[&name], &[]),
            Token::Start(tag) => start(&mut tree, tag)?,
        }
    }
    tree.done().ok_or(Unreadable::NotAFeed)
}

fn start(tree: &mut Growing, tag: Tag) -> Result<(), Unreadable> {
    let (ended, unless) = ended_by(&tag.name);
    tree.close_nearest(ended, unless);
    let said = tag.attributes.into_iter().filter(|(name, _)| ATTRIBUTES.contains(&name.as_str()));
    let attributes = said.map(|(name, value)| Attribute { ns: Ns::None, name: name.into(), value });
    tree.open(Element::new(Ns::Xhtml, &tag.name, attributes.collect()))?;
    if tag.empty || tree.depth() > MAX_DEPTH {
        tree.close();
    }
    Ok(())
}

/// Which element ends where one of that name begins, and what it does not end through.
fn ended_by(name: &str) -> (&'static [&'static str], &'static [&'static str]) {
    match name {
        "li" => (&["li"], &["ul", "ol", "menu"]),
        "dt" | "dd" => (&["dt", "dd"], &["dl"]),
        "td" | "th" => (&["td", "th"], &["tr", "table"]),
        "tr" => (&["tr"], &["table"]),
        "option" => (&["option"], &["select"]),
        "address" | "article" | "aside" | "blockquote" | "div" | "dl" | "fieldset" | "figure" | "footer"
        | "form" | "h1" | "h2" | "h3" | "h4" | "h5" | "h6" | "header" | "hr" | "main" | "nav" | "ol"
        | "p" | "pre" | "section" | "table" | "ul" => (&["p"], &["button", "td", "th", "object"]),
        _ => (&[], &[]),
    }
}
