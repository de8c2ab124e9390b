//! The laws of the codec, for every message.

use super::{BodyCell, Encoded, EntryCell, StateCell, progress};
use crate::message::{AcceptedVersion, Intent, IntentKey, Message};
use crate::sources::ScheduledSource;
use crate::{
    Connection, DecisionChange, ExternalKey, Hook, HookProgress, Notice, Result, Source, StoreError, Work,
};
use model::{
    AccessToken, Account, AccountName, Activity, ActivityId, AddressableBy, Application, Body, Comments,
    Decision, Edge, EdgeFilter, Facet, HookId, Key, KeyId, Kind, Millis, Object, Picture, Position,
    PriorAudience, Progress, Purpose, Scopes, Service, ServiceName, Session, SortKey, SourceId, State,
    Temporary, Thumbnail, Ticket, TraceContext, Uid, Verb, Version, Visibility,
};
use proptest::collection::vec;
use proptest::option::of;
use proptest::prelude::*;
use proptest::sample::select;
use prost::encoding::{DecodeContext, WireType, decode_key, skip_field};
use std::borrow::Cow;
use std::fmt::Debug;
use std::sync::Arc;
use uuid::Uuid;

/// Fields of a later version: a number, eight bytes, a text, four bytes.
const UNKNOWN: [&[u8]; 4] = [
    &[0xc0, 0x3e, 0x96, 0x01],
    &[0xc9, 0x3e, 1, 2, 3, 4, 5, 6, 7, 8],
    &[0xd2, 0x3e, 2, b'n', b'o'],
    &[0xdd, 0x3e, 1, 2, 3, 4],
];

fn is_value_or_corrupt<T>(read: &Result<T>) -> bool {
    matches!(read, Ok(_) | Err(StoreError::Corrupt(_)))
}

/// A value decodes to itself, with or without fields of a later version. A truncated or damaged one is an error, unless
/// the bytes are a message by chance.
fn assert_laws<T: Encoded + PartialEq + Debug>(
    value: &T,
    beside: impl Fn() -> T::Beside,
    damage: (usize, u8),
) {
    let decode = |bytes: &[u8]| T::decoded_beside(bytes, beside());
    let bytes = value.encoded();
    assert_eq!(decode(&bytes).unwrap(), *value);
    for unknown in UNKNOWN {
        assert_eq!(
            decode(&[bytes.as_slice(), unknown].concat()).unwrap(),
            *value,
            "a later field is ignored"
        );
        assert_eq!(
            decode(&[unknown, bytes.as_slice()].concat()).unwrap(),
            *value,
            "a later field is ignored"
        );
    }
    for end in 0..bytes.len() {
        let read = decode(&bytes[..end]);
        assert!(is_value_or_corrupt(&read), "{read:?}");
        let is_within_field = <() as prost::Message>::decode(&bytes[..end]).is_err();
        assert!(!(is_within_field && read.is_ok()), "truncated after {end} bytes");
    }
    let mut damaged = bytes;
    if let Some(byte) = damaged.len().checked_sub(1).and_then(|last| damaged.get_mut(damage.0.min(last))) {
        *byte ^= damage.1;
    }
    assert!(is_value_or_corrupt(&decode(&damaged)));
}

/// The message as an earlier version wrote it, without the fields that have these tags.
fn without(bytes: &[u8], tags: &[u32]) -> Vec<u8> {
    let (mut rest, mut kept) = (bytes, Vec::new());
    while !rest.is_empty() {
        let field = rest;
        let (tag, wire_type): (u32, WireType) = decode_key(&mut rest).unwrap();
        skip_field(wire_type, tag, &mut rest, DecodeContext::default()).unwrap();
        if !tags.contains(&tag) {
            kept.extend(&field[..field.len() - rest.len()]);
        }
    }
    kept
}

fn text() -> impl Strategy<Value = String> {
    "\\PC{0,9}"
}

fn bytes() -> impl Strategy<Value = Vec<u8>> {
    vec(any::<u8>(), 0..9)
}

fn uid() -> impl Strategy<Value = Uid> {
    any::<i64>().prop_map(Uid)
}

fn time() -> impl Strategy<Value = Millis> {
    any::<i64>().prop_map(Millis)
}

fn version() -> impl Strategy<Value = Version> {
    any::<i64>().prop_map(Version)
}

fn position() -> impl Strategy<Value = Position> {
    any::<u64>().prop_map(Position)
}

