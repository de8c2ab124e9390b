//! Fan-out modes: how the activities of an actor reach the collections of its followers.
//!
//! Usually they are pushed: written into every collection when they are accepted. The activities of an actor with
//! very many followers are pulled instead: followers merge the actor's own entries when they read. Fan-out skips
//! dormant accounts, which have not been read for long; they catch up after the next read. Belonging does not depend
//! on the mode.

use crate::{Entry, EntryReason, EntryReasons, Position, Uid, Version};

/// The maximum number of pulled actors of an account. Further actors are pushed, regardless of their followers.
pub const MAX_PULLED: usize = 200;

/// The fan-out mode of an edge.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FanoutMode {
    /// All activities are pushed.
    Push,
    /// Activities marked as pulled are merged at read time; others are pushed.
    Pull,
}

/// The fan-out state of an actor.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FanoutState {
    /// The version of this state; the default for an actor without one.
    pub version: Version,
    /// The stage.
    pub stage: FanoutStage,
}

/// The stage of an actor between push and pull.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum FanoutStage {
    /// Never pulled. Its edges have no fan-out modes.
    #[default]
    Push,
    /// Fan-out modes are being assigned to its edges. New activities are pushed.
    Preparing,
    /// New activities are marked as pulled. All edges have modes, and every new one gets one.
    Pull,
    /// New activities are pushed again. Those marked as pulled stay pulled.
    Reverted,
}

impl FanoutStage {
    /// Whether edges to this actor need a fan-out mode.
    pub fn is_prepared(self) -> bool {
        self != FanoutStage::Push
    }

    /// The next stage for this number of followers. An actor is pulled above the threshold and pushed again at half
    /// of it. `Push` leads to `Pull` by way of `Preparing`.
    #[must_use]
    pub fn with_followers(self, followers: usize, threshold: usize) -> FanoutStage {
        match self {
            FanoutStage::Push if followers > threshold => FanoutStage::Preparing,
            FanoutStage::Reverted if followers > threshold => FanoutStage::Pull,
            FanoutStage::Pull if followers <= threshold / 2 => FanoutStage::Reverted,
            same => same,
        }
    }
}

/// How activities reach an account's collections.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DeliveryState {
    /// The version of `dormancy`; the default for an account without one.
    pub version: Version,
    /// Whether fan-out skips the account.
    pub dormancy: Dormancy,
    /// The pulled actors, by number, each with the position at which the edge was created. Backfill has delivered
    /// activities accepted before it.
    pub pulled: Vec<(Uid, Position)>,
}

/// Whether fan-out skips an account.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Dormancy {
    /// Fan-out serves the account.
    #[default]
    Active,
    /// Not read for long: fan-out skips the account. Activities accepted up to `since` were delivered.
    Dormant {
        /// The floor when it became dormant.
        since: Position,
    },
    /// Read again: fan-out serves the account, and missed activities are being delivered.
    CatchingUp {
        /// The floor when it became dormant.
        since: Position,
    },
}

/// Whether fan-out skips one edge.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EdgeDormancy {
    /// It is skipped.
    Dormant,
    /// Activities accepted after this position are pushed.
    ActiveAfter(Position),
}

impl Entry {
    /// The followed entry made from an authored entry.
    #[must_use]
    pub fn followed(self) -> Entry {
        Entry { reasons: EntryReasons::default().with(EntryReason::Followed), ..self }
    }

    /// A follower's entry, updated by the actor's authored entry of the same activity. The authored entry is written
    /// first, so a pushed entry may have an earlier version.
    #[must_use]
    pub fn overlaid_with(self, own: Entry) -> Entry {
        if own.version < self.version {
            return self;
        }
        let other_reasons =
            self.reasons.iter().filter(|reason| !self.retracted && *reason != EntryReason::Followed);
        let remaining =
            other_reasons.chain((!own.retracted).then_some(EntryReason::Followed)).collect::<EntryReasons>();
        let retracted = remaining == EntryReasons::default();
        let reasons = if retracted { self.reasons } else { remaining };
        let arrived = if own.version == self.version { self.arrived } else { own.arrived };
        Entry { reasons, retracted, arrived, ..own }
    }
}

#[cfg(test)]
mod tests {
    use super::FanoutStage;

    #[test]
    fn an_actor_is_pulled_above_the_threshold_and_pushed_at_half_of_it() {
        for above in [0, 1, 2, 10] {
            for followers in 0..=2 * above + 2 {
                let is_above = followers > above;
                let next = |stage: FanoutStage| stage.with_followers(followers, above);
                assert_eq!(next(FanoutStage::Push) == FanoutStage::Preparing, is_above);
                assert_eq!(next(FanoutStage::Reverted) == FanoutStage::Pull, is_above);
                assert_eq!(next(FanoutStage::Pull) == FanoutStage::Reverted, followers <= above / 2);
                assert_eq!(next(FanoutStage::Preparing), FanoutStage::Preparing);
            }
        }
    }
}
