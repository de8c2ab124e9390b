//! The result of a read can be put back unchanged in every representation, and then reads the same.
//!
//! XML, JSON and Fast Infoset cannot express the published time, the entry's own summary and the object's alternate
//! link, and Atom cannot express likes. These fields keep their values at the address of an existing activity, and have
//! their defaults at a new one.

use super::support::pages::{PageFixture, hard_activity};
use super::support::random_data::{FIRST, SPAN};
use domain::ingest::{Draft, MAX_BODY, RawActivity, RawValue, counts_after, normalise};
use model::{Account, Activity, Body, Comments, Facet, Format, Millis};
use web::parse::{read_activity, read_feed};
use web::render::Renderer;

const ACTIVITIES: usize = 10_000;

#[tokio::test]
async fn every_read_activity_can_be_put_back() {
    let mut fixture = PageFixture::new(6_000, 0).await;
    let renderer = Renderer::new(fixture.site.clone());
    for number in 0..ACTIVITIES {
        let ordinary = fixture.data.chance.one_in(4);
        let activity = if ordinary { fixture.data.new_activity() } else { hard_activity(&mut fixture.data) };
        let activity = within_limits(activity);
        let actor = fixture.data.accounts.iter().find(|account| account.uid == activity.state.actor).unwrap();
        eprintln!("activity {number}");
        let raws = Format::ALL.map(|form| (form, check(&renderer, actor, &activity, form)));
        for (form, raw) in &raws {
            // Atom expresses the same in its own words.
            assert!(*form == Format::Atom || *raw == raws[0].1, "{form:?}: {raw:?}");
        }
    }
}

/// The random pages may have titles that are too long to be put.
fn within_limits(mut activity: Activity) -> Activity {
    let titles = activity.body.object.title.iter_mut().chain([&mut activity.body.title]);
    titles.for_each(|title| *title = title.chars().take(1_000).collect());
    activity
}

/// Returns the parsed activity, for comparison.
fn check(renderer: &Renderer, actor: &Account, activity: &Activity, form: Format) -> RawActivity {
    let written = |activity: &Activity| renderer.single(&activity.state, actor, &activity.body, form);
    let bytes = written(activity);
    assert!(bytes.len() <= MAX_BODY, "{} bytes", bytes.len());
    let raw = read_activity(&bytes, form).unwrap_or_else(|why| panic!("{form:?}: {why}"));
    let draft = validated_draft(&raw, activity);
    let counts = draft.body.comments;

    // At its own address nothing changes.
    let back =
        put(activity, &draft, Some(&activity.body), counts_after(form, counts, Some(activity.body.comments)));
    assert_eq!(back, *activity, "{form:?}");

    // At a new address only fields that Atom cannot express change: all others read the same.
    let mut copy = put(activity, &draft, None, counts_after(form, counts, None));
    if form == Format::Atom {
        assert_eq!(written(&copy), bytes);
    } else {
        copy.body.summary.clone_from(&activity.body.summary);
        copy.body.object.alternate.clone_from(&activity.body.object.alternate);
        assert_eq!(copy, *activity, "{form:?}");
    }
    raw
}

/// The draft of a put at the activity's address, which names the service's id.
fn validated_draft(raw: &RawActivity, activity: &Activity) -> Draft {
    let source_id = RawValue::text(activity.body.source_id.as_str());
    let raw = RawActivity { source_id, ..raw.clone() };
    let now = Millis(FIRST + i64::try_from(SPAN).unwrap());
    let draft = normalise(&raw, now).unwrap_or_else(|why| panic!("{why}"));
    assert_eq!((draft.visibility, &draft.to, draft.received), (None, &None, None));
    draft
}

/// The activity after the draft was put over `before`.
fn put(activity: &Activity, draft: &Draft, before: Option<&Body>, comments: Comments) -> Activity {
    let mut after = activity.clone();
    after.body = draft.body_after(before);
    after.body.comments = comments;
    let (kind, verb) = (draft.kind.clone(), draft.verb.clone());
    after.state.facet = Facet { service: draft.body.service.name.folded(), kind, verb }.into();
    after.state.published = draft.published.unwrap_or(activity.state.published);
    after
}

#[tokio::test]
async fn a_page_in_atom_is_a_feed_that_can_be_posted() {
    let mut posted = 0;
    for seed in 6_001..6_006 {
        let mut fixture = PageFixture::new(seed, 60).await;
        for _ in 0..10 {
            let shown = fixture.any_page().await;
            eprintln!("seed {seed}: {:?}", shown.query);
            let entries = read_feed(&shown.atom).unwrap();
            assert_eq!(entries.len(), shown.items.len());
            for (entry, item) in entries.into_iter().zip(&shown.items) {
                let (raw, activity) = (entry.unwrap(), &fixture.data.activities[&item.state.id]);
                assert_eq!(raw.source_id, RawValue::text(fixture.site.activity_tag(item.state.id)));
                if within_limits(activity.clone()) != *activity {
                    continue;
                }
                let draft = validated_draft(&raw, activity);
                let comments = counts_after(Format::Atom, draft.body.comments, Some(activity.body.comments));
                assert_eq!(put(activity, &draft, Some(&activity.body), comments), *activity);
                posted += 1;
            }
        }
    }
    assert!(posted > 100, "only {posted}");
}
