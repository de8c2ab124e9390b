//! Pretty-prints response bodies: JSON and XML with line breaks and indentation, binary data as a hex dump. The tokens
//! and their order stay unchanged.

/// Bytes of binary data that are shown.
const MAX_BYTES: usize = 512;
/// Bytes on a line.
const BYTES_PER_LINE: usize = 16;

/// The text with line breaks and indentation according to its media type.
pub(super) fn text(media_type: &str, text: &str) -> String {
    if media_type.ends_with("json") {
        json(text)
    } else if media_type.ends_with("xml") {
        xml(text)
    } else {
        text.to_owned()
    }
}

fn break_line(out: &mut String, depth: usize) {
    out.push('\n');
    out.extend(std::iter::repeat_n("  ", depth));
}

fn json(text: &str) -> String {
    let mut out = String::with_capacity(text.len() * 2);
    let (mut depth, mut quoted, mut escaped) = (0_usize, false, false);
    let mut characters = text.chars().peekable();
    while let Some(c) = characters.next() {
        if quoted {
            out.push(c);
            quoted = c != '"' || escaped;
            escaped = c == '\\' && !escaped;
            continue;
        }
        match c {
            '{' | '[' => {
                out.push(c);
                // An empty object or array stays on its line.
                match characters.next_if(|next| matches!(next, '}' | ']')) {
                    Some(end) => out.push(end),
                    None => {
                        depth += 1;
                        break_line(&mut out, depth);
                    }
                }
            }
            '}' | ']' => {
                depth = depth.saturating_sub(1);
                break_line(&mut out, depth);
                out.push(c);
            }
            ',' => {
                out.push(c);
                break_line(&mut out, depth);
            }
            ':' => out.push_str(": "),
            _ => {
                quoted = c == '"';
                out.push(c);
            }
        }
    }
    out
}

/// Breaks lines only between adjacent tags: elements with text stay unchanged.
fn xml(text: &str) -> String {
    let mut out = String::with_capacity(text.len() * 2);
    let (mut depth, mut opened, mut rest) = (0_usize, false, text);
    while let Some((before, from)) = rest.find('<').and_then(|at| rest.split_at_checked(at)) {
        let end = from.find('>').map_or(from.len(), |end| end + 1);
        let Some((tag, after)) = from.split_at_checked(end) else { break };
        let closes = tag.starts_with("</");
        depth = if closes { depth.saturating_sub(1) } else { depth };
        out.push_str(before);
        if before.is_empty() && !out.is_empty() && !(closes && opened) {
            break_line(&mut out, depth);
        }
        out.push_str(tag);
        opened = !closes && !tag.ends_with("/>") && !tag.starts_with("<?");
        depth += usize::from(opened);
        rest = after;
    }
    out + rest
}

/// A hex dump of the first bytes: offset, bytes, and printable characters.
pub(super) fn hex_dump(bytes: &[u8]) -> String {
    let first = bytes.get(..MAX_BYTES).unwrap_or(bytes);
    let lines = first.chunks(BYTES_PER_LINE).enumerate().map(|(at, line)| {
        let codes: Vec<String> = line.iter().map(|byte| format!("{byte:02x}")).collect();
        let shown = |byte: &u8| if byte.is_ascii_graphic() { char::from(*byte) } else { '.' };
        let letters: String = line.iter().map(shown).collect();
        format!("{:08x}  {:47}  {letters}", at * BYTES_PER_LINE, codes.join(" "))
    });
    lines.collect::<Vec<_>>().join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn json_is_indented() {
        let printed = text("application/problem+json", r#"{"a":{"b":[{"c":"x,\"{:"},"y"],"d":[]},"e":1}"#);
        let expected = "{\n  \"a\": {\n    \"b\": [\n      {\n        \"c\": \"x,\\\"{:\"\n      },\n      \"y\"\n    ],\n    \"d\": []\n  },\n  \"e\": 1\n}";
        assert_eq!(printed, expected);
    }

    #[test]
    fn xml_is_indented_but_not_within_text() {
        let printed = text("application/atom+xml", "<?xml?>\n<A><B>x &lt; <i/></B><C></C><D/></A>");
        assert_eq!(printed, "<?xml?>\n<A>\n  <B>x &lt; <i/>\n  </B>\n  <C></C>\n  <D/>\n</A>");
        assert_eq!(text("application/xml", "<A><B>x</B></A>"), "<A>\n  <B>x</B>\n</A>");
        assert_eq!(text("application/xml", "no markup < at all"), "no markup < at all");
    }

    #[test]
    fn a_hex_dump_is_limited() {
        assert_eq!(
            hex_dump(b"\xe0\x00\x00\x01A"),
            "00000000  e0 00 00 01 41                                   ....A"
        );
        assert_eq!(hex_dump(&[0; 10_000]).lines().count(), 32);
        assert_eq!(hex_dump(&[]), "");
    }
}
