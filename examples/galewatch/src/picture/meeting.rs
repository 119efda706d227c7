//! The moment when both boxes were at one turbine, drawn large.

use super::labels::{self, Label};
use super::overview::{colour, is_write, lease};
use super::scale::{LEFT, Scale};
use super::svg::Canvas;
use crate::event::{Doing, Entry, Event};
use crate::night::{BOX_2, BOX_3, Night, Span, Stock};
use crate::words::grouped;

const LANE: f64 = 26.0;
const STOCK: f64 = 46.0;
const SPACE: f64 = 12.0;

/// From a little before box 2 began the turbine to a little after it ended.
pub fn window(night: &Night) -> Span {
    let here = |entry: &&Entry| entry.turbine() == Some(&night.turbine);
    let first = night.of(BOX_2).find(here).map_or(0, |entry| entry.at_us);
    let last = night.of(BOX_2).last().map_or(0, |entry| entry.at_us);
    let margin = (last - first) / 20;
    Span { from_us: first - margin, to_us: last + margin }
}

/// Draws it below `top`. Returns where it ends.
pub fn draw(canvas: &mut Canvas, night: &Night, scale: &Scale, top: f64) -> f64 {
    let lanes = [BOX_2, BOX_3].map(|who| (who, events(night, scale, who)));
    let high: f64 = lanes.iter().map(|(_, l)| labels::height(l) + LANE + SPACE).sum();
    let bottom = top + LANE + high + 2.0 * (STOCK + SPACE) + 4.0;
    scale.axis(canvas, top, bottom);
    name(canvas, top, "lease held by");
    lease(canvas, night, scale, top);
    let mut y = top + LANE;
    for (who, events) in &lanes {
        y += labels::height(events);
        lane(canvas, night, scale, who, y);
        labels::draw(canvas, events, y);
        y += LANE + SPACE;
    }
    for shard in [1, 3] {
        stock(canvas, night, scale, shard, y);
        y += STOCK + SPACE;
    }
    bottom + 20.0
}

fn name(canvas: &mut Canvas, y: f64, name: &str) {
    canvas.text("lane", LEFT - 12.0, y + 16.0, name);
}

/// When a box worked, when it was stopped, and a line for each write that was committed.
fn lane(canvas: &mut Canvas, night: &Night, scale: &Scale, who: &str, y: f64) {
    name(canvas, y, if who == BOX_2 { "box 2" } else { "box 3" });
    let begins = night.tenures().iter().find(|t| t.who == who).map_or(0, |t| t.held.from_us);
    let ends = night.of(who).last().map_or(0, |entry| entry.at_us);
    let pale = if who == BOX_2 { "box2pale" } else { "box3pale" };
    scale.bar(canvas, pale, Span { from_us: begins, to_us: ends }, y, LANE);
    if let Some(pause) = night.pause().filter(|_| who == BOX_2) {
        let (from, to) = scale.bar(canvas, "nobody", pause, y, LANE);
        canvas.text("dark", (from + to) / 2.0, y + 17.0, "process stopped");
    }
    for entry in night.of(who).filter(|entry| scale.shows(entry.at_us)) {
        let x = scale.x(entry.at_us);
        match &entry.event {
            event if is_write(event) => canvas.rect(colour(who), x - 1.5, y, 3.0, LANE),
            Event::Refused { .. } => cross(canvas, x, y + LANE / 2.0),
            _ => {}
        }
    }
}

fn cross(canvas: &mut Canvas, x: f64, y: f64) {
    canvas.line("cross", (x - 6.0, y - 6.0), (x + 6.0, y + 6.0));
    canvas.line("cross", (x - 6.0, y + 6.0), (x + 6.0, y - 6.0));
}

fn events(night: &Night, scale: &Scale, who: &str) -> Vec<Label> {
    let shown = night.of(who).filter(|entry| scale.shows(entry.at_us));
    let labelled = shown.filter_map(|entry| {
        let (class, text) = label(night, entry)?;
        Some(Label { x: scale.x(entry.at_us), class, text })
    });
    labelled.collect()
}

fn label(night: &Night, entry: &Entry) -> Option<(&'static str, String)> {
    let here = |turbine: &String| *turbine == night.turbine;
    Some(match &entry.event {
        Event::Acquired { .. } => ("", "takes the lease over".to_owned()),
        Event::Wrote { turbine, .. } if here(turbine) && night.is_first(entry) => {
            ("", format!("begins to copy {turbine}"))
        }
        Event::Verified { turbine, read, written } if here(turbine) => {
            ("", format!("copied: {} read, {} written", grouped(*read), grouped(*written)))
        }
        Event::Deleted { turbine, .. } if here(turbine) => {
            ("", format!("deletes {turbine} from shard 1"))
        }
        Event::Lost { .. } => ("", "learns that the lease is lost".to_owned()),
        Event::TidiedUp { rows, .. } => {
            ("bad", format!("tidies up shard 3: {} rows deleted", grouped(*rows)))
        }
        Event::Refused { doing: Doing::Copying, .. } => ("good", "batch refused".to_owned()),
        Event::Refused { doing: Doing::Deleting, .. } => ("good", "delete refused".to_owned()),
        Event::Refused { doing: Doing::TidyingUp, .. } => ("good", "tidy-up refused".to_owned()),
        _ => return None,
    })
}

/// How many rows of the turbine a shard has, over time, and what was counted there in the end.
fn stock(canvas: &mut Canvas, night: &Night, scale: &Scale, shard: u8, y: f64) {
    let of = |stock: &Stock| if shard == 1 { stock.shard1 } else { stock.shard3 };
    let steps = night.stock();
    let most = steps.iter().map(|s| s.shard1.max(s.shard3)).max().unwrap_or(1).max(1);
    let (low, end) = (y + STOCK, scale.x(scale.shown.to_us));
    canvas.text("lane", LEFT - 12.0, y + 22.0, &format!("rows of {}", night.turbine));
    canvas.text("lane", LEFT - 12.0, y + 39.0, &format!("on shard {shard}"));
    let mut outline = vec![(LEFT, low)];
    for step in &steps {
        let before = outline.last().map_or(low, |(_, y)| *y);
        let x = scale.x(step.at_us);
        outline.push((x, before));
        outline.push((x, low - of(step) as f64 / most as f64 * (STOCK - 4.0)));
    }
    let last = outline.last().map_or(low, |(_, y)| *y);
    outline.extend([(end, last), (end, low)]);
    canvas.polygon("stock", &outline);
    canvas.line("base", (LEFT, low), (end, low));
    verdict(canvas, night, shard, end + 12.0, low);
}

fn verdict(canvas: &mut Canvas, night: &Night, shard: u8, x: f64, low: f64) {
    let counts = night.counts;
    let counted = if shard == 1 { counts.on_shard1 } else { counts.on_shard3 };
    let class = match (counts.lost > 0, shard) {
        (true, _) => "bad",
        (false, 3) => "good",
        _ => "key",
    };
    canvas.text(
        class,
        x,
        low - 22.0,
        &format!("{} rows counted after the night", grouped(counted)),
    );
    let twice = counted.saturating_sub(counts.of_turbine);
    if twice > 0 {
        canvas.text("key", x, low - 4.0, &format!("{} of them are there twice", grouped(twice)));
    }
}
