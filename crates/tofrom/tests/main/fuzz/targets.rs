//! Properties that hold for any bytes: one function for each parser of external input. Each returns whether the input
//! was accepted, so that a test can check that its inputs are useful. The functions use only public interfaces, so
//! that a fuzzer can include this file.

#[path = "../../../../infoset/tests/main/check.rs"]
mod document;

use auth::{AuthError, AuthRequest, Credential, PresentedCredential, credentials_of};
use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use domain::ingest::{Draft, MAX_BODY, RawActivity, RawValue, Unreadable, counts_after, normalise};
use http::header::{ACCEPT, ACCEPT_ENCODING, AUTHORIZATION};
use http::{HeaderMap, HeaderName, HeaderValue};
use infoset::{Attribute, Limits, Name, Namespace, Sink};
use model::{
    Account, AccountName, ActivityId, Binding, Collection, Cursor, CursorKeys, Facet, FeedQuery, Filter,
    Format, Millis, Order, RawQuery, State, Uid, Version,
};
use std::sync::LazyLock;
use web::negotiate::{Accept, Coding};
use web::parse::{read_activity, read_feed};
use web::render::Renderer;
use web::site::Site;

pub(crate) const OWNER: Uid = Uid(7);

const PARAMETERS: [&str; 12] = [
    "start",
    "count",
    "service",
    "type",
    "verb",
    "orderby",
    "receivedsince",
    "receivedbefore",
    "publishedsince",
    "publishedbefore",
    "format",
    "cursor",
];

/// The keys of cursors.
pub(crate) fn cursor_keys() -> CursorKeys {
    CursorKeys::new(&[[1; 32]])
}

/// A query is refused because of a known parameter, or its link parses to the same query.
pub(crate) fn query(data: &[u8]) -> bool {
    let (mut through, keys) = (false, cursor_keys());
    for collection in [Collection::To, Collection::ToFrom] {
        let resolved = match FeedQuery::resolve(&RawQuery::parse(data), OWNER, collection, &keys) {
            Ok(resolved) => resolved,
            Err(error) => {
                assert!(PARAMETERS.contains(&error.parameter), "no such parameter: {error:?}");
                assert!(!error.detail.is_empty() && !error.detail.contains(char::is_control), "{error:?}");
                continue;
            }
        };
        let link = resolved.render(&keys);
        assert!(
            link.bytes().all(|byte| byte.is_ascii_graphic() && !b"<>\"#".contains(&byte)),
            "not an address: {link}"
        );
        let reread = FeedQuery::resolve(&RawQuery::parse(link.as_bytes()), OWNER, collection, &keys);
        assert_eq!(reread.as_ref(), Ok(&resolved), "{link}");
        through = true;
    }
    through
}

/// The chosen format was offered; the best of all offers is the best of every subset that contains it; if no offer is
/// acceptable, no subset is. A line break starts another header line.
pub(crate) fn accept(data: &[u8]) -> bool {
    let (mut headers, mut codings) = (HeaderMap::new(), HeaderMap::new());
    for value in data.split(|byte| *byte == b'\n').filter_map(|line| HeaderValue::from_bytes(line).ok()) {
        headers.append(ACCEPT, value.clone());
        codings.append(ACCEPT_ENCODING, value);
    }
    let accept = Accept::of(&headers);
    let chosen = accept.choose(&Format::ALL);
    for set in 0..16 {
        let offers: Vec<Format> = Format::ALL
            .into_iter()
            .enumerate()
            .filter(|(at, _)| set >> at & 1 == 1)
            .map(|(_, format)| format)
            .collect();
        let of_these = accept.choose(&offers);
        assert!(of_these.is_none_or(|format| offers.contains(&format)), "{of_these:?} of {offers:?}");
        match chosen {
            Some(best) if offers.contains(&best) => assert_eq!(of_these, Some(best), "of {offers:?}"),
            Some(_) => {}
            None => assert_eq!(of_these, None, "of {offers:?}"),
        }
    }
    assert!(!accept.prefers_xml() || !headers.is_empty(), "XML is preferred only if it is named");

    let coding = Coding::choose(&codings);
    let named = |name: &str| String::from_utf8_lossy(data).to_ascii_lowercase().contains(name);
    assert!(
        coding == Coding::Identity || named(coding.as_str()) || named("*"),
        "{coding:?} was not asked for"
    );
    chosen.is_some()
}

