//! By which way what an account does comes into the collections of those who follow it.
//!
//! Mostly it is pushed: written into each of them when it is accepted. What an account with very many followers does is
//! pulled instead: it lies once with what the account did, and is merged in when a follower reads. And nothing is pushed
//! to who has not read for long: they dormancy, and get what they missed when they come back. Whichever way, belonging is the
//! same.

use crate::{Entry, EntryReason, EntryReasons, Position, Uid, Version};

/// The most accounts that a collection is merged from; what others do is pushed into it, however many follow them.
pub const MAX_PULLED: usize = 200;

/// The way over one edge.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FanoutMode {
    /// Everything is pushed.
    Push,
    /// What is marked as pulled is.
    Pull,
}

/// How what an account does is marked.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FanoutState {
    /// The version of this state; none has the first one.
    pub version: Version,
    /// As what.
    pub stage: FanoutStage,
}

/// How far an account is on its way to being pulled, and back.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum FanoutStage {
    /// It was never pulled, and its followers are not prepared for it.
    #[default]
    Push,
    /// Its followers are being prepared. What it does is pushed.
    Preparing,
    /// What it does is marked as pulled. Its followers are prepared, and so is every new one.
    Pull,
    /// What it does is pushed again. What it did while it was pulled still is.
    Reverted,
}

impl FanoutStage {
    /// Whether followers must know by which way it comes to them.
    pub fn is_prepared(self) -> bool {
        self != FanoutStage::Push
    }

    /// Where an account with so many followers goes from here, where it is pulled above a threshold and pushed again
    /// at half of it. From `Pushed` the way leads through `Preparing`.
    #[must_use]
    pub fn with_followers(self, followers: usize, above: usize) -> FanoutStage {
        match self {
            FanoutStage::Push if followers > above => FanoutStage::Preparing,
            FanoutStage::Reverted if followers > above => FanoutStage::Pull,
            FanoutStage::Pull if followers <= above / 2 => FanoutStage::Reverted,
            same => same,
        }
    }
}

/// How an account's collections are read.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DeliveryState {
    /// The version of the dormancy; none has the first one.
    pub version: Version,
    /// Whether it is awake.
    pub dormancy: Dormancy,
    /// The followed accounts that may have something marked as pulled, by number; each with the place in the log at which
    /// the edge was made: what was accepted before that came with the edge.
    pub pulled: Vec<(Uid, Position)>,
}

/// Whether things are pushed to an account.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Dormancy {
    /// They are.
    #[default]
    Active,
    /// Nobody has read for long: they need not be. What was accepted up to `since` has been.
    Dormant {
        /// The floor before it fell asleep.
        since: Position,
    },
    /// Somebody read again: they are, and what was missed is on its way.
    CatchingUp {
        /// The floor before it fell asleep.
        since: Position,
    },
}

/// Whether things are pushed over one edge.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EdgeDormancy {
    /// They are not.
    Dormant,
    /// What is accepted after that place in the log is.
    ActiveAfter(Position),
}

impl Entry {
    /// What the followers of whoever did it find in their collections, made of the entry among what the account did.
    #[must_use]
    pub fn followed(self) -> Entry {
        Entry { reasons: EntryReasons::default().with(EntryReason::Followed), ..self }
    }

    /// The entry of a collection, brought up to what the entry among what its actor did says, which is the first to be
    /// written: what was pushed may be of an earlier version.
    #[must_use]
    pub fn overlaid_with(self, own: Entry) -> Entry {
        if own.version < self.version {
            return self;
        }
        let kept = self.reasons.iter().filter(|one| !self.retracted && *one != EntryReason::Followed);
        let still = kept.chain((!own.retracted).then_some(EntryReason::Followed)).collect::<EntryReasons>();
        let retracted = still == EntryReasons::default();
        let reasons = if retracted { self.reasons } else { still };
        let arrived = if own.version == self.version { self.arrived } else { own.arrived };
        Entry { reasons, retracted, arrived, ..own }
    }
}

#[cfg(test)]
mod tests {
    use super::FanoutStage;

    #[test]
    fn an_account_changes_over_above_the_threshold_and_back_at_half_of_it() {
        for above in [0, 1, 2, 10] {
            for followers in 0..=2 * above + 2 {
                let is_above = followers > above;
                let pulled = |stage: FanoutStage| stage.with_followers(followers, above);
                assert_eq!(pulled(FanoutStage::Push) == FanoutStage::Preparing, is_above);
                assert_eq!(pulled(FanoutStage::Reverted) == FanoutStage::Pull, is_above);
                assert_eq!(pulled(FanoutStage::Pull) == FanoutStage::Reverted, followers <= above / 2);
                assert_eq!(pulled(FanoutStage::Preparing), FanoutStage::Preparing);
            }
        }
    }
}
