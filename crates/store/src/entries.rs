//! Merging of entries, the same on all engines.

use model::{Entry, Visibility};

/// Merges two entries of one activity in one collection that have different reasons.
///
/// The result is retracted only if both entries are. It has the reasons of the entries that are not retracted: an
/// activity that no longer addresses its reader may still be followed. Of those entries the wider visibility counts,
/// because the state is checked before the activity is shown. The wider prior visibility counts too. The result is
/// pulled if either entry is; only an authored entry can be. Everything else comes from the later entry. The order of
/// the arguments does not matter.
pub(crate) fn merge_entries(a: Entry, b: Entry) -> Entry {
    let (reasons, retracted, visibility) = match (a.retracted, b.retracted) {
        (false, true) => (a.reasons, false, a.visibility),
        (true, false) => (b.reasons, false, b.visibility),
        (retracted, _) => (a.reasons.union(b.reasons), retracted, a.visibility.min(b.visibility)),
    };
    let prior = Visibility::wider(a.prior, b.prior);
    let pulled = a.pulled || b.pulled;
    let latest = if (b.version, b.arrived) > (a.version, a.arrived) { b } else { a };
    Entry { reasons, retracted, visibility, prior, pulled, ..latest }
}
