//! The cost of reading and storing collections: rows, runs, bytes.

use super::super::conformance::fresh;
use super::super::scratch::Scratch;
use super::open;
use model::{
    ActivityId, ArrivalOffset, Entry, EntryReason, EntryReasons, Filter, Millis, Order, Position, Uid,
    Version,
};
use rusqlite::Connection;
use store::sqlite::SqliteStore;
use store::{Feeds, Slice};

/// Pseudo-random numbers that are the same in every run.
struct Dice(u64);

impl Dice {
    fn roll(&mut self, sides: u64) -> u64 {
        self.0 = self.0.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(0x1405_7b7e_f767_814f);
        (self.0 >> 33) % sides
    }
}

/// Delivers `activities`, each to `recipients` of the owners, in the order of receipt. They were published some time
/// before.
async fn fill(store: &SqliteStore, owners: &[Uid], activities: u64, recipients: usize) {
    let mut dice = Dice(1);
    let mut now = fresh::NOON;
    let facets: Vec<_> = (0..10)
        .map(|n| fresh::facet(["flickr", "last.fm", "digg"][n % 3], &format!("kind{n}"), "post"))
        .collect();
    for batch in 0..activities / 100 {
        for number in 0..100 {
            now += 1 + dice.roll(20_000) as i64;
            let mut random = [0; 10];
            random[..4].copy_from_slice(&(dice.roll(1 << 31) as u32).to_be_bytes());
            random[4..8].copy_from_slice(&(dice.roll(1 << 31) as u32).to_be_bytes());
            let before = if dice.roll(2) == 0 { dice.roll(5_000) } else { dice.roll(86_400_000) };
            // Some facets are common, some are rare.
            let facet = facets[dice.roll(10).min(dice.roll(10)) as usize].clone();
            let entry = Entry {
                id: ActivityId::new(Millis(now), random),
                facet,
                published: Millis(now - before as i64),
                actor: Uid(1 + dice.roll(2_000) as i64),
                version: Version(now),
                ..fresh::entry(
                    now,
                    now,
                    &[if dice.roll(10) == 0 { EntryReason::Addressed } else { EntryReason::Followed }],
                )
            };
            let first = dice.roll(owners.len() as u64) as usize;
            let to = (0..recipients).map(|n| (owners[(first + n * 3) % owners.len()], entry.clone()));
            store.deliver(Position(batch * 100 + number + 1), to.collect()).await.unwrap();
        }
    }
}

#[tokio::test]
async fn a_slice_reads_few_rows() {
    let scratch = Scratch::new();
    let store = open(&scratch);
    let owner = fresh::uid(&store).await;
    fill(&store, &[owner], 3_000, 1).await;
    let everything = Filter::default();
    let rare = Filter { kinds: fresh::words(&["kind9"]), ..Filter::default() };
    let rare_recent = Filter {
        received: model::Range { since: Some(Millis(fresh::NOON + 20_000_000)), before: None },
        ..rare.clone()
    };
    for order in [Order::Received, Order::Published] {
        for filter in [&everything, &rare, &rare_recent] {
            for limit in [1, 20, 200] {
                let slice = Slice { owner, reasons: EntryReasons::ALL, order, filter, after: None, limit };
                let (rows, runs) = (store.rows_stepped(), store.runs_visited());
                let found = store.slice(&slice).await.unwrap().len() as u64;
                let (rows, runs) = (store.rows_stepped() - rows, store.runs_visited() - runs);
                assert_eq!(runs, 20, "the directory lists each facet and reason once");
                assert!(rows <= 4 * found + 3 * runs, "{rows} rows of {runs} runs for {found} entries");
                assert!(rows >= found);
            }
        }
    }
    // A single run costs exactly the page.
    let reasons = fresh::reasons(&[EntryReason::Followed]);
    let slice = Slice { owner, reasons, order: Order::Received, filter: &rare, after: None, limit: 20 };
    let rows = store.rows_stepped();
    assert_eq!(store.slice(&slice).await.unwrap().len(), 20);
    assert_eq!(store.rows_stepped() - rows, 20);

    let rows = store.rows_stepped();
    let after = ArrivalOffset::after(Position(1_000));
    assert_eq!(fresh::arrivals(&store, owner, after, Position(2_000), 20).await.len(), 20);
    assert!(store.rows_stepped() - rows <= 21);
}

/// An actor with very many followers is addressed by many, too.
#[tokio::test]
async fn own_arrivals_read_rows_of_authored_entries_only() {
    let scratch = Scratch::new();
    let store = open(&scratch);
    let owner = fresh::uid(&store).await;
    fill(&store, &[owner], 1_000, 1).await;
    for at in [10, 500, 900] {
        let own = fresh::entry(fresh::NOON, fresh::NOON, &[EntryReason::Authored]);
        store.deliver(Position(at), vec![(owner, own)]).await.unwrap();
    }
    let (rows, after) = (store.rows_stepped(), ArrivalOffset::after(Position(0)));
    let found = store.own_arrivals(&[owner], after, Position(2_000), 20).await.unwrap();
    assert_eq!((found[0].len(), store.rows_stepped() - rows), (3, 3));
}

#[tokio::test]
async fn an_entry_takes_few_bytes() {
    let scratch = Scratch::new();
    let store = open(&scratch);
    let mut owners = Vec::new();
    for _ in 0..10 {
        owners.push(fresh::uid(&store).await);
    }
    // TOFROM_TEST_ACTIVITIES=40000 reproduces the figures of the documentation.
    let activities = std::env::var("TOFROM_TEST_ACTIVITIES").map_or(8_000, |text| text.parse().unwrap());
    fill(&store, &owners, activities, 5).await;
    drop(store);
    let file = Connection::open(scratch.file("store.db")).unwrap();
    let bytes = |name: &str| -> f64 {
        let size = "SELECT sum(pgsize) FROM dbstat WHERE name = ?1";
        file.query_row(size, [name], |row| row.get::<_, f64>(0)).unwrap()
    };
    let entries: f64 = file.query_row("SELECT count(*) FROM entry", [], |row| row.get(0)).unwrap();
    let (rows, published) = (bytes("entry") / entries, bytes("entry_published") / entries);
    let arrival = bytes("entry_arrival") / entries;
    let report = format!(
        "{entries} entries: rows {rows:.1}, published {published:.1}, arrival {arrival:.1} bytes each"
    );
    assert!(rows + published <= 130.0, "{report}");
    assert!(rows + published + arrival <= 175.0, "{report}");
    println!("{report}");
}
