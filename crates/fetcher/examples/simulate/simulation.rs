//! Sources that publish, and a service that polls them by its plan and within the host limits, in simulated
//! time.

use fetcher::plan::{Hints, Pace};
use fetcher::{HostBudget, HostLimiter, HostPermit, RetryLater};
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::time::Duration;

const SECOND: i64 = 1_000;
const MINUTE: i64 = 60 * SECOND;
const HOUR: i64 = 60 * MINUTE;
const DAY: i64 = 24 * HOUR;

/// The time at which the service starts. Items published earlier are the sources' history.
const BEGIN: i64 = 365 * DAY;
/// The age of the oldest item at the start.
const HISTORY: i64 = 180 * DAY;
/// The number of items in a feed.
const SHOWN: usize = 20;
/// The first polls are spread over this time.
const START_UP: i64 = 15 * MINUTE;
/// An item that is discovered within this time is in time.
pub(crate) const IN_TIME: i64 = 15 * MINUTE;

/// How often a source publishes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Group {
    /// 3 to 10 times a day.
    Active,
    /// 2 to 6 times a week.
    Weekly,
    /// 0 to 1 times in two months.
    Dormant,
}

impl Group {
    pub(crate) const ALL: [Group; 3] = [Group::Active, Group::Weekly, Group::Dormant];

    pub(crate) fn name(self) -> &'static str {
        match self {
            Group::Active => "active",
            Group::Weekly => "weekly",
            Group::Dormant => "dormant",
        }
    }
}

/// An item that was discovered.
#[derive(Clone, Copy)]
pub(crate) struct Discovery {
    pub(crate) group: Group,
    /// Since the start of the service.
    pub(crate) published: i64,
    pub(crate) delay: i64,
    /// Whether the source has usable times.
    pub(crate) dated: bool,
    /// Whether the source asks for a polling interval above 15 minutes.
    pub(crate) restrained: bool,
}

/// The result of a simulation.
pub(crate) struct Outcome {
    pub(crate) days: i64,
    pub(crate) sources: usize,
    /// By hour and group.
    pub(crate) requests: Vec<[u64; 3]>,
    pub(crate) discovered: Vec<Discovery>,
    /// The maximum number of concurrent connections to one host.
    pub(crate) max_concurrent: usize,
    pub(crate) postponed: u64,
}

impl Outcome {
    pub(crate) fn requests_of(&self, group: Group) -> u64 {
        self.requests.iter().filter_map(|hour| hour.get(group as usize)).sum()
    }

    pub(crate) fn all_requests(&self) -> u64 {
        self.requests.iter().flatten().sum()
    }

    /// The number of requests if every source was polled every 15 minutes.
    pub(crate) fn fixed(&self) -> u64 {
        self.sources as u64 * (self.days * DAY / (15 * MINUTE)) as u64
    }
}

/// The share of items that were discovered in time.
pub(crate) fn in_time(discovered: &[Discovery]) -> f64 {
    let in_time = discovered.iter().filter(|item| item.delay <= IN_TIME).count();
    in_time as f64 / discovered.len().max(1) as f64
}

/// A reproducible random generator: splitmix64.
pub(crate) struct SeededRandom(u64);

impl SeededRandom {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    fn fraction(&mut self) -> f64 {
        (self.next() >> 11) as f64 / (1_u64 << 53) as f64
    }

    fn between(&mut self, low: f64, high: f64) -> f64 {
        low + (high - low) * self.fraction()
    }

    fn happens(&mut self, probability: f64) -> bool {
        self.fraction() < probability
    }
}

struct Source {
    group: Group,
    host: usize,
    dated: bool,
    max_age: Option<Duration>,
    /// The times at which it publishes, in order.
    items: Vec<i64>,
    /// The number of items that the service has discovered.
    known: usize,
    pace: Option<Pace>,
}

impl Source {
    fn new(number: usize, sources: usize, end: i64, random: &mut SeededRandom) -> Source {
        let group = match number * 10 / sources {
            0 => Group::Active,
            1..=3 => Group::Weekly,
            _ => Group::Dormant,
        };
        let a_day = match group {
            Group::Active => random.between(3.0, 10.0),
            Group::Weekly => random.between(2.0, 6.0) / 7.0,
            Group::Dormant => random.between(0.0, 1.0) / 60.0,
        };
        // A fifth of the sources is on five hosts; the rest is spread over many hosts with a few each.
        let host = if random.happens(0.2) { number % 5 } else { 5 + random.next() as usize % sources };
        let max_age = match random.fraction() {
            ..0.2 => Some(Duration::from_secs(300)),
            ..0.3 => Some(Duration::from_secs(900)),
            ..0.35 => Some(Duration::from_secs(3_600)),
            _ => None,
        };
        let items = items(a_day, end, random);
        Source { group, host, dated: random.happens(0.5), max_age, items, known: 0, pace: None }
    }

