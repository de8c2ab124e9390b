//! Sources that publish, and a service that looks at them by its plan and through its gate, in a time of their own.

use fetcher::plan::{Hints, Pace};
use fetcher::{Budget, Hosts, Later, Turn};
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::time::Duration;

const SECOND: i64 = 1_000;
const MINUTE: i64 = 60 * SECOND;
const HOUR: i64 = 60 * MINUTE;
const DAY: i64 = 24 * HOUR;

/// When the service begins. Whatever was published before is the sources' history.
const BEGIN: i64 = 365 * DAY;
/// How long before that the oldest item is.
const HISTORY: i64 = 180 * DAY;
/// How many items a feed shows.
const SHOWN: usize = 20;
/// Within which time the first looks are spread.
const START_UP: i64 = 15 * MINUTE;
/// What is to be found within that time is found in time.
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

/// An item that was found.
#[derive(Clone, Copy)]
pub(crate) struct Discovery {
    pub(crate) group: Group,
    /// Since the service began.
    pub(crate) published: i64,
    pub(crate) delay: i64,
    /// The source's times are usable.
    pub(crate) dated: bool,
    /// The source asks to be left alone for longer than 15 minutes.
    pub(crate) restrained: bool,
}

/// What came of it.
pub(crate) struct Outcome {
    pub(crate) days: i64,
    pub(crate) sources: usize,
    /// By hour and group.
    pub(crate) requests: Vec<[u64; 3]>,
    pub(crate) found: Vec<Discovery>,
    /// The largest number of connections to one host at once.
    pub(crate) most_at_once: usize,
    pub(crate) put_off: u64,
}

impl Outcome {
    pub(crate) fn requests_of(&self, group: Group) -> u64 {
        self.requests.iter().filter_map(|hour| hour.get(group as usize)).sum()
    }

    pub(crate) fn all_requests(&self) -> u64 {
        self.requests.iter().flatten().sum()
    }

    /// What a look at every source every 15 minutes would cost.
    pub(crate) fn fixed(&self) -> u64 {
        self.sources as u64 * (self.days * DAY / (15 * MINUTE)) as u64
    }
}

/// The share of items that were found in time.
pub(crate) fn in_time(found: &[Discovery]) -> f64 {
    let in_time = found.iter().filter(|item| item.delay <= IN_TIME).count();
    in_time as f64 / found.len().max(1) as f64
}

/// Chance that can be repeated: splitmix64.
pub(crate) struct Chance(u64);

impl Chance {
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
    /// When it publishes, in order.
    items: Vec<i64>,
    /// How many of them the service knows.
    known: usize,
    pace: Option<Pace>,
}

impl Source {
    fn new(number: usize, sources: usize, end: i64, chance: &mut Chance) -> Source {
        let group = match number * 10 / sources {
            0 => Group::Active,
            1..=3 => Group::Weekly,
            _ => Group::Dormant,
        };
        let a_day = match group {
            Group::Active => chance.between(3.0, 10.0),
            Group::Weekly => chance.between(2.0, 6.0) / 7.0,
            Group::Dormant => chance.between(0.0, 1.0) / 60.0,
        };
        // A fifth is at five hosts, the rest at many that have a few each.
        let host = if chance.happens(0.2) { number % 5 } else { 5 + chance.next() as usize % sources };
        let max_age = match chance.fraction() {
            ..0.2 => Some(Duration::from_secs(300)),
            ..0.3 => Some(Duration::from_secs(900)),
            ..0.35 => Some(Duration::from_secs(3_600)),
            _ => None,
        };
        let items = items(a_day, end, chance);
        Source { group, host, dated: chance.happens(0.5), max_age, items, known: 0, pace: None }
    }

    /// Looks at the feed as it is at a time, and plans the next look.
    fn look(&mut self, at: i64, chance: &mut Chance, found: &mut Vec<Discovery>) -> i64 {
        let published = self.items.partition_point(|item| *item <= at);
        let new = self.items.get(self.known..published).unwrap_or_default();
        let times: &[i64] = if self.dated { new } else { &[] };
        let mut pace = match self.pace {
            None => Pace::first(times.get(times.len().saturating_sub(SHOWN)..).unwrap_or_default(), at),
            Some(mut pace) => {
                if new.is_empty() {
                    pace.nothing(at);
                } else {
                    pace.found(times, at);
                }
                pace
            }
        };
        let restrained = self.max_age.is_some_and(|age| age.as_millis() as i64 > IN_TIME);
        for item in new.iter().filter(|item| **item >= BEGIN) {
            let (group, dated, published) = (self.group, self.dated, item - BEGIN);
            found.push(Discovery { group, published, delay: at - item, dated, restrained });
        }
        self.known = published;
        // It is kept as the service keeps it.
        pace = <(i64, i64, f32, f32)>::from(pace).into();
        self.pace = Some(pace);
        pace.next(at, Hints { fresh_for: self.max_age, ..Hints::default() }, chance.fraction())
    }
}

