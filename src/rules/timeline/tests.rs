//! Pictures of small histories.

use super::*;
use serde_json::json;

/// 2026-11-29 12:00:00 UTC.
const NOON: Micros = 1_795_953_600_000_000;
const SECOND: Micros = 1_000_000;

fn granted(
    at: Micros,
    why: &str,
    old: Option<(&str, i64)>,
    new: (&str, i64),
    gap: Micros,
) -> Value {
    json!({
        "at": at, "why": why, "old_owner": old.map(|o| o.0), "old_token": old.map(|o| o.1),
        "new_owner": new.0, "new_token": new.1, "vacancy_us": gap,
    })
}

fn ended(at: Micros, why: &str, old: (&str, i64)) -> Value {
    json!({ "at": at, "why": why, "old_owner": old.0, "old_token": old.1 })
}

/// A lease whose holder has this token until then.
fn timeline(changes: &[Value], now: Micros, held: Option<(i64, Micros)>) -> Timeline {
    let data = json!({
        "lease": "job", "now": now, "since": null, "offset_s": 0, "changes": changes,
        "token": held.map(|h| h.0), "expires_at": held.map(|h| h.1),
    });
    Timeline::read(&data.to_string()).unwrap_or_default()
}

/// Released after 20 s, taken 10 s later, expired at 50 s and taken at 60 s; now it is 100 s.
fn three_owners() -> Timeline {
    let changes = [
        granted(NOON, "acquired", None, ("host-a:1", 41), 0),
        ended(NOON + 20 * SECOND, "released", ("host-a:1", 41)),
        granted(NOON + 30 * SECOND, "acquired", None, ("host-b:1", 42), 10 * SECOND),
        granted(
            NOON + 60 * SECOND,
            "expired",
            Some(("host-b:1", 42)),
            ("host-c:1", 43),
            10 * SECOND,
        ),
    ];
    timeline(&changes, NOON + 100 * SECOND, Some((43, NOON + 110 * SECOND)))
}

#[test]
fn tenures_end_with_a_release_or_the_expiry_and_vacancies_fill_the_gaps() {
    let drawn = three_owners();
    let tenures: Vec<(&str, i64, i64, &str)> = drawn
        .tenures
        .iter()
        .map(|t| {
            let at = |micros: Micros| (micros - NOON) / SECOND;
            (t.owner.as_str(), at(t.from), at(t.to), t.ended_by.as_str())
        })
        .collect();
    assert_eq!(
        tenures,
        [
            ("host-a:1", 0, 20, "released"),
            ("host-b:1", 30, 50, "expired"),
            ("host-c:1", 60, 100, "")
        ]
    );
    let gaps: Vec<(i64, i64)> = drawn
        .vacancies
        .iter()
        .map(|v| ((v.from - NOON) / SECOND, (v.to - NOON) / SECOND))
        .collect();
    assert_eq!(gaps, [(20, 30), (50, 60)]);
}

