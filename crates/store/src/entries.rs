//! What all engines do with entries in the same way.

use model::{Entry, Visibility};

/// One entry of two that tell of the same activity in the same collection, each for reasons of its own.
///
/// It is retracted only if both are, and is in the reasons of those that are not: an activity that does not address
/// its reader any more may still be followed. Of those that count the wider visibility does: whoever shows it
/// looks at the state. Who could see what was here before could by either, and it is pulled by either: only one among
/// what an account did says so. The rest is taken from the later one. The order of joining does not matter.
pub(crate) fn joined(one: Entry, other: Entry) -> Entry {
    let (reasons, retracted, visibility) = match (one.retracted, other.retracted) {
        (false, true) => (one.reasons, false, one.visibility),
        (true, false) => (other.reasons, false, other.visibility),
        (retracted, _) => (one.reasons.union(other.reasons), retracted, one.visibility.min(other.visibility)),
    };
    let prior = Visibility::wider(one.prior, other.prior);
    let pulled = one.pulled || other.pulled;
    let latest = if (other.version, other.arrived) > (one.version, one.arrived) { other } else { one };
    Entry { reasons, retracted, visibility, prior, pulled, ..latest }
}
