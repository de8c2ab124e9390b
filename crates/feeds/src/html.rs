//! A tokenizer for HTML. It splits tags and text as browsers do and never fails.
//!
//! The time is linear in the length for any input. Libraries that build a browser's tree have no such bound.

use crate::limits::{MAX_ATTRIBUTES, MAX_NAME};
use crate::references::resolved;
use std::borrow::Cow;

/// A piece of a page.
#[derive(Debug)]
pub(crate) enum Token<'a> {
    Start(Tag),
    End(String),
    Text(Cow<'a, str>),
}

/// A start tag with its names in lower case.
#[derive(Debug)]
pub(crate) struct Tag {
    pub(crate) name: String,
    pub(crate) attributes: Vec<(String, String)>,
    /// The element has no content: `<br>`, or `<path/>`.
    pub(crate) empty: bool,
}

impl Tag {
    pub(crate) fn get(&self, name: &str) -> Option<&str> {
        self.attributes.iter().find(|(attribute, _)| attribute == name).map(|(_, value)| value.as_str())
    }

    /// Whether `rel` contains this word.
    pub(crate) fn has_rel(&self, word: &str) -> bool {
        self.get("rel")
            .is_some_and(|rel| rel.split_ascii_whitespace().any(|entry| entry.eq_ignore_ascii_case(word)))
    }
}

/// Iterates over the tokens of a page. The content of scripts and styles is left out.
pub(crate) struct Tokens<'a> {
    rest: &'a str,
    /// The element whose raw content follows, if any: tags have no meaning in it.
    raw: Option<&'static str>,
}

/// Elements with raw content. The content of the second list is not text for people.
const RAW_TEXT: [&str; 2] = ["title", "textarea"];
const RAW_CODE: [&str; 7] = ["script", "style", "xmp", "iframe", "noembed", "noframes", "noscript"];

const EMPTY: [&str; 14] = [
    "area", "base", "br", "col", "embed", "hr", "img", "input", "link", "meta", "param", "source", "track",
    "wbr",
];

pub(crate) fn tokens(text: &str) -> Tokens<'_> {
    Tokens { rest: text, raw: None }
}

impl<'a> Iterator for Tokens<'a> {
    type Item = Token<'a>;

    fn next(&mut self) -> Option<Token<'a>> {
        loop {
            if let Some(name) = self.raw.take() {
                let content = self.take_until_end_of(name);
                if RAW_TEXT.contains(&name) && !content.is_empty() {
                    return Some(Token::Text(resolved(content)));
                }
            }
            if self.rest.is_empty() {
                return None;
            }
            let Some(markup) = self.rest.strip_prefix('<') else {
                let end = self.rest.find('<').unwrap_or(self.rest.len());
                return Some(Token::Text(resolved(self.take(end))));
            };
            let first = markup.bytes().next();
            if let Some(cdata) = markup.strip_prefix("![CDATA[") {
                self.rest = cdata;
                return Some(Token::Text(Cow::Borrowed(self.take_through("]]>"))));
            } else if let Some(comment) = markup.strip_prefix("!--") {
                self.rest = comment;
                self.take_through("-->");
            } else if matches!(first, Some(b'!' | b'?')) {
                self.take_through(">");
            } else if first == Some(b'/') {
                if let Some(end) = self.end_tag() {
                    return Some(end);
                }
            } else if first.is_some_and(|byte| byte.is_ascii_alphabetic()) {
                self.rest = markup;
                return self.start_tag().map(Token::Start);
            } else {
                self.rest = markup;
                return Some(Token::Text(Cow::Borrowed("<")));
            }
        }
    }
}

