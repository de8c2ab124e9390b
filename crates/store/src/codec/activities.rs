//! Messages of activities, entries and edges.

use super::{
    Encoded, SortKeyWire, activity_id, corrupt, id_bytes, millis, numbers, part, required, uid, uids,
    version, visibility_number, visibility_of,
};
use crate::Result;
use model::{
    AccountName, Body, Comments, Edge, EdgeFilter, Facet, Kind, Millis, Object, PriorAudience, Service,
    ServiceName, State, Thumbnail, Uid, Verb, Version,
};
use prost::Message;
use std::borrow::Cow;
use std::collections::BTreeSet;
use std::sync::Arc;

fn facet(service: Option<String>, kind: Option<String>, verb: Option<String>) -> Result<Arc<Facet>> {
    Ok(Arc::new(Facet {
        service: required(service, "service")?,
        kind: Kind::parse(&required(kind, "type")?).ok_or_else(|| corrupt("invalid type"))?,
        verb: Verb::parse(&required(verb, "verb")?).ok_or_else(|| corrupt("invalid verb"))?,
    }))
}

#[derive(Clone, PartialEq, Message)]
pub(crate) struct PriorAudienceWire {
    #[prost(uint32, optional, tag = "1")]
    visibility: Option<u32>,
    #[prost(int64, repeated, tag = "2")]
    addressed: Vec<i64>,
}

impl Encoded for PriorAudience {
    type Wire = PriorAudienceWire;
    type Beside = ();

    fn to_wire(&self) -> PriorAudienceWire {
        let visibility = Some(visibility_number(self.visibility).into());
        PriorAudienceWire { visibility, addressed: numbers(&self.addressed) }
    }

    fn from_wire(wire: PriorAudienceWire, (): ()) -> Result<PriorAudience> {
        let visibility = visibility_of(required(wire.visibility, "visibility")?)?;
        Ok(PriorAudience { visibility, addressed: uids(wire.addressed) })
    }
}

#[derive(Clone, PartialEq, Message)]
pub(crate) struct StateWire {
    #[prost(bytes = "vec", optional, tag = "1")]
    id: Option<Vec<u8>>,
    #[prost(int64, optional, tag = "2")]
    version: Option<i64>,
    #[prost(int64, optional, tag = "3")]
    actor: Option<i64>,
    #[prost(string, optional, tag = "4")]
    service: Option<String>,
    #[prost(string, optional, tag = "5")]
    kind: Option<String>,
    #[prost(string, optional, tag = "6")]
    verb: Option<String>,
    #[prost(sint64, optional, tag = "7")]
    received: Option<i64>,
    #[prost(sint64, optional, tag = "8")]
    published: Option<i64>,
    #[prost(sint64, optional, tag = "9")]
    updated: Option<i64>,
    #[prost(bool, tag = "10")]
    deleted: bool,
    #[prost(uint32, optional, tag = "11")]
    visibility: Option<u32>,
    #[prost(int64, repeated, tag = "12")]
    addressed: Vec<i64>,
    #[prost(bool, tag = "13")]
    pulled: bool,
}

impl Encoded for State {
    type Wire = StateWire;
    type Beside = ();

    fn to_wire(&self) -> StateWire {
        StateWire {
            id: id_bytes(self.id),
            version: Some(self.version.0),
            actor: Some(self.actor.0),
            service: Some(self.facet.service.clone()),
            kind: Some(self.facet.kind.as_str().to_owned()),
            verb: Some(self.facet.verb.as_str().to_owned()),
            received: Some(self.received.0),
            published: Some(self.published.0),
            updated: Some(self.updated.0),
            deleted: self.deleted,
            visibility: Some(visibility_number(self.visibility).into()),
            addressed: numbers(&self.addressed),
            pulled: self.pulled,
        }
    }

    fn from_wire(wire: StateWire, (): ()) -> Result<State> {
        Ok(State {
            id: activity_id(wire.id)?,
            version: version(wire.version)?,
            actor: uid(wire.actor)?,
            facet: facet(wire.service, wire.kind, wire.verb)?,
            received: millis(wire.received)?,
            published: millis(wire.published)?,
            updated: millis(wire.updated)?,
            deleted: wire.deleted,
            visibility: visibility_of(required(wire.visibility, "visibility")?)?,
            addressed: uids(wire.addressed),
            pulled: wire.pulled,
        })
    }
}

/// The cell of a state: the state and the prior audience.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct StateCell<'a> {
    pub(crate) state: Cow<'a, State>,
    pub(crate) prior: Option<PriorAudience>,
}

#[derive(Clone, PartialEq, Message)]
pub(crate) struct StateCellWire {
    #[prost(message, optional, tag = "1")]
    state: Option<StateWire>,
    #[prost(message, optional, tag = "2")]
    prior: Option<PriorAudienceWire>,
    /// The version of the state again.
    #[cfg(feature = "next-schema")]
    #[prost(int64, optional, tag = "3")]
    pub(crate) next: Option<i64>,
}

