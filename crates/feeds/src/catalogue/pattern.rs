//! Patterns of addresses: `https://{person}.example.org/feed/{number}?id={id}`.
//!
//! A name in braces matches part of the host, one path segment, or one parameter value; each of these has at
//! most one. Scheme, a leading `www.` and a trailing slash are ignored when an address is compared.

use crate::address;
use url::Url;

/// The longest value of a name in braces, in bytes.
const MAX_VALUE: usize = 200;

/// A pattern of addresses.
#[derive(Debug)]
pub(super) struct Pattern {
    host: Piece,
    path: Vec<Piece>,
    query: Vec<(String, Piece)>,
}

/// A part of a pattern: literal text around at most one name in braces.
#[derive(Debug)]
struct Piece {
    before: String,
    slot: Option<String>,
    after: String,
}

/// The values of the names in braces, percent-encoded.
pub(super) type Values = Vec<(String, String)>;

impl Pattern {
    pub(super) fn parse(text: &str) -> Option<Pattern> {
        let rest = text.strip_prefix("https://")?;
        let (address, query) = rest.split_once('?').unwrap_or((rest, ""));
        let (host, path) = address.split_once('/').unwrap_or((address, ""));
        let pairs = query.split('&').filter_map(|pair| pair.split_once('='));
        Some(Pattern {
            host: Piece::parse(host)?,
            path: path.split('/').map(Piece::parse).collect::<Option<_>>()?,
            query: pairs
                .map(|(name, value)| Some((name.to_owned(), Piece::parse(value)?)))
                .collect::<Option<_>>()?,
        })
    }

    /// Whether the pattern has a slot of this name.
    pub(super) fn has(&self, slot: &str) -> bool {
        self.pieces().any(|piece| piece.slot.as_deref() == Some(slot))
    }

    fn pieces(&self) -> impl Iterator<Item = &Piece> {
        std::iter::once(&self.host).chain(&self.path).chain(self.query.iter().map(|(_, piece)| piece))
    }

    /// The values of all slots, if the address matches the pattern.
    pub(super) fn values_of(&self, url: &Url) -> Option<Values> {
        let mut values = Values::new();
        let host = url.host_str()?.trim_end_matches('.');
        let host = host.strip_prefix("www.").unwrap_or(host);
        values.extend(self.host.without_www().match_host(host)?);
        let is_there = |segment: &&str| !segment.is_empty();
        let mut segments = url.path().split('/').filter(is_there);
        for piece in self.path.iter().filter(|piece| !piece.is_empty()) {
            values.extend(piece.match_text(segments.next()?)?);
        }
        if segments.next().is_some() || url.port().is_some() {
            return None;
        }
        for (name, piece) in &self.query {
            let (_, value) = url.query_pairs().find(|(found, _)| found == name)?;
            values.extend(piece.match_text(&encoded(&value)?)?);
        }
        // The host is always available as a value.
        if !values.iter().any(|(name, _)| name == "host") {
            values.push(("host".to_owned(), url.host_str()?.to_owned()));
        }
        Some(values)
    }

    /// The address with these values filled in, if none is missing.
    pub(super) fn filled(&self, values: &Values) -> Option<Url> {
        let path: Vec<String> = self.path.iter().map(|piece| piece.filled(values)).collect::<Option<_>>()?;
        let query = self.query.iter().map(|(name, piece)| Some(format!("{name}={}", piece.filled(values)?)));
        let query = query.collect::<Option<Vec<_>>>()?.join("&");
        let mark = if query.is_empty() { "" } else { "?" };
        let text = format!("https://{}/{}{mark}{query}", self.host.filled(values)?, path.join("/"));
        Url::parse(&text).ok().filter(address::is_web)
    }
}

impl Piece {
    fn parse(text: &str) -> Option<Piece> {
        let Some((before, rest)) = text.split_once('{') else {
            return Some(Piece { before: text.to_owned(), slot: None, after: String::new() });
        };
        let (slot, after) = rest.split_once('}')?;
        let is_name = !slot.is_empty() && slot.bytes().all(|b| b.is_ascii_lowercase());
        let piece = Piece { before: before.to_owned(), slot: Some(slot.to_owned()), after: after.to_owned() };
        (is_name && !after.contains('{')).then_some(piece)
    }

    fn is_empty(&self) -> bool {
        self.before.is_empty() && self.slot.is_none()
    }