    /// Polls the feed at this time and returns the time of the next poll.
    fn poll(&mut self, at: i64, random: &mut SeededRandom, discovered: &mut Vec<Discovery>) -> i64 {
        let published = self.items.partition_point(|item| *item <= at);
        let new = self.items.get(self.known..published).unwrap_or_default();
        let times: &[i64] = if self.dated { new } else { &[] };
        let mut pace = match self.pace {
            None => Pace::first(times.get(times.len().saturating_sub(SHOWN)..).unwrap_or_default(), at),
            Some(mut pace) => {
                if new.is_empty() {
                    pace.record_unchanged(at);
                } else {
                    pace.record_items(times, at);
                }
                pace
            }
        };
        let restrained = self.max_age.is_some_and(|age| age.as_millis() as i64 > IN_TIME);
        for item in new.iter().filter(|item| **item >= BEGIN) {
            let (group, dated, published) = (self.group, self.dated, item - BEGIN);
            discovered.push(Discovery { group, published, delay: at - item, dated, restrained });
        }
        self.known = published;
        // Round-trip through the stored form.
        pace = <(i64, i64, f32, f32)>::from(pace).into();
        self.pace = Some(pace);
        pace.next_poll(at, Hints { fresh_for: self.max_age, ..Hints::default() }, random.fraction())
    }
}

/// Random items, most of them by day: from 7:00 to 23:00 in the source's time zone.
fn items(a_day: f64, end: i64, random: &mut SeededRandom) -> Vec<i64> {
    const BY_NIGHT: f64 = 0.1;
    let home = (random.fraction() * DAY as f64) as i64;
    let by_day = a_day / (16.0 + 8.0 * BY_NIGHT) * 24.0;
    let mut items = Vec::new();
    let mut at = BEGIN - HISTORY;
    loop {
        at += (-(1.0 - random.fraction()).ln() / by_day * DAY as f64) as i64 + 1;
        if at >= end {
            return items;
        }
        let hour = (at + home) % DAY / HOUR;
        if (7..23).contains(&hour) || random.happens(BY_NIGHT) {
            items.push(at);
        }
    }
}

/// A poll is due, or its response has arrived.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
enum Event {
    Due,
    Done,
}

/// Runs the service for some days. Requires tokio's paused clock, which the host limiter uses.
pub(crate) async fn run(sources: usize, days: i64, seed: u64) -> Outcome {
    let mut random = SeededRandom(seed);
    let end = BEGIN + days * DAY;
    let mut all: Vec<Source> =
        (0..sources).map(|number| Source::new(number, sources, end, &mut random)).collect();
    let hosts = HostLimiter::new(HostBudget { burst: 10, every: Duration::from_secs(1) });
    let mut permits: Vec<Option<HostPermit>> = all.iter().map(|_| None).collect();
    let mut open = vec![0_usize; sources + 5];
    let mut requests = vec![[0; 3]; (days * 24) as usize];
    let (mut discovered, mut max_concurrent, mut postponed) = (Vec::new(), 0, 0);
    let mut queue: BinaryHeap<Reverse<(i64, usize, Event)>> = (0..sources)
        .map(|number| Reverse((BEGIN + (random.fraction() * START_UP as f64) as i64, number, Event::Due)))
        .collect();
    let mut now = BEGIN;
    while let Some(Reverse((at, number, event))) = queue.pop() {
        if at >= end {
            break;
        }
        tokio::time::advance(Duration::from_millis((at - now) as u64)).await;
        now = at;
        let (Some(source), Some(permit)) = (all.get_mut(number), permits.get_mut(number)) else { continue };
        let Some(open) = open.get_mut(source.host) else { continue };
        match event {
            Event::Due => match hosts.try_enter(&source.host.to_string()) {
                Err(RetryLater(wait)) => {
                    postponed += 1;
                    // Jitter, so that sources that were postponed together do not collide again.
                    let wait = wait.as_millis() as i64 + (random.fraction() * 5.0 * SECOND as f64) as i64;
                    queue.push(Reverse((at + wait.max(1), number, Event::Due)));
                }
                Ok(entered) => {
                    *permit = Some(entered);
                    *open += 1;
                    max_concurrent = max_concurrent.max(*open);
                    let hour = requests.get_mut(((at - BEGIN) / HOUR) as usize);
                    if let Some(count) = hour.and_then(|hour| hour.get_mut(source.group as usize)) {
                        *count += 1;
                    }
                    let takes = random.between(0.1, 1.5) * SECOND as f64;
                    queue.push(Reverse((at + takes as i64, number, Event::Done)));
                }
            },
            Event::Done => {
                *permit = None;
                *open -= 1;
                let next = source.poll(at, &mut random, &mut discovered);
                queue.push(Reverse((next, number, Event::Due)));
            }
        }
    }
    // Items that were never discovered count with their delay at the end.
    for source in &all {
        let restrained = source.max_age.is_some_and(|age| age.as_millis() as i64 > IN_TIME);
        for item in source.items.iter().skip(source.known).filter(|item| end - **item > IN_TIME) {
            let (group, dated, published) = (source.group, source.dated, item - BEGIN);
            discovered.push(Discovery { group, published, delay: end - item, dated, restrained });
        }
    }
    Outcome { days, sources, requests, discovered, max_concurrent, postponed }
}
