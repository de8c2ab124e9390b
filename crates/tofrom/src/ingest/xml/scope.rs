//! The namespace declarations in scope.

use super::Fault;
use infoset::{Name, XML_NAMESPACE, is_ncname};

const XMLNS_NAMESPACE: &str = "http://www.w3.org/2000/xmlns/";

/// The maximum number of declarations in scope: each name is looked up among them.
const MAX_IN_SCOPE: usize = 64;

/// The declarations in scope.
#[derive(Default)]
pub(super) struct Scope(Vec<Declaration>);

struct Declaration {
    /// The depth of the element that declares it.
    depth: usize,
    prefix: String,
    namespace: String,
}

impl Scope {
    /// Adds the declarations of the element at this depth. The tokeniser has checked that none is repeated.
    pub(super) fn enter(&mut self, depth: usize, declared: &[(&str, String)]) -> Result<(), Fault> {
        for (prefix, namespace) in declared {
            let reserved = matches!(*prefix, "xml" | "xmlns")
                || matches!(namespace.as_str(), XML_NAMESPACE | XMLNS_NAMESPACE);
            // The default namespace can be undeclared, a prefix cannot.
            let taken_back = namespace.is_empty() && !prefix.is_empty();
            if reserved || taken_back {
                return Err(format!("the prefix {prefix} can't be declared like this"));
            }
            if self.0.len() == MAX_IN_SCOPE {
                return Err(format!("more than {MAX_IN_SCOPE} namespaces are declared"));
            }
            let (prefix, namespace) = ((*prefix).to_owned(), namespace.clone());
            self.0.push(Declaration { depth, prefix, namespace });
        }
        Ok(())
    }

    /// Removes the declarations of the element at this depth.
    pub(super) fn leave(&mut self, depth: usize) {
        while self.0.pop_if(|declared| declared.depth == depth).is_some() {}
    }

    /// The name of an element. Without a prefix it is in the default namespace.
    pub(super) fn element<'a>(&'a self, qualified: &'a str) -> Result<Name<'a>, Fault> {
        match qualified.split_once(':') {
            Some((prefix, local)) => self.prefixed(prefix, local),
            None if is_ncname(qualified) => {
                Ok(Name::qualified("", self.namespace("").unwrap_or_default(), qualified))
            }
            None => Err(invalid_name(qualified)),
        }
    }

    /// The name of an attribute. Without a prefix it is in no namespace.
    pub(super) fn attribute<'a>(&'a self, qualified: &'a str) -> Result<Name<'a>, Fault> {
        match qualified.split_once(':') {
            Some((prefix, local)) => self.prefixed(prefix, local),
            None if is_ncname(qualified) => Ok(Name::local(qualified)),
            None => Err(invalid_name(qualified)),
        }
    }

    fn prefixed<'a>(&'a self, prefix: &'a str, local: &'a str) -> Result<Name<'a>, Fault> {
        if !is_ncname(prefix) || !is_ncname(local) {
            return Err(invalid_name(&format!("{prefix}:{local}")));
        }
        let namespace =
            self.namespace(prefix).ok_or_else(|| format!("the prefix {prefix} is not declared"))?;
        Ok(Name::qualified(prefix, namespace, local))
    }

    fn namespace(&self, prefix: &str) -> Option<&str> {
        if prefix == "xml" {
            return Some(XML_NAMESPACE);
        }
        self.0.iter().rev().find(|declared| declared.prefix == prefix).map(|found| found.namespace.as_str())
    }
}

fn invalid_name(text: &str) -> Fault {
    format!("invalid name {text}")
}
