#![doc = include_str!("../README.md")]

mod chars;
mod decode;
mod encode;
mod error;
mod event;
mod limits;
mod tree;
mod xml;

pub use chars::{first_illegal, is_ncname, is_xml_char};
pub use decode::decode;
pub use encode::{DEFAULT_INDEX_LIMIT, FastInfosetWriter};
pub use error::{DecodeError, Reason};
pub use event::{Attribute, Name, Namespace, Sink, XML_NAMESPACE};
pub use limits::{Limit, Limits};
pub use tree::{Element, Node, OwnedName, TreeBuilder};
pub use xml::XmlWriter;
