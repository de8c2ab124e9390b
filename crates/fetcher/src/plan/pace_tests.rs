use super::*;

const NOW: i64 = 1_800_000_000_000;

/// Items at a fixed interval up to now.
fn every(step: i64, items: i64) -> Vec<i64> {
    (0..items).map(|item| NOW - item * step).collect()
}

fn wait(pace: &Pace, hints: Hints) -> i64 {
    pace.next_poll(NOW, hints, 0.5) - NOW
}

#[test]
fn the_interval_shrinks_with_the_rate_of_changes() {
    let paces = [every(3 * HOUR, 20), every(7 * HOUR, 20), every(28 * HOUR, 20), every(60 * HOUR, 20)];
    let waits = paces.map(|items| {
        let mut pace = Pace::first(&items, NOW);
        // A day of silence, so that the last change does not count.
        pace.changed = NOW - DAY;
        wait(&pace, Hints::default())
    });
    assert_eq!(waits[..2], [FLOOR, FLOOR]);
    assert!(waits[2] > HOUR && waits[3] > 5 * HOUR, "{waits:?}");
    let dormant = Pace::first(&[NOW - 90 * DAY, NOW - 200 * DAY], NOW);
    assert_eq!(wait(&dormant, Hints::default()), CEILING);
}

#[test]
fn a_busy_source_is_polled_within_15_minutes() {
    let pace = Pace::first(&every(3 * HOUR, 20), NOW);
    assert!(pace.next_poll(NOW, Hints::default(), 1.0) - NOW < 15 * MINUTE);
    assert!(pace.next_poll(NOW, Hints::default(), 0.0) - NOW > 12 * MINUTE);
}

#[test]
fn without_times_the_first_hours_decide() {
    let mut pace = Pace::first(&[], NOW);
    assert_eq!(pace.interval(NOW), UNKNOWN_FLOOR);
    let mut quiet = pace;
    quiet.record_unchanged(NOW + DAY);
    assert!((3 * HOUR..5 * HOUR).contains(&quiet.interval(NOW + DAY)));
    quiet.record_unchanged(NOW + 30 * DAY);
    assert_eq!(quiet.interval(NOW + 30 * DAY), CEILING);
    for hour in [5, 10, 15, 20] {
        pace.record_items(&[], NOW + hour * HOUR);
    }
    assert_eq!(pace.interval(NOW + DAY), FLOOR);
}

#[test]
fn a_silent_source_slows_down_and_recovers_with_one_change() {
    let mut pace = Pace::first(&every(3 * HOUR, 30), NOW);
    pace.record_unchanged(NOW + 2 * DAY);
    assert_eq!(pace.interval(NOW + 2 * DAY), FLOOR);
    pace.record_unchanged(NOW + 6 * DAY);
    assert!(pace.interval(NOW + 6 * DAY) > HOUR);
    pace.record_unchanged(NOW + 30 * DAY);
    assert_eq!(pace.interval(NOW + 30 * DAY), CEILING);
    let then = NOW + 31 * DAY;
    pace.record_items(&[then - MINUTE], then);
    assert_eq!(pace.interval(then), FLOOR);
    pace.record_unchanged(then + 2 * HOUR);
    assert!(pace.interval(then + 2 * HOUR) <= 3 * HOUR);
}

#[test]
fn items_within_15_minutes_are_one_change() {
    let mut single = Pace::first(&[], NOW);
    let mut many = single;
    single.record_items(&[NOW + HOUR], NOW + HOUR);
    many.record_items(&[NOW + HOUR - MINUTE, NOW + HOUR - 2 * MINUTE, NOW + HOUR], NOW + HOUR);
    assert!((single.changes - many.changes).abs() < 0.01);
}

#[test]
fn hints_delay_the_poll_by_at_most_a_day() {
    let pace = Pace::first(&every(3 * HOUR, 20), NOW);
    let duration = |seconds| Some(Duration::from_secs(seconds));
    assert_eq!(wait(&pace, Hints { fresh_for: duration(60), ..Hints::default() }), FLOOR);
    for hints in [
        Hints { fresh_for: duration(3_600), ..Hints::default() },
        Hints { every: duration(3_600), ..Hints::default() },
        Hints { retry_after: duration(3_600), ..Hints::default() },
    ] {
        assert!(pace.next_poll(NOW, hints, 0.0) - NOW >= HOUR);
    }
    assert_eq!(wait(&pace, Hints { fresh_for: duration(u64::MAX), ..Hints::default() }), CEILING);
    assert_eq!(wait(&pace, Hints { pushed: true, ..Hints::default() }), PUSHED);
}

#[test]
fn the_stored_form_is_small_and_lossless() {
    let pace = Pace::first(&every(5 * HOUR, 20), NOW);
    let stored = serde_json::to_string(&pace).unwrap();
    assert!(stored.len() < 64, "{stored}");
    let restored: Pace = serde_json::from_str(&stored).unwrap();
    assert_eq!(restored.next_poll(NOW, Hints::default(), 0.5), pace.next_poll(NOW, Hints::default(), 0.5));
    assert_eq!(serde_json::to_string(&restored).unwrap(), stored);
}

#[test]
fn extreme_times_are_tolerated() {
    let wild = [i64::MIN, i64::MAX, 0, NOW + 365 * DAY, -1];
    for now in [NOW, 0, i64::MAX, i64::MIN] {
        let mut pace = Pace::first(&wild, now);
        pace.record_items(&wild, now.saturating_add(HOUR));
        pace.record_unchanged(now.saturating_sub(HOUR));
        pace.record_items(&[], now.saturating_sub(DAY));
        let next = pace.next_poll(now, Hints::default(), 1.0);
        assert!(next >= now && next.saturating_sub(now) <= CEILING);
    }
}