/// Decoding inverts encoding, bit for bit, and a cursor is invalid for another collection. Input that starts with `=`
/// is the content of a cursor: it is sealed here, which chance would not find.
pub(crate) fn cursor(data: &[u8]) -> bool {
    let (mut through, keys) = (false, cursor_keys());
    let text = match data.split_first() {
        Some((b'=', content)) => keys.seal(content.to_vec()),
        _ => String::from_utf8_lossy(data).into_owned(),
    };
    let binding = Binding::new(OWNER, Collection::ToFrom, &Filter::default());
    let elsewhere = Binding::new(OWNER, Collection::To, &Filter::default());
    for order in [Order::Received, Order::Published] {
        if let Ok(cursor) = Cursor::decode(&text, binding, order, &keys) {
            assert_eq!(cursor.encode(binding, &keys), text, "{cursor:?}");
            assert!(
                Cursor::decode(&text, elsewhere, order, &keys).is_err(),
                "{cursor:?} is valid for another collection"
            );
            if let Cursor::Page { order: walked, .. } = cursor {
                assert_eq!(walked, order);
            }
            through = true;
        }
    }
    through
}

const PSK: HeaderName = HeaderName::from_static("servicepsk");
const CONSUMER: HeaderName = HeaderName::from_static("serviceconsumerkey");
/// `:secret-that-nobody-may-see` in base64: after a whole number of its letters it is the end of a password.
const SECRET: &str = "OnNlY3JldC10aGF0LW5vYm9keS1tYXktc2Vl";

/// A credential is accepted only alone, and an empty header is no credential; the parsed value is the sent one; no
/// refusal repeats a secret. A line is a header: a leading `P` makes it a key, a `C` a consumer, anything else an
/// `Authorization`.
pub(crate) fn authorization(data: &[u8]) -> bool {
    let lines = || data.split(|byte| *byte == b'\n');
    let headers = headers_of(lines().map(<[u8]>::to_vec));
    let sent = |name: HeaderName| -> Vec<&[u8]> {
        let values = headers.get_all(name).into_iter().map(HeaderValue::as_bytes);
        values.filter(|value| !value.trim_ascii().is_empty()).collect()
    };
    let (sent, consumers) = ([sent(AUTHORIZATION), sent(PSK)].concat(), sent(CONSUMER).len());
    let read = read_credentials(&headers);
    match &read {
        Ok(presented) => {
            assert_eq!((sent.len(), consumers), (1, usize::from(presented.consumer.is_some())));
            assert_equals_sent(presented, sent[0]);
        }
        Err(denied) => {
            assert!(!denied.reason().is_empty() && denied.detail().ends_with('.'), "{denied:?}");
            assert_eq!(sent.is_empty(), denied.reason() == "missing", "{denied:?}");
        }
    }
    let result = read_credentials(&headers_of(lines().map(|line| [line, SECRET.as_bytes()].concat())));
    let message = match &result {
        Ok(presented) => format!("{:?}", presented.credential),
        Err(denied) => format!("{denied:?} {}", denied.detail()),
    };
    assert!(!message.contains(SECRET) && !message.contains("secret-that-nobody"), "{message}");
    read.is_ok()
}

fn read_credentials(headers: &HeaderMap) -> Result<PresentedCredential, AuthError> {
    credentials_of(&AuthRequest::plain(headers, std::net::IpAddr::from([192, 0, 2, 1])))
}

fn headers_of(lines: impl Iterator<Item = Vec<u8>>) -> HeaderMap {
    let mut headers = HeaderMap::new();
    for line in lines {
        let (name, value) = match line.split_first() {
            Some((b'P', key)) => (PSK, key),
            Some((b'C', consumer)) => (CONSUMER, consumer),
            _ => (AUTHORIZATION, &line[..]),
        };
        // A server trims the whitespace around a value.
        if let Ok(value) = HeaderValue::from_bytes(value.trim_ascii()) {
            headers.append(name, value);
        }
    }
    headers
}

fn assert_equals_sent(presented: &PresentedCredential, sent: &[u8]) {
    match &presented.credential {
        Credential::Psk(key) => assert!(!key.is_empty() && key.as_bytes() == sent, "{presented:?}"),
        Credential::Basic { name, password } => {
            let pair = format!("{name}:{}", **password);
            assert!(!name.contains(':') && !pair.contains(|c: char| c.is_ascii_control()), "{presented:?}");
            let encoded = BASE64_STANDARD.encode(pair);
            assert!(sent.ends_with(encoded.as_bytes()), "{presented:?}");
        }
        Credential::OAuth(signed) => {
            assert!(sent[..5].eq_ignore_ascii_case(b"oauth"), "{presented:?}");
            assert!(!signed.consumer_key().is_empty(), "{presented:?}");
        }
    }
}

const LIMITS: Limits = Limits {
    bytes: 1 << 16,
    depth: 32,
    attributes: 32,
    table_entries: 4096,
    string: 1 << 12,
    output: 1 << 16,
};

/// A decoded document survives being encoded and decoded again, and the sink never receives more than the limits allow,
/// whether decoding succeeds or not.
pub(crate) fn fast_infoset(data: &[u8]) -> bool {
    let mut handed = CountingSink::default();
    let decodes = infoset::decode(data, &LIMITS, &mut handed).is_ok();
    assert!(handed.octets <= LIMITS.output && handed.deepest <= LIMITS.depth, "{handed:?}");
    assert!(!decodes || handed.open == 0, "{handed:?}");
    assert_eq!(document::check(data).is_some(), decodes);
    decodes
}

