//! Tracks the namespace declarations in scope.

use std::collections::HashMap;

use crate::error::Reason;
use crate::event::{Name, Namespace, XML_NAMESPACE};

const XMLNS_NAMESPACE: &str = "http://www.w3.org/2000/xmlns/";

/// The declarations in scope. A lookup does not depend on their number.
#[derive(Default)]
pub(super) struct Scope<'a> {
    /// The namespaces of each prefix and the depths they were declared at, innermost last.
    bindings: HashMap<&'a str, Vec<(usize, &'a str)>>,
    /// The depth and prefix of each declaration, in order.
    declared: Vec<(usize, &'a str)>,
}

impl<'a> Scope<'a> {
    /// Adds the declarations of an element at this depth.
    pub(super) fn enter(&mut self, depth: usize, namespaces: &[Namespace<'a>]) -> Result<(), Reason> {
        for &Namespace { prefix, uri } in namespaces {
            let reserved =
                matches!(prefix, "xml" | "xmlns") || matches!(uri, XML_NAMESPACE | XMLNS_NAMESPACE);
            // XML 1.0 allows undeclaring the default namespace, but not a prefix.
            if reserved || (uri.is_empty() && !prefix.is_empty()) {
                return Err(Reason::ReservedNamespace);
            }
            let bindings = self.bindings.entry(prefix).or_default();
            if bindings.last().is_some_and(|&(at, _)| at == depth) {
                return Err(Reason::DuplicateNamespace);
            }
            bindings.push((depth, uri));
            self.declared.push((depth, prefix));
        }
        Ok(())
    }

    /// Removes the declarations of the element that ends at this depth.
    pub(super) fn leave(&mut self, depth: usize) {
        while let Some((_, prefix)) = self.declared.pop_if(|&mut (at, _)| at == depth) {
            if let Some(bindings) = self.bindings.get_mut(prefix) {
                bindings.pop();
            }
        }
    }

    /// Whether the declarations in scope give the element this name.
    pub(super) fn check_element(&self, name: Name<'_>) -> Result<(), Reason> {
        Self::check(name, self.namespace_of(name.prefix))
    }

    /// Whether the declarations in scope give the attribute this name: the default namespace does not apply to
    /// attributes.
    pub(super) fn check_attribute(&self, name: Name<'_>) -> Result<(), Reason> {
        Self::check(name, if name.prefix.is_empty() { "" } else { self.namespace_of(name.prefix) })
    }

    fn check(name: Name<'_>, declared: &str) -> Result<(), Reason> {
        if name.namespace == declared { Ok(()) } else { Err(Reason::UndeclaredNamespace) }
    }

    fn namespace_of(&self, prefix: &str) -> &str {
        if prefix == "xml" {
            return XML_NAMESPACE;
        }
        self.bindings.get(prefix).and_then(|bindings| bindings.last()).map_or("", |&(_, uri)| uri)
    }
}
