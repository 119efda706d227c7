//! A whole night in four lanes: the lease, routing, and who wrote when.

use super::scale::{LEFT, Scale};
use super::svg::{Canvas, width_of};
use crate::event::Event;
use crate::night::{BOX_2, BOX_3, Night, Span};
use crate::words::spoken;

const LANE: f64 = 20.0;
const STEP: f64 = 27.0;
/// How high the axis is.
const NUMBERS: f64 = 20.0;
/// Writes that are closer than this are one bar.
const JOINED_US: i64 = 60_000;

/// Draws it below `top`. Returns where it ends.
pub fn draw(canvas: &mut Canvas, night: &Night, scale: &Scale, zoom: Span, top: f64) -> f64 {
    let bottom = top + 4.0 * STEP;
    let (from, to) = (scale.x(zoom.from_us), scale.x(zoom.to_us));
    canvas.rect("zoom", from, top - 4.0, to - from, bottom - top + 4.0 + NUMBERS);
    scale.axis(canvas, top, bottom);
    let names = ["lease held by", "routing", "box 2 writes", "box 3 writes"];
    for (row, name) in names.iter().enumerate() {
        canvas.text("lane", LEFT - 12.0, top + row as f64 * STEP + 15.0, name);
    }
    lease(canvas, night, scale, top);
    routing(canvas, night, scale, top + STEP);
    writes(canvas, night, scale, BOX_2, top + 2.0 * STEP);
    writes(canvas, night, scale, BOX_3, top + 3.0 * STEP);
    bottom + NUMBERS
}

/// Who held the lease; hatched where it had expired and nobody had taken it.
pub fn lease(canvas: &mut Canvas, night: &Night, scale: &Scale, y: f64) {
    let tenures = night.tenures();
    for pair in tenures.windows(2) {
        let nobody = Span { from_us: pair[0].held.to_us, to_us: pair[1].held.from_us };
        let (from, to) = scale.bar(canvas, "nobody", nobody, y, LANE);
        inside(canvas, "dark", from, to, y, "expired");
    }
    for tenure in &tenures {
        let (from, to) = scale.bar(canvas, colour(&tenure.who), tenure.held, y, LANE);
        let name = spoken(&tenure.who);
        let full = format!("{name}, token {}", tenure.token);
        let text = if width_of(&full) + 12.0 < to - from { full } else { name };
        inside(canvas, "inside", from, to, y, &text);
    }
}

pub fn colour(who: &str) -> &'static str {
    if who == BOX_2 { "box2" } else { "box3" }
}

fn routing(canvas: &mut Canvas, night: &Night, scale: &Scale, y: f64) {
    let (night_span, thin) = (night.span(), (y + 6.0, LANE - 12.0));
    let Some(down) = night.outage() else { return };
    let before = Span { to_us: down.from_us, ..night_span };
    let after = Span { from_us: down.to_us, ..night_span };
    scale.bar(canvas, "up", before, thin.0, thin.1);
    scale.bar(canvas, "up", after, thin.0, thin.1);
    let seconds = (down.to_us - down.from_us) as f64 / 1e6;
    let (from, to) = (scale.x(down.from_us), scale.x(down.to_us));
    inside(canvas, "dark", from, to, y, &format!("down {seconds:.1} s"));
}

fn writes(canvas: &mut Canvas, night: &Night, scale: &Scale, who: &str, y: f64) {
    for span in joined(night, who) {
        scale.bar(canvas, colour(who), span, y, LANE);
    }
}

/// When somebody's writes were committed, close ones as one.
fn joined(night: &Night, who: &str) -> Vec<Span> {
    let mut spans: Vec<Span> = Vec::new();
    for at_us in night.of(who).filter(|entry| is_write(&entry.event)).map(|entry| entry.at_us) {
        match spans.last_mut() {
            Some(last) if at_us - last.to_us < JOINED_US => last.to_us = at_us,
            _ => spans.push(Span { from_us: at_us - 10_000, to_us: at_us }),
        }
    }
    spans
}

pub fn is_write(event: &Event) -> bool {
    matches!(event, Event::Wrote { .. } | Event::Deleted { .. } | Event::TidiedUp { .. })
}

/// A text in the middle of a bar, if it has room there.
fn inside(canvas: &mut Canvas, class: &str, from: f64, to: f64, y: f64, text: &str) {
    if width_of(text) + 6.0 < to - from {
        canvas.text(class, (from + to) / 2.0, y + 15.0, text);
    }
}
