//! Proactive content negotiation (RFC 9110, 12.5).

use http::header::{ACCEPT, ACCEPT_ENCODING};
use http::{HeaderMap, HeaderValue};
use model::Format;

/// A quality in thousandths.
type Quality = u16;

/// A range of an `Accept` field. `*` matches any type. Parameters other than `q` (`charset=utf-8`, `type=feed`) are
/// ignored: no media type of the server has variants.
#[derive(Debug, PartialEq, Eq)]
struct MediaRange {
    kind: String,
    subtype: String,
    quality: Quality,
}

/// The media ranges that a caller accepts. Malformed ranges are ignored.
#[derive(Debug, Default)]
pub struct Accept {
    ranges: Vec<MediaRange>,
}

impl Accept {
    /// Parses the `Accept` headers; several headers form one list.
    pub fn of(headers: &HeaderMap) -> Accept {
        Accept::of_lines(headers.get_all(ACCEPT))
    }

    /// Parses the values of `Accept` headers.
    pub fn of_lines<'a>(lines: impl IntoIterator<Item = &'a HeaderValue>) -> Accept {
        let lines = lines.into_iter().map(|line| String::from_utf8_lossy(line.as_bytes()).into_owned());
        let ranges = lines.flat_map(|line| split(&line, ',').filter_map(media_range).collect::<Vec<_>>());
        Accept { ranges: ranges.collect() }
    }

    /// The offered format with the highest quality, the first of equals. Without `Accept` the first offer is chosen.
    pub fn choose(&self, offers: &[Format]) -> Option<Format> {
        if self.ranges.is_empty() {
            return offers.first().copied();
        }
        let acceptable =
            offers.iter().map(|offer| (*offer, self.quality_of(*offer))).filter(|(_, quality)| *quality > 0);
        acceptable.reduce(|best, next| if next.1 > best.1 { next } else { best }).map(|(offer, _)| offer)
    }

    /// Like [`Accept::choose`] for a collection, which also has ActivityStreams 2.0. It must be named, and is then the
    /// first of equals: `*/*` beside it means anything else only if it cannot be had.
    pub fn choose_of_collection(&self) -> Option<Format> {
        let (kind, subtype) = Format::ActivityStreams.media_type().split_once('/').unwrap_or_default();
        let named = self.named(kind, subtype).filter(|quality| *quality > 0);
        let chosen = self.choose(&Format::ALL);
        let rest = chosen.map_or(0, |format| self.quality_of(format));
        if named.is_some_and(|quality| quality >= rest) { Some(Format::ActivityStreams) } else { chosen }
    }

    /// Whether `text/event-stream` is named.
    pub fn names_event_stream(&self) -> bool {
        self.named("text", "event-stream").is_some_and(|quality| quality > 0)
    }

    /// Whether to serve a page: HTML is named, and no offered format has a higher quality.
    pub fn prefers_html(&self) -> bool {
        let named = self.named("text", "html").max(self.named("application", "xhtml+xml"));
        let html = named.or_else(|| self.named("text", "*")).unwrap_or(0);
        let ours = Format::ALL.into_iter().map(|format| self.quality_of(format)).max().unwrap_or(0);
        html > 0 && html >= ours
    }

    /// Whether to serve problems as XML: XML, Atom or Fast Infoset is named with a higher quality than JSON.
    pub fn prefers_xml(&self) -> bool {
        let xml = ["xml", "atom+xml", "fastinfoset", "problem+xml"]
            .map(|subtype| self.named("application", subtype));
        let xml = xml.into_iter().chain([self.named("text", "xml")]).flatten().max().unwrap_or(0);
        let json = ["json", "problem+json"]
            .map(|subtype| self.named("application", subtype))
            .into_iter()
            .flatten()
            .max();
        xml > json.unwrap_or(0)
    }

    fn quality_of(&self, format: Format) -> Quality {
        let (kind, subtype) = format.media_type().split_once('/').unwrap_or_default();
        let named = self.named(kind, subtype);
        let alias = if format == Format::Xml { self.named("text", "xml") } else { None };
        named.max(alias).or_else(|| self.named(kind, "*")).or_else(|| self.named("*", "*")).unwrap_or(0)
    }

    /// The quality of exactly this range, if it is listed.
    fn named(&self, kind: &str, subtype: &str) -> Option<Quality> {
        let fits = |range: &&MediaRange| range.kind == kind && range.subtype == subtype;
        self.ranges.iter().filter(fits).map(|range| range.quality).max()
    }
}

