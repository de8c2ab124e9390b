//! Cells of fan-out modes and dormancy. The timestamp of a cell is a version. Of two writes with the same version the
//! engine keeps the larger bytes, so a cell is a sequence of ordered bytes that begins with the value that decides
//! then.

use crate::Result;
use crate::codec::take;
use crate::cql::db::corrupt;
use model::{Dormancy, EdgeDormancy, FanoutStage, FanoutState, Position, Version};

fn number(cell: &mut &[u8]) -> Result<u64> {
    take(cell).map(u64::from_be_bytes)
}

fn version(cell: &mut &[u8]) -> Result<Version> {
    take(cell).map(i64::from_be_bytes).map(Version)
}

/// An edge. The later position wins.
pub(in crate::cql) fn edge(since: Position, following: bool) -> Vec<u8> {
    [since.0.to_be_bytes().as_slice(), &[u8::from(following)]].concat()
}

/// The position at which the edge was created; `None` if it has ended.
pub(in crate::cql) fn edge_of(mut cell: &[u8]) -> Result<Option<Position>> {
    let since = Position(number(&mut cell)?);
    let [following] = take(&mut cell)?;
    Ok((following != 0).then_some(since))
}

pub(in crate::cql) fn fanout_state(FanoutState { version, stage }: &FanoutState) -> Vec<u8> {
    let stage = match stage {
        FanoutStage::Push => 0,
        FanoutStage::Preparing => 1,
        FanoutStage::Pull => 2,
        FanoutStage::Reverted => 3,
    };
    [[stage].as_slice(), &version.0.to_be_bytes()].concat()
}

pub(in crate::cql) fn fanout_state_of(mut cell: &[u8]) -> Result<FanoutState> {
    let stage = match take(&mut cell)? {
        [0] => FanoutStage::Push,
        [1] => FanoutStage::Preparing,
        [2] => FanoutStage::Pull,
        [3] => FanoutStage::Reverted,
        _ => return Err(corrupt("invalid fan-out stage")),
    };
    Ok(FanoutState { version: version(&mut cell)?, stage })
}

/// A dormancy. The earlier position wins, so its bits are inverted.
pub(in crate::cql) fn dormancy(version: Version, dormancy: Dormancy) -> Vec<u8> {
    let (kind, since) = match dormancy {
        Dormancy::Active => (0, None),
        Dormancy::CatchingUp { since } => (1, Some(since)),
        Dormancy::Dormant { since } => (2, Some(since)),
    };
    let since = since.map(|since| (!since.0).to_be_bytes());
    [[kind].as_slice(), since.as_ref().map_or(&[], <[u8; 8]>::as_slice), &version.0.to_be_bytes()].concat()
}

pub(in crate::cql) fn dormancy_of(mut cell: &[u8]) -> Result<(Version, Dormancy)> {
    let [kind] = take(&mut cell)?;
    let mut since = || number(&mut cell).map(|inverted| Position(!inverted));
    let dormancy = match kind {
        0 => Dormancy::Active,
        1 => Dormancy::CatchingUp { since: since()? },
        2 => Dormancy::Dormant { since: since()? },
        _ => return Err(corrupt("invalid dormancy")),
    };
    Ok((version(&mut cell)?, dormancy))
}

/// The dormancy of an edge. Active wins over dormant, and the later position. The version comes first, because a
/// follower may be in two shards, where the larger bytes win too.
pub(in crate::cql) fn edge_dormancy(version: Version, dormancy: EdgeDormancy) -> Vec<u8> {
    let version = version.0.to_be_bytes();
    match dormancy {
        EdgeDormancy::Dormant => [version.as_slice(), &[0]].concat(),
        EdgeDormancy::ActiveAfter(since) => [version.as_slice(), &[1], &since.0.to_be_bytes()].concat(),
    }
}

pub(in crate::cql) fn edge_dormancy_of(mut cell: &[u8]) -> Result<EdgeDormancy> {
    version(&mut cell)?;
    match take(&mut cell)? {
        [0] => Ok(EdgeDormancy::Dormant),
        [1] => Ok(EdgeDormancy::ActiveAfter(Position(number(&mut cell)?))),
        _ => Err(corrupt("invalid edge dormancy")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FAR: Position = Position(1 << 44);

    #[test]
    fn encoded_cells_decode_to_the_same_value() {
        for since in [Position(0), Position(1), FAR, Position(u64::MAX)] {
            assert_eq!(edge_of(&edge(since, true)).unwrap(), Some(since));
            assert_eq!(edge_of(&edge(since, false)).unwrap(), None);
            for value in [Dormancy::Active, Dormancy::Dormant { since }, Dormancy::CatchingUp { since }] {
                assert_eq!(dormancy_of(&dormancy(Version(300), value)).unwrap(), (Version(300), value));
            }
            for value in [EdgeDormancy::Dormant, EdgeDormancy::ActiveAfter(since)] {
                assert_eq!(edge_dormancy_of(&edge_dormancy(Version(300), value)).unwrap(), value);
            }
        }
        for stage in [FanoutStage::Push, FanoutStage::Preparing, FanoutStage::Pull, FanoutStage::Reverted] {
            let value = FanoutState { version: Version(9), stage };
            assert_eq!(fanout_state_of(&fanout_state(&value)).unwrap(), value);
        }
    }

    #[test]
    fn the_winning_cell_has_the_larger_bytes() {
        let edges = [edge(Position(2), true), edge(Position(300), false), edge(FAR, true)];
        assert!(edges.is_sorted());
        let dormant = |since| dormancy(Version(1), Dormancy::Dormant { since });
        assert!([dormant(FAR), dormant(Position(300)), dormant(Position(2))].is_sorted());
        let edges = [
            edge_dormancy(Version(1), EdgeDormancy::ActiveAfter(FAR)),
            edge_dormancy(Version(2), EdgeDormancy::Dormant),
            edge_dormancy(Version(2), EdgeDormancy::ActiveAfter(Position(2))),
            edge_dormancy(Version(2), EdgeDormancy::ActiveAfter(Position(300))),
            edge_dormancy(Version(300), EdgeDormancy::Dormant),
        ];
        assert!(edges.is_sorted());
    }
}
