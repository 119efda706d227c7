//! Writing SVG: a few shapes, with their looks given by classes.

use std::fmt::Write;

/// Everything about looks is here.
const STYLE: &str = "
svg { font-family: Inter, 'Helvetica Neue', Arial, 'DejaVu Sans', sans-serif; }
text { fill: #1f2933; font-size: 13px; }
.title { font-size: 27px; font-weight: 700; }
.subtitle { font-size: 15px; fill: #52606d; }
.night { font-size: 20px; font-weight: 700; }
.lane { fill: #52606d; text-anchor: end; }
.tick { fill: #7b8794; font-size: 11px; text-anchor: middle; }
.inside { fill: #ffffff; font-weight: 600; text-anchor: middle; }
.dark { fill: #3e4c59; font-weight: 600; text-anchor: middle; }
.key { fill: #52606d; }
.bad { fill: #c81e1e; font-weight: 700; }
.good { fill: #14714b; font-weight: 700; }
.box2 { fill: #c2570c; }
.box3 { fill: #1d5fa8; }
.box2pale { fill: #fbe3d0; }
.box3pale { fill: #d8e7f7; }
.nobody { fill: url(#hatch); stroke: #9aa5b1; stroke-width: 1; }
.up { fill: #b6c0cb; }
.stock { fill: #8fa3b5; }
.zoom { fill: #fff6d6; }
.grid { stroke: #e4e7eb; stroke-width: 1; }
.base { stroke: #9aa5b1; stroke-width: 1; }
.leader { stroke: #7b8794; stroke-width: 1; }
.cross { stroke: #14714b; stroke-width: 3; stroke-linecap: round; }
";

const HATCH: &str = r##"<pattern id="hatch" width="7" height="7" patternUnits="userSpaceOnUse"
 patternTransform="rotate(45)"><rect width="7" height="7" fill="#ffffff"/>
<rect width="2" height="7" fill="#c3ccd5"/></pattern>"##;

/// A picture being drawn.
#[derive(Default)]
pub struct Canvas {
    body: String,
}

impl Canvas {
    pub fn rect(&mut self, class: &str, x: f64, y: f64, width: f64, height: f64) {
        self.element(format_args!(
            r#"<rect class="{class}" x="{x:.1}" y="{y:.1}" width="{:.1}" height="{height:.1}"/>"#,
            width.max(0.0)
        ));
    }

    pub fn line(&mut self, class: &str, from: (f64, f64), to: (f64, f64)) {
        let ((x1, y1), (x2, y2)) = (from, to);
        self.element(format_args!(
            r#"<line class="{class}" x1="{x1:.1}" y1="{y1:.1}" x2="{x2:.1}" y2="{y2:.1}"/>"#
        ));
    }

    pub fn text(&mut self, class: &str, x: f64, y: f64, text: &str) {
        let text = escaped(text);
        self.element(format_args!(r#"<text class="{class}" x="{x:.1}" y="{y:.1}">{text}</text>"#));
    }

    pub fn polygon(&mut self, class: &str, points: &[(f64, f64)]) {
        let points: Vec<String> = points.iter().map(|(x, y)| format!("{x:.1},{y:.1}")).collect();
        let points = points.join(" ");
        self.element(format_args!(r#"<polygon class="{class}" points="{points}"/>"#));
    }

    /// The whole file.
    pub fn finish(self, width: f64, height: f64) -> String {
        format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width}\" height=\"{height:.0}\" \
             viewBox=\"0 0 {width} {height:.0}\">\n<style>{STYLE}</style>\n<defs>{HATCH}</defs>\n\
             <rect width=\"100%\" height=\"100%\" fill=\"#ffffff\"/>\n{}</svg>\n",
            self.body
        )
    }

    fn element(&mut self, element: std::fmt::Arguments) {
        // Writing to a String cannot fail.
        let _ = writeln!(self.body, "{element}");
    }
}

/// About how wide a text of 13 pixels is, in the widest of the fonts.
pub fn width_of(text: &str) -> f64 {
    text.chars().count() as f64 * 7.9
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}
