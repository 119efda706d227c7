//! Times along a line: where the marks are, and how they are written.

use super::Micros;

const SECOND: Micros = 1_000_000;
const MINUTE: Micros = 60 * SECOND;
const HOUR: Micros = 60 * MINUTE;
const DAY: Micros = 24 * HOUR;

/// Distances between marks that read well.
#[rustfmt::skip]
const STEPS: &[Micros] = &[
    1, 2, 5, 10, 20, 50, 100, 200, 500,
    1_000, 2_000, 5_000, 10_000, 20_000, 50_000, 100_000, 200_000, 500_000,
    SECOND, 2 * SECOND, 5 * SECOND, 10 * SECOND, 15 * SECOND, 30 * SECOND,
    MINUTE, 2 * MINUTE, 5 * MINUTE, 10 * MINUTE, 15 * MINUTE, 30 * MINUTE,
    HOUR, 2 * HOUR, 3 * HOUR, 6 * HOUR, 12 * HOUR, DAY, 2 * DAY, 7 * DAY, 30 * DAY,
];

/// A mark: when, and how that is written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mark {
    pub at: Micros,
    pub text: String,
}

/// At most `most` marks between two times, at round times of the clock on the wall.
pub fn marks(start: Micros, end: Micros, offset_s: i64, most: i64) -> Vec<Mark> {
    let span = end.saturating_sub(start).max(1);
    let longest = STEPS[STEPS.len() - 1];
    let step = STEPS.iter().copied().find(|step| span / step < most).unwrap_or(longest);
    let step = step.max(span / most.max(1));
    let offset = offset_s.saturating_mul(SECOND);
    let local = start.saturating_add(offset);
    let first = local.saturating_add((-local).rem_euclid(step));
    (0..most)
        .map(|number| first + number * step - offset)
        .filter(|at| *at <= end)
        .map(|at| Mark { at, text: label(at + offset, step) })
        .collect()
}

/// As much of a local time as tells two marks apart.
fn label(local: Micros, step: Micros) -> String {
    let (year, month, day) = civil(local.div_euclid(DAY));
    let time = time_of_day(local);
    match step {
        _ if step < 1_000 => format!("{}.{:06}", &time[6..], local.rem_euclid(SECOND)),
        _ if step < SECOND => format!("{}.{:03}", &time[3..], local.rem_euclid(SECOND) / 1_000),
        _ if step < MINUTE => time,
        _ if step < DAY && local.rem_euclid(DAY) == 0 => format!("{month:02}-{day:02}"),
        _ if step < DAY => time[..5].to_owned(),
        _ => format!("{year}-{month:02}-{day:02}"),
    }
}

fn time_of_day(local: Micros) -> String {
    let seconds = local.rem_euclid(DAY) / SECOND;
    format!("{:02}:{:02}:{:02}", seconds / 3_600, seconds / 60 % 60, seconds % 60)
}

/// A date and a time of day, to the second.
pub fn date_and_time(at: Micros, offset_s: i64) -> String {
    let local = at.saturating_add(offset_s.saturating_mul(SECOND));
    let (year, month, day) = civil(local.div_euclid(DAY));
    format!("{year}-{month:02}-{day:02} {}", time_of_day(local))
}

/// A length of time in two units at most.
pub fn duration(micros: Micros) -> String {
    let (days, hours) = (micros / DAY, micros / HOUR % 24);
    let (minutes, seconds) = (micros / MINUTE % 60, micros / SECOND % 60);
    match micros {
        _ if micros < 1_000 => format!("{micros} us"),
        _ if micros < SECOND => format!("{} ms", micros / 1_000),
        _ if micros < 10 * SECOND => format!("{seconds}.{} s", micros / 100_000 % 10),
        _ if micros < MINUTE => format!("{seconds} s"),
        _ if micros < HOUR => format!("{minutes} min {seconds} s"),
        _ if micros < DAY => format!("{hours} h {minutes} min"),
        _ => format!("{days} d {hours} h"),
    }
}

/// Year, month and day of a day counted from 1970-01-01, by eras of 400 years that begin in March.
fn civil(days: i64) -> (i64, i64, i64) {
    let shifted = days + 719_468;
    let (era, day_of_era) = (shifted.div_euclid(146_097), shifted.rem_euclid(146_097));
    let year_of_era =
        (day_of_era - day_of_era / 1_460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let from_march = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * from_march + 2) / 5 + 1;
    let month = if from_march < 10 { from_march + 3 } else { from_march - 9 };
    (era * 400 + year_of_era + i64::from(month <= 2), month, day)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 2026-11-29 12:00:00 UTC.
    const NOON: Micros = 1_795_953_600 * SECOND;

    #[test]
    fn dates_are_those_of_the_calendar() {
        assert_eq!(civil(0), (1970, 1, 1));
        assert_eq!(civil(-1), (1969, 12, 31));
        assert_eq!(civil(11_016), (2000, 2, 29));
        assert_eq!(date_and_time(NOON, 0), "2026-11-29 12:00:00");
        assert_eq!(date_and_time(NOON, 13 * 3_600), "2026-11-30 01:00:00");
    }

    #[test]
    fn marks_are_round_and_few_and_within() {
        for span in [1, 7, 999, 12_345, SECOND, 90 * SECOND, 7 * HOUR, 3 * DAY, 400 * DAY] {
            for offset in [0, 19_800, -12_600] {
                let (start, end) = (NOON + 12_345_678, NOON + 12_345_678 + span);
                let marks = marks(start, end, offset, 6);
                assert!(marks.len() <= 6, "{span}: {}", marks.len());
                assert!(marks.iter().all(|m| (start..=end).contains(&m.at)), "{span}");
                assert!(marks.len() >= 2 || !(10..=30 * DAY).contains(&span), "{span}: {marks:?}");
            }
        }
    }

    #[test]
    fn labels_tell_marks_apart() {
        let texts = |span| -> Vec<String> {
            marks(NOON, NOON + span, 0, 4).into_iter().map(|mark| mark.text).collect()
        };
        assert_eq!(texts(90 * SECOND), ["12:00:00", "12:00:30", "12:01:00", "12:01:30"]);
        assert_eq!(texts(2 * HOUR), ["12:00", "13:00", "14:00"]);
        assert_eq!(texts(20 * HOUR), ["12:00", "18:00", "11-30", "06:00"]);
        assert_eq!(texts(3_000), ["00:00.000", "00:00.001", "00:00.002", "00:00.003"]);
        assert_eq!(texts(2 * DAY), ["2026-11-30", "2026-12-01"]);
    }

    #[test]
    fn durations_have_two_units_at_most() {
        assert_eq!(duration(0), "0 us");
        assert_eq!(duration(1_500), "1 ms");
        assert_eq!(duration(1_500_000), "1.5 s");
        assert_eq!(duration(59 * SECOND), "59 s");
        assert_eq!(duration(100 * SECOND), "1 min 40 s");
        assert_eq!(duration(26 * HOUR), "1 d 2 h");
    }
}
