//! The picture is readable: no text covers another or leaves the page, and it shows what was
//! counted.

mod common;

use anyhow::{Context, Result};
use common::nights;
use galewatch::picture::draw;

/// A text of the picture and the room that it takes, roughly.
struct Text {
    said: String,
    left: f64,
    right: f64,
    base: f64,
}

impl Text {
    /// One element a line, as the picture is written.
    fn read(line: &str) -> Option<Self> {
        let class = between(line, "class=\"", "\"")?;
        let said = between(line, "\">", "</text>")?.to_owned();
        let x: f64 = between(line, "x=\"", "\"")?.parse().ok()?;
        let base: f64 = between(line, " y=\"", "\"")?.parse().ok()?;
        let wide = said.chars().count() as f64 * pixels(class);
        let left = match class {
            "lane" => x - wide,
            "tick" | "inside" | "dark" => x - wide / 2.0,
            _ => x,
        };
        Some(Self { said, left, right: left + wide, base })
    }

    fn covers(&self, other: &Self) -> bool {
        let level = (self.base - other.base).abs() < 11.0;
        level && self.left < other.right && other.left < self.right
    }
}

/// How wide a letter of a class is, in a wide font.
fn pixels(class: &str) -> f64 {
    match class.split(' ').next() {
        Some("title") => 17.5,
        Some("night") => 13.0,
        Some("subtitle") => 8.8,
        Some("tick") => 6.6,
        _ => 7.6,
    }
}

fn between<'a>(text: &'a str, begins: &str, ends: &str) -> Option<&'a str> {
    text.split_once(begins)?.1.split_once(ends).map(|(inner, _)| inner)
}

fn texts(svg: &str) -> Vec<Text> {
    svg.lines().filter(|line| line.starts_with("<text")).filter_map(Text::read).collect()
}

#[test]
fn no_text_covers_another() -> Result<()> {
    let svg = draw(&nights()?);
    let texts = texts(&svg);
    assert_eq!(texts.len(), svg.matches("<text").count());
    for (at, text) in texts.iter().enumerate() {
        for other in &texts[at + 1..] {
            assert!(!text.covers(other), "{:?} covers {:?}", text.said, other.said);
        }
    }
    Ok(())
}

#[test]
fn every_text_is_on_the_page() -> Result<()> {
    let svg = draw(&nights()?);
    let width: f64 = between(&svg, "width=\"", "\"").context("no width")?.parse()?;
    let height: f64 = between(&svg, "height=\"", "\"").context("no height")?.parse()?;
    for text in texts(&svg) {
        assert!(text.left >= 0.0 && text.right <= width, "{:?} is off the page", text.said);
        assert!(text.base <= height - 4.0, "{:?} is below the page", text.said);
    }
    Ok(())
}

#[test]
fn it_shows_what_was_counted() -> Result<()> {
    let svg = draw(&nights()?);
    let unguarded = svg.find("7,200 readings lost").context("no loss is shown")?;
    let guarded = svg.find("no reading lost").context("no guarded night is shown")?;
    assert!(unguarded < guarded);
    assert_eq!(svg.matches(">0 rows counted after the night<").count(), 3);
    assert_eq!(svg.matches(">8,200 rows counted after the night<").count(), 1);
    assert_eq!(svg.matches("tidy-up refused").count(), 1);
    Ok(())
}

#[test]
fn a_turbine_with_a_strange_name_does_no_harm() -> Result<()> {
    let [mut night, _] = nights()?;
    night.turbine = "<AP&0163>".to_owned();
    let svg = draw(&[night]);
    assert!(svg.contains("&lt;AP&amp;0163&gt;") && !svg.contains("<AP"));
    Ok(())
}

#[test]
fn nights_in_which_nothing_happened_can_be_drawn() -> Result<()> {
    let mut nights = nights()?;
    nights.iter_mut().for_each(|night| night.entries.clear());
    assert!(draw(&nights).ends_with("</svg>\n"));
    Ok(())
}
