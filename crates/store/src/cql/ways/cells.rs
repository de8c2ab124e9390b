//! What is known of ways, as the bytes of cells. A cell's timestamp is a version; of two writes with one version the
//! engine keeps the larger bytes, so a cell begins with what decides then.

use crate::Result;
use crate::bytes::{Put, Take};
use crate::cql::db::corrupt;
use model::{Audience, Phase, Position, Sleep, Stage, Version};

/// The later place stays.
pub(in crate::cql) fn edge(since: Position, following: bool) -> Vec<u8> {
    Put::new().ordered(since.0).flag(following).finish()
}

/// Where the edge was made; `None` if it has ended.
pub(in crate::cql) fn edge_of(cell: &[u8]) -> Result<Option<Position>> {
    let mut take = Take::new(cell);
    let since = Position(take.ordered()?);
    Ok(take.flag()?.then_some(since))
}

pub(in crate::cql) fn audience(Audience { version, stage }: &Audience) -> Vec<u8> {
    let stage = match stage {
        Stage::Pushed => 0,
        Stage::Preparing => 1,
        Stage::Pulled => 2,
        Stage::PushedAgain => 3,
    };
    Put::new().byte(stage).signed(version.0).finish()
}

pub(in crate::cql) fn audience_of(cell: &[u8]) -> Result<Audience> {
    let mut take = Take::new(cell);
    let stage = match take.byte()? {
        0 => Stage::Pushed,
        1 => Stage::Preparing,
        2 => Stage::Pulled,
        3 => Stage::PushedAgain,
        _ => return Err(corrupt("not a stage of an audience")),
    };
    Ok(Audience { version: take.version()?, stage })
}

/// The earlier place stays: its number is turned round.
pub(in crate::cql) fn phase(version: Version, phase: Phase) -> Vec<u8> {
    let put = match phase {
        Phase::Awake => Put::new().byte(0),
        Phase::Returning { since } => Put::new().byte(1).ordered(!since.0),
        Phase::Asleep { since } => Put::new().byte(2).ordered(!since.0),
    };
    put.signed(version.0).finish()
}

pub(in crate::cql) fn phase_of(cell: &[u8]) -> Result<(Version, Phase)> {
    let mut take = Take::new(cell);
    let kind = take.byte()?;
    let mut since = || take.ordered().map(|turned| Position(!turned));
    let phase = match kind {
        0 => Phase::Awake,
        1 => Phase::Returning { since: since()? },
        2 => Phase::Asleep { since: since()? },
        _ => return Err(corrupt("not a phase")),
    };
    Ok((take.version()?, phase))
}

/// Awake stays, and the later place. The version comes before that, because one follower may stand in two shards: the
/// larger bytes count there too.
pub(in crate::cql) fn sleep(version: Version, sleep: Sleep) -> Vec<u8> {
    let put = Put::new().ordered(version.0.cast_unsigned());
    match sleep {
        Sleep::Asleep => put.byte(0).finish(),
        Sleep::Awake(since) => put.byte(1).ordered(since.0).finish(),
    }
}

pub(in crate::cql) fn sleep_of(cell: &[u8]) -> Result<Sleep> {
    let mut take = Take::new(cell);
    take.ordered()?;
    match take.byte()? {
        0 => Ok(Sleep::Asleep),
        1 => Ok(Sleep::Awake(Position(take.ordered()?))),
        _ => Err(corrupt("neither asleep nor awake")),
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
            for told in [Phase::Awake, Phase::Asleep { since }, Phase::Returning { since }] {
                assert_eq!(phase_of(&phase(Version(300), told)).unwrap(), (Version(300), told));
            }
            for told in [Sleep::Asleep, Sleep::Awake(since)] {
                assert_eq!(sleep_of(&sleep(Version(300), told)).unwrap(), told);
            }
        }
        for stage in [Stage::Pushed, Stage::Preparing, Stage::Pulled, Stage::PushedAgain] {
            let told = Audience { version: Version(9), stage };
            assert_eq!(audience_of(&audience(&told)).unwrap(), told);
        }
    }

    #[test]
    fn the_larger_bytes_are_those_that_count() {
        let edges = [edge(Position(2), true), edge(Position(300), false), edge(FAR, true)];
        assert!(edges.is_sorted());
        let asleep = |since| phase(Version(1), Phase::Asleep { since });
        assert!([asleep(FAR), asleep(Position(300)), asleep(Position(2))].is_sorted());
        let sleeps = [
            sleep(Version(1), Sleep::Awake(FAR)),
            sleep(Version(2), Sleep::Asleep),
            sleep(Version(2), Sleep::Awake(Position(2))),
            sleep(Version(2), Sleep::Awake(Position(300))),
            sleep(Version(300), Sleep::Asleep),
        ];
        assert!(sleeps.is_sorted());
    }
}
