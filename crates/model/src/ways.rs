//! By which way what an account does comes into the collections of those who follow it.
//!
//! Mostly it is pushed: written into each of them when it is accepted. What an account with very many followers does is
//! pulled instead: it lies once with what the account did, and is merged in when a follower reads. And nothing is pushed
//! to who has not read for long: they sleep, and get what they missed when they come back. Whichever way, belonging is the
//! same.

use crate::{Box, Boxes, Entry, Position, Uid, Version};

/// The most accounts that a collection is merged from; what others do is pushed into it, however many follow them.
pub const MOST_PULLED: usize = 200;

/// The way over one edge.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Way {
    /// Everything is pushed.
    Pushed,
    /// What is marked as pulled is.
    Pulled,
}

/// How what an account does is marked.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Audience {
    /// The version of this state; none has the first one.
    pub version: Version,
    /// As what.
    pub stage: Stage,
}

/// How far an account is on its way to being pulled, and back.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Stage {
    /// It was never pulled, and its followers are not prepared for it.
    #[default]
    Pushed,
    /// Its followers are being prepared. What it does is pushed.
    Preparing,
    /// What it does is marked as pulled. Its followers are prepared, and so is every new one.
    Pulled,
    /// What it does is pushed again. What it did while it was pulled still is.
    PushedAgain,
}

impl Stage {
    /// Whether followers must know by which way it comes to them.
    pub fn is_prepared(self) -> bool {
        self != Stage::Pushed
    }

    /// Where an account with so many followers goes from here, where it is pulled above a threshold and pushed again
    /// at half of it. From `Pushed` the way leads through `Preparing`.
    #[must_use]
    pub fn with_followers(self, followers: usize, above: usize) -> Stage {
        match self {
            Stage::Pushed if followers > above => Stage::Preparing,
            Stage::PushedAgain if followers > above => Stage::Pulled,
            Stage::Pulled if followers <= above / 2 => Stage::PushedAgain,
            same => same,
        }
    }
}

/// How an account's collections are read.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Reading {
    /// The version of the phase; none has the first one.
    pub version: Version,
    /// Whether it is awake.
    pub phase: Phase,
    /// The followed accounts that may have something marked as pulled, by number; each with the place in the log at which
    /// the edge was made: what was accepted before that came with the edge.
    pub pulled: Vec<(Uid, Position)>,
}

/// Whether things are pushed to an account.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Phase {
    /// They are.
    #[default]
    Awake,
    /// Nobody has read for long: they need not be. What was accepted up to `since` has been.
    Asleep {
        /// The floor before it fell asleep.
        since: Position,
    },
    /// Somebody read again: they are, and what was missed is on its way.
    Returning {
        /// The floor before it fell asleep.
        since: Position,
    },
}

/// Whether things are pushed over one edge.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sleep {
    /// They are not.
    Asleep,
    /// What is accepted after that place in the log is.
    Awake(Position),
}

impl Entry {
    /// What the followers of whoever did it find in their collections, made of the entry among what the account did.
    #[must_use]
    pub fn followed(self) -> Entry {
        Entry { boxes: Boxes::default().with(Box::Followed), ..self }
    }

    /// The entry of a collection, brought up to what the entry among what its actor did says, which is the first to be
    /// written: what was pushed may be of an earlier version.
    #[must_use]
    pub fn overlaid_with(self, own: Entry) -> Entry {
        if own.version < self.version {
            return self;
        }
        let kept = self.boxes.iter().filter(|one| !self.gone && *one != Box::Followed);
        let still = kept.chain((!own.gone).then_some(Box::Followed)).collect::<Boxes>();
        let gone = still == Boxes::default();
        let boxes = if gone { self.boxes } else { still };
        let arrived = if own.version == self.version { self.arrived } else { own.arrived };
        Entry { boxes, gone, arrived, ..own }
    }
}

#[cfg(test)]
mod tests {
    use super::Stage;

    #[test]
    fn an_account_changes_over_above_the_threshold_and_back_at_half_of_it() {
        for above in [0, 1, 2, 10] {
            for followers in 0..=2 * above + 2 {
                let is_above = followers > above;
                let pulled = |stage: Stage| stage.with_followers(followers, above);
                assert_eq!(pulled(Stage::Pushed) == Stage::Preparing, is_above);
                assert_eq!(pulled(Stage::PushedAgain) == Stage::Pulled, is_above);
                assert_eq!(pulled(Stage::Pulled) == Stage::PushedAgain, followers <= above / 2);
                assert_eq!(pulled(Stage::Preparing), Stage::Preparing);
            }
        }
    }
}