/// Counts what the sink receives, in the units of the limits.
#[derive(Debug, Default)]
struct CountingSink {
    octets: usize,
    open: usize,
    deepest: usize,
}

impl Sink for CountingSink {
    fn start(&mut self, name: Name<'_>, namespaces: &[Namespace<'_>], attributes: &[Attribute<'_>]) {
        let length = |name: Name<'_>| name.prefix.len() + name.namespace.len() + name.local.len();
        let declared = namespaces.iter().map(|one| 32 + one.prefix.len() + one.uri.len()).sum::<usize>();
        let attributed = attributes.iter().map(|one| 32 + length(one.name) + one.value.len()).sum::<usize>();
        self.octets += 32 + length(name) + declared + attributed;
        self.open += 1;
        self.deepest = self.deepest.max(self.open);
    }

    fn text(&mut self, text: &str) {
        self.octets += text.len();
    }

    fn end(&mut self) {
        self.open -= 1;
    }
}

const NOW: Millis = Millis(1_794_696_243_123);

static RENDERER: LazyLock<Renderer> =
    LazyLock::new(|| Renderer::new(Site::new("https://feed.example", "feed.example", cursor_keys())));

/// Every body parser accepts the input or gives a reason, and an accepted activity survives a round trip.
pub(crate) fn body(data: &[u8]) -> bool {
    let mut through = false;
    for form in Format::ALL {
        match read_activity(data, form) {
            Ok(raw) => through |= round_trips(raw, form),
            Err(why) => assert_reason(&why),
        }
    }
    match read_feed(data) {
        Ok(entries) => {
            for entry in entries {
                match entry {
                    Ok(raw) => through |= round_trips(raw, Format::Atom),
                    Err(why) => assert_reason(&why),
                }
            }
        }
        Err(why) => assert_reason(&why),
    }
    through
}

fn assert_reason(why: &Unreadable) {
    let result = why.to_string();
    assert!(!result.is_empty() && !result.contains(char::is_control) && result.len() < 2_000, "{result:?}");
}

/// A parsed activity is accepted, and every representation of it parses to the same. `false`: it was refused.
fn round_trips(raw: RawActivity, form: Format) -> bool {
    let Ok(mut draft) = accepted_draft(raw) else { return false };
    draft.body = draft.body_after(None);
    draft.body.comments = counts_after(form, draft.body.comments, None);
    for (format, written) in all_written(&draft) {
        // Escaping may make the text longer.
        if written.len() <= MAX_BODY {
            let raw = read_activity(&written, format).unwrap_or_else(|why| panic!("{format:?}: {why}"));
            let mut reread = accepted_draft(raw).unwrap_or_else(|why| panic!("{format:?}: {why}"));
            reread.body = reread.body_after(Some(&draft.body));
            reread.body.comments = counts_after(format, reread.body.comments, Some(draft.body.comments));
            assert_eq!((&reread.kind, &reread.verb), (&draft.kind, &draft.verb), "{format:?}");
            assert_eq!(reread.body, draft.body, "{format:?}");
            assert!(reread.published.is_none() || reread.published == Some(published(&draft)), "{format:?}");
        }
    }
    true
}

/// The draft at an address, which names the service and its id.
fn accepted_draft(mut raw: RawActivity) -> Result<Draft, domain::ingest::Refused> {
    raw.source_id = RawValue::text("1");
    raw.service.name = RawValue::text("Delicious");
    normalise(&raw, NOW)
}

fn published(draft: &Draft) -> Millis {
    draft.published.unwrap_or(NOW)
}

/// The activity of a draft, in all four representations.
pub(crate) fn all_written(draft: &Draft) -> Vec<(Format, Vec<u8>)> {
    let actor = Account {
        uid: OWNER,
        name: AccountName::parse("alice").unwrap(),
        version: Version(1),
        given_name: Some("Alice".to_owned()),
        family_name: None,
        public: true,
        operator: false,
        password: None,
        created: NOW,
        removed: false,
        disabled: false,
        credential_epoch: 0,
        addressable_by: model::AddressableBy::Everyone,
    };
    let state = State {
        id: ActivityId::new(NOW, [7; 10]),
        version: Version(1),
        actor: OWNER,
        facet: Facet {
            service: draft.body.service.name.folded(),
            kind: draft.kind.clone(),
            verb: draft.verb.clone(),
        }
        .into(),
        received: NOW,
        published: published(draft),
        updated: NOW,
        deleted: false,
        visibility: draft.visibility.unwrap_or_default(),
        addressed: Vec::new(),
        pulled: false,
    };
    let written = |format| (format, RENDERER.single(&state, &actor, &draft.body, format));
    Format::ALL.map(written).into()
}
