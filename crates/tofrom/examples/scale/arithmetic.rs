//! The cost of the rules for very many accounts, from assumptions and measured costs.

use super::costs::Costs;
use super::pareto::Pareto;
use model::MAX_PULLED;

/// The assumptions of `docs/scale.md`, and further ones that are listed there.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Assumptions {
    /// Per account.
    pub(crate) activities_a_day: f64,
    pub(crate) followers: f64,
    /// Peak load as a multiple of the mean.
    pub(crate) peak: f64,
    pub(crate) copies: f64,
    /// Copies that a read asks.
    pub(crate) quorum: f64,
    /// Days for which entries and bodies (`retention`), and arrivals, are stored.
    pub(crate) entries_kept: f64,
    pub(crate) arrivals_kept: f64,
    /// Bytes of a body, of a follower's two entries, and of an arrival: those of `docs/performance.md`.
    pub(crate) body: f64,
    pub(crate) entries: f64,
    pub(crate) arrival: f64,
    /// The share of accounts that are read daily, and the pages of each.
    pub(crate) daily: f64,
    pub(crate) pages_a_day: f64,
    /// The share that is read occasionally, and the days between two reads. The others are never read.
    pub(crate) occasional: f64,
    pub(crate) away: f64,
    /// Days before dormancy that a catch-up checks.
    pub(crate) checked_days: f64,
    /// Statements of a page without pulled actors.
    pub(crate) page: f64,
    /// Partitions that a page reads for each pulled actor: the list of buckets, and the newest bucket.
    pub(crate) partitions: f64,
    /// The capacity of a node: operations per second of ScyllaDB and of Cassandra, and bytes.
    pub(crate) scylla: f64,
    pub(crate) cassandra: f64,
    pub(crate) disk: f64,
    /// Seconds of a quorum write, and the concurrent writes of a worker.
    pub(crate) write: f64,
    pub(crate) concurrent_writes: f64,
}

pub(crate) const ASSUMPTIONS: Assumptions = Assumptions {
    activities_a_day: 2.0,
    followers: 100.0,
    peak: 3.0,
    copies: 3.0,
    quorum: 2.0,
    entries_kept: 30.0,
    arrivals_kept: 8.0,
    body: 900.0,
    entries: 36.0 + 40.0,
    arrival: 25.0,
    daily: 0.3,
    pages_a_day: 10.0,
    occasional: 0.1,
    away: 60.0,
    checked_days: 7.0,
    page: 27.0,
    partitions: 2.0,
    scylla: 32.0 * 4_000.0,
    cassandra: 32.0 * 4_000.0 / 3.0,
    disk: 5e12,
    write: 0.002,
    concurrent_writes: 256.0,
};

const DAY: f64 = 86_400.0;
/// Two entries and an arrival.
const ROWS: f64 = 3.0;
/// Accounts that one statement reads together.
const TOGETHER: f64 = 100.0;
/// The copies need at least this many nodes.
const FEWEST: f64 = 3.0;

/// Rules for a number of accounts.
#[derive(Clone, Copy)]
pub(crate) struct Case {
    pub(crate) accounts: f64,
    /// Infinite: no account is pulled.
    pub(crate) above: f64,
    /// Days without a read before an account becomes dormant; infinite: never.
    pub(crate) idle_after: f64,
}

/// The results.
pub(crate) struct Figures {
    /// Pushed rows per second, on average.
    pub(crate) rows: f64,
    /// Bytes of followed entries and arrivals, all copies.
    pub(crate) bytes: f64,
    /// The number of pulled accounts, and of pulled actors per reader.
    pub(crate) pulled_accounts: f64,
    pub(crate) pulled: f64,
    /// Additional statements and partitions of a page.
    pub(crate) more_statements: f64,
    pub(crate) more_partitions: f64,
    /// Rows of one activity of the most followed account in push mode.
    pub(crate) burst: f64,
    /// Seconds for which that takes the whole write capacity of the cluster.
    pub(crate) burst_seconds: f64,
    /// Seconds that one worker needs until the last follower has it.
    pub(crate) lag: f64,
    pub(crate) scylla: f64,
    pub(crate) cassandra: f64,
}

impl Case {
    pub(crate) fn figures(&self, costs: &Costs) -> Figures {
        let assumed = &ASSUMPTIONS;
        let pareto = Pareto::of(self.accounts, assumed.followers);
        let sleeps = self.idle_after.is_finite();
        let active = if sleeps { assumed.daily + assumed.occasional } else { 1.0 };
        let pulled_part = pareto.mean_above(self.above) / assumed.followers;
        let acts = self.accounts * assumed.activities_a_day / DAY;
        // Reactivated accounts catch up, so everything is written for them too, only later.
        let deliveries = acts * assumed.followers * (1.0 - pulled_part) * active;
        let rows = deliveries * ROWS;
        let kept = assumed.entries * assumed.entries_kept + assumed.arrival * assumed.arrivals_kept;
        let bytes = deliveries * DAY * kept * assumed.copies;
        let pulled = (assumed.followers * pulled_part).min(MAX_PULLED as f64);
        let more_statements = (pulled / TOGETHER).ceil() * costs.statements_of_pulling;
        let more_partitions = pulled * assumed.partitions;
        let pages = self.accounts * assumed.daily * assumed.pages_a_day / DAY;
        let reads = pages * (assumed.page + more_partitions) * assumed.quorum;
        let writes = (rows + acts * costs.statements_an_activity) * assumed.copies;
        let operations =
            assumed.peak * (writes + reads) + self.returns(1.0 - pulled_part, costs) * assumed.copies;
        let bodies = acts * DAY * assumed.entries_kept * assumed.body * assumed.copies;
        let by_disk = (bytes + bodies) / assumed.disk;
        let nodes = |each: f64| by_disk.max(operations / each).ceil().max(FEWEST);
        let burst = ROWS * self.above.min(pareto.most) * active;
        Figures {
            rows,
            bytes,
            pulled_accounts: pareto.part_above(self.above) * self.accounts,
            pulled,
            more_statements,
            more_partitions,
            burst,
            burst_seconds: burst * assumed.copies / (nodes(assumed.scylla) * assumed.scylla),
            lag: burst / assumed.concurrent_writes * assumed.write,
            scylla: nodes(assumed.scylla),
            cassandra: nodes(assumed.cassandra),
        }
    }

    /// Statements per second of catching up, besides the pushed rows.
    fn returns(&self, pushed: f64, costs: &Costs) -> f64 {
        let assumed = &ASSUMPTIONS;
        let dormant = assumed.away - self.idle_after;
        if dormant <= 0.0 {
            return 0.0;
        }
        // On average an account follows as many as follow it.
        let checked =
            (dormant + assumed.checked_days) * assumed.activities_a_day * assumed.followers * pushed;
        let statements = checked + assumed.followers * costs.statements_a_followee;
        self.accounts * assumed.occasional / assumed.away / DAY * statements
    }
}
