//! The four representations of a page agree with each other and with the stored data.

mod atom;
mod expected;
mod said;

use super::support::pages::{Scene, Shown};
use super::support::tree;
use expected::expected;
use model::{Format, Start};
use said::Said;

/// What the pages contained in all, so that the test can tell whether they were varied enough.
#[derive(Default)]
struct Tally {
    pages: usize,
    empty: usize,
    updates: usize,
    more: usize,
    activities: usize,
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn all_four_representations_of_a_page_agree() {
    let mut tally = Tally::default();
    for seed in 5_000..5_030 {
        let mut scene = Scene::new(seed, 40).await;
        for number in 0..20 {
            let shown = scene.any_page().await;
            eprintln!("world {seed}, page {number}: {:?}", shown.query);
            check(&scene, &shown);
            for format in Format::ALL {
                let written = shown.written(format);
                assert_eq!(scene.again(&shown, format).await, written, "{format:?} from what is remembered");
                assert_eq!(scene.anew(&shown, format).await, written, "{format:?} from nothing");
            }
            tally.pages += 1;
            tally.empty += usize::from(shown.items.is_empty());
            tally.updates += usize::from(matches!(shown.query.start, Start::Updates(_)));
            tally.more += usize::from(shown.links.iter().any(|(rel, _)| *rel == "next"));
            tally.activities += shown.items.len();
        }
    }
    let Tally { pages, empty, updates, more, activities } = tally;
    assert!(
        pages >= 500 && empty > 50 && updates > 50 && more > 50 && activities > 1_000,
        "{activities} in {pages}"
    );
}

fn check(scene: &Scene, shown: &Shown) {
    let activities: Vec<Said> = shown.items.iter().map(|item| expected(scene, item)).collect();

    let json: Said = serde_json::from_slice(&shown.json).unwrap();
    let page = |activities| Said::Group(vec![("Activity".to_owned(), Said::List(activities))]);
    assert_eq!(json, Said::Group(vec![("Activities".to_owned(), page(activities.clone()))]));

    let xml = tree::of_xml(&shown.xml);
    assert!(xml.name.is("", "Activities") && xml.attributes.is_empty());
    assert_eq!(xml.children.len(), shown.items.len());
    for (element, activity) in xml.elements().zip(&activities) {
        assert!(element.name.is("", "Activity"));
        assert_eq!(Said::of(element), *activity);
    }
    activities.iter().for_each(Said::assert_nothing_empty);
    assert_eq!(tree::of_fast_infoset(&shown.fast_infoset), xml);

    let atom = tree::of_xml(&shown.atom);
    atom::assert_valid(&atom);
    atom::assert_feed(scene, shown, &atom);
    let entries: Vec<_> = atom.elements().filter(|element| element.name.local == "entry").collect();
    assert_eq!(entries.len(), shown.items.len());
    for ((entry, item), activity) in entries.into_iter().zip(&shown.items).zip(&activities) {
        atom::assert_says(scene, entry, item, activity);
    }
}
