//! Generates the activities of the demo's accounts: several years up to now, deterministic for a given time.
//!
//! The activities pass the same validation as submitted ones ([`normalise`]); only the received times are set here.

use super::dataset::Random;
use super::people::Person;
use super::pictures;
use super::tables::{Habit, SITES, Site, Thing};
use domain::ingest::{Draft, RawActivity, RawObject, RawService, RawThumbnail, RawValue, Refused, normalise};
use model::{Kind, Millis};

const SECOND: i64 = 1_000;
const MINUTE: i64 = 60 * SECOND;
const HOUR: i64 = 60 * MINUTE;
const DAY: i64 = 24 * HOUR;
/// Age of the oldest activity.
pub(super) const HISTORY: i64 = 4 * 365 * DAY;

/// The activities of a person until `now`, oldest first. Some are addressed to one of `others`.
pub(super) fn activities_of(person: &Person, others: &[&str], now: Millis) -> Result<Vec<Draft>, Refused> {
    let mut random = Random::seeded(person.name);
    let mut received = times(&mut random, person.activities, now);
    received.sort_unstable();
    let habits = habits();
    let drafts = received.into_iter().enumerate().filter_map(|(number, received)| {
        let published = Millis(received.0 - delay(&mut random));
        let raw = activity(&mut random, &habits, person, others, number, published)?;
        Some(normalise(&raw, now).map(|draft| Draft { received: Some(received), ..draft }))
    });
    drafts.collect()
}

/// All habits, each repeated by its weight.
fn habits() -> Vec<(&'static Site, &'static Habit)> {
    let all = SITES.iter().flat_map(|site| site.habits.iter().map(move |habit| (site, habit)));
    all.flat_map(|(site, habit)| std::iter::repeat_n((site, habit), habit.weight)).collect()
}

/// Received times: denser towards now, and some equal to the previous one, as if a service is polled once an hour and
/// returns several activities.
fn times(random: &mut Random, count: usize, now: Millis) -> Vec<Millis> {
    let newest = now.0 - 5 * MINUTE;
    let mut before = Millis(newest);
    (0..count)
        .map(|_| {
            if !random.percent(12) {
                // Squaring the fraction moves most values towards zero.
                let share = random.between(0, 10_000);
                let back = HISTORY / 10_000 * share / 10_000 * share;
                before = Millis(newest - back - random.between(0, 6 * HOUR));
            }
            before
        })
        .collect()
}

/// Time between publication and receipt: mostly short, sometimes much longer.
fn delay(random: &mut Random) -> i64 {
    match random.below(100) {
        0..60 => random.between(SECOND, 20 * MINUTE),
        60..85 => random.between(HOUR, 30 * HOUR),
        _ => random.between(2 * DAY, 90 * DAY),
    }
}

fn activity(
    random: &mut Random,
    habits: &[(&Site, &Habit)],
    person: &Person,
    others: &[&str],
    number: usize,
    published: Millis,
) -> Option<RawActivity> {
    let (site, habit) = random.pick(habits)?;
    let thing = random.pick(habit.things)?;
    let visibility = match random.below(100) {
        0..80 => "",
        80..94 => "followers",
        _ => "direct",
    };
    let to = (visibility == "direct" || random.percent(9)).then(|| {
        let recipient = random.pick(others).copied().unwrap_or_default();
        vec![RawValue::text(recipient)]
    });
    let counted = random.percent(55);
    let count = |random: &mut Random, max| {
        if counted { RawValue::text(random.below(max).to_string()) } else { RawValue::Absent }
    };
    Some(RawActivity {
        source_id: RawValue::text(format!("demo-{}-{number}", person.name)),
        title: RawValue::text(
            habit.sentence.replace("{who}", person.given_name).replace("{what}", thing.title),
        ),
        verb: RawValue::text(habit.verb),
        kind: RawValue::text(habit.kind),
        service: RawService {
            name: RawValue::text(site.name),
            icon: RawValue::text(site.icon.map_or_else(String::new, pictures::icon)),
            website: RawValue::text(site.website.unwrap_or_default()),
        },
        comment_count: count(random, 12),
        like_count: count(random, 60),
        comments_available: if random.percent(50) { RawValue::text("true") } else { RawValue::Absent },
        published: RawValue::text(published.zulu()),
        visibility: RawValue::text(visibility),
        to,
        objects: vec![(element(habit.kind), object(random, habit, thing))],
        ..RawActivity::default()
    })
}

fn element(kind: &str) -> String {
    Kind::parse(kind).map_or_else(String::new, |kind| kind.element())
}

fn object(random: &mut Random, habit: &Habit, thing: &Thing) -> RawObject {
    let number = random.between(1_000_000, 10_000_000);
    let description = thing.description.filter(|_| random.percent(85));
    let picture = habit.picture.filter(|_| random.percent(75));
    RawObject {
        title: RawValue::text(thing.title),
        description: RawValue::text(description.unwrap_or_default()),
        thumbnail: picture.map_or_else(RawThumbnail::default, |(height, width)| RawThumbnail {
            url: RawValue::text(pictures::address(habit.kind, number)),
            height: RawValue::text(height.to_string()),
            width: RawValue::text(width.to_string()),
        }),
        url: RawValue::text(thing.url.map_or_else(|| format!("{}{number}", habit.place), str::to_owned)),
        ..RawObject::default()
    }
}

#[cfg(test)]
#[path = "activities_tests.rs"]
mod tests;