/// Items by chance, most of them by day: from 7 to 23 o'clock where the source is at home.
fn items(a_day: f64, end: i64, chance: &mut Chance) -> Vec<i64> {
    const BY_NIGHT: f64 = 0.1;
    let home = (chance.fraction() * DAY as f64) as i64;
    let by_day = a_day / (16.0 + 8.0 * BY_NIGHT) * 24.0;
    let mut items = Vec::new();
    let mut at = BEGIN - HISTORY;
    loop {
        at += (-(1.0 - chance.fraction()).ln() / by_day * DAY as f64) as i64 + 1;
        if at >= end {
            return items;
        }
        let hour = (at + home) % DAY / HOUR;
        if (7..23).contains(&hour) || chance.happens(BY_NIGHT) {
            items.push(at);
        }
    }
}

/// What happens next: a look is due, or its answer has come.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
enum Event {
    Due,
    Done,
}

/// Runs the service for some days. It must run where the clock of tokio is paused: the gate waits by that.
pub(crate) async fn run(sources: usize, days: i64, seed: u64) -> Outcome {
    let mut chance = Chance(seed);
    let end = BEGIN + days * DAY;
    let mut all: Vec<Source> =
        (0..sources).map(|number| Source::new(number, sources, end, &mut chance)).collect();
    let hosts = Hosts::new(Budget { burst: 10, every: Duration::from_secs(1) });
    let mut turns: Vec<Option<Turn>> = all.iter().map(|_| None).collect();
    let mut open = vec![0_usize; sources + 5];
    let mut requests = vec![[0; 3]; (days * 24) as usize];
    let (mut found, mut most_at_once, mut put_off) = (Vec::new(), 0, 0);
    let mut queue: BinaryHeap<Reverse<(i64, usize, Event)>> = (0..sources)
        .map(|number| Reverse((BEGIN + (chance.fraction() * START_UP as f64) as i64, number, Event::Due)))
        .collect();
    let mut now = BEGIN;
    while let Some(Reverse((at, number, event))) = queue.pop() {
        if at >= end {
            break;
        }
        tokio::time::advance(Duration::from_millis((at - now) as u64)).await;
        now = at;
        let (Some(source), Some(turn)) = (all.get_mut(number), turns.get_mut(number)) else { continue };
        let Some(open) = open.get_mut(source.host) else { continue };
        match event {
            Event::Due => match hosts.try_enter(&source.host.to_string()) {
                Err(Later(wait)) => {
                    put_off += 1;
                    // A little apart, so that those who are put off together do not meet again.
                    let wait = wait.as_millis() as i64 + (chance.fraction() * 5.0 * SECOND as f64) as i64;
                    queue.push(Reverse((at + wait.max(1), number, Event::Due)));
                }
                Ok(entered) => {
                    *turn = Some(entered);
                    *open += 1;
                    most_at_once = most_at_once.max(*open);
                    let hour = requests.get_mut(((at - BEGIN) / HOUR) as usize);
                    if let Some(count) = hour.and_then(|hour| hour.get_mut(source.group as usize)) {
                        *count += 1;
                    }
                    let takes = chance.between(0.1, 1.5) * SECOND as f64;
                    queue.push(Reverse((at + takes as i64, number, Event::Done)));
                }
            },
            Event::Done => {
                *turn = None;
                *open -= 1;
                let next = source.look(at, &mut chance, &mut found);
                queue.push(Reverse((next, number, Event::Due)));
            }
        }
    }
    // What was published and not found by the end was at least so late.
    for source in &all {
        let restrained = source.max_age.is_some_and(|age| age.as_millis() as i64 > IN_TIME);
        for item in source.items.iter().skip(source.known).filter(|item| end - **item > IN_TIME) {
            let (group, dated, published) = (source.group, source.dated, item - BEGIN);
            found.push(Discovery { group, published, delay: end - item, dated, restrained });
        }
    }
    Outcome { days, sources, requests, found, most_at_once, put_off }
}
