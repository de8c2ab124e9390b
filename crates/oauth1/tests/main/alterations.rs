//! Requests that were altered in transit, so that each means something else than what was signed.

use std::ops::Range;

use crate::support::{Random, Sent};

/// The number of kinds of alterations.
pub(crate) const ALTERATIONS: usize = 10;

/// Every kind of alteration that applies to the request, once.
pub(crate) fn alterations(sent: &Sent, random: &mut Random) -> Vec<(&'static str, Sent)> {
    let mut altered = vec![("method", Sent { method: other_method(sent, random), ..sent.clone() })];
    altered.push(("path", Sent { path: other_path(&sent.path, random), ..sent.clone() }));
    altered.push(("one more", added(sent, random)));
    altered.extend(alter_pair(sent, random, |pair, _| pair.clear()).map(|sent| ("one less", sent)));
    altered.extend(alter_pair(sent, random, alter_name).map(|sent| ("a name", sent)));
    altered.extend(alter_pair(sent, random, alter_value).map(|sent| ("a value", sent)));
    for name in ["oauth_consumer_key", "oauth_token", "oauth_nonce", "oauth_signature"] {
        altered.extend(alter_protocol(sent, name, random).map(|sent| (name, sent)));
    }
    altered
}

/// The only alteration that PLAINTEXT detects, if the secrets contain a letter or digit.
pub(crate) fn other_signature(sent: &Sent, random: &mut Random) -> Option<Sent> {
    alter_protocol(sent, "oauth_signature", random)
}

fn other_method(sent: &Sent, random: &mut Random) -> String {
    let others = ["GET", "HEAD", "POST", "PUT", "DELETE", "PATCH", "OPTIONS"]
        .map(str::to_owned)
        .into_iter()
        .filter(|other| !other.eq_ignore_ascii_case(&sent.method));
    random.pick(&others.collect::<Vec<_>>()).clone()
}

fn other_path(path: &str, random: &mut Random) -> String {
    let mut path = path.to_owned();
    if !alter(&mut path, 0..usize::MAX, random) {
        path.push_str("/x");
    }
    path
}

fn added(sent: &Sent, random: &mut Random) -> Sent {
    let mut sent = sent.clone();
    match &mut sent.form {
        Some(form) if random.below(2) == 0 => form.push_str("&added=1"),
        _ => sent.query.push_str("&added"),
    }
    sent
}

/// Alters one pair of the query or the form except the signature, which has a separate alteration.
fn alter_pair(sent: &Sent, random: &mut Random, change: impl Fn(&mut String, &mut Random)) -> Option<Sent> {
    let mut sent = sent.clone();
    let texts = [Some(&mut sent.query), sent.form.as_mut()].into_iter().flatten();
    let mut texts: Vec<&mut String> = texts.filter(|text| text.split('&').any(is_ordinary)).collect();
    if texts.is_empty() {
        return None;
    }
    let number = random.below(texts.len());
    let text = &mut *texts[number];
    let mut pairs: Vec<String> = text.split('&').map(str::to_owned).collect();
    let mut candidates: Vec<&mut String> = pairs.iter_mut().filter(|pair| is_ordinary(pair)).collect();
    let number = random.below(candidates.len());
    change(candidates[number], random);
    *text = pairs.join("&");
    Some(sent)
}

fn is_ordinary(pair: &str) -> bool {
    !pair.is_empty() && !pair.starts_with("oauth_signature=")
}

fn alter_name(pair: &mut String, random: &mut Random) {
    let end = pair.find('=').unwrap_or(pair.len());
    if !alter(pair, 0..end, random) {
        pair.insert(0, 'x');
    }
}

fn alter_value(pair: &mut String, random: &mut Random) {
    match pair.find('=') {
        None => pair.push_str("=x"),
        Some(equals) => {
            if !alter(pair, equals..pair.len(), random) {
                pair.push('x');
            }
        }
    }
}

/// Alters the value of a protocol parameter in any location.
fn alter_protocol(sent: &Sent, name: &str, random: &mut Random) -> Option<Sent> {
    let mut sent = sent.clone();
    let quoted = sent.authorization.as_mut().map(|text| (text, format!("{name}=\""), '"'));
    let in_query = Some((&mut sent.query, format!("{name}="), '&'));
    let in_form = sent.form.as_mut().map(|text| (text, format!("{name}="), '&'));
    let altered = [quoted, in_query, in_form].into_iter().flatten().any(|(text, before, end)| {
        let Some(found) = text.find(&before) else { return false };
        let start = found + before.len();
        let length = text[start..].find(end).unwrap_or(text.len() - start);
        alter(text, start..start + length, random)
    });
    altered.then_some(sent)
}

/// Replaces one literal letter or digit by another one of its kind; false if there is none.
fn alter(text: &mut String, within: Range<usize>, random: &mut Random) -> bool {
    let bytes = text.as_bytes();
    let escaped = |at: usize| bytes[at.saturating_sub(2)..at].contains(&b'%');
    let candidates: Vec<usize> = (within.start..within.end.min(bytes.len()))
        .filter(|&at| bytes[at].is_ascii_alphanumeric() && !escaped(at))
        .collect();
    if candidates.is_empty() {
        return false;
    }
    let at = *random.pick(&candidates);
    let other = match bytes[at] {
        b'9' => "0".to_owned(),
        b'z' | b'Z' => "b".to_owned(),
        byte => char::from(byte + 1).to_string(),
    };
    text.replace_range(at..=at, &other);
    true
}