fn id() -> impl Strategy<Value = ActivityId> {
    (0..1_i64 << 48, any::<[u8; 10]>()).prop_map(|(time, random)| ActivityId::new(Millis(time), random))
}

fn sort_key() -> impl Strategy<Value = SortKey> {
    (time(), id()).prop_map(|(time, id)| SortKey { time, id })
}

fn visibility() -> impl Strategy<Value = Visibility> {
    select(vec![Visibility::Public, Visibility::Followers, Visibility::Direct])
}

fn scopes() -> impl Strategy<Value = Scopes> {
    select(vec![Scopes::Read, Scopes::ReadWrite])
}

fn name() -> impl Strategy<Value = AccountName> {
    "[a-z0-9][a-z0-9._-]{0,8}".prop_map(|name| AccountName::parse(&name).unwrap())
}

fn facet() -> impl Strategy<Value = Arc<Facet>> {
    let kinds = select(vec!["photo", "bookmark", "photo-album", "xyzzy"]);
    let verbs = select(vec!["post", "share", "save", "plugh"]);
    (text(), kinds, verbs).prop_map(|(service, kind, verb)| {
        let (kind, verb) = (Kind::parse(kind).unwrap(), Verb::parse(verb).unwrap());
        Arc::new(Facet { service, kind, verb })
    })
}

fn prior() -> impl Strategy<Value = PriorAudience> {
    (visibility(), vec(uid(), 0..4))
        .prop_map(|(visibility, addressed)| PriorAudience { visibility, addressed })
}

fn account() -> impl Strategy<Value = Account> {
    let flags = any::<[bool; 4]>();
    let names = (name(), of(text()), of(text()), of(text()));
    let rest = (any::<u32>(), select(AddressableBy::ALL.to_vec()));
    (uid(), version(), time(), names, flags, rest).prop_map(
        |(uid, version, created, (name, given_name, family_name, password), flags, rest)| {
            let (credential_epoch, addressable_by) = rest;
            let [public, operator, removed, disabled] = flags;
            Account {
                uid,
                name,
                version,
                given_name,
                family_name,
                public,
                operator,
                password,
                created,
                removed,
                disabled,
                credential_epoch,
                addressable_by,
            }
        },
    )
}

fn state() -> impl Strategy<Value = State> {
    let times = [time(), time(), time()];
    let flags = any::<[bool; 2]>();
    (id(), version(), uid(), facet(), times, flags, visibility(), vec(uid(), 0..4)).prop_map(
        |(
            id,
            version,
            actor,
            facet,
            [received, published, updated],
            [deleted, pulled],
            visibility,
            addressed,
        )| {
            State {
                id,
                version,
                actor,
                facet,
                received,
                published,
                updated,
                deleted,
                visibility,
                addressed,
                pulled,
            }
        },
    )
}

fn body() -> impl Strategy<Value = Body> {
    let service = ("[A-Za-z0-9]{1,9}", of(text()), of(text())).prop_map(|(name, icon, website)| Service {
        name: ServiceName::parse(&name).unwrap(),
        icon,
        website,
    });
    let comments = prop_oneof![
        any::<bool>().prop_map(Comments::Available),
        any::<(u64, u64)>().prop_map(|(comments, likes)| Comments::Counted { comments, likes }),
    ];
    let thumbnail = (text(), of(any::<u32>()), of(any::<u32>())).prop_map(|(url, height, width)| Thumbnail {
        url,
        height,
        width,
    });
    let object = (of(text()), of(text()), of(thumbnail), of(text()), of(text())).prop_map(
        |(title, description, thumbnail, url, alternate)| Object {
            title,
            description,
            thumbnail,
            url,
            alternate,
        },
    );
    (text(), text(), of(text()), service, comments, object, of(text()), vec(name(), 0..3)).prop_map(
        |(source_id, title, summary, service, comments, object, imported_by, to)| Body {
            source_id,
            title,
            summary,
            service,
            comments,
            object,
            imported_by,
            to,
        },
    )
}

fn edge_filter() -> impl Strategy<Value = EdgeFilter> {
    (vec(text(), 0..3), vec(text(), 0..3), vec(text(), 0..3))
        .prop_map(|(services, kinds, verbs)| EdgeFilter::of(&services, &kinds, &verbs))
}

fn edge() -> impl Strategy<Value = Edge> {
    (any::<bool>(), version(), time(), of(sort_key()), edge_filter(), version()).prop_map(
        |(following, version, since, from, filter, filter_version)| Edge {
            following,
            version,
            since,
            from,
            filter,
            filter_version,
        },
    )
}