/// A content coding.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Coding {
    /// No coding.
    Identity,
    /// gzip.
    Gzip,
    /// Brotli.
    Brotli,
    /// Zstandard.
    Zstd,
}

impl Coding {
    /// Its name in `Content-Encoding`.
    pub fn as_str(self) -> &'static str {
        match self {
            Coding::Identity => "identity",
            Coding::Gzip => "gzip",
            Coding::Brotli => "br",
            Coding::Zstd => "zstd",
        }
    }

    /// The coding with the highest quality, the cheapest of equals. A caller that accepts none of ours, not even
    /// identity, gets identity: a body that it may understand is better than none.
    pub fn choose(headers: &HeaderMap) -> Coding {
        let lines = headers.get_all(ACCEPT_ENCODING).iter().filter_map(|line| line.to_str().ok());
        let accepted: Vec<(String, Quality)> = lines
            .flat_map(|line| line.split(','))
            .map(|part| {
                let mut pieces = part.split(';').map(str::trim);
                let name = pieces.next().unwrap_or_default().to_ascii_lowercase();
                (name, quality(pieces))
            })
            .collect();
        let quality_of = |coding: Coding| {
            let named = |name: &str| accepted.iter().find(|(n, _)| n == name).map(|(_, q)| *q);
            let alias = if coding == Coding::Gzip { named("x-gzip") } else { None };
            named(coding.as_str()).or(alias).or_else(|| named("*")).unwrap_or(0)
        };
        let ours = [Coding::Zstd, Coding::Brotli, Coding::Gzip].map(|coding| (coding, quality_of(coding)));
        let best = ours.into_iter().reduce(|best, next| if next.1 > best.1 { next } else { best });
        let identity =
            accepted.iter().find(|(name, _)| name == "identity").map_or(0, |(_, quality)| *quality);
        best.filter(|(_, quality)| *quality > 0 && *quality >= identity)
            .map_or(Coding::Identity, |(coding, _)| coding)
    }
}

fn media_range(text: &str) -> Option<MediaRange> {
    let mut parts = split(text, ';').map(str::trim);
    let range = parts.next()?.to_ascii_lowercase();
    // Old Java clients send a bare star.
    let (kind, subtype) = if range == "*" { ("*", "*") } else { range.split_once('/')? };
    if kind.is_empty() || subtype.is_empty() || kind == "*" && subtype != "*" {
        return None;
    }
    Some(MediaRange {
        kind: kind.trim().to_owned(),
        subtype: subtype.trim().to_owned(),
        quality: quality(parts),
    })
}

/// The `q` among parameters; 1 if it is absent or malformed.
fn quality<'a>(mut parameters: impl Iterator<Item = &'a str>) -> Quality {
    let value = parameters.find_map(|parameter| {
        let (name, value) = parameter.split_once('=')?;
        name.trim().eq_ignore_ascii_case("q").then(|| value.trim())
    });
    let decimal = |text: &&str| text.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.');
    let number = value.filter(decimal).and_then(|text| text.parse::<f64>().ok());
    // At most 1000.
    number.map_or(1000, |number| (number.clamp(0.0, 1.0) * 1000.0).round() as Quality)
}

