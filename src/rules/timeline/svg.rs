//! The picture as SVG: the same tenures and vacancies, drawn to scale.

use super::axis::{self, Mark};
use super::{Micros, Timeline, shortened, span};
use std::fmt::Write;

const STYLE: &str = "
svg { font-family: 'DejaVu Sans', Arial, sans-serif; }
text { fill: #1f2933; font-size: 12px; }
.title { font-size: 17px; font-weight: 700; }
.owner { text-anchor: end; }
.token { fill: #ffffff; font-weight: 600; text-anchor: middle; }
.tick { fill: #616e7c; font-size: 11px; text-anchor: middle; }
.note { fill: #616e7c; font-size: 11px; }
.grid { stroke: #e4e7eb; }
.nobody { fill: url(#hatch); stroke: #9aa5b1; }
.o0 { fill: #1d5fa8; } .o1 { fill: #c2570c; } .o2 { fill: #14714b; }
.o3 { fill: #7b3fa0; } .o4 { fill: #9b1c3c; } .o5 { fill: #4a5568; }
";
const COLOURS: usize = 6;

const HATCH: &str = "<defs><pattern id=\"hatch\" width=\"7\" height=\"7\" \
patternUnits=\"userSpaceOnUse\" patternTransform=\"rotate(45)\"><rect width=\"7\" height=\"7\" \
fill=\"#ffffff\"/><rect width=\"2\" height=\"7\" fill=\"#c3ccd5\"/></pattern></defs>";

const WIDTH: f64 = 1_000.0;
const LEFT: f64 = 190.0;
const RIGHT: f64 = 30.0;
const TOP: f64 = 56.0;
const ROW: f64 = 34.0;
const BAR: f64 = 24.0;
const MOST_LABEL: usize = 26;
const MOST_OWNERS: usize = 40;
/// A digit of a token.
const DIGIT: f64 = 8.2;
const NARROWEST: f64 = 1.5;

struct Picture<'a> {
    timeline: &'a Timeline,
    body: String,
}

/// The whole file.
pub fn draw(timeline: &Timeline) -> String {
    let mut picture = Picture { timeline, body: String::new() };
    picture.text("title", 14.0, 28.0, &timeline.title());
    let (owners, left_out) = timeline.owners(MOST_OWNERS);
    let rows = owners.len() + 1;
    let bottom = TOP + ROW * rows as f64;
    picture.marks(bottom);
    for (row, owner) in owners.iter().enumerate() {
        picture.owner(row, owner);
    }
    picture.nobody(rows - 1);
    let mut height = bottom + 34.0;
    if left_out > 0 {
        picture.text("note", 14.0, height, &format!("{left_out} earlier owners are left out"));
        height += 18.0;
    }
    format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{WIDTH}\" height=\"{height}\" \
         viewBox=\"0 0 {WIDTH} {height}\">\n<style>{STYLE}</style>\n{HATCH}\n<rect width=\"100%\" \
         height=\"100%\" fill=\"#ffffff\"/>\n{}</svg>\n",
        picture.body
    )
}

impl Picture<'_> {
    fn x(&self, at: Micros) -> f64 {
        let part = (at - self.timeline.start) as f64 / span(self.timeline) as f64;
        LEFT + part * (WIDTH - LEFT - RIGHT)
    }

    fn marks(&mut self, bottom: f64) {
        let Timeline { start, end, offset_s, .. } = *self.timeline;
        for Mark { at, text } in axis::marks(start, end, offset_s, 9) {
            let x = self.x(at);
            self.element(format_args!(
                "<line class=\"grid\" x1=\"{x:.1}\" y1=\"{:.1}\" x2=\"{x:.1}\" y2=\"{bottom:.1}\"/>",
                TOP - 10.0
            ));
            self.text("tick", x, bottom + 14.0, &text);
        }
    }

    fn owner(&mut self, row: usize, owner: &str) {
        let y = TOP + ROW * row as f64;
        self.text("owner", LEFT - 12.0, y + 16.0, &shortened(owner, MOST_LABEL));
        let timeline = self.timeline;
        for tenure in timeline.of(owner) {
            let token = tenure.token.to_string();
            let end = if tenure.is_open { "holds it" } else { &tenure.ended_by };
            let held = axis::duration(tenure.to - tenure.from);
            let title = format!("{owner}, token {token}, {held}, {end}");
            let class = format!("o{}", row % COLOURS);
            let (x, width) = self.bar(&class, tenure.from, tenure.to, y, &title);
            if width >= DIGIT * token.len() as f64 + 6.0 {
                self.text("token", x + width / 2.0, y + 16.0, &token);
            }
        }
    }

    fn nobody(&mut self, row: usize) {
        let y = TOP + ROW * row as f64;
        self.text("owner", LEFT - 12.0, y + 16.0, "(nobody)");
        let timeline = self.timeline;
        for vacancy in &timeline.vacancies {
            let length = axis::duration(vacancy.to - vacancy.from);
            self.bar("nobody", vacancy.from, vacancy.to, y, &format!("nobody, {length}"));
        }
    }

    /// A bar from one time to another, with a title that browsers show; its place and width.
    fn bar(&mut self, class: &str, from: Micros, to: Micros, y: f64, title: &str) -> (f64, f64) {
        let (x, end) = (self.x(from), self.x(to));
        let width = (end - x).max(NARROWEST);
        let title = escaped(title);
        self.element(format_args!(
            "<rect class=\"{class}\" x=\"{x:.1}\" y=\"{y:.1}\" width=\"{width:.1}\" \
             height=\"{BAR}\"><title>{title}</title></rect>"
        ));
        (x, width)
    }

    fn text(&mut self, class: &str, x: f64, y: f64, text: &str) {
        let text = escaped(text);
        self.element(format_args!(
            "<text class=\"{class}\" x=\"{x:.1}\" y=\"{y:.1}\">{text}</text>"
        ));
    }

    fn element(&mut self, element: std::fmt::Arguments) {
        // writing to a String cannot fail
        let _ = writeln!(self.body, "{element}");
    }
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}
