//! Every method of a store, as a read or a write.

use super::Faulty;
use crate::{
    Acceptance, Accepted, Accounts, Activities, Arrival, Audit, BlockedBy, Changes, Claim, Connection,
    Credentials, DeadLetter, DecisionChange, Erasures, ExternalKey, FanoutModes, Feeds, Follower, Grants,
    Graph, Hook, HookProgress, Hooks, KnownNetwork, LastRead, Leases, ListedHook, Log, Networks, NewAccount,
    Nonce, Notice, Notices, Relations, Result, SecondFactors, Secret, Seen, SeenPositions, Sessions, Slice,
    Source, Sources, StorageUse, Store, StripedLocks, Task, Tickets, TracedWork, Usage, Usages, Work,
};
use async_trait::async_trait;
use model::{
    AccessToken, Account, AccountName, Activity, ActivityId, Application, ArrivalOffset, AuditHead,
    AuditOffset, AuditRecord, Collection, Decision, DeliveryState, Dormancy, Edge, EdgeDormancy, EdgeFilter,
    Entry, FanoutMode, FanoutState, HookId, Key, KeyId, Millis, Picture, Position, PriorAudience, Progress,
    Relation, SecondFactor, Session, SourceId, State, Temporary, Ticket, Uid, Version,
};
use std::sync::Arc;

/// Forwards the methods of one trait. A write may outlive its caller, so it owns its arguments; `as` lists how to
/// pass them on.
macro_rules! forward {
    ($trait:ident $({ $($plain:item)* })?
     reads { $($read:ident($($arg:ident: $arg_type:ty),*) -> $value:ty;)* }
     writes { $($write:ident($($owned:ident: $owned_type:ty),*) as ($($passed:expr),*) -> $outcome:ty;)* }
    ) => {
        #[async_trait]
        impl $trait for Faulty {
            $($($plain)*)?

            $(async fn $read(&self, $($arg: $arg_type),*) -> Result<$value> {
                self.read(stringify!($read), self.inner.$read($($arg),*)).await
            })*

            $(async fn $write(&self, $($owned: $owned_type),*) -> Result<$outcome> {
                let inner = Arc::clone(&self.inner);
                $(let $owned = $owned.to_owned();)*
                self.write(stringify!($write), async move { inner.$write($($passed),*).await }).await
            })*
        }
    };
}

forward! { Store
    {
        fn searches_text(&self) -> bool {
            self.inner.searches_text()
        }

        fn changes(&self) -> Option<&dyn Changes> {
            self.inner.changes()
        }

        fn update_locks(&self) -> &StripedLocks {
            &self.update_locks
        }
    }
    reads {
        ping() -> ();
        durability_warnings() -> Vec<String>;
        subscribe() -> Option<Notices>;
        storage_use(accounts: usize) -> Option<StorageUse>;
    }
    writes {
        set_once(name: &str, value: &str) as (&name, &value) -> String;
        broadcast(notice: &Notice) as (&notice) -> ();
        forget_expired(now: Millis) as (now) -> ();
    }
}

forward! { Accounts
    reads {
        account_by_name(name: &AccountName) -> Option<Account>;
        accounts(uids: &[Uid]) -> Vec<Option<Account>>;
        list_accounts(after: Option<Uid>, limit: usize) -> Vec<Account>;
        find_accounts(prefix: &str, limit: usize) -> Vec<Account>;
        picture(uid: Uid) -> Option<Picture>;
    }
    writes {
        create_account(new: NewAccount) as (new) -> Option<Account>;
        replace_account(before: Version, account: &Account) as (before, &account) -> bool;
        put_picture(uid: Uid, picture: &Picture) as (uid, &picture) -> ();
    }
}

