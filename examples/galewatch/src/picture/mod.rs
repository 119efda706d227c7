//! Both nights drawn, one above the other: as wholes to one scale, their meetings each to its own.

mod labels;
mod meeting;
mod overview;
mod scale;
mod svg;

use crate::night::{Night, Span};
use crate::words::grouped;
use scale::{LEFT, RIGHT, Scale};
use svg::Canvas;

const WIDTH: f64 = 1440.0;
/// How much of the width the meeting takes; its labels need the rest.
const MEETING: f64 = 0.74;
/// How high the lens is, between the whole night and the meeting.
const LENS: f64 = 28.0;

/// The picture of some nights, as SVG.
pub fn draw(nights: &[Night]) -> String {
    let mut canvas = Canvas::default();
    let longest = nights.iter().map(|night| length(night.span())).fold(1.0, f64::max);
    let mut y = head(&mut canvas, nights);
    for night in nights {
        let (span, window) = (night.span(), meeting::window(night));
        let zero_us = span.from_us;
        let whole = (RIGHT - LEFT) / longest;
        let whole = Scale { shown: span, zero_us, pixels_per_us: whole };
        let large = (RIGHT - LEFT) * MEETING / length(window);
        let large = Scale { shown: window, zero_us, pixels_per_us: large };
        y = heading(&mut canvas, night, y);
        let under = overview::draw(&mut canvas, night, &whole, window, y);
        lens(&mut canvas, &whole, &large, under);
        y = meeting::draw(&mut canvas, night, &large, under + LENS) + 48.0;
    }
    canvas.finish(WIDTH, y - 16.0)
}

fn length(span: Span) -> f64 {
    (span.to_us - span.from_us).max(1) as f64
}

fn head(canvas: &mut Canvas, nights: &[Night]) -> f64 {
    canvas.text("title", 40.0, 54.0, "Two movers, one lease, one turbine");
    let ran = "The same two programs on the same servers, twice. \
               Only the second night has a guard on the shards' tables.";
    canvas.text("subtitle", 40.0, 82.0, ran);
    let turbine = nights.first().map_or("", |night| &night.turbine);
    let key = format!(
        "Upper lanes: the whole night. Lower lanes: the moment when both boxes are at {turbine}, \
         each write that was committed as a line."
    );
    canvas.text("subtitle", 40.0, 104.0, &key);
    150.0
}

fn heading(canvas: &mut Canvas, night: &Night, y: f64) -> f64 {
    let name = if night.guarded { "Guarded" } else { "Unguarded" };
    canvas.text("night", 40.0, y, name);
    let (class, verdict) = match night.counts.lost {
        0 => ("night good", "no reading lost".to_owned()),
        lost => ("night bad", format!("{} readings lost: on neither shard", grouped(lost))),
    };
    canvas.text(class, LEFT + 40.0, y, &verdict);
    y + 24.0
}

/// What connects a stretch of the overview with its enlargement below.
fn lens(canvas: &mut Canvas, whole: &Scale, large: &Scale, y: f64) {
    let (from_us, to_us) = (large.shown.from_us, large.shown.to_us);
    let above = [(whole.x(from_us), y), (whole.x(to_us), y)];
    let below = [(large.x(to_us), y + LENS - 4.0), (large.x(from_us), y + LENS - 4.0)];
    canvas.polygon("zoom", &[above[0], above[1], below[0], below[1]]);
}
