//! The follow graph, its readers, and the expected pages.

use super::pareto::Pareto;
use std::collections::HashSet;

/// Of five accounts this many are ever read.
const READ_OF_FIVE: usize = 2;

/// Accounts by number, the most followed first.
pub(crate) struct Graph {
    pub(crate) followers: Vec<Vec<usize>>,
    pub(crate) followees: Vec<Vec<usize>>,
}

impl Graph {
    /// The same numbers give the same graph.
    pub(crate) fn new(accounts: usize, mean: f64, seed: u64) -> Graph {
        let pareto = Pareto::of(accounts as f64, mean);
        let mut chance = Chance(seed);
        let mut graph =
            Graph { followers: vec![Vec::new(); accounts], followees: vec![Vec::new(); accounts] };
        for number in 0..accounts {
            let part = 1.0 - (number as f64 + 0.5) / accounts as f64;
            let many = pareto.quantile(part).round() as usize;
            let mut taken = HashSet::from([number]);
            while taken.len() <= many {
                let follower = chance.below(accounts);
                if taken.insert(follower) {
                    graph.followers[number].push(follower);
                    graph.followees[follower].push(number);
                }
            }
        }
        graph
    }

    pub(crate) fn edges(&self) -> usize {
        self.followers.iter().map(Vec::len).sum()
    }

    /// Accounts with more than this many followers.
    pub(crate) fn followed_above(&self, above: usize) -> impl Iterator<Item = usize> + '_ {
        self.followers.iter().enumerate().filter(move |(_, all)| all.len() > above).map(|(number, _)| number)
    }

    /// The actors of a round: equally many from each part of the distribution, including the most followed, in random
    /// order.
    pub(crate) fn actors(&self, many: usize, seed: u64) -> Vec<usize> {
        let mut chance = Chance(seed);
        let mut actors: Vec<usize> = (0..many).map(|turn| turn * self.followers.len() / many).collect();
        for last in (1..actors.len()).rev() {
            actors.swap(last, chance.below(last + 1));
        }
        actors
    }

    /// The newest activities, given as indexes into `actors`, that belong to the account's collection.
    pub(crate) fn page(&self, account: usize, actors: &[usize], size: usize) -> Vec<usize> {
        let of: HashSet<usize> = self.followees[account].iter().copied().chain([account]).collect();
        (0..actors.len()).rev().filter(|step| of.contains(&actors[*step])).take(size).collect()
    }
}

/// Whether the account is ever read.
pub(crate) fn is_read(account: usize) -> bool {
    account % 5 < READ_OF_FIVE
}

/// Numbers that look random; the same seed gives the same ones (splitmix64).
struct Chance(u64);

impl Chance {
    fn below(&mut self, end: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((mixed ^ (mixed >> 31)) % end as u64) as usize
    }
}