    fn without_www(&self) -> Piece {
        let before = self.before.strip_prefix("www.").unwrap_or(&self.before);
        Piece { before: before.to_owned(), slot: self.slot.clone(), after: self.after.clone() }
    }

    /// The slot's value in a text: an empty list if the piece has no slot, `None` if the text does not match.
    fn match_text(&self, text: &str) -> Option<Values> {
        let Some(slot) = &self.slot else {
            return text.eq_ignore_ascii_case(&self.before).then(Vec::new);
        };
        let value = text.strip_prefix(&self.before)?.strip_suffix(&self.after)?;
        is_value(value).then(|| vec![(slot.clone(), value.to_owned())])
    }

    /// The same for a host: the slot matches a complete host or one label of it.
    fn match_host(&self, host: &str) -> Option<Values> {
        let values = self.match_text(host)?;
        let is_whole = self.before.is_empty() && self.after.is_empty();
        let fits = |value: &String| if is_whole { value.contains('.') } else { !value.contains('.') };
        values.iter().all(|(_, value)| fits(value)).then_some(values)
    }

    fn filled(&self, values: &Values) -> Option<String> {
        match &self.slot {
            None => Some(self.before.clone()),
            Some(slot) => {
                let (_, value) = values.iter().find(|(name, _)| name == slot)?;
                Some(format!("{}{value}{}", self.before, self.after))
            }
        }
    }
}

/// Whether a text can be the value of a slot without adding parts to the address.
fn is_value(text: &str) -> bool {
    let allowed = |b: u8| b.is_ascii_alphanumeric() || b"-_.~@:%!$'()*,;".contains(&b);
    (1..=MAX_VALUE).contains(&text.len()) && text.bytes().all(allowed) && !matches!(text, "." | "..")
}

/// The percent-encoded form of a value.
pub(super) fn encoded(text: &str) -> Option<String> {
    if text.len() > MAX_VALUE || text.contains(['/', '\\', '?', '#', '&', '=', '+', '%']) {
        return None;
    }
    let mut url = Url::parse("https://example.org/").ok()?;
    url.path_segments_mut().ok()?.clear().push(text);
    let value = url.path().trim_start_matches('/').to_owned();
    is_value(&value).then_some(value)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn moved(from: &str, to: &str, address: &str) -> Option<String> {
        let values = Pattern::parse(from).unwrap().values_of(&Url::parse(address).unwrap())?;
        Pattern::parse(to).unwrap().filled(&values).map(String::from)
    }

    #[test]
    fn values_go_from_one_address_to_another() {
        let page = "https://www.example.org/@{person}";
        let feed = "https://example.org/feed/{person}/";
        for (address, expected) in [
            ("https://example.org/@alice", Some("https://example.org/feed/alice/")),
            ("http://WWW.example.org/@alice/?tab=1#x", Some("https://example.org/feed/alice/")),
            ("https://example.org/@jo%20smith", Some("https://example.org/feed/jo%20smith/")),
            ("https://example.org/alice", None),
            ("https://example.org/@", None),
            ("https://example.org/@..", None),
            ("https://example.org/@alice/more", None),
            ("https://example.org:8443/@alice", None),
            ("https://other.example.org/@alice", None),
        ] {
            assert_eq!(moved(page, feed, address).as_deref(), expected, "{address}");
        }
        let host = "https://{person}.example.org/";
        let query = "https://feeds.example.org/x?id=u:{person}&n=1";
        let expected = Some("https://feeds.example.org/x?id=u:alice&n=1".to_owned());
        assert_eq!(moved(host, query, "https://alice.example.org/"), expected);
        assert_eq!(
            moved(query, host, "https://feeds.example.org/x?n=1&id=u:alice"),
            Some("https://alice.example.org/".to_owned())
        );
        assert_eq!(moved(host, query, "https://a.b.example.org/"), None);
        assert_eq!(
            moved("https://{host}/u/{person}", "https://{host}/f/{person}", "https://localhost/u/x"),
            None
        );
    }

    #[test]
    fn values_cannot_add_parts_to_an_address() {
        for text in ["a/b", "a?b", "a#b", "a&b", "..", "", "a\\b", "%2e%2e"] {
            assert_eq!(encoded(text), None, "{text}");
        }
        assert_eq!(encoded("Jo Smith é").as_deref(), Some("Jo%20Smith%20%C3%A9"));
    }
}
