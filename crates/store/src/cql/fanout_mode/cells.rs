//! Cells of fan-out modes and dormancy. The timestamp of a cell is a version. Of two writes with the same version the
//! engine keeps the larger bytes, so a cell begins with the value that decides then.

use crate::Result;
use crate::bytes::{WireReader, WireWriter};
use crate::cql::db::corrupt;
use model::{Dormancy, EdgeDormancy, FanoutStage, FanoutState, Position, Version};

/// An edge. The later position wins.
pub(in crate::cql) fn edge(since: Position, following: bool) -> Vec<u8> {
    WireWriter::new().ordered(since.0).flag(following).finish()
}

/// The position at which the edge was created; `None` if it has ended.
pub(in crate::cql) fn edge_of(cell: &[u8]) -> Result<Option<Position>> {
    let mut reader = WireReader::new(cell);
    let since = Position(reader.ordered()?);
    Ok(reader.flag()?.then_some(since))
}

pub(in crate::cql) fn fanout_state(FanoutState { version, stage }: &FanoutState) -> Vec<u8> {
    let stage = match stage {
        FanoutStage::Push => 0,
        FanoutStage::Preparing => 1,
        FanoutStage::Pull => 2,
        FanoutStage::Reverted => 3,
    };
    WireWriter::new().byte(stage).signed(version.0).finish()
}

pub(in crate::cql) fn fanout_state_of(cell: &[u8]) -> Result<FanoutState> {
    let mut reader = WireReader::new(cell);
    let stage = match reader.byte()? {
        0 => FanoutStage::Push,
        1 => FanoutStage::Preparing,
        2 => FanoutStage::Pull,
        3 => FanoutStage::Reverted,
        _ => return Err(corrupt("invalid fan-out stage")),
    };
    Ok(FanoutState { version: reader.version()?, stage })
}

/// A dormancy. The earlier position wins, so its bits are inverted.
pub(in crate::cql) fn dormancy(version: Version, dormancy: Dormancy) -> Vec<u8> {
    let writer = match dormancy {
        Dormancy::Active => WireWriter::new().byte(0),
        Dormancy::CatchingUp { since } => WireWriter::new().byte(1).ordered(!since.0),
        Dormancy::Dormant { since } => WireWriter::new().byte(2).ordered(!since.0),
    };
    writer.signed(version.0).finish()
}

pub(in crate::cql) fn dormancy_of(cell: &[u8]) -> Result<(Version, Dormancy)> {
    let mut reader = WireReader::new(cell);
    let kind = reader.byte()?;
    let mut since = || reader.ordered().map(|inverted| Position(!inverted));
    let dormancy = match kind {
        0 => Dormancy::Active,
        1 => Dormancy::CatchingUp { since: since()? },
        2 => Dormancy::Dormant { since: since()? },
        _ => return Err(corrupt("invalid dormancy")),
    };
    Ok((reader.version()?, dormancy))
}

/// The dormancy of an edge. Active wins over dormant, and the later position. The version comes first, because a
/// follower may be in two shards, where the larger bytes win too.
pub(in crate::cql) fn edge_dormancy(version: Version, dormancy: EdgeDormancy) -> Vec<u8> {
    let writer = WireWriter::new().ordered(version.0.cast_unsigned());
    match dormancy {
        EdgeDormancy::Dormant => writer.byte(0).finish(),
        EdgeDormancy::ActiveAfter(since) => writer.byte(1).ordered(since.0).finish(),
    }
}

pub(in crate::cql) fn edge_dormancy_of(cell: &[u8]) -> Result<EdgeDormancy> {
    let mut reader = WireReader::new(cell);
    reader.ordered()?;
    match reader.byte()? {
        0 => Ok(EdgeDormancy::Dormant),
        1 => Ok(EdgeDormancy::ActiveAfter(Position(reader.ordered()?))),
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