impl<'a> Tokens<'a> {
    fn take(&mut self, length: usize) -> &'a str {
        let (taken, rest) = self.rest.split_at_checked(length).unwrap_or((self.rest, ""));
        self.rest = rest;
        taken
    }

    fn take_while(&mut self, matches: impl Fn(char) -> bool) -> &'a str {
        let end = self.rest.find(|c| !matches(c)).unwrap_or(self.rest.len());
        self.take(end)
    }

    /// Consumes up to and including `delimiter` and returns the text before it; without a delimiter, all of the
    /// rest.
    fn take_through(&mut self, delimiter: &str) -> &'a str {
        let (taken, rest) = self.rest.split_once(delimiter).unwrap_or((self.rest, ""));
        self.rest = rest;
        taken
    }

    /// Consumes and returns the text before the end tag with this name.
    fn take_until_end_of(&mut self, name: &str) -> &'a str {
        let is_end = |at: &usize| {
            let after = self.rest.get(at + 2..at + 2 + name.len());
            after.is_some_and(|found| found.eq_ignore_ascii_case(name))
        };
        let end = self.rest.match_indices("</").map(|(at, _)| at).find(is_end);
        self.take(end.unwrap_or(self.rest.len()))
    }

    fn end_tag(&mut self) -> Option<Token<'a>> {
        self.take(2);
        let is_name = self.rest.starts_with(|c: char| c.is_ascii_alphabetic());
        let inside = self.take_through(">");
        let name = inside.split(|c: char| c.is_ascii_whitespace() || c == '/').next().unwrap_or_default();
        is_name.then(|| Token::End(lowered(name)))
    }

    /// `None` for a tag that is never closed: the page was cut there.
    fn start_tag(&mut self) -> Option<Tag> {
        let name = lowered(self.take_while(|c| !c.is_ascii_whitespace() && c != '/' && c != '>'));
        let mut attributes = Vec::new();
        let mut closed = false;
        loop {
            let between = self.take_while(|c| c.is_ascii_whitespace() || c == '/');
            closed |= between.ends_with('/') && self.rest.starts_with('>');
            if self.rest.is_empty() {
                return None;
            }
            if self.rest.starts_with('>') {
                self.take(1);
                break;
            }
            let attribute = self.attribute();
            if attributes.len() < MAX_ATTRIBUTES {
                attributes.push(attribute);
            }
        }
        self.raw = RAW_TEXT.iter().chain(&RAW_CODE).find(|raw| **raw == name).copied().filter(|_| !closed);
        let empty = closed || EMPTY.contains(&name.as_str());
        Some(Tag { name, attributes, empty })
    }

    fn attribute(&mut self) -> (String, String) {
        // A leading equals sign is part of the name.
        let leading = if self.rest.starts_with('=') { self.take(1) } else { "" };
        let ends_name = |c: char| c.is_ascii_whitespace() || matches!(c, '/' | '>' | '=');
        let name = leading.to_owned() + self.take_while(|c| !ends_name(c));
        self.take_while(|c| c.is_ascii_whitespace());
        if !self.rest.starts_with('=') {
            return (lowered(&name), String::new());
        }
        self.take(1);
        self.take_while(|c| c.is_ascii_whitespace());
        let value = match self.rest.bytes().next() {
            Some(b'"') => self.quoted("\""),
            Some(b'\'') => self.quoted("'"),
            _ => self.take_while(|c| !c.is_ascii_whitespace() && c != '>'),
        };
        (lowered(&name), resolved(value).into_owned())
    }

    fn quoted(&mut self, quote: &str) -> &'a str {
        self.take(1);
        self.take_through(quote)
    }
}

fn lowered(name: &str) -> String {
    name.chars().take(MAX_NAME).map(|c| c.to_ascii_lowercase()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(html: &str) -> String {
        let show = |token| match token {
            Token::Start(Tag { name, attributes, empty }) => {
                let attributes: String = attributes.iter().map(|(n, v)| format!(" {n}={v:?}")).collect();
                format!("<{name}{attributes}{}>", if empty { "/" } else { "" })
            }
            Token::End(name) => format!("</{name}>"),
            Token::Text(text) => format!("{{{text}}}"),
        };
        tokens(html).map(show).collect()
    }

    #[test]
    fn pages_are_split_into_tags_and_text() {
        for (html, expected) in [
            (
                "<P Class=x id='a>b' hidden DATA-x = \"1&amp;2\">Hi</p >",
                "<p class=\"x\" id=\"a>b\" hidden=\"\" data-x=\"1&2\">{Hi}</p>",
            ),
            ("<br/>a<br>b<path d=1 />", "<br/>{a}<br/>{b}<path d=\"1\"/>"),
            ("1 < 2 <3 & <!-- <b> --> <?php x ?><!DOCTYPE html>y", "{1 }{<}{ 2 }{<}{3 & }{ }{y}"),
            ("<script>if (a</b) '<p>'</Script>x<style>p</style>", "<script>{x}<style></style>"),
            ("<title>a <b> &amp; c</title>", "<title>{a <b> & c}</title>"),
            ("<![CDATA[<p>]]><a href=/x/>y</a>", "{<p>}<a href=\"/x/\">{y}</a>"),
            ("a<b c=\"never ends", "{a}"),
            ("</>x</ y>z</", "{x}{z}"),
            ("<a =b==c>", "<a =b=\"=c\">"),
        ] {
            assert_eq!(shown(html).replace("</script>", ""), expected, "{html}");
        }
    }
}