impl Encoded for StateCell<'_> {
    type Wire = StateCellWire;
    type Beside = ();

    fn to_wire(&self) -> StateCellWire {
        let prior = self.prior.as_ref().map(Encoded::to_wire);
        StateCellWire {
            state: Some(self.state.to_wire()),
            prior,
            #[cfg(feature = "next-schema")]
            next: Some(self.state.version.0),
        }
    }

    fn from_wire(wire: StateCellWire, (): ()) -> Result<Self> {
        let state = Cow::Owned(required(part(wire.state)?, "state")?);
        Ok(StateCell { state, prior: part(wire.prior)? })
    }
}

#[derive(Clone, PartialEq, Message)]
pub(crate) struct BodyWire {
    #[prost(string, optional, tag = "1")]
    source_id: Option<String>,
    #[prost(string, optional, tag = "2")]
    title: Option<String>,
    #[prost(string, optional, tag = "3")]
    summary: Option<String>,
    #[prost(string, optional, tag = "4")]
    service: Option<String>,
    #[prost(string, optional, tag = "5")]
    icon: Option<String>,
    #[prost(string, optional, tag = "6")]
    website: Option<String>,
    /// Whether comments are possible; absent if they are counted.
    #[prost(bool, optional, tag = "7")]
    commentable: Option<bool>,
    #[prost(uint64, optional, tag = "8")]
    comments: Option<u64>,
    #[prost(uint64, optional, tag = "9")]
    likes: Option<u64>,
    #[prost(string, optional, tag = "10")]
    object_title: Option<String>,
    #[prost(string, optional, tag = "11")]
    description: Option<String>,
    #[prost(string, optional, tag = "12")]
    url: Option<String>,
    #[prost(string, optional, tag = "13")]
    alternate: Option<String>,
    #[prost(string, optional, tag = "14")]
    thumbnail: Option<String>,
    #[prost(uint32, optional, tag = "15")]
    height: Option<u32>,
    #[prost(uint32, optional, tag = "16")]
    width: Option<u32>,
    #[prost(string, optional, tag = "17")]
    imported_by: Option<String>,
    #[prost(string, repeated, tag = "18")]
    to: Vec<String>,
}

impl Encoded for Body {
    type Wire = BodyWire;
    type Beside = ();

    fn to_wire(&self) -> BodyWire {
        let Body { source_id, title, summary, service, comments, object, imported_by, to } = self;
        let (commentable, comments, likes) = match comments {
            Comments::Available(commentable) => (Some(*commentable), None, None),
            Comments::Counted { comments, likes } => (None, Some(*comments), Some(*likes)),
        };
        let thumbnail = object.thumbnail.as_ref();
        BodyWire {
            source_id: Some(source_id.clone()),
            title: Some(title.clone()),
            summary: summary.clone(),
            service: Some(service.name.as_str().to_owned()),
            icon: service.icon.clone(),
            website: service.website.clone(),
            commentable,
            comments,
            likes,
            object_title: object.title.clone(),
            description: object.description.clone(),
            url: object.url.clone(),
            alternate: object.alternate.clone(),
            thumbnail: thumbnail.map(|thumbnail| thumbnail.url.clone()),
            height: thumbnail.and_then(|thumbnail| thumbnail.height),
            width: thumbnail.and_then(|thumbnail| thumbnail.width),
            imported_by: imported_by.clone(),
            to: to.iter().map(|name| name.as_str().to_owned()).collect(),
        }
    }

    fn from_wire(wire: BodyWire, (): ()) -> Result<Body> {
        let name = ServiceName::parse(&required(wire.service, "service")?);
        let name = name.ok_or_else(|| corrupt("invalid name of a service"))?;
        let comments = match (wire.comments, wire.likes) {
            (Some(comments), Some(likes)) => Comments::Counted { comments, likes },
            _ => Comments::Available(required(wire.commentable, "number of comments")?),
        };
        let (height, width) = (wire.height, wire.width);
        let to: std::result::Result<_, _> = wire.to.into_iter().map(AccountName::try_from).collect();
        Ok(Body {
            source_id: required(wire.source_id, "identifier of a service")?,
            title: required(wire.title, "title")?,
            summary: wire.summary,
            service: Service { name, icon: wire.icon, website: wire.website },
            comments,
            object: Object {
                title: wire.object_title,
                description: wire.description,
                thumbnail: wire.thumbnail.map(|url| Thumbnail { url, height, width }),
                url: wire.url,
                alternate: wire.alternate,
            },
            imported_by: wire.imported_by,
            to: to.map_err(|_| corrupt("invalid account name"))?,
        })
    }
}