/// Splits at separators outside of quotes.
fn split(text: &str, separator: char) -> impl Iterator<Item = &str> {
    let mut quoted = false;
    let mut escaped = false;
    text.split(move |c: char| {
        let was_escaped = std::mem::take(&mut escaped);
        match c {
            '\\' if quoted => escaped = !was_escaped,
            '"' if !was_escaped => quoted = !quoted,
            _ => {}
        }
        c == separator && !quoted
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn accept(text: &str) -> Accept {
        let mut headers = HeaderMap::new();
        headers.insert(ACCEPT, text.parse().unwrap());
        Accept::of(&headers)
    }

    #[test]
    fn the_most_specific_range_sets_the_quality() {
        for (text, format) in [
            ("", Some(Format::Xml)),
            ("*/*", Some(Format::Xml)),
            ("*; q=.2", Some(Format::Xml)),
            ("application/json;q=0.1, */*", Some(Format::Xml)),
            ("application/xml;q=0.300, application/json;q=0.301", Some(Format::Json)),
            ("application/json;q=0.2, application/*;q=0.1, */*;q=0.9", Some(Format::Json)),
            ("text/xml;q=0.9, application/json;q=0.5", Some(Format::Xml)),
            ("text/plain;a=\"x, application/xml\", application/json", Some(Format::Json)),
            (",, application/json ,,", Some(Format::Json)),
            ("application/json;charset=utf-8", Some(Format::Json)),
            ("application/atom+xml; type=feed; charset=utf-8", Some(Format::Atom)),
            ("application/json;charset=utf-8;q=0.4, application/xml;q=0.6", Some(Format::Xml)),
            ("application/json;profile=\"a, b;q=0\"", Some(Format::Json)),
            ("application/json;q=abc, application/xml;q=0.9", Some(Format::Json)),
            ("application/json;q=, application/xml;q=0.9", Some(Format::Json)),
            ("application/json;q=-1", Some(Format::Json)),
            ("application/json;q=7, application/xml;q=0.9", Some(Format::Json)),
            ("application/json;q=0", None),
            ("application/json;charset=utf-8;q=0", None),
            ("text/html;q=abc", None),
            ("*/*;q=0", None),
            ("text/html", None),
            ("application/vnd.example+json", None),
        ] {
            assert_eq!(accept(text).choose(&Format::ALL), format, "{text}");
        }
    }

    #[test]
    fn activity_streams_must_be_named() {
        for (text, format) in [
            ("", Some(Format::Xml)),
            ("application/*", Some(Format::Xml)),
            ("application/activity+json", Some(Format::ActivityStreams)),
            ("application/activity+json, */*", Some(Format::ActivityStreams)),
            ("application/activity+json;q=0.5, application/json", Some(Format::Json)),
            ("application/activity+json;q=0, */*", Some(Format::Xml)),
            ("application/activity+json;q=0", None),
        ] {
            assert_eq!(accept(text).choose_of_collection(), format, "{text}");
        }
    }

    #[test]
    fn pages_are_served_only_if_html_is_named() {
        for (text, page) in [
            ("text/html", true),
            ("text/html,application/xhtml+xml,application/xml;q=0.9,image/avif,*/*;q=0.8", true),
            ("text/html, application/xhtml+xml, */*", true),
            ("application/xhtml+xml", true),
            ("text/*", true),
            ("text/html;q=0.5, application/json", false),
            ("text/html;q=0.5, */*", false),
            ("text/html;q=0", false),
            ("application/json", false),
            ("text/xml", false),
            ("image/png", false),
            ("*/*", false),
            ("", false),
        ] {
            assert_eq!(accept(text).prefers_html(), page, "{text}");
        }
        assert!(!Accept::default().prefers_html());
    }

    #[test]
    fn problems_are_xml_only_if_xml_is_named() {
        for (text, xml) in [
            ("", false),
            ("*/*", false),
            ("application/*", false),
            ("application/json", false),
            ("application/problem+json", false),
            ("application/fastinfoset", true),
            ("text/xml", true),
            ("application/json;q=0.4, application/xml;q=0.9", true),
            (";;q=x,/,*", false),
        ] {
            assert_eq!(accept(text).prefers_xml(), xml, "{text}");
        }
    }

    #[test]
    fn the_accepted_coding_with_the_highest_quality_is_chosen() {
        for (text, coding) in [
            ("gzip", Coding::Gzip),
            ("br", Coding::Brotli),
            ("zstd", Coding::Zstd),
            ("gzip, br, zstd", Coding::Zstd),
            ("gzip, deflate, br;q=0.5", Coding::Gzip),
            ("gzip;q=0, br;q=0, zstd;q=0", Coding::Identity),
            ("identity", Coding::Identity),
            ("identity;q=1, gzip;q=0.5", Coding::Identity),
            ("*", Coding::Zstd),
            ("x-gzip", Coding::Gzip),
            ("", Coding::Identity),
        ] {
            let mut headers = HeaderMap::new();
            headers.insert(ACCEPT_ENCODING, text.parse().unwrap());
            assert_eq!(Coding::choose(&headers), coding, "{text}");
        }
        assert_eq!(Coding::choose(&HeaderMap::new()), Coding::Identity);
    }
}
