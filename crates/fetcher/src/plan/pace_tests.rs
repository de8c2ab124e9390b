use super::*;

const NOW: i64 = 1_800_000_000_000;

/// Items every so often, up to now.
fn every(step: i64, items: i64) -> Vec<i64> {
    (0..items).map(|item| NOW - item * step).collect()
}

fn wait(pace: &Pace, hints: Hints) -> i64 {
    pace.next(NOW, hints, 0.5) - NOW
}

#[test]
fn the_more_often_a_source_changes_the_sooner_it_is_looked_at() {
    let paces = [every(3 * HOUR, 20), every(7 * HOUR, 20), every(28 * HOUR, 20), every(60 * HOUR, 20)];
    let waits = paces.map(|items| {
        let mut pace = Pace::first(&items, NOW);
        // The silence of a day, so that the last change is not what counts.
        pace.changed = NOW - DAY;
        wait(&pace, Hints::default())
    });
    assert_eq!(waits[..2], [FLOOR, FLOOR]);
    assert!(waits[2] > HOUR && waits[3] > 5 * HOUR, "{waits:?}");
    let dormant = Pace::first(&[NOW - 90 * DAY, NOW - 200 * DAY], NOW);
    assert_eq!(wait(&dormant, Hints::default()), CEILING);
}

#[test]
fn chance_keeps_a_busy_source_below_a_quarter_of_an_hour() {
    let pace = Pace::first(&every(3 * HOUR, 20), NOW);
    assert!(pace.next(NOW, Hints::default(), 1.0) - NOW < 15 * MINUTE);
    assert!(pace.next(NOW, Hints::default(), 0.0) - NOW > 12 * MINUTE);
}

#[test]
fn without_times_the_first_hours_tell() {
    let mut pace = Pace::first(&[], NOW);
    assert_eq!(pace.interval(NOW), UNKNOWN_FLOOR);
    let mut quiet = pace;
    quiet.nothing(NOW + DAY);
    assert!((3 * HOUR..5 * HOUR).contains(&quiet.interval(NOW + DAY)));
    quiet.nothing(NOW + 30 * DAY);
    assert_eq!(quiet.interval(NOW + 30 * DAY), CEILING);
    for hour in [5, 10, 15, 20] {
        pace.found(&[], NOW + hour * HOUR);
    }
    assert_eq!(pace.interval(NOW + DAY), FLOOR);
}

#[test]
fn a_source_that_falls_silent_is_left_alone_and_comes_back_at_once() {
    let mut pace = Pace::first(&every(3 * HOUR, 30), NOW);
    pace.nothing(NOW + 2 * DAY);
    assert_eq!(pace.interval(NOW + 2 * DAY), FLOOR);
    pace.nothing(NOW + 6 * DAY);
    assert!(pace.interval(NOW + 6 * DAY) > HOUR);
    pace.nothing(NOW + 30 * DAY);
    assert_eq!(pace.interval(NOW + 30 * DAY), CEILING);
    let then = NOW + 31 * DAY;
    pace.found(&[then - MINUTE], then);
    assert_eq!(pace.interval(then), FLOOR);
    pace.nothing(then + 2 * HOUR);
    assert!(pace.interval(then + 2 * HOUR) <= 3 * HOUR);
}

#[test]
fn items_that_come_together_are_one_change() {
    let mut one = Pace::first(&[], NOW);
    let mut many = one;
    one.found(&[NOW + HOUR], NOW + HOUR);
    many.found(&[NOW + HOUR - MINUTE, NOW + HOUR - 2 * MINUTE, NOW + HOUR], NOW + HOUR);
    assert!((one.changes - many.changes).abs() < 0.01);
}

#[test]
fn hints_make_it_later_and_never_later_than_a_day() {
    let pace = Pace::first(&every(3 * HOUR, 20), NOW);
    let told = |seconds| Some(Duration::from_secs(seconds));
    assert_eq!(wait(&pace, Hints { fresh_for: told(60), ..Hints::default() }), FLOOR);
    for hints in [
        Hints { fresh_for: told(3_600), ..Hints::default() },
        Hints { every: told(3_600), ..Hints::default() },
        Hints { retry_after: told(3_600), ..Hints::default() },
    ] {
        assert!(pace.next(NOW, hints, 0.0) - NOW >= HOUR);
    }
    assert_eq!(wait(&pace, Hints { fresh_for: told(u64::MAX), ..Hints::default() }), CEILING);
    assert_eq!(wait(&pace, Hints { pushed: true, ..Hints::default() }), PUSHED);
}

#[test]
fn it_is_kept_in_few_bytes_and_comes_back_the_same() {
    let pace = Pace::first(&every(5 * HOUR, 20), NOW);
    let kept = serde_json::to_string(&pace).unwrap();
    assert!(kept.len() < 64, "{kept}");
    let again: Pace = serde_json::from_str(&kept).unwrap();
    assert_eq!(again.next(NOW, Hints::default(), 0.5), pace.next(NOW, Hints::default(), 0.5));
    assert_eq!(serde_json::to_string(&again).unwrap(), kept);
}

#[test]
fn wild_times_do_no_harm() {
    let wild = [i64::MIN, i64::MAX, 0, NOW + 365 * DAY, -1];
    for now in [NOW, 0, i64::MAX, i64::MIN] {
        let mut pace = Pace::first(&wild, now);
        pace.found(&wild, now.saturating_add(HOUR));
        pace.nothing(now.saturating_sub(HOUR));
        pace.found(&[], now.saturating_sub(DAY));
        let next = pace.next(now, Hints::default(), 1.0);
        assert!(next >= now && next.saturating_sub(now) <= CEILING);
    }
}
