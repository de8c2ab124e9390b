//! What tofrom speaks of, and the rules that hold whatever engine stores it: ids, the open vocabulary, activities,
//! accounts, edges, who sees what, queries and cursors.
//!
//! Nothing here does I/O or reads a clock. A rule that two engines must agree on is a pure function in this crate.

mod account;
mod activity;
mod belonging;
mod cursor;
mod entry;
mod facet;
mod grant;
mod hash;
mod id;
mod query;
mod source;
mod time;
mod vocabulary;
mod ways;

pub use account::{Account, Application, Key, PICTURE_SIZES, Picture, Scopes};
pub use activity::{Activity, Body, Comments, Formerly, Object, Service, State, Thumbnail, Visibility};
pub use belonging::{Collection, Edge, Membership, Reader, belongs, entry_belongs, may_see};
pub use cursor::{Binding, Cursor, CursorError, Mark, Place};
pub use entry::{Box, Boxes, Entry, Order, Spot};
pub use facet::{Facet, ServiceName};
pub use grant::{AccessToken, Progress, Purpose, Session, Temporary, Ticket};
pub use hash::Fnv;
pub use id::{AccountName, ActivityId, InvalidName, KeyId, Position, Uid, Version};
pub use query::{
    DEFAULT_COUNT, FeedQuery, Filter, Format, MAX_PAGE, ParameterError, Range, RawQuery, Start,
    encode_component,
};
pub use source::SourceId;
pub use time::{InvalidTime, Millis};
pub use vocabulary::{Kind, Verb, category, category_label, parse_category};
pub use ways::{Audience, MOST_PULLED, Phase, Reading, Sleep, Stage, Way};
