//! Builds trees, and the tree of an HTML page.

use crate::FeedError;
use crate::element::{Attribute, Element, Node};
use crate::html::{Tag, Token, tokens};
use crate::limits::{MAX_DEPTH, MAX_NODES};
use crate::namespace::Ns;

/// A tree under construction.
pub(crate) struct TreeBuilder {
    /// The open elements, the root first.
    open: Vec<Element>,
    /// The number of elements and attributes so far.
    nodes: usize,
}

impl TreeBuilder {
    pub(crate) fn new(root: Element) -> TreeBuilder {
        TreeBuilder { open: vec![root], nodes: 1 }
    }

    pub(crate) fn depth(&self) -> usize {
        self.open.len()
    }

    pub(crate) fn open(&mut self, element: Element) -> Result<(), FeedError> {
        self.nodes += 1 + element.attributes.len();
        if self.nodes > MAX_NODES {
            return Err(FeedError::TooLarge("more than 300,000 elements and attributes"));
        }
        self.open.push(element);
        Ok(())
    }

    /// Closes the innermost element; the root stays open.
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

    /// Closes all open elements and returns the root.
    pub(crate) fn done(mut self) -> Option<Element> {
        while self.open.len() > 1 {
            self.close();
        }
        self.open.pop()
    }

    /// Closes the innermost element with one of `names` and everything in it, unless an element of `unless` is
    /// nearer.
    fn close_nearest(&mut self, names: &[&str], unless: &[&str]) {
        if names.is_empty() {
            return;
        }
        let nearest = self.open.iter().skip(1).rev().find(|element| {
            let name = &*element.name;
            names.contains(&name) || unless.contains(&name)
        });
        if nearest.is_some_and(|element| names.contains(&&*element.name)) {
            while self.open.len() > 1 {
                let is_named = self.open.last().is_some_and(|element| names.contains(&&*element.name));
                self.close();
                if is_named {
                    return;
                }
            }
        }
    }
}

/// The attributes that are kept; pages have many others.
const ATTRIBUTES: [&str; 13] = [
    "alt", "class", "data", "datetime", "height", "href", "poster", "rel", "src", "title", "type", "value",
    "width",
];

/// The elements of a page below a nameless root. Missing end tags of lists, tables and paragraphs are added
/// where a browser adds them. Elements below the maximum depth are flattened.
pub(crate) fn page(html: &str) -> Result<Element, FeedError> {
    let root = Element::new(Ns::Xhtml, "", Vec::new());
    let mut tree = TreeBuilder::new(root);
    for token in tokens(html) {
        match token {
            Token::Text(text) => tree.text(&text),
            Token::End(name) => tree.close_nearest(&[&name], &[]),
            Token::Start(tag) => start(&mut tree, tag)?,
        }
    }
    tree.done().ok_or(FeedError::NotAFeed)
}

fn start(tree: &mut TreeBuilder, tag: Tag) -> Result<(), FeedError> {
    let (ended, unless) = ended_by(&tag.name);
    tree.close_nearest(ended, unless);
    let known = tag.attributes.into_iter().filter(|(name, _)| ATTRIBUTES.contains(&name.as_str()));
    let attributes = known.map(|(name, value)| Attribute { ns: Ns::None, name: name.into(), value });
    tree.open(Element::new(Ns::Xhtml, &tag.name, attributes.collect()))?;
    if tag.empty || tree.depth() > MAX_DEPTH {
        tree.close();
    }
    Ok(())
}

/// The elements that a start tag with this name closes, and the elements that stop it.
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
