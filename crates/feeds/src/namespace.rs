//! The known namespaces. They are identified by address, never by prefix.

/// A namespace.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Ns {
    /// No namespace: RSS, OPML, most attributes.
    None,
    Atom,
    Atom03,
    /// RSS 1.0, and 0.90 before it.
    Rss1,
    Rdf,
    Dublin,
    DublinTerms,
    Content,
    Slash,
    Syndication,
    /// Media RSS, usually with the prefix `media`.
    Media,
    /// The link extension of Atom, sometimes with the prefix `media`.
    AtomMedia,
    Itunes,
    Activity,
    Service,
    Contacts,
    Thread,
    Xhtml,
    Xml,
    /// An unknown namespace.
    Other,
}

impl Ns {
    /// The namespace with this address. Common misspellings in feeds are accepted.
    pub(crate) fn of(address: &str) -> Ns {
        match address {
            "" => Ns::None,
            "http://www.w3.org/2005/Atom" | "http://www.w3.org/2005/Atom/" => Ns::Atom,
            "http://purl.org/atom/ns#" | "http://example.com/newformat#" | "http://purl.org/atom/ns" => {
                Ns::Atom03
            }
            "http://purl.org/rss/1.0/"
            | "http://my.netscape.com/rdf/simple/0.9/"
            | "http://channel.netscape.com/rdf/simple/0.9/" => Ns::Rss1,
            // RSS 2.0 has no namespace; early feeds used these.
            "http://backend.userland.com/rss2"
            | "http://blogs.law.harvard.edu/tech/rss"
            | "http://backend.userland.com/rss"
            | "http://my.netscape.com/publish/formats/rss-0.91.dtd" => Ns::None,
            "http://www.w3.org/1999/02/22-rdf-syntax-ns#" => Ns::Rdf,
            "http://purl.org/dc/elements/1.1/" | "http://purl.org/dc/elements/1.0/" => Ns::Dublin,
            "http://purl.org/dc/terms/" => Ns::DublinTerms,
            "http://purl.org/rss/1.0/modules/content/" => Ns::Content,
            "http://purl.org/rss/1.0/modules/slash/" => Ns::Slash,
            "http://purl.org/rss/1.0/modules/syndication/" => Ns::Syndication,
            "http://search.yahoo.com/mrss/" | "http://search.yahoo.com/mrss" => Ns::Media,
            "http://purl.org/syndication/atommedia" => Ns::AtomMedia,
            "http://www.itunes.com/dtds/podcast-1.0.dtd" | "http://www.itunes.com/DTDs/Podcast-1.0.dtd" => {
                Ns::Itunes
            }
            "http://activitystrea.ms/spec/1.0/" => Ns::Activity,
            "http://activitystrea.ms/service-provider" => Ns::Service,
            "http://portablecontacts.net/spec/1.0"
            | "http://portablecontacts.net/schema/1.0"
            | "http://portablecontacts.net/ns/1.0" => Ns::Contacts,
            "http://purl.org/syndication/thread/1.0" => Ns::Thread,
            "http://www.w3.org/1999/xhtml" => Ns::Xhtml,
            "http://www.w3.org/XML/1998/namespace" => Ns::Xml,
            _ => Ns::Other,
        }
    }
}
