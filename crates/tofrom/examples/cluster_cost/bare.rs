//! The bare driver: the same statements with the same values, without a service around them.

use super::cluster::Cluster;
use futures::future::{join_all, try_join_all};
use futures::{StreamExt, TryStreamExt, stream};
use model::{Account, ActivityId, Entry, EntryReason};
use scylla::client::execution_profile::ExecutionProfile;
use scylla::client::session::Session;
use scylla::client::session_builder::SessionBuilder;
use scylla::serialize::row::SerializeRow;
use scylla::statement::Consistency;
use scylla::statement::prepared::PreparedStatement;
use scylla::value::CqlValue;
use uuid::Uuid;

/// Concurrent row writes; the service has as many.
const CONCURRENT_WRITES: usize = 256;

/// A session and nothing more.
pub(crate) struct Bare {
    session: Session,
    keyspace: String,
}

impl Bare {
    pub(crate) async fn connect(cluster: &Cluster) -> Bare {
        let profile = ExecutionProfile::builder().consistency(Consistency::LocalQuorum).build();
        let tls = cluster.nodes.tls.as_ref().map(|tls| tls.client_config().unwrap());
        let mut builder = SessionBuilder::new().known_nodes(&cluster.nodes.nodes).tls_context(tls);
        if let Some(login) = &cluster.nodes.login {
            builder = builder.user(&login.user, login.password.reveal());
        }
        let session = builder.default_execution_profile_handle(profile.into_handle()).build().await.unwrap();
        Bare { session, keyspace: cluster.nodes.keyspace.clone() }
    }

    /// Prepares a statement; `feed.` and `ident.` stand for the two keyspaces.
    pub(crate) async fn prepare(&self, text: &str) -> PreparedStatement {
        let text = text.replace("ident.", &format!("{}_ident.", self.keyspace));
        let text = text.replace("feed.", &format!("{}.", self.keyspace));
        let mut prepared = self.session.prepare(text).await.unwrap();
        prepared.set_is_idempotent(true);
        prepared.set_use_cached_result_metadata(true);
        prepared
    }

    /// Runs a statement; returns the number of rows.
    pub(crate) async fn run(&self, statement: &PreparedStatement, values: impl SerializeRow) -> usize {
        let answer = self.session.execute_unpaged(statement, values).await.unwrap();
        answer.into_rows_result().map_or(0, |rows| rows.rows_num())
    }

    /// The first row of a statement.
    pub(crate) async fn first<R>(&self, text: &str, values: impl SerializeRow) -> R
    where
        R: for<'r> scylla::deserialize::row::DeserializeRow<'r, 'r>,
    {
        let statement = self.prepare(text).await;
        let answer = self.session.execute_unpaged(&statement, values).await.unwrap();
        answer.into_rows_result().unwrap().first_row().unwrap()
    }

    /// How many rows have that value in the statement's only column, over a whole table.
    pub(crate) async fn rows_with(&self, text: &str, value: &CqlValue) -> usize {
        let statement = self.prepare(text).await;
        let pages = self.session.execute_iter(statement, ()).await.unwrap();
        let rows = pages.rows_stream::<(Option<CqlValue>,)>().unwrap();
        let found = rows.try_filter(|(one,)| std::future::ready(one.as_ref() == Some(value)));
        found.try_fold(0, |count, _| std::future::ready(Ok(count + 1))).await.unwrap()
    }

    /// Writes these rows.
    pub(crate) async fn write<V: SerializeRow>(&self, rows: impl Iterator<Item = (&PreparedStatement, V)>) {
        let writes = rows.map(|(statement, values)| async move {
            self.session.execute_unpaged(statement, values).await.map(drop)
        });
        stream::iter(writes).buffer_unordered(CONCURRENT_WRITES).try_collect::<()>().await.unwrap();
    }
}

/// A page for which everything is known beforehand.
pub(crate) struct BarePage {
    owner: i64,
    name: String,
    reasons: Vec<(i8, i64)>,
    actors: Vec<i64>,
    /// The names of all other actors of the page.
    others: Vec<String>,
    ids: Vec<Uuid>,
    year: i32,
    reading: PreparedStatement,
    directory: PreparedStatement,
    slices: [PreparedStatement; 2],
    edges: PreparedStatement,
    removals: PreparedStatement,
    relations: PreparedStatement,
    state: PreparedStatement,
    states: PreparedStatement,
}

/// How states are read.
#[derive(Clone, Copy)]
pub(crate) enum States {
    /// A statement for each.
    Single,
    /// One statement for all. Here every node has all rows; elsewhere there would be one for each node.
    Grouped,
}

/// Rows that the service first requests for each of three reasons.
const PORTION: i32 = 28;
const YEAR: i64 = 31_556_952_000;