fn decision() -> impl Strategy<Value = DecisionChange> {
    let both = select(Decision::ALL.to_vec());
    (uid(), name(), both, name(), of(uid()), version(), any::<bool>()).prop_map(
        |(owner, name, decision, other, other_uid, version, holds)| DecisionChange {
            owner,
            name,
            decision,
            other,
            other_uid,
            version,
            holds,
        },
    )
}

fn work() -> impl Strategy<Value = Work> {
    prop_oneof![
        (id(), version(), of(prior()), of(position()))
            .prop_map(|(id, version, prior, accepted)| Work::Version { id, version, prior, accepted }),
        (id(), version(), of(visibility()), position(), uid()).prop_map(
            |(id, version, prior, accepted, after)| Work::Followers { id, version, prior, accepted, after }
        ),
        (uid(), uid(), version(), any::<bool>()).prop_map(|(follower, followee, version, following)| {
            Work::Edge { follower, followee, version, following }
        }),
        (uid(), of(uid())).prop_map(|(uid, after)| Work::Account { uid, after }),
        (uid(), of(sort_key())).prop_map(|(uid, after)| Work::Addressed { uid, after }),
        uid().prop_map(|uid| Work::Change { uid }),
        (uid(), uid()).prop_map(|(owner, other)| Work::Block { owner, other }),
        (uid(), uid(), of(sort_key())).prop_map(|(follower, followee, after)| Work::RemoveFollowed {
            follower,
            followee,
            after
        }),
        (uid(), id()).prop_map(|(owner, id)| Work::Removal { owner, id }),
        (uid(), of(uid())).prop_map(|(uid, after)| Work::PrepareFollowers { uid, after }),
        (uid(), version(), of(uid())).prop_map(|(uid, version, after)| Work::BecomeDormant {
            uid,
            version,
            after
        }),
        (uid(), version(), position(), of(uid()), of((uid(), sort_key()))).prop_map(
            |(uid, version, since, after, within)| Work::CatchUp { uid, version, since, after, within }
        ),
    ]
}

fn intent() -> impl Strategy<Value = Intent> {
    let key = (uid(), text(), text()).prop_map(|(actor, service, id)| ExternalKey { actor, service, id });
    let accepted =
        (key, state(), body(), of(prior()), of(prior())).prop_map(|(key, state, body, prior, before)| {
            AcceptedVersion { key, activity: Activity { state, body }, prior, before }
        });
    prop_oneof![
        accepted.prop_map(|accepted| Intent::Version(Box::new(accepted))),
        (uid(), uid(), edge()).prop_map(|(follower, followee, edge)| Intent::Edge {
            follower,
            followee,
            edge
        }),
        (uid(), uid(), version(), edge_filter()).prop_map(|(follower, followee, version, filter)| {
            Intent::EdgeFilter { follower, followee, version, filter }
        }),
        (decision(), any::<u128>())
            .prop_map(|(change, op)| Intent::Decision { change, op: Uuid::from_u128(op) }),
        (account(), version(), any::<u128>()).prop_map(|(account, before, op)| Intent::Account {
            account,
            before,
            op: Uuid::from_u128(op)
        }),
        (uid(), id(), time(), version()).prop_map(|(owner, id, received, version)| Intent::Removal {
            owner,
            id,
            received,
            version
        }),
        (uid(), version(), position(), time()).prop_map(|(uid, version, since, at)| Intent::Reactivate {
            uid,
            version,
            since,
            at
        }),
    ]
}

fn message() -> impl Strategy<Value = Message> {
    let key = (any::<i64>(), text()).prop_map(|(minute, id)| IntentKey { minute, id });
    (of(key), any::<bool>(), work(), of(trace()), any::<u32>(), time()).prop_map(
        |(key, first, work, trace, attempts, not_before)| Message {
            key,
            first,
            work,
            trace,
            attempts,
            not_before,
        },
    )
}

/// No identifier is zero.
fn trace() -> impl Strategy<Value = TraceContext> {
    (1..=u128::MAX, 1..=u64::MAX)
        .prop_map(|(trace, span)| TraceContext { trace: trace.to_be_bytes(), span: span.to_be_bytes() })
}

fn any_progress() -> impl Strategy<Value = Progress> {
    prop_oneof![
        Just(Progress::Requested),
        Just(Progress::Refused),
        (uid(), any::<u32>(), any::<[u8; 32]>()).prop_map(|(by, epoch, verifier)| Progress::Allowed {
            by,
            epoch,
            verifier
        }),
        text().prop_map(|token| Progress::Exchanged { token }),
    ]
}

