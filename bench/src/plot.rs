//! Plots as SVG, without a library: horizontal bars with their intervals, and lines.

use crate::estimate::Estimate;
use crate::target::number;
use std::fmt::Write;

/// What a bar stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Hue {
    Base,
    Ours,
    Theirs,
}

pub struct Bar {
    pub label: String,
    pub value: Estimate,
    pub hue: Hue,
}

/// A named line of points.
pub struct Line {
    pub label: String,
    pub points: Vec<(f64, f64)>,
}

/// Of the field in which values are drawn.
const FIELD: f64 = 430.0;
const RIGHT: f64 = 110.0;
const TOP: f64 = 58.0;
const STEP: f64 = 26.0;
const FONT: &str = "font-family=\"DejaVu Sans, Verdana, sans-serif\"";
const LINES: [&str; 7] =
    ["#1f6fb2", "#c8641c", "#2f8f5b", "#8a4fa3", "#666666", "#b8324a", "#1a9aa0"];

impl Hue {
    fn colour(self) -> &'static str {
        match self {
            Self::Base => "#9aa3ab",
            Self::Ours => "#1f6fb2",
            Self::Theirs => "#d98a4b",
        }
    }
}

/// Bars from zero.
pub fn bars(title: &str, unit: &str, rows: &[Bar]) -> String {
    let most = rows.iter().flat_map(|row| [row.value.median, row.value.high]).fold(0.0, f64::max);
    let left = left(rows);
    draw_bars(title, unit, rows, &Axis::linear(0.0, most, left, left + FIELD))
}

/// Bars on a scale of powers of ten, for what differs by more than the eye can compare.
pub fn log_bars(title: &str, unit: &str, rows: &[Bar]) -> String {
    let values = || rows.iter().map(|row| row.value.median).filter(|v| *v > 0.0);
    let least = values().fold(f64::INFINITY, f64::min);
    let (left, most) = (left(rows), values().fold(0.0, f64::max));
    draw_bars(title, unit, rows, &Axis::log(least / 2.0, most, left, left + FIELD))
}

/// Where the bars begin, right of the longest label.
fn left(rows: &[Bar]) -> f64 {
    rows.iter().map(|row| width(&row.label)).fold(0.0, f64::max) + 24.0
}

/// Of a text in small letters, roughly.
fn width(text: &str) -> f64 {
    text.chars().count() as f64 * 6.9
}

fn draw_bars(title: &str, unit: &str, rows: &[Bar], axis: &Axis) -> String {
    let bottom = TOP + STEP * rows.len() as f64;
    let left = axis.from;
    let mut svg = frame(title, unit, left + FIELD + RIGHT, bottom + 40.0);
    for tick in axis.ticks() {
        let x = axis.place(tick);
        vertical(&mut svg, x, TOP - 6.0, bottom, "#dddddd");
        text(&mut svg, x, bottom + 16.0, "middle", "#555555", &short(tick));
    }
    for (at, row) in rows.iter().enumerate() {
        let y = TOP + STEP * at as f64;
        let end = axis.place(row.value.median.max(axis.low));
        text(&mut svg, left - 8.0, y + 15.0, "end", "#222222", &row.label);
        let _ = writeln!(
            svg,
            "<rect x=\"{left}\" y=\"{:.1}\" width=\"{:.1}\" height=\"16\" fill=\"{}\"/>",
            y + 2.0,
            (end - left).max(0.5),
            row.hue.colour()
        );
        let high = whisker(&mut svg, axis, &row.value, y + 10.0).max(end);
        text(&mut svg, high + 6.0, y + 15.0, "start", "#222222", &number(row.value.median));
    }
    svg + "</svg>\n"
}

/// The interval, as a thin line over the bar. Returns where it ends.
fn whisker(svg: &mut String, axis: &Axis, value: &Estimate, y: f64) -> f64 {
    if value.rounds < 2 {
        return 0.0;
    }
    let (from, to) = (axis.place(value.low.max(axis.low)), axis.place(value.high.min(axis.high)));
    let _ = writeln!(
        svg,
        "<path d=\"M{from:.1} {y}H{to:.1}M{from:.1} {:.1}v8M{to:.1} {:.1}v8\" \
         stroke=\"#222222\" stroke-width=\"1.2\" fill=\"none\"/>",
        y - 4.0,
        y - 4.0
    );
    to
}

/// Lines, on scales of powers of ten in both directions.
pub fn lines(title: &str, across: &str, up: &str, all: &[Line]) -> String {
    const BOTTOM: f64 = 330.0;
    const FROM: f64 = 80.0;
    const TO: f64 = FROM + FIELD;
    let points = || all.iter().flat_map(|line| line.points.iter().copied());
    let across_axis = Axis::powers(points().map(|point| point.0), FROM, TO);
    let up_axis = Axis::powers(points().map(|point| point.1), BOTTOM, TOP + 10.0);
    let legend = all.iter().map(|line| width(&line.label)).fold(0.0, f64::max) + 60.0;
    let mut svg = frame(title, up, TO + legend, BOTTOM + 50.0);
    for tick in up_axis.ticks() {
        let y = up_axis.place(tick);
        let _ = writeln!(svg, "<path d=\"M{FROM} {y:.1}H{TO:.1}\" stroke=\"#dddddd\"/>");
        text(&mut svg, FROM - 8.0, y + 4.0, "end", "#555555", &short(tick));
    }
    for tick in across_axis.ticks() {
        text(&mut svg, across_axis.place(tick), BOTTOM + 18.0, "middle", "#555555", &short(tick));
    }
    text(&mut svg, (FROM + TO) / 2.0, BOTTOM + 38.0, "middle", "#555555", across);
    for (at, line) in all.iter().enumerate() {
        draw_line(&mut svg, line, LINES[at % LINES.len()], at, (&across_axis, &up_axis));
    }
    svg + "</svg>\n"
}

