//! lease_timeline and lease_timeline_svg.

use crate::pg::call::Args;
use crate::rules::name;
use crate::rules::refusal::Result;
use crate::rules::timeline::{Timeline, draw_svg, draw_text};

/// lease.draw_timeline: of what lease.timeline_data says.
pub fn draw(args: &Args) -> Result<String> {
    name::check_lease(args.text(0, "name")?)?;
    let timeline = Timeline::read(args.text(1, "data")?).unwrap_or_default();
    let as_svg = args.boolean(2, "as_svg")?;
    Ok(if as_svg { draw_svg(&timeline) } else { draw_text(&timeline) })
}