fn damage() -> impl Strategy<Value = (usize, u8)> {
    (0..200_usize, 1..=u8::MAX)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(96))]

    #[test]
    fn accounts(account in account(), version in version(), sizes in [bytes(), bytes(), bytes()], damage in damage()) {
        assert_laws(&account, || account.uid, damage);
        assert_laws(&Picture { version, sizes }, || (), damage);
    }

    #[test]
    fn credentials(
        (number, hash, owner, name) in (any::<u64>(), any::<[u8; 32]>(), uid(), text()),
        (scopes, created, at, other) in (scopes(), time(), of(time()), of(time())),
        (key, sealed_secret, optional, epoch) in (text(), bytes(), of(text()), any::<u32>()),
        (progress, by) in (any_progress(), of(uid())),
        damage in damage(),
    ) {
        let id = KeyId(number);
        let pre_shared = Key { id, hash, owner, name: name.clone(), scopes, created, expires: at, revoked: other, used: at, parent: other.map(|_| hash) };
        assert_laws(&pre_shared, || (hash, other, at), damage);
        let rsa_key = optional.clone().map(String::into_bytes);
        let (secret, callback) = (sealed_secret.clone(), name.clone());
        let application = Application {
            key: key.clone(), sealed_secret: secret, name: name.clone(), callback, rsa_key, created, removed: at, owner: by,
        };
        assert_laws(&application, || (key.clone(), sealed_secret.clone(), at), damage);
        assert_laws(&progress, || progress::number(&progress), damage);
        let temporary = Temporary {
            key: key.clone(), sealed_secret: sealed_secret.clone(), consumer: name.clone(), callback: optional, scopes,
            expires: created, progress,
        };
        assert_laws(&temporary, || (key.clone(), temporary.progress.clone()), damage);
        let token = AccessToken {
            key: key.clone(), sealed_secret: sealed_secret.clone(), consumer: name.clone(), owner, epoch, scopes, created,
            expires: at, revoked: other, used: at,
        };
        assert_laws(&token, || (key.clone(), sealed_secret.clone(), other, at), damage);
        let (expires, used) = (at.unwrap_or(created), other.unwrap_or(created));
        let session = Session { hash, owner, epoch, password: hash, created, expires, device: name, used };
        assert_laws(&session, || (hash, None), damage);
        let purpose = by.map_or(Purpose::Invitation, Purpose::Reset);
        assert_laws(&Ticket { hash, purpose, by: at.map(|at| Uid(at.0)), created, expires }, || hash, damage);
    }

    #[test]
    fn sources(
        (id, version, shard, due, slot) in (any::<[u8; 16]>(), version(), any::<u16>(), of(time()), of(time())),
        (owner, name, removed, state) in (uid(), text(), any::<bool>(), bytes()),
        damage in damage(),
    ) {
        let id = SourceId(id);
        let source = Source { id, version, shard, due, state: state.clone() };
        assert_laws(&ScheduledSource { source, slot }, || id, damage);
        let connection = Connection { owner, name: name.clone(), version, source: id, removed, state: state.clone() };
        assert_laws(&connection, || (owner, name.clone()), damage);
        let id = HookId(id.0);
        let hook = Hook { owner, name: name.clone(), version, id, removed, state: state.clone() };
        assert_laws(&hook, || (owner, name.clone()), damage);
        assert_laws(&HookProgress { id, version, state }, || id, damage);
    }

    #[test]
    fn activities(
        (state, body, prior, edge, sort_key) in (state(), body(), of(prior()), edge(), sort_key()),
        damage in damage(),
    ) {
        let State { actor, published, version, facet, pulled, .. } = state.clone();
        assert_laws(&EntryCell { actor, other_time: published, version, facet, pulled }, || (), damage);
        assert_laws(&StateCell { state: Cow::Owned(state), prior }, || (), damage);
        assert_laws(&body, || (), damage);
        assert_laws(&BodyCell { version, body: Cow::Owned(body) }, || (), damage);
        assert_laws(&edge, || (edge.filter.clone(), edge.filter_version), damage);
        assert_laws(&edge.filter, || (), damage);
        assert_laws(&sort_key, || (), damage);
    }

    #[test]
    fn tasks(work in work(), message in message(), intent in intent(), damage in damage()) {
        assert_laws(&work, || (), damage);
        assert_laws(&message, || (), damage);
        assert_laws(&intent, || (), damage);
    }

    #[test]
    fn notices(
        (at, uids, key) in (position(), vec(uid(), 0..5), bytes()),
        seen in of(uid()),
        damage in damage(),
    ) {
        assert_laws(&Some(Notice::Arrived(at, uids)), || (), damage);
        assert_laws(&Some(Notice::Failed(key)), || (), damage);
        for uid in seen.map(Notice::Seen).into_iter().chain(seen.map(Notice::Hooks)) {
            assert_laws(&Some(uid), || (), damage);
        }
        assert_laws(&Some(Notice::Requests(vec![(Uid(7), 3), (Uid(-1), u32::MAX)])), || (), damage);
    }

    #[test]
    fn arbitrary_bytes_are_an_error_or_a_value(bytes in vec(any::<u8>(), 0..80), number in any::<i8>()) {
        assert!(is_value_or_corrupt(&Account::decoded_beside(&bytes, Uid(1))));
        assert!(is_value_or_corrupt(&Picture::decoded(&bytes)));
        assert!(is_value_or_corrupt(&Progress::decoded_beside(&bytes, number)));
        assert!(is_value_or_corrupt(&StateCell::decoded(&bytes)));
        assert!(is_value_or_corrupt(&BodyCell::decoded(&bytes)));
        assert!(is_value_or_corrupt(&EntryCell::decoded(&bytes)));
        assert!(is_value_or_corrupt(&Work::decoded(&bytes)));
        assert!(is_value_or_corrupt(&Message::decoded(&bytes)));
        assert!(is_value_or_corrupt(&Intent::decoded(&bytes)));
        assert!(is_value_or_corrupt(&<Option<Notice>>::decoded(&bytes)));
    }

    #[test]
    fn fields_that_an_earlier_version_did_not_write_are_not_set(account in account(), state in state(), by in uid()) {
        let older = without(&account.encoded(), &[10, 11]);
        let read = Account::decoded_beside(&older, account.uid).unwrap();
        assert_eq!(read.encoded(), Account { disabled: false, credential_epoch: 0, ..account }.encoded());

        let older = without(&state.encoded(), &[13]);
        let not_pulled = State { pulled: false, ..state };
        assert_eq!(older, not_pulled.encoded(), "an earlier version sees no difference");
        assert_eq!(State::decoded(&older).unwrap(), not_pulled);

        let (hash, created, expires) = ([2; 32], Millis(5), Millis(9));
        let (device, used) = ("Firefox".to_owned(), Millis(7));
        let session = Session { hash, owner: by, epoch: 3, password: [1; 32], created, expires, device, used };
        let older = without(&session.encoded(), &[5, 6, 7]);
        let read = |used| Session::decoded_beside(&older, (hash, used)).unwrap();
        let before = Session { device: String::new(), used: created, epoch: 0, ..session };
        assert_eq!(read(None), before, "it was used when it began");
        assert_eq!(read(Some(Millis(8))), Session { used: Millis(8), ..before });

        let application = Application {
            key: "app".to_owned(), sealed_secret: Vec::new(), name: "Reader".to_owned(), callback: "oob".to_owned(),
            rsa_key: None, created, removed: None, owner: Some(by),
        };
        let older = without(&application.encoded(), &[5]);
        let read = Application::decoded_beside(&older, ("app".to_owned(), Vec::new(), None)).unwrap();
        assert_eq!(read, Application { owner: None, ..application });
    }
}

#[test]
fn a_value_without_its_required_fields_is_corrupt() {
    fn is_corrupt<T>(read: Result<T>) -> bool {
        matches!(read, Err(StoreError::Corrupt(_)))
    }
    assert!(is_corrupt(Account::decoded_beside(&[], Uid(1))));
    assert!(is_corrupt(Progress::decoded_beside(&[], progress::ALLOWED)));
    assert!(is_corrupt(StateCell::decoded(&[])));
    assert!(is_corrupt(BodyCell::decoded(&[])));
    assert!(is_corrupt(EntryCell::decoded(&[])));
    assert!(is_corrupt(Edge::decoded_beside(&[], (EdgeFilter::default(), Version(0)))));
    assert!(is_corrupt(Work::decoded(&[])));
    assert!(is_corrupt(Message::decoded(&[])));
    assert!(is_corrupt(Intent::decoded(&[])));
    assert!(is_corrupt(Work::decoded(UNKNOWN[2])), "a kind of work that a later version added");
    assert_eq!(<Option<Notice>>::decoded(UNKNOWN[2]).unwrap(), None, "a notice that a later version added");
}