fn draw_line(svg: &mut String, line: &Line, colour: &str, at: usize, axes: (&Axis, &Axis)) {
    let mut path = String::new();
    for (x, y) in line.points.iter().map(|p| (axes.0.place(p.0), axes.1.place(p.1))) {
        let _ = write!(path, "{}{x:.1} {y:.1}", if path.is_empty() { "M" } else { "L" });
        let _ = writeln!(svg, "<circle cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"3\" fill=\"{colour}\"/>");
    }
    let _ =
        writeln!(svg, "<path d=\"{path}\" stroke=\"{colour}\" stroke-width=\"2\" fill=\"none\"/>");
    let y = TOP + 20.0 + 22.0 * at as f64;
    let x = axes.0.to + 15.0;
    let _ = writeln!(
        svg,
        "<path d=\"M{x} {:.1}h18\" stroke=\"{colour}\" stroke-width=\"3\"/>",
        y - 4.0
    );
    text(svg, x + 24.0, y, "start", "#222222", &line.label);
}

fn frame(title: &str, unit: &str, wide: f64, height: f64) -> String {
    let wide = wide.max(title.chars().count() as f64 * 9.5 + 32.0);
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{wide:.0}\" height=\"{height:.0}\" \
         viewBox=\"0 0 {wide:.0} {height:.0}\">\n\
         <rect width=\"100%\" height=\"100%\" fill=\"white\"/>\n"
    );
    let _ = writeln!(
        svg,
        "<text x=\"16\" y=\"24\" {FONT} font-size=\"15\" font-weight=\"bold\">{}</text>",
        escaped(title)
    );
    text(&mut svg, 16.0, 42.0, "start", "#555555", unit);
    svg
}

fn text(svg: &mut String, x: f64, y: f64, anchor: &str, colour: &str, what: &str) {
    let _ = writeln!(
        svg,
        "<text x=\"{x:.1}\" y=\"{y:.1}\" {FONT} font-size=\"12\" text-anchor=\"{anchor}\" \
         fill=\"{colour}\">{}</text>",
        escaped(what)
    );
}

fn vertical(svg: &mut String, x: f64, from: f64, to: f64, colour: &str) {
    let _ = writeln!(svg, "<path d=\"M{x:.1} {from:.1}V{to:.1}\" stroke=\"{colour}\"/>");
}

fn escaped(what: &str) -> String {
    what.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

fn short(value: f64) -> String {
    match value {
        v if v >= 1e6 => format!("{}M", v / 1e6),
        v if v >= 1e3 => format!("{}k", v / 1e3),
        v => format!("{}", (v * 1e6).round() / 1e6),
    }
}

/// A scale, and where its values lie.
struct Axis {
    low: f64,
    high: f64,
    from: f64,
    to: f64,
    is_log: bool,
}

impl Axis {
    fn linear(low: f64, high: f64, from: f64, to: f64) -> Self {
        let step = step(high - low);
        Self { low, high: (high / step).ceil() * step, from, to, is_log: false }
    }

    fn log(low: f64, high: f64, from: f64, to: f64) -> Self {
        let low = if low.is_finite() && low > 0.0 { low } else { 1.0 };
        Self { low, high: high.max(low * 2.0), from, to, is_log: true }
    }

    /// From one power of ten to another.
    fn powers(values: impl Iterator<Item = f64> + Clone, from: f64, to: f64) -> Self {
        let power = |value: f64, round: fn(f64) -> f64| 10f64.powf(round(value.max(1.0).log10()));
        let least = values.clone().fold(f64::INFINITY, f64::min);
        let most = values.fold(1.0, f64::max);
        let low = if least.is_finite() { power(least, f64::floor) } else { 1.0 };
        Self { low, high: power(most, f64::ceil).max(low * 10.0), from, to, is_log: true }
    }

    fn place(&self, value: f64) -> f64 {
        let share = if self.is_log {
            (value / self.low).ln() / (self.high / self.low).ln()
        } else {
            (value - self.low) / (self.high - self.low)
        };
        self.from + share * (self.to - self.from)
    }

    fn ticks(&self) -> Vec<f64> {
        if self.is_log {
            let powers = self.low.log10().ceil() as i32..=self.high.log10().floor() as i32;
            return powers.map(|power| 10f64.powi(power)).collect();
        }
        let step = step(self.high - self.low);
        let count = ((self.high - self.low) / step).round() as usize;
        (0..=count).map(|at| self.low + step * at as f64).collect()
    }
}

/// A round step that makes about five of the range.
fn step(range: f64) -> f64 {
    if range.is_nan() || range <= 0.0 {
        return 1.0;
    }
    let power = 10f64.powf((range / 5.0).log10().floor());
    let steps = [1.0, 2.0, 5.0, 10.0].map(|times| times * power);
    steps.into_iter().find(|step| range / step <= 6.0).unwrap_or(power * 10.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn axes_have_round_ticks() {
        assert_eq!(step(1.0), 0.2);
        assert_eq!(Axis::linear(0.0, 93.0, 0.0, 1.0).ticks().len(), 6);
        assert_eq!(Axis::log(0.5, 2_000.0, 0.0, 1.0).ticks(), [1.0, 10.0, 100.0, 1_000.0]);
    }

    #[test]
    fn what_is_written_into_a_plot_cannot_break_it() {
        let bar = Bar { label: "a < b & c".into(), value: Estimate::exact(1.0), hue: Hue::Ours };
        assert!(bars("t", "u", &[bar]).contains("a &lt; b &amp; c"));
    }
}
