//! Paths with account names, service names and source ids.
//!
//! A path is split before it is decoded, because a source id may contain escaped slashes.

use super::super::collection::percent_decode;
use crate::ingest::Refused;
use model::{AccountName, ServiceName, Uid};
use store::ExternalKey;

/// The maximum size of a source id in bytes.
const MAX_SOURCE_ID: usize = 512;

/// The decoded segments of a path below `/200909/activity/` or `/200909/user/` (the router has stripped the prefix of
/// the base address). `None` for a segment that is not UTF-8.
pub(in crate::http) fn segments(path: &str) -> impl Iterator<Item = Option<String>> {
    path.split('/').skip(3).map(percent_decode)
}

/// The account that the path names; `None` if the name is invalid.
pub(in crate::http) fn user(path: &str) -> Option<AccountName> {
    name(segments(path).next()?)
}

/// The account name in a segment.
pub(in crate::http) fn name(segment: Option<String>) -> Option<AccountName> {
    AccountName::parse(&segment?).ok()
}

/// `/200909/activity/{user}/from/{service}/{source}`.
pub(super) struct ItemAddress {
    /// The actor.
    pub(super) user: AccountName,
    service: Option<ServiceName>,
    source_id: Option<String>,
}

impl ItemAddress {
    /// Parses the path. `None` if the account name is invalid.
    pub(super) fn parse(path: &str) -> Option<ItemAddress> {
        let mut segments = segments(path);
        let user = name(segments.next()?)?;
        let mut later = segments.skip(1).map(Option::unwrap_or_default);
        let (service, source_id) = (later.next()?, later.next()?);
        Some(ItemAddress {
            user,
            service: ServiceName::parse(&service),
            source_id: Some(source_id).filter(|id| is_valid_source_id(id)),
        })
    }

    /// The external key of the activity, if service and id are valid.
    pub(super) fn source(&self, actor: Uid) -> Option<ExternalKey> {
        Some(ExternalKey { actor, service: self.service.as_ref()?.folded(), id: self.source_id.clone()? })
    }

    /// The service name and the source id, which are required for writing.
    pub(super) fn names(self) -> Result<(ServiceName, String), Refused> {
        let refuse = |field: &str, rule: &str| Refused { field: field.to_owned(), detail: rule.to_owned() };
        let service = self.service.ok_or_else(|| {
            let rule = "expected 1 to 64 characters in the path, in UTF-8 and percent-encoded, without slash, comma, \
                        control characters or surrounding spaces";
            refuse("SourceService.Name", rule)
        })?;
        let id = self.source_id.ok_or_else(|| {
            let rule = "expected 1 to 512 bytes in the path, in UTF-8 and percent-encoded, without control \
                        characters";
            refuse("SourceId", rule)
        })?;
        Ok((service, id))
    }
}

fn is_valid_source_id(id: &str) -> bool {
    (1..=MAX_SOURCE_ID).contains(&id.len()) && !id.chars().any(char::is_control)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parts(path: &str) -> Option<(String, String, String)> {
        let address = ItemAddress::parse(path)?;
        let user = address.user.to_string();
        let (service, id) = address.names().ok()?;
        Some((user, service.as_str().to_owned(), id))
    }

    #[test]
    fn segments_are_split_before_they_are_decoded() {
        let path = "/200909/activity/Bob/from/Last.fm/a%2Fb%25%20%c3%bc+c";
        let expected = ("bob".to_owned(), "Last.fm".to_owned(), "a/b% ü+c".to_owned());
        assert_eq!(parts(path), Some(expected));
    }

    #[test]
    fn invalid_segments_are_rejected() {
        for (segment, is_valid) in [
            ("x", true),
            ("%FF", false),
            ("%0A", false),
            ("%C2%80", false),
            ("100%", false),
            ("%+1", false),
            (&"a".repeat(512), true),
            (&"a".repeat(513), false),
        ] {
            let path = format!("/200909/activity/bob/from/flickr/{segment}");
            assert_eq!(parts(&path).is_some(), is_valid, "{segment:.20}");
            let source = ItemAddress::parse(&path).unwrap().source(Uid(1));
            assert_eq!(source.is_some(), is_valid, "{segment:.20}");
        }
        for service in ["a%2Fb", "a%2Cb", "%20a", "%00", "%FF"] {
            assert_eq!(parts(&format!("/200909/activity/bob/from/{service}/1")), None, "{service}");
        }
        assert!(ItemAddress::parse("/200909/activity/-bob/from/flickr/1").is_none());
    }
}
