//! A night told in lines with times.

use crate::event::{Doing, Entry, Event};
use crate::night::{BOX_2, BOX_3, Night};

/// A line of the story, and the seconds since the night began.
#[derive(Clone, Debug, PartialEq)]
pub struct Line {
    pub seconds: f64,
    pub text: String,
}

/// The story of a night. Everything in it comes from the logs.
pub fn tell(night: &Night) -> Vec<Line> {
    let told = night.entries.iter().filter_map(|entry| {
        Some(Line { seconds: night.seconds(entry.at_us), text: sentence(night, entry)? })
    });
    let mut lines: Vec<Line> = told.collect();
    lines.extend(expiry(night));
    lines.sort_by(|a, b| a.seconds.total_cmp(&b.seconds));
    lines
}

/// A number with commas between the thousands.
pub fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut grouped = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            grouped.push(',');
        }
        grouped.push(digit);
    }
    grouped
}

/// `box-2` as people say it.
pub fn spoken(who: &str) -> String {
    who.replace('-', " ")
}

/// What a line says, if the entry is worth one.
fn sentence(night: &Night, entry: &Entry) -> Option<String> {
    let who = spoken(&entry.who);
    let here = entry.turbine() == Some(&night.turbine);
    Some(match &entry.event {
        Event::Acquired { token, .. } if entry.who == BOX_3 => {
            format!("{who} takes the lease over, with token {token}")
        }
        Event::Acquired { token, .. } => format!("{who} takes the lease, with token {token}"),
        Event::Held { .. } if night.is_first(entry) => {
            format!("{who} asks for the lease: it is held")
        }
        Event::Renewed { .. } => return last_renewal(night, entry),
        Event::RoutingDown => "routing is stopped".to_owned(),
        Event::RoutingUp => {
            let down = night.outage().map_or(0, |outage| outage.to_us - outage.from_us);
            format!("routing is back, after {:.1} s", down as f64 / 1e6)
        }
        Event::Unreachable { error } if entry.who == BOX_2 && night.is_first(entry) => {
            format!("{who} has copied {} and cannot renew: {error}", copied_last(night, entry)?)
        }
        Event::CarriedOn { tries, after_ms } => {
            let seconds = *after_ms as f64 / 1e3;
            format!("{who} has tried {tries} times in {seconds:.1} s, and carries on")
        }
        Event::Paused { turbine, rows } => format!(
            "box 2 stalls in {turbine}, with {} of {} readings on shard 3 (SIGSTOP)",
            grouped(*rows),
            grouped(night.counts.of_turbine),
        ),
        Event::Resumed => "box 2 goes on (SIGCONT)".to_owned(),
        Event::Wrote { turbine, .. } if here && entry.who == BOX_3 && night.is_first(entry) => {
            format!("{who} has passed {} finished turbines and is at {turbine}", skipped(night))
        }
        Event::Verified { turbine, read, written } if here => {
            let (read, written) = (grouped(*read), grouped(*written));
            format!("{who} has copied {turbine}: {read} read, {written} written")
        }
        Event::Deleted { turbine, rows } if here => {
            format!("{who} deletes {turbine} from shard 1: {} rows", grouped(*rows))
        }
        Event::Refused { doing: Doing::Copying, .. } => {
            format!("{who} writes its next batch to shard 3: refused")
        }
        Event::Refused { doing: Doing::Deleting, turbine, .. } => {
            format!("{who} deletes {turbine} from shard 1: refused")
        }
        Event::Refused { doing: Doing::TidyingUp, turbine, .. } => {
            format!("{who} tidies up {turbine} on shard 3: refused")
        }
        Event::Lost { .. } => format!("{who} asks to renew, and learns that the lease is lost"),
        Event::TidiedUp { turbine, rows } => {
            format!("{who} tidies up {turbine} on shard 3: {} rows deleted", grouped(*rows))
        }
        Event::Finished { turbines } => format!("{who} has been through all {turbines} turbines"),
        _ => return None,
    })
}

fn last_renewal(night: &Night, entry: &Entry) -> Option<String> {
    let (last, _) = night.last_renewal()?;
    let finished = |e: &&Entry| e.at_us < last.at_us && matches!(e.event, Event::Verified { .. });
    let copied = night.of(BOX_2).filter(finished).count();
    (last == entry)
        .then(|| format!("box 2 renews for the last time, with {copied} turbines copied"))
}

/// What the box of this entry had copied before it.
fn copied_last<'a>(night: &'a Night, entry: &'a Entry) -> Option<&'a str> {
    let before = night.of(&entry.who).take_while(|other| *other != entry);
    before
        .filter(|e| matches!(e.event, Event::Verified { .. }))
        .last()?
        .turbine()
        .map(String::as_str)
}

fn expiry(night: &Night) -> Option<Line> {
    let (_, expires_us) = night.last_renewal()?;
    let text = "the lease expires; nobody can reach it to notice".to_owned();
    Some(Line { seconds: night.seconds(expires_us), text })
}

/// How many turbines box 3 found finished before it came to where box 2 was.
fn skipped(night: &Night) -> usize {
    let skips = |entry: &&Entry| matches!(entry.event, Event::Skipped { .. });
    let arrived = |entry: &&Entry| entry.turbine() != Some(&night.turbine);
    night.of(BOX_3).take_while(arrived).filter(skips).count()
}
