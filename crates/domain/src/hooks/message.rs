//! What a hook sends: an event as JSON, with an identifier and signatures (Standard Webhooks).

use super::hook::Hook;
use super::secret;
use crate::feed::{Event, Item};
use crate::json;
use aws_lc_rs::hmac;
use base64::Engine;
use base64::prelude::{BASE64_STANDARD, BASE64_URL_SAFE_NO_PAD};
use model::{Account, FeedQuery, HookId, Millis, Position};
use seal::{NoRandomness, SealError, SecretKeys, random, sha256};

/// Renders what hooks send. It is the server's part, because addresses and representations are.
pub trait Payloads: Send + Sync {
    /// A hydrated activity as in JSON, on one line.
    fn activity(&self, item: &Item) -> String;

    /// The address from which the collection is read again.
    fn collection_url(&self, owner: &Account, query: &FeedQuery) -> String;
}

/// A message of a hook.
#[derive(Clone, Debug)]
pub(super) struct Message {
    /// Equal for each repetition of the same event.
    pub(super) id: String,
    kind: &'static str,
    /// JSON.
    data: String,
}

impl Message {
    /// The message of an event at that position.
    pub(super) fn of(
        event: &Event,
        at: Position,
        hook: HookId,
        payloads: &dyn Payloads,
        incomplete: impl FnOnce() -> Message,
    ) -> Message {
        match event {
            Event::Activity(item) => {
                let version = item.state.version.0.to_be_bytes();
                Message {
                    id: identifier(&[&hook.0, b"activity", item.state.id.as_bytes(), &version]),
                    kind: "activity",
                    data: payloads.activity(item),
                }
            }
            // It may return and leave again in the same version, so the position distinguishes the two.
            Event::Deleted(id) => Message {
                id: identifier(&[&hook.0, b"deleted", id.as_bytes(), &at.0.to_be_bytes()]),
                kind: "deleted",
                data: json::text(serde_json::json!({ "ActivityIdentifier": id.to_string() })),
            },
            Event::Changed => incomplete(),
        }
    }

    /// Events may be missing: the receiver must read the collection again.
    pub(super) fn incomplete(hook: HookId, at: Position, url: &str) -> Message {
        Message {
            id: identifier(&[&hook.0, b"incomplete", &at.0.to_be_bytes()]),
            kind: "incomplete",
            data: json::text(serde_json::json!({ "Url": url })),
        }
    }

    /// A test.
    pub(super) fn ping(hook: &Hook) -> Result<Message, NoRandomness> {
        let id = identifier(&[&hook.id.0, b"ping", random::<16>()?.as_ref()]);
        Ok(Message { id, kind: "ping", data: json::text(serde_json::json!({ "Hook": hook.name })) })
    }

    /// The body.
    pub(super) fn body(&self, now: Millis) -> String {
        let Message { kind, data, .. } = self;
        format!("{{\"type\":\"{kind}\",\"timestamp\":\"{}\",\"data\":{data}}}", now.zulu())
    }

    /// The headers of a request with that body.
    pub(super) fn headers(
        &self,
        body: &str,
        hook: &Hook,
        keys: &SecretKeys,
        now: Millis,
    ) -> Result<[(&'static str, String); 3], SealError> {
        let timestamp = now.0.div_euclid(1_000).to_string();
        let signed = format!("{}.{timestamp}.{body}", self.id);
        let secrets = secret::open_all(hook, keys, now)?;
        let signatures: Vec<String> = secrets.iter().map(|secret| signature(secret, &signed)).collect();
        Ok([
            ("webhook-id", self.id.clone()),
            ("webhook-timestamp", timestamp),
            ("webhook-signature", signatures.join(" ")),
        ])
    }
}

fn signature(secret: &[u8], signed: &str) -> String {
    let tag = hmac::sign(&hmac::Key::new(hmac::HMAC_SHA256, secret), signed.as_bytes());
    format!("v1,{}", BASE64_STANDARD.encode(tag.as_ref()))
}

/// An identifier made of these parts.
fn identifier(parts: &[&[u8]]) -> String {
    let hash = sha256(&parts.concat());
    let short: [u8; 18] = hash.first_chunk().copied().unwrap_or_default();
    format!("msg_{}", BASE64_URL_SAFE_NO_PAD.encode(short))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn signatures_are_those_of_the_specification() {
        // The example of the Standard Webhooks specification.
        let secret = BASE64_STANDARD.decode("MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw").unwrap();
        let signed = r#"msg_p5jXN8AQM9LWM0D4loKWxJek.1614265330.{"test": 2432232314}"#;
        assert_eq!(signature(&secret, signed), "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=");
    }

    #[test]
    fn identifiers_differ_by_hook_event_and_position() {
        let url = "https://example.org/";
        let id = |hook, at| Message::incomplete(HookId([hook; 16]), Position(at), url).id;
        assert_eq!(id(1, 1), id(1, 1));
        assert!(id(1, 1) != id(1, 2) && id(1, 1) != id(2, 1));
        assert!(id(1, 1).chars().all(|letter| letter.is_ascii_alphanumeric() || "_-".contains(letter)));
    }
}