impl BarePage {
    /// The first page of an account with these entries on it and after it, of these other actors.
    pub(crate) async fn new(
        bare: &Bare,
        owner: &Account,
        entries: &[Entry],
        others: Vec<String>,
    ) -> BarePage {
        let slice = |table: &str| {
            format!(
                "SELECT received_ms, aid, entry FROM feed.{table} WHERE uid = ? AND reason = ? AND bucket = ?
                 AND (received_ms, aid) < (?, ?) AND (received_ms, aid) >= (?, ?) LIMIT ?"
            )
        };
        let followed = entries.iter().filter(|entry| entry.reasons.contains(EntryReason::Followed));
        let mut actors: Vec<i64> = followed.map(|entry| entry.actor.0).collect();
        actors.sort_unstable();
        actors.dedup();
        let directory =
            bare.prepare("SELECT reason, bucket FROM feed.directory WHERE uid = ? AND ord = ?").await;
        let listed = bare.session.execute_unpaged(&directory, (owner.uid.0, 0_i8)).await.unwrap();
        let listed = listed.into_rows_result().unwrap();
        BarePage {
            owner: owner.uid.0,
            name: owner.name.as_str().to_owned(),
            reasons: listed.rows::<(i8, i64)>().unwrap().map(Result::unwrap).collect(),
            actors,
            others,
            ids: entries.iter().map(|entry| Uuid::from_bytes(*entry.id.as_bytes())).collect(),
            year: i32::try_from(entries[0].received.0 / YEAR).unwrap(),
            reading: bare
                .prepare("SELECT followee, edge, dormancy FROM feed.delivery_state WHERE uid = ?")
                .await,
            directory,
            slices: [
                bare.prepare(&slice("own_received")).await,
                bare.prepare(&slice("followed_received")).await,
            ],
            edges: bare
                .prepare("SELECT followee, edge, filter FROM feed.following WHERE uid = ? AND followee IN ?")
                .await,
            removals: bare
                .prepare("SELECT aid FROM feed.removal WHERE uid = ? AND year = ? AND aid IN ?")
                .await,
            relations: bare
                .prepare(
                    "SELECT kind, other, cell FROM feed.relation
                     WHERE name = ? AND kind IN (0, 1, 2) AND other IN ?",
                )
                .await,
            state: bare.prepare("SELECT state FROM feed.activity WHERE aid = ?").await,
            states: bare.prepare("SELECT aid, state FROM feed.activity WHERE aid IN ?").await,
        }
    }

    /// Reads the page with the same steps as the service; returns the number of statements.
    pub(crate) async fn read(&self, bare: &Bare, states: States) -> usize {
        let (least, owner) = (Uuid::from_bytes(*ActivityId::MIN.as_bytes()), self.owner);
        bare.run(&self.reading, (owner,)).await;
        bare.run(&self.directory, (owner, 0_i8)).await;
        join_all(self.reasons.iter().map(|(one, bucket)| {
            let slice = &self.slices[usize::from(*one == 2)];
            bare.run(slice, (owner, one, bucket, i64::MAX, least, i64::MIN, least, PORTION))
        }))
        .await;
        tokio::join!(
            bare.run(&self.edges, (owner, &self.actors)),
            bare.run(&self.removals, (owner, self.year, &self.ids)),
            bare.run(&self.relations, (&self.name, &self.others)),
        );
        let others = 5 + self.reasons.len();
        match states {
            States::Single => {
                let found = join_all(self.ids.iter().map(|id| bare.run(&self.state, (id,)))).await;
                assert!(found.iter().all(|rows| *rows == 1));
                others + self.ids.len()
            }
            States::Grouped => {
                assert_eq!(bare.run(&self.states, (&self.ids,)).await, self.ids.len());
                others + 1
            }
        }
    }
}

/// Writes the rows of deliveries.
pub(crate) struct BareDelivery {
    received: PreparedStatement,
    published: PreparedStatement,
    arrival: PreparedStatement,
}

/// A row of a followed activity, as the service writes it.
#[derive(Clone)]
pub(crate) struct Row {
    pub(crate) bucket: i64,
    pub(crate) time: i64,
    pub(crate) id: Uuid,
    pub(crate) cells: Vec<Vec<u8>>,
    pub(crate) version: i64,
    pub(crate) position: i64,
}

impl BareDelivery {
    pub(crate) async fn new(bare: &Bare) -> BareDelivery {
        let entry = |order: &str| {
            format!(
                "UPDATE feed.followed_{order} USING TIMESTAMP ? SET entry = ?
                 WHERE uid = ? AND reason = ? AND bucket = ? AND {order}_ms = ? AND aid = ?"
            )
        };
        BareDelivery {
            received: bare.prepare(&entry("received")).await,
            published: bare.prepare(&entry("published")).await,
            arrival: bare
                .prepare(
                    "INSERT INTO feed.arrival (uid, segment, position, aid, reason, received_ms)
                     VALUES (?, ?, ?, ?, ?, ?)",
                )
                .await,
        }
    }

    /// Delivers a row to these followers.
    pub(crate) async fn deliver(&self, bare: &Bare, followers: &[i64], row: &Row) {
        let each = followers.iter().map(|uid| async move {
            let Row { bucket, time, id, cells, version, position } = row;
            let entry = (*version, cells, *uid, 2_i8, *bucket, *time, *id);
            try_join_all([
                bare.session.execute_unpaged(&self.received, &entry),
                bare.session.execute_unpaged(&self.published, &entry),
            ])
            .await?;
            let arrival = (*uid, *position >> 15, *position, *id, 2_i8, *time);
            bare.session.execute_unpaged(&self.arrival, &arrival).await.map(drop)
        });
        stream::iter(each).buffer_unordered(CONCURRENT_WRITES / 2).try_collect::<()>().await.unwrap();
    }
}
