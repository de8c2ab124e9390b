//! What is known of fanout_mode, as the bytes of cells. A cell's timestamp is a version; of two writes with one version the
//! engine keeps the larger bytes, so a cell begins with what decides then.

use crate::Result;
use crate::bytes::{WireReader, WireWriter};
use crate::cql::db::corrupt;
use model::{Dormancy, EdgeDormancy, FanoutStage, FanoutState, Position, Version};

/// The later position stays.
pub(in crate::cql) fn edge(since: Position, following: bool) -> Vec<u8> {
    WireWriter::new().ordered(since.0).flag(following).finish()
}

/// Where the edge was made; `None` if it has ended.
pub(in crate::cql) fn edge_of(cell: &[u8]) -> Result<Option<Position>> {
    let mut take = WireReader::new(cell);
    let since = Position(take.ordered()?);
    Ok(take.flag()?.then_some(since))
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
    let mut take = WireReader::new(cell);
    let stage = match take.byte()? {
        0 => FanoutStage::Push,
        1 => FanoutStage::Preparing,
        2 => FanoutStage::Pull,
        3 => FanoutStage::Reverted,
        _ => return Err(corrupt("not a stage of an fanout_state")),
    };
    Ok(FanoutState { version: take.version()?, stage })
}

/// The earlier position stays: its number is turned round.
pub(in crate::cql) fn dormancy(version: Version, dormancy: Dormancy) -> Vec<u8> {
    let put = match dormancy {
        Dormancy::Active => WireWriter::new().byte(0),
        Dormancy::CatchingUp { since } => WireWriter::new().byte(1).ordered(!since.0),
        Dormancy::Dormant { since } => WireWriter::new().byte(2).ordered(!since.0),
    };
    put.signed(version.0).finish()
}

pub(in crate::cql) fn dormancy_of(cell: &[u8]) -> Result<(Version, Dormancy)> {
    let mut take = WireReader::new(cell);
    let kind = take.byte()?;
    let mut since = || take.ordered().map(|turned| Position(!turned));
    let dormancy = match kind {
        0 => Dormancy::Active,
        1 => Dormancy::CatchingUp { since: since()? },
        2 => Dormancy::Dormant { since: since()? },
        _ => return Err(corrupt("not a dormancy")),
    };
    Ok((take.version()?, dormancy))
}

/// Awake stays, and the later position. The version comes before that, because one follower may stand in two shards: the
/// larger bytes count there too.
pub(in crate::cql) fn edge_dormancy(version: Version, dormancy: EdgeDormancy) -> Vec<u8> {
    let put = WireWriter::new().ordered(version.0.cast_unsigned());
    match dormancy {
        EdgeDormancy::Dormant => put.byte(0).finish(),
        EdgeDormancy::ActiveAfter(since) => put.byte(1).ordered(since.0).finish(),
    }
}

pub(in crate::cql) fn edge_dormancy_of(cell: &[u8]) -> Result<EdgeDormancy> {
    let mut take = WireReader::new(cell);
    take.ordered()?;
    match take.byte()? {
        0 => Ok(EdgeDormancy::Dormant),
        1 => Ok(EdgeDormancy::ActiveAfter(Position(take.ordered()?))),
        _ => Err(corrupt("neither dormant nor active")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FAR: Position = Position(1 << 44);

    #[test]
    fn cells_come_back_unchanged() {
        for since in [Position(0), Position(1), FAR, Position(u64::MAX)] {
            assert_eq!(edge_of(&edge(since, true)).unwrap(), Some(since));
            assert_eq!(edge_of(&edge(since, false)).unwrap(), None);
            for told in [Dormancy::Active, Dormancy::Dormant { since }, Dormancy::CatchingUp { since }] {
                assert_eq!(dormancy_of(&dormancy(Version(300), told)).unwrap(), (Version(300), told));
            }
            for told in [EdgeDormancy::Dormant, EdgeDormancy::ActiveAfter(since)] {
                assert_eq!(edge_dormancy_of(&edge_dormancy(Version(300), told)).unwrap(), told);
            }
        }
        for stage in [FanoutStage::Push, FanoutStage::Preparing, FanoutStage::Pull, FanoutStage::Reverted] {
            let told = FanoutState { version: Version(9), stage };
            assert_eq!(fanout_state_of(&fanout_state(&told)).unwrap(), told);
        }
    }

    #[test]
    fn the_larger_bytes_are_those_that_count() {
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