forward! { Credentials
    reads {
        key_by_hash(hash: &[u8; 32]) -> Option<Key>;
        keys_of(owner: Uid) -> Vec<Key>;
        application(key: &str) -> Option<Application>;
        applications() -> Vec<Application>;
        applications_of(owner: Uid) -> Vec<Application>;
    }
    writes {
        add_key(key: &Key) as (&key) -> ();
        revoke_key(owner: Uid, id: KeyId, at: Millis) as (owner, id, at) -> bool;
        touch_key(hash: &[u8; 32], at: Millis) as (&hash, at) -> ();
        add_application(application: &Application) as (&application) -> ();
        remove_application(key: &str, at: Millis) as (&key, at) -> bool;
    }
}

forward! { Grants
    reads {
        temporary(key: &str) -> Option<Temporary>;
        token(key: &str) -> Option<AccessToken>;
        tokens_of(owner: Uid) -> Vec<AccessToken>;
        list_tokens(after: Option<&str>, limit: usize) -> Vec<AccessToken>;
    }
    writes {
        add_temporary(temporary: &Temporary) as (&temporary) -> ();
        decide(key: &str, decision: &Progress) as (&key, &decision) -> bool;
        exchange(key: &str, token: &AccessToken) as (&key, &token) -> bool;
        revoke_token(key: &str, at: Millis) as (&key, at) -> bool;
        touch_token(key: &str, at: Millis) as (&key, at) -> ();
        reseal(secret: &Secret, before: &[u8], after: &[u8]) as (&secret, &before, &after) -> bool;
        claim_nonce(nonce: &Nonce) as (&nonce) -> bool;
    }
}

forward! { SecondFactors
    reads {
        second_factor(owner: Uid) -> Option<SecondFactor>;
    }
    writes {
        replace_second_factor(before: Option<Version>, factor: &SecondFactor) as (before, &factor) -> bool;
    }
}

forward! { Audit
    reads {
        audit_before(before: Option<AuditOffset>, now: Millis, limit: usize) -> Vec<AuditRecord>;
        audit_of(uid: Uid, limit: usize) -> Vec<AuditRecord>;
        audit_heads() -> Vec<AuditHead>;
    }
    writes {
        append_audit(record: &AuditRecord) as (&record) -> ();
        put_audit_head(head: &AuditHead) as (&head) -> ();
        erase_audit_details(uid: Uid) as (uid) -> ();
    }
}

forward! { Erasures
    reads {
        due_erasures(limit: usize) -> Vec<Uid>;
    }
    writes {
        erase_account(account: &Account) as (&account) -> u64;
        finish_erasure(uid: Uid) as (uid) -> ();
    }
}

forward! { Sessions
    reads {
        session(hash: &[u8; 32]) -> Option<Session>;
        sessions_of(owner: Uid) -> Vec<Session>;
    }
    writes {
        add_session(session: &Session) as (&session) -> ();
        touch_session(hash: &[u8; 32], at: Millis) as (&hash, at) -> ();
        end_session(hash: &[u8; 32]) as (&hash) -> ();
    }
}

forward! { Tickets
    reads {
        ticket(hash: &[u8; 32]) -> Option<Ticket>;
    }
    writes {
        add_ticket(ticket: &Ticket) as (&ticket) -> ();
        use_ticket(hash: &[u8; 32]) as (&hash) -> bool;
    }
}

forward! { Networks
    reads {
        networks_of(owner: Uid) -> Vec<KnownNetwork>;
    }
    writes {
        note_network(owner: Uid, network: &KnownNetwork) as (owner, &network) -> ();
        forget_networks(owner: Uid) as (owner) -> ();
    }
}

forward! { Graph
    reads {
        edges(follower: Uid, followees: &[Uid]) -> Vec<Option<Edge>>;
        following(follower: Uid, after: Option<Uid>, limit: usize) -> Vec<(Uid, Edge)>;
        followers(followee: Uid, after: Option<Uid>, limit: usize) -> Vec<Follower>;
    }
    writes {
        put_edge(follower: Uid, followee: Uid, edge: &Edge) as (follower, followee, &edge) -> Option<Position>;
        put_edge_filter(follower: Uid, followee: Uid, version: Version, filter: &EdgeFilter)
            as (follower, followee, version, &filter) -> Option<Position>;
    }
}

