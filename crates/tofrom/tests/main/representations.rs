//! The five representations of a page agree with each other and with the stored data.

mod activity_streams;
mod atom;
mod content;
mod expected;

use super::support::pages::{PageFixture, RenderedPage};
use super::support::tree;
use content::Content;
use expected::expected;
use model::{Format, Start};

/// What the pages contained in all, so that the test can check that they were varied enough.
#[derive(Default)]
struct Tally {
    pages: usize,
    empty: usize,
    updates: usize,
    more: usize,
    activities: usize,
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn all_representations_of_a_page_agree() {
    let mut tally = Tally::default();
    for seed in 5_000..5_030 {
        let mut fixture = PageFixture::new(seed, 40).await;
        for number in 0..20 {
            let shown = fixture.any_page().await;
            eprintln!("seed {seed}, page {number}: {:?}", shown.query);
            check(&fixture, &shown);
            for format in Format::ALL.into_iter().chain([Format::ActivityStreams]) {
                let written = shown.written(format);
                assert_eq!(fixture.render_cached(&shown, format).await, written, "{format:?} from the cache");
                assert_eq!(
                    fixture.render_uncached(&shown, format).await,
                    written,
                    "{format:?} from a new renderer"
                );
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

fn check(fixture: &PageFixture, shown: &RenderedPage) {
    activity_streams::assert_page(shown);
    let activities: Vec<Content> = shown.items.iter().map(|item| expected(fixture, item)).collect();

    let json: Content = serde_json::from_slice(&shown.json).unwrap();
    let page = |activities| Content::Group(vec![("Activity".to_owned(), Content::List(activities))]);
    assert_eq!(json, Content::Group(vec![("Activities".to_owned(), page(activities.clone()))]));

    let xml = tree::of_xml(&shown.xml);
    assert!(xml.name.is("", "Activities") && xml.attributes.is_empty());
    assert_eq!(xml.children.len(), shown.items.len());
    for (element, activity) in xml.elements().zip(&activities) {
        assert!(element.name.is("", "Activity"));
        assert_eq!(Content::of(element), *activity);
    }
    activities.iter().for_each(Content::assert_nothing_empty);
    assert_eq!(tree::of_fast_infoset(&shown.fast_infoset), xml);

    let atom = tree::of_xml(&shown.atom);
    atom::assert_valid(&atom);
    atom::assert_feed(fixture, shown, &atom);
    let entries: Vec<_> = atom.elements().filter(|element| element.name.local == "entry").collect();
    assert_eq!(entries.len(), shown.items.len());
    for ((entry, item), activity) in entries.into_iter().zip(&shown.items).zip(&activities) {
        atom::assert_entry(fixture, entry, item, activity);
    }
}
