//! The number of followers of an account: most have few, and a few have very many.

/// The weight of the tail: the smaller, the more of all edges lead to few accounts.
const SHAPE: f64 = 1.25;
/// The most followed account has this share of all accounts as followers.
const MAX_FOLLOWED: f64 = 0.1;

/// A bounded Pareto distribution of followers.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Pareto {
    least: f64,
    pub(crate) most: f64,
}

impl Pareto {
    /// The distribution for this many accounts with this mean number of followers.
    pub(crate) fn of(accounts: f64, mean: f64) -> Pareto {
        let most = accounts * MAX_FOLLOWED;
        let (mut low, mut high) = (0.0, mean);
        // The mean grows with the minimum; fifty bisections find it.
        for _ in 0..50 {
            let least = f64::midpoint(low, high);
            if (Pareto { least, most }).mean() < mean {
                low = least;
            } else {
                high = least;
            }
        }
        Pareto { least: high, most }
    }

    /// The share of the unbounded distribution that lies below `most`.
    fn inside(&self) -> f64 {
        1.0 - (self.least / self.most).powf(SHAPE)
    }

    /// The number of followers below which this share of the accounts lies.
    pub(crate) fn quantile(&self, part: f64) -> f64 {
        self.least * (1.0 - part * self.inside()).powf(-1.0 / SHAPE)
    }

    pub(crate) fn mean(&self) -> f64 {
        self.mean_above(0.0)
    }

    /// The contribution to the mean of accounts with more than this many followers.
    pub(crate) fn mean_above(&self, followers: f64) -> f64 {
        let from = followers.clamp(self.least, self.most);
        let tail = from.powf(1.0 - SHAPE) - self.most.powf(1.0 - SHAPE);
        SHAPE / (SHAPE - 1.0) * self.least.powf(SHAPE) * tail / self.inside()
    }

    /// The share of the accounts with more than this many followers.
    pub(crate) fn part_above(&self, followers: f64) -> f64 {
        let from = followers.clamp(self.least, self.most);
        ((self.least / from).powf(SHAPE) - (self.least / self.most).powf(SHAPE)) / self.inside()
    }
}