/// The cell of a body, with the version of the state that it belongs to.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct BodyCell<'a> {
    pub(crate) version: Version,
    pub(crate) body: Cow<'a, Body>,
}

#[derive(Clone, PartialEq, Message)]
pub(crate) struct BodyCellWire {
    #[prost(int64, optional, tag = "1")]
    version: Option<i64>,
    #[prost(message, optional, tag = "2")]
    body: Option<BodyWire>,
}

impl Encoded for BodyCell<'_> {
    type Wire = BodyCellWire;
    type Beside = ();

    fn to_wire(&self) -> BodyCellWire {
        BodyCellWire { version: Some(self.version.0), body: Some(self.body.to_wire()) }
    }

    fn from_wire(wire: BodyCellWire, (): ()) -> Result<Self> {
        let body = Cow::Owned(required(part(wire.body)?, "body")?);
        Ok(BodyCell { version: version(wire.version)?, body })
    }
}

/// The message in the cell of an entry.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct EntryCell {
    pub(crate) actor: Uid,
    /// The time that does not order the row.
    pub(crate) other_time: Millis,
    pub(crate) version: Version,
    pub(crate) facet: Arc<Facet>,
    pub(crate) pulled: bool,
}

#[derive(Clone, PartialEq, Message)]
pub(crate) struct EntryWire {
    #[prost(int64, optional, tag = "1")]
    actor: Option<i64>,
    #[prost(sint64, optional, tag = "2")]
    other_time: Option<i64>,
    #[prost(int64, optional, tag = "3")]
    version: Option<i64>,
    #[prost(string, optional, tag = "4")]
    service: Option<String>,
    #[prost(string, optional, tag = "5")]
    kind: Option<String>,
    #[prost(string, optional, tag = "6")]
    verb: Option<String>,
    #[prost(bool, tag = "7")]
    pulled: bool,
}

impl Encoded for EntryCell {
    type Wire = EntryWire;
    type Beside = ();

    fn to_wire(&self) -> EntryWire {
        EntryWire {
            actor: Some(self.actor.0),
            other_time: Some(self.other_time.0),
            version: Some(self.version.0),
            service: Some(self.facet.service.clone()),
            kind: Some(self.facet.kind.as_str().to_owned()),
            verb: Some(self.facet.verb.as_str().to_owned()),
            pulled: self.pulled,
        }
    }

    fn from_wire(wire: EntryWire, (): ()) -> Result<Self> {
        Ok(EntryCell {
            actor: uid(wire.actor)?,
            other_time: millis(wire.other_time)?,
            version: version(wire.version)?,
            facet: facet(wire.service, wire.kind, wire.verb)?,
            pulled: wire.pulled,
        })
    }
}

#[derive(Clone, PartialEq, Message)]
pub(crate) struct EdgeWire {
    #[prost(int64, optional, tag = "1")]
    version: Option<i64>,
    #[prost(bool, tag = "2")]
    following: bool,
    #[prost(sint64, optional, tag = "3")]
    since: Option<i64>,
    #[prost(message, optional, tag = "4")]
    from: Option<SortKeyWire>,
}

impl Encoded for Edge {
    type Wire = EdgeWire;
    /// The filter and its version.
    type Beside = (EdgeFilter, Version);

    fn to_wire(&self) -> EdgeWire {
        EdgeWire {
            version: Some(self.version.0),
            following: self.following,
            since: Some(self.since.0),
            from: self.from.map(|sort_key| sort_key.to_wire()),
        }
    }

    fn from_wire(wire: EdgeWire, (filter, filter_version): Self::Beside) -> Result<Edge> {
        Ok(Edge {
            following: wire.following,
            version: version(wire.version)?,
            since: millis(wire.since)?,
            from: part(wire.from)?,
            filter,
            filter_version,
        })
    }
}

#[derive(Clone, PartialEq, Message)]
pub(crate) struct EdgeFilterWire {
    #[prost(string, repeated, tag = "1")]
    services: Vec<String>,
    #[prost(string, repeated, tag = "2")]
    kinds: Vec<String>,
    #[prost(string, repeated, tag = "3")]
    verbs: Vec<String>,
}

impl Encoded for EdgeFilter {
    type Wire = EdgeFilterWire;
    type Beside = ();

    fn to_wire(&self) -> EdgeFilterWire {
        let words = |set: &BTreeSet<String>| set.iter().cloned().collect();
        EdgeFilterWire {
            services: words(&self.services),
            kinds: words(&self.kinds),
            verbs: words(&self.verbs),
        }
    }

    fn from_wire(wire: EdgeFilterWire, (): ()) -> Result<EdgeFilter> {
        let EdgeFilterWire { services, kinds, verbs } = wire;
        Ok(EdgeFilter {
            services: services.into_iter().collect(),
            kinds: kinds.into_iter().collect(),
            verbs: verbs.into_iter().collect(),
        })
    }
}
