//! Addresses with names of people and of services in them.
//!
//! A path is split before it is decoded: what a service calls a thing may have slashes in it, escaped.

use super::super::collection::percent_decode;
use crate::ingest::Refused;
use model::{AccountName, ServiceName, Uid};
use store::ExternalKey;

/// Bytes of what a service calls a thing.
const MAX_SOURCE_ID: usize = 512;

/// The segments of a path below `/200909/activity/` or `/200909/user/` (the router took a prefix of the base address
/// off), decoded; `None` is one that is no text.
pub(in crate::http) fn segments(path: &str) -> impl Iterator<Item = Option<String>> {
    path.split('/').skip(3).map(percent_decode)
}

/// The account that such a path names first; what can't be a name is nobody's.
pub(in crate::http) fn user(path: &str) -> Option<AccountName> {
    name(segments(path).next()?)
}

/// The name that a segment is.
pub(in crate::http) fn name(segment: Option<String>) -> Option<AccountName> {
    AccountName::parse(&segment?).ok()
}

/// `/200909/activity/{user}/from/{service}/{source}`.
pub(super) struct ItemAddress {
    /// Who did it.
    pub(super) user: AccountName,
    service: Option<ServiceName>,
    source_id: Option<String>,
}

impl ItemAddress {
    /// What such a path says; `None` if it names nobody.
    pub(super) fn parse(path: &str) -> Option<ItemAddress> {
        let mut segments = segments(path);
        let user = name(segments.next()?)?;
        let mut later = segments.skip(1).map(Option::unwrap_or_default);
        let (service, source_id) = (later.next()?, later.next()?);
        Some(ItemAddress {
            user,
            service: ServiceName::parse(&service),
            source_id: Some(source_id).filter(|id| can_be_a_source_id(id)),
        })
    }

    /// Where it is claimed, if anything can be.
    pub(super) fn source(&self, actor: Uid) -> Option<ExternalKey> {
        Some(ExternalKey { actor, service: self.service.as_ref()?.folded(), id: self.source_id.clone()? })
    }

    /// The service's name and its id of the activity, to write something there.
    pub(super) fn names(self) -> Result<(ServiceName, String), Refused> {
        let refuse = |field: &str, rule: &str| Refused { field: field.to_owned(), detail: rule.to_owned() };
        let service = self.service.ok_or_else(|| {
            let rule = "expected 1 to 64 characters in the address, in UTF-8 and percent-encoded, without slash, \
                        comma, control character or blanks around it";
            refuse("SourceService.Name", rule)
        })?;
        let id = self.source_id.ok_or_else(|| {
            let rule = "expected 1 to 512 bytes in the address, in UTF-8 and percent-encoded, without control \
                        characters";
            refuse("SourceId", rule)
        })?;
        Ok((service, id))
    }
}

fn can_be_a_source_id(id: &str) -> bool {
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
        let told = ("bob".to_owned(), "Last.fm".to_owned(), "a/b% ü+c".to_owned());
        assert_eq!(parts(path), Some(told));
    }

    #[test]
    fn what_can_be_no_address() {
        for (segment, there) in [
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
            assert_eq!(parts(&path).is_some(), there, "{segment:.20}");
            let source = ItemAddress::parse(&path).unwrap().source(Uid(1));
            assert_eq!(source.is_some(), there, "{segment:.20}");
        }
        for service in ["a%2Fb", "a%2Cb", "%20a", "%00", "%FF"] {
            assert_eq!(parts(&format!("/200909/activity/bob/from/{service}/1")), None, "{service}");
        }
        assert!(ItemAddress::parse("/200909/activity/-bob/from/flickr/1").is_none());
    }
}
