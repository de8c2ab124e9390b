//! Extracts plain text from markup: the text that a person reads, without anything that a browser runs.

use crate::element::{Element, Node};
use crate::html::{Token, tokens};
use crate::limits::{MAX_TEXT, MAX_TITLE};

/// Collects plain text from markup.
pub(crate) struct Plain {
    text: String,
    characters: usize,
    limit: usize,
    /// The separator to write before the next letter.
    gap: Gap,
    /// The number of open elements whose content is not for people.
    hidden: usize,
}

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Gap {
    None,
    Blank,
    Line,
}

/// Elements whose content is not for people. The HTML tokenizer skips them; other trees still contain them.
const HIDDEN: [&str; 4] = ["script", "style", "template", "title"];

const BLOCKS: [&str; 34] = [
    "address",
    "article",
    "aside",
    "blockquote",
    "br",
    "dd",
    "details",
    "div",
    "dl",
    "dt",
    "fieldset",
    "figcaption",
    "figure",
    "footer",
    "form",
    "h1",
    "h2",
    "h3",
    "h4",
    "h5",
    "h6",
    "header",
    "hr",
    "li",
    "main",
    "nav",
    "ol",
    "p",
    "pre",
    "section",
    "summary",
    "table",
    "tr",
    "ul",
];

impl Plain {
    fn new(limit: usize) -> Plain {
        Plain { text: String::new(), characters: 0, limit, gap: Gap::None, hidden: 0 }
    }

    fn is_full(&self) -> bool {
        self.characters > self.limit
    }

    fn start(&mut self, name: &str) {
        self.edge(name);
        self.hidden += usize::from(HIDDEN.contains(&name));
    }

    fn end(&mut self, name: &str) {
        self.edge(name);
        self.hidden = self.hidden.saturating_sub(usize::from(HIDDEN.contains(&name)));
    }

    fn edge(&mut self, name: &str) {
        if BLOCKS.contains(&name) {
            self.gap = Gap::Line;
        } else if matches!(name, "td" | "th" | "img") {
            self.gap = self.gap.max(Gap::Blank);
        }
    }

    fn words(&mut self, words: &str) {
        if self.hidden > 0 {
            return;
        }
        for c in words.chars() {
            if self.is_full() {
                return;
            }
            if c.is_whitespace() || c.is_control() {
                self.gap = self.gap.max(Gap::Blank);
            } else if !matches!(c, '\u{fffe}' | '\u{ffff}' | '\u{feff}' | '\u{200b}') {
                self.letter(c);
            }
        }
    }

    fn letter(&mut self, c: char) {
        let between = match std::mem::replace(&mut self.gap, Gap::None) {
            _ if self.text.is_empty() => None,
            Gap::None => None,
            Gap::Blank => Some(' '),
            Gap::Line => Some('\n'),
        };
        self.text.extend(between);
        self.text.push(c);
        self.characters += 1 + usize::from(between.is_some());
    }

    fn done(mut self) -> Option<String> {
        if self.is_full() {
            let end = self.text.char_indices().nth(self.limit.saturating_sub(1)).map_or(0, |(at, _)| at);
            self.text.truncate(end);
            self.text.truncate(self.text.trim_end().len());
            self.text.push('…');
        }
        (!self.text.is_empty()).then_some(self.text)
    }
}

fn of_html(html: &str, limit: usize) -> Option<String> {
    let mut plain = Plain::new(limit);
    for token in tokens(html) {
        match token {
            Token::Start(tag) if tag.empty => plain.edge(&tag.name),
            Token::Start(tag) => plain.start(&tag.name),
            Token::End(name) => plain.end(&name),
            Token::Text(text) => plain.words(&text),
        }
        if plain.is_full() {
            break;
        }
    }
    plain.done()
}

fn of_words(words: &str, limit: usize) -> Option<String> {
    let mut plain = Plain::new(limit);
    for (number, line) in words.lines().enumerate() {
        if number > 0 {
            plain.gap = Gap::Line;
        }
        plain.words(line);
    }
    plain.done()
}

/// The text of markup as a person reads it, at most [`MAX_TEXT`] characters.
pub fn text_of_html(html: &str) -> Option<String> {
    of_html(html, MAX_TEXT)
}

/// Text without markup; line breaks are kept.
pub(crate) fn text(words: &str) -> Option<String> {
    of_words(words, MAX_TEXT)
}

/// The text of a tree.
pub(crate) fn text_of_element(element: &Element) -> Option<String> {
    let mut plain = Plain::new(MAX_TEXT);
    walk(element, &mut plain);
    plain.done()
}

/// A title from markup.
pub(crate) fn title_of_html(html: &str) -> Option<String> {
    of_html(html, MAX_TITLE).map(|title| title.replace('\n', " "))
}

/// A title without markup.
pub(crate) fn title(words: &str) -> Option<String> {
    shortened(words, MAX_TITLE)
}

/// One line of at most `limit` characters.
pub(crate) fn shortened(words: &str, limit: usize) -> Option<String> {
    let mut plain = Plain::new(limit);
    plain.words(words);
    plain.done()
}

/// A title that may be markup or not; RSS does not say. An end tag or a reference is markup, a lone `<` is not.
pub(crate) fn title_of_either(words: &str) -> Option<String> {
    let has_end_tag = words.match_indices("</").any(|(at, _)| {
        words.get(at + 2..).is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_alphabetic()))
    });
    let has_reference =
        matches!(crate::references::resolved(words), std::borrow::Cow::Owned(new) if new != words);
    if has_end_tag || has_reference { title_of_html(words) } else { title(words) }
}

fn walk(element: &Element, plain: &mut Plain) {
    plain.start(&element.name);
    for node in &element.children {
        match node {
            Node::Text(text) => plain.words(text),
            Node::Element(inner) => walk(inner, plain),
        }
        if plain.is_full() {
            return;
        }
    }
    plain.end(&element.name);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn markup_is_removed_and_text_is_kept() {
        for (html, expected) in [
            ("<p>One  <b>two</b>\n three</p><p>four<br>five</p>", "One two three\nfour\nfive"),
            ("a<script>alert('<p>')</script>b<style>p{}</style>c", "abc"),
            ("Fish &amp; chips &#8211; caf&eacute;", "Fish & chips – café"),
            ("1 < 2 and 3 > 2", "1 < 2 and 3 > 2"),
            ("<ul><li>a<li>b</ul><table><tr><td>c<td>d</table>", "a\nb\nc d"),
            ("x\u{0}\u{8}y\u{fffe}z", "x yz"),
            ("<template>no</template>yes", "yes"),
        ] {
            assert_eq!(text_of_html(html).as_deref(), Some(expected), "{html}");
        }
        assert_eq!(text_of_html(" <p> <img src=x></p> "), None);
    }

    #[test]
    fn long_text_is_cut_with_an_ellipsis() {
        let long = "é".repeat(5_000);
        let cut = text_of_html(&long).unwrap();
        assert_eq!((cut.chars().count(), cut.chars().last()), (MAX_TEXT, Some('…')));
        let longest = "é".repeat(MAX_TITLE);
        assert_eq!(title(&longest), Some(longest));
    }

    #[test]
    fn a_title_may_be_markup_or_text() {
        for (title, expected) in [
            ("Using <div> and <p>", "Using <div> and <p>"),
            ("A <em>fine</em> day", "A fine day"),
            ("Fish &amp; chips", "Fish & chips"),
            ("AT&T", "AT&T"),
            ("two\nlines", "two lines"),
        ] {
            assert_eq!(title_of_either(title).as_deref(), Some(expected), "{title}");
        }
    }
}
