//! Which namespaces are declared where.

use super::Fault;
use infoset::{Name, XML_NAMESPACE, is_ncname};

const XMLNS_NAMESPACE: &str = "http://www.w3.org/2000/xmlns/";

/// How many declarations may be in force at once: each name is looked up among them.
const MAX_IN_FORCE: usize = 64;

/// The declarations in force.
#[derive(Default)]
pub(super) struct Scope(Vec<Declared>);

struct Declared {
    /// Of the element that declares it.
    depth: usize,
    prefix: String,
    namespace: String,
}

impl Scope {
    /// Adds what the element at this depth declares. The tokenizer has seen to it that nothing is declared twice.
    pub(super) fn enter(&mut self, depth: usize, declared: &[(&str, String)]) -> Result<(), Fault> {
        for (prefix, namespace) in declared {
            let reserved = matches!(*prefix, "xml" | "xmlns")
                || matches!(namespace.as_str(), XML_NAMESPACE | XMLNS_NAMESPACE);
            // The default namespace can be taken back, a prefix can't.
            let taken_back = namespace.is_empty() && !prefix.is_empty();
            if reserved || taken_back {
                return Err(format!("the prefix {prefix} can't be declared so"));
            }
            if self.0.len() == MAX_IN_FORCE {
                return Err(format!("more than {MAX_IN_FORCE} namespaces are declared"));
            }
            let (prefix, namespace) = ((*prefix).to_owned(), namespace.clone());
            self.0.push(Declared { depth, prefix, namespace });
        }
        Ok(())
    }

    /// Takes back what the element at this depth declared.
    pub(super) fn leave(&mut self, depth: usize) {
        while self.0.pop_if(|declared| declared.depth == depth).is_some() {}
    }

    /// The name of an element, which is in the default namespace where it has no prefix.
    pub(super) fn element<'a>(&'a self, qualified: &'a str) -> Result<Name<'a>, Fault> {
        match qualified.split_once(':') {
            Some((prefix, local)) => self.prefixed(prefix, local),
            None if is_ncname(qualified) => {
                Ok(Name::qualified("", self.namespace("").unwrap_or_default(), qualified))
            }
            None => Err(no_name(qualified)),
        }
    }

    /// The name of an attribute, which is in no namespace where it has no prefix.
    pub(super) fn attribute<'a>(&'a self, qualified: &'a str) -> Result<Name<'a>, Fault> {
        match qualified.split_once(':') {
            Some((prefix, local)) => self.prefixed(prefix, local),
            None if is_ncname(qualified) => Ok(Name::local(qualified)),
            None => Err(no_name(qualified)),
        }
    }

    fn prefixed<'a>(&'a self, prefix: &'a str, local: &'a str) -> Result<Name<'a>, Fault> {
        if !is_ncname(prefix) || !is_ncname(local) {
            return Err(no_name(&format!("{prefix}:{local}")));
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

fn no_name(text: &str) -> Fault {
    format!("{text} is no name")
}
