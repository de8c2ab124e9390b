//! The data model of tofrom, and the rules that every engine shares: identifiers, the open vocabulary, activities,
//! accounts, edges, visibility, queries and cursors.
//!
//! Nothing here does I/O, and only [`Clock::system`] reads the time. A rule on which two engines must agree is a pure function in this crate.

mod account;
mod activity;
mod audit;
mod belonging;
mod clock;
mod cursor;
mod cursor_keys;
mod edge_filter;
mod entry;
mod facet;
mod fanout_mode;
mod grant;
mod hash;
mod hook;
mod id;
pub mod network;
mod query;
mod quota;
mod relation;
mod second_factor;
mod source;
mod text;
mod time;
mod trace;
mod vocabulary;

pub use account::{Account, Application, Key, PICTURE_SIZES, Picture, Scopes};
pub use activity::{Activity, Body, Comments, Object, PriorAudience, Service, State, Thumbnail, Visibility};
pub use audit::{AUDIT_DAYS, AuditHead, AuditOffset, AuditRecord};
pub use belonging::{Collection, Edge, Membership, Reader, belongs, entry_belongs, may_see};
pub use clock::Clock;
pub use cursor::{ArrivalOffset, Binding, Cursor, CursorError, SyncToken};
pub use cursor_keys::CursorKeys;
pub use edge_filter::EdgeFilter;
pub use entry::{Entry, EntryReason, EntryReasons, Order, SortKey};
pub use facet::{Facet, ServiceName};
pub use fanout_mode::{
    DeliveryState, Dormancy, EdgeDormancy, FanoutMode, FanoutStage, FanoutState, MAX_PULLED,
};
pub use grant::{AccessToken, Progress, Purpose, Session, Temporary, Ticket};
pub use hash::Fnv;
pub use hook::HookId;
pub use id::{AccountName, ActivityId, InvalidName, KeyId, Position, Uid, Version};
pub use query::{
    DEFAULT_COUNT, FeedQuery, Filter, Format, MAX_PAGE, ParameterError, Range, RawQuery, Start,
    encode_component,
};
pub use quota::{Quota, QuotaReached, Quotas};
pub use relation::{AddressableBy, Decision, Relation};
pub use second_factor::SecondFactor;
pub use source::SourceId;
pub use text::{BadPersonName, MAX_PERSON_NAME, first_illegal, person_name};
pub use time::{InvalidTime, Millis};
pub use trace::TraceContext;
pub use vocabulary::{Kind, Verb, category, category_label, parse_category};