#[test]
fn the_text_shows_them_to_scale() {
    let expected = "\
job: 3 tenures from 2026-11-29 12:00:00 to 2026-11-29 12:01:40
host-a:1 [=====41=====]
host-b:1                      [=====42=====]
host-c:1                                           [============43============>
(nobody)               .......              .......
         +---------------------+--------------------+--------------------+------
         12:00:00              12:00:30             12:01:00             12:01:30
";
    let drawn = draw_text(&three_owners());
    let chart: Vec<&str> = drawn.lines().take(5).collect();
    for (line, expected) in chart.iter().zip(expected.lines()) {
        assert_eq!(line.split_whitespace().next(), expected.split_whitespace().next());
        assert!(line.chars().count() <= 80, "{line}");
    }
    println!("{drawn}");
    assert!(drawn.contains("[====") && drawn.contains("41") && drawn.contains("43"));
    assert!(drawn.contains("...") && drawn.contains("12:01:00"));
    assert!(drawn.contains("=>"), "the last tenure goes on");
}

#[test]
fn nothing_is_a_picture_too() {
    let drawn = timeline(&[], NOON, None);
    assert_eq!(draw_text(&drawn), "job: 0 tenures from 2026-11-29 12:00:00 to 2026-11-29 12:00:00");
    assert!(draw_svg(&drawn).ends_with("</svg>\n"));
}

#[test]
fn one_change_just_now_and_two_within_a_microsecond() {
    let one = [granted(NOON, "acquired", None, ("a", 41), 0)];
    let drawn = timeline(&one, NOON, Some((41, NOON + SECOND)));
    assert_eq!((drawn.tenures.len(), drawn.tenures[0].is_open), (1, true));
    assert!(draw_text(&drawn).lines().all(|line| line.chars().count() <= 80));
    let two = [
        granted(NOON, "acquired", None, ("a", 41), 0),
        granted(NOON, "forced", Some(("a", 41)), ("a", 42), 0),
        granted(NOON, "forced", Some(("a", 42)), ("b", 43), 0),
    ];
    let drawn = draw_text(&timeline(&two, NOON + SECOND, Some((43, NOON + 9 * SECOND))));
    assert!(drawn.contains("a        #"), "{drawn}");
    assert!(drawn.contains("b        ["), "{drawn}");
}

#[test]
fn what_began_before_the_history_and_what_nobody_has_now() {
    let changes = [
        granted(NOON, "expired", Some(("old", 7)), ("a", 41), 2 * SECOND),
        ended(NOON + 5 * SECOND, "drained", ("a", 41)),
    ];
    let data = json!({
        "lease": "job", "now": NOON + 10 * SECOND, "since": NOON - 10 * SECOND, "offset_s": 0,
        "changes": changes, "token": null, "expires_at": null,
    });
    let drawn = Timeline::read(&data.to_string()).unwrap_or_default();
    assert!(drawn.tenures[0].began_earlier);
    assert_eq!(drawn.tenures[0].from, NOON - 10 * SECOND);
    assert_eq!(drawn.tenures[0].to, NOON - 2 * SECOND);
    assert_eq!(drawn.vacancies.last().map(|v| v.to), Some(NOON + 10 * SECOND));
    let lapsed = timeline(
        &[granted(NOON, "acquired", None, ("a", 41), 0)],
        NOON + 10 * SECOND,
        Some((41, NOON + 4 * SECOND)),
    );
    assert_eq!(lapsed.tenures[0].ended_by, "lapsed");
    assert_eq!(lapsed.vacancies, [Vacancy { from: NOON + 4 * SECOND, to: NOON + 10 * SECOND }]);
}

#[test]
fn long_owners_and_many_fit_in_eighty_columns() {
    let mut changes = Vec::new();
    let owner = |n: i64| format!("{}:{n:05}", "very-long-host-name.example.com/".repeat(6));
    for n in 0..60 {
        let before = owner(n - 1);
        let old = (n > 0).then_some((before.as_str(), 40 + n));
        let new = (&*owner(n), 41 + n);
        changes.push(granted(NOON + n * SECOND, "forced", old, new, 0));
    }
    let drawn = timeline(&changes, NOON + 60 * SECOND, Some((100, NOON + 99 * SECOND)));
    let text = draw_text(&drawn);
    assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
    assert!(text.contains("(40 earlier owners are left out)"), "{text}");
    assert!(text.contains(":00059"), "{text}");
    assert!(draw_svg(&drawn).contains("20 earlier owners are left out"));
}

#[test]
fn svg_is_the_same_each_time_and_escapes_what_owners_are_called() {
    let owner = "<script>&\"'";
    let changes = [granted(NOON, "acquired", None, (owner, 41), 0)];
    let drawn = timeline(&changes, NOON + SECOND, Some((41, NOON + 9 * SECOND)));
    let svg = draw_svg(&drawn);
    assert_eq!(svg, draw_svg(&drawn));
    assert!(svg.contains("&lt;script&gt;&amp;&quot;'") && !svg.contains("<script>"));
}

#[test]
fn a_clock_that_stepped_back_makes_no_negative_bar() {
    let changes = [
        granted(NOON + 50 * SECOND, "acquired", None, ("a", 41), 0),
        granted(NOON, "forced", Some(("a", 41)), ("b", 42), 0),
    ];
    let drawn = timeline(&changes, NOON + 60 * SECOND, Some((42, NOON + 99 * SECOND)));
    assert!(drawn.tenures.iter().all(|t| t.from <= t.to));
    draw_text(&drawn);
    draw_svg(&drawn);
}