forward! { Relations
    reads {
        decision(name: &AccountName, decision: Decision, other: &AccountName) -> Option<(Version, bool)>;
        relations(name: &AccountName, others: &[AccountName]) -> Vec<Relation>;
        decided(name: &AccountName, decision: Decision, after: Option<&AccountName>, limit: usize)
            -> Vec<AccountName>;
        blocked_by(name: &AccountName, by: &AccountName) -> BlockedBy;
    }
    writes {
        put_decision(change: &DecisionChange) as (&change) -> Option<Position>;
    }
}

forward! { Activities
    reads {
        claim(key: &ExternalKey) -> Option<Claim>;
        states(ids: &[ActivityId]) -> Vec<Option<State>>;
        prior_audiences(ids: &[ActivityId]) -> Vec<Option<PriorAudience>>;
        activities(ids: &[ActivityId]) -> Vec<Option<Activity>>;
        search(words: &str, before: Option<i64>, limit: usize) -> Vec<(ActivityId, i64)>;
    }
    writes {
        accept(batch: Vec<Acceptance>) as (batch) -> Vec<Accepted>;
    }
}

forward! { Feeds
    reads {
        slice(slice: &Slice<'_>) -> Vec<Entry>;
        slices(slices: &[Slice<'_>]) -> Vec<Vec<Entry>>;
        own_arrivals(owners: &[Uid], after: ArrivalOffset, floor: Position, limit: usize) -> Vec<Vec<Entry>>;
        arrivals(owner: Uid, after: ArrivalOffset, floor: Position, limit: usize) -> Vec<Arrival>;
        removed(owner: Uid, items: &[(ActivityId, Millis)]) -> Vec<bool>;
    }
    writes {
        deliver(at: Position, deliveries: Vec<(Uid, Entry)>) as (at, deliveries) -> ();
        remove_followed(owner: Uid, entries: &[Entry]) as (owner, &entries) -> ();
        note_changes(at: Position, owners: &[Uid]) as (at, &owners) -> ();
        remove(owner: Uid, id: ActivityId, received: Millis, version: Version)
            as (owner, id, received, version) -> Option<Position>;
    }
}

forward! { FanoutModes
    reads {
        fanout_states(uids: &[Uid]) -> Vec<FanoutState>;
        pushed_followers(followee: Uid, after: Option<Uid>, limit: usize) -> Vec<(Uid, Position)>;
        delivery_state(uid: Uid) -> DeliveryState;
        last_reads(uids: &[Uid]) -> Vec<LastRead>;
        followed_entries(owner: Uid, own: &[Entry]) -> Vec<Option<Entry>>;
    }
    writes {
        put_fanout_state(uid: Uid, fanout_state: &FanoutState) as (uid, &fanout_state) -> ();
        assign_mode(follower: Uid, followee: Uid, since: Position, version: Version, max_pulled: usize)
            as (follower, followee, since, version, max_pulled) -> FanoutMode;
        release_mode(follower: Uid, followee: Uid, version: Version) as (follower, followee, version) -> ();
        note_read(uid: Uid, at: Millis) as (uid, at) -> ();
        put_dormancy(uid: Uid, version: Version, dormancy: Dormancy) as (uid, version, dormancy) -> ();
        reactivate(uid: Uid, version: Version, since: Position, now: Millis)
            as (uid, version, since, now) -> Option<Position>;
        put_edge_dormancy(follower: Uid, followees: &[Uid], version: Version, dormancy: EdgeDormancy)
            as (follower, &followees, version, dormancy) -> ();
    }
}

forward! { Usages
    reads {
        usage(uid: Uid, since: Option<Millis>) -> Usage;
    }
    writes {
        flush_usage() as () -> ();
    }
}

forward! { Sources
    reads {
        source(id: SourceId) -> Option<Source>;
        list_sources(after: Option<SourceId>, limit: usize) -> Vec<Source>;
        due_sources(shard: u16, now: Millis, limit: usize) -> Vec<SourceId>;
        connection(owner: Uid, name: &str) -> Option<Connection>;
        connections_of(owner: Uid) -> Vec<Connection>;
        connections_to(source: SourceId, after: Option<(Uid, String)>, limit: usize) -> Vec<Connection>;
    }
    writes {
        replace_source(before: Option<Version>, source: &Source) as (before, &source) -> bool;
        replace_connection(before: Option<Version>, connection: &Connection) as (before, &connection) -> bool;
    }
}

forward! { SeenPositions
    reads {
        seen(owner: Uid, collection: Collection) -> Option<Seen>;
    }
    writes {
        replace_seen(before: Option<Version>, seen: &Seen) as (before, &seen) -> bool;
    }
}

forward! { Hooks
    reads {
        hook(owner: Uid, name: &str) -> Option<Hook>;
        hooks_of(owner: Uid) -> Vec<Hook>;
        hooks_in(shard: u16, after: Option<(Uid, String)>, limit: usize) -> Vec<ListedHook>;
        hook_progress(ids: &[HookId]) -> Vec<Option<HookProgress>>;
    }
    writes {
        replace_hook(before: Option<Version>, hook: &Hook) as (before, &hook) -> bool;
        put_hook_progress(progress: &HookProgress) as (&progress) -> ();
        delete_hook_progress(id: HookId) as (id) -> ();
    }
}

forward! { Leases
    reads {}
    writes {
        lease(name: &str, holder: &str, now: Millis, until: Millis) as (&name, &holder, now, until) -> bool;
        release(name: &str, holder: &str) as (&name, &holder) -> ();
    }
}

/// Written without the macro, because `pending` applies the task function.
#[async_trait]
impl Log for Faulty {
    async fn pending(&self, limit: usize) -> Result<Vec<Task>> {
        let tasks = self.read("pending", self.inner.pending(limit)).await?;
        Ok(self.dealt(tasks))
    }

    async fn floor(&self) -> Result<Position> {
        self.read("floor", self.inner.floor()).await
    }

    async fn dead_letters(&self, after: Option<u64>, limit: usize) -> Result<Vec<DeadLetter>> {
        self.read("dead_letters", self.inner.dead_letters(after, limit)).await
    }

    async fn append(&self, work: &Work) -> Result<Position> {
        let (inner, work) = (Arc::clone(&self.inner), work.clone());
        self.write("append", async move { inner.append(&work).await }).await
    }

    async fn acknowledge(&self, done: &[Position], next: &[TracedWork]) -> Result<()> {
        let (inner, done, next) = (Arc::clone(&self.inner), done.to_vec(), next.to_vec());
        self.write("acknowledge", async move { inner.acknowledge(&done, &next).await }).await
    }

    async fn requeue_due(&self, now: Millis) -> Result<()> {
        let inner = Arc::clone(&self.inner);
        self.write("requeue_due", async move { inner.requeue_due(now).await }).await
    }

    async fn sweep(&self, now: Millis) -> Result<usize> {
        let inner = Arc::clone(&self.inner);
        self.write("sweep", async move { inner.sweep(now).await }).await
    }

    async fn oldest(&self, now: Millis) -> Result<Position> {
        self.read("oldest", self.inner.oldest(now)).await
    }

    async fn resume_at(&self, after: Position, now: Millis) -> Result<Position> {
        self.read("resume_at", self.inner.resume_at(after, now)).await
    }

    async fn retry(&self, task: &Task, not_before: Millis) -> Result<()> {
        let (inner, task) = (Arc::clone(&self.inner), task.clone());
        self.write("retry", async move { inner.retry(&task, not_before).await }).await
    }

    async fn dead_letter(&self, task: &Task, error: &str, at: Millis) -> Result<()> {
        let (inner, task, error) = (Arc::clone(&self.inner), task.clone(), error.to_owned());
        self.write("dead_letter", async move { inner.dead_letter(&task, &error, at).await }).await
    }

    async fn replay(&self, number: u64) -> Result<bool> {
        let inner = Arc::clone(&self.inner);
        self.write("replay", async move { inner.replay(number).await }).await
    }
}
