//! Time as a place on the page.

use super::svg::Canvas;
use crate::night::Span;

/// Where lanes begin and end.
pub const LEFT: f64 = 150.0;
pub const RIGHT: f64 = 1400.0;
/// How close the numbers of an axis may come.
const CLOSEST: f64 = 70.0;

#[derive(Clone, Copy, Debug)]
pub struct Scale {
    /// What is drawn; nothing outside of it is.
    pub shown: Span,
    /// Where seconds are counted from.
    pub zero_us: i64,
    pub pixels_per_us: f64,
}

impl Scale {
    pub fn x(&self, at_us: i64) -> f64 {
        let at_us = at_us.clamp(self.shown.from_us, self.shown.to_us);
        LEFT + (at_us - self.shown.from_us) as f64 * self.pixels_per_us
    }

    pub fn shows(&self, at_us: i64) -> bool {
        (self.shown.from_us..=self.shown.to_us).contains(&at_us)
    }

    /// A bar from one time to another, as far as it is shown. Returns where it is, if anywhere.
    pub fn bar(
        &self,
        canvas: &mut Canvas,
        class: &str,
        span: Span,
        y: f64,
        height: f64,
    ) -> (f64, f64) {
        let (from, to) = (self.x(span.from_us), self.x(span.to_us));
        if to > from {
            canvas.rect(class, from, y, (to - from).max(1.0), height);
        }
        (from, to)
    }

    /// Grid lines from `top` to `bottom`, and the seconds below.
    pub fn axis(&self, canvas: &mut Canvas, top: f64, bottom: f64) {
        let step_us = self.step_us();
        let first = (self.shown.from_us - self.zero_us).div_euclid(step_us) + 1;
        let last = (self.shown.to_us - self.zero_us).div_euclid(step_us);
        for number in first.max(0)..=last {
            let x = self.x(self.zero_us + number * step_us);
            let seconds = (number * step_us) as f64 / 1e6;
            let decimals = usize::from(step_us < 1_000_000) + usize::from(step_us < 100_000);
            canvas.line("grid", (x, top), (x, bottom));
            canvas.text("tick", x, bottom + 14.0, &format!("{seconds:.decimals$} s"));
        }
    }

    /// 1, 2 or 5 times a power of ten, from a hundredth of a second on.
    fn step_us(&self) -> i64 {
        let wide = |step: &i64| *step as f64 * self.pixels_per_us >= CLOSEST;
        let steps = (4..10).flat_map(|power| [1, 2, 5].map(|n| n * 10_i64.pow(power)));
        steps.into_iter().find(wide).unwrap_or(10_000_000_000)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_outside_is_drawn_at_the_edge() {
        let shown = Span { from_us: 1_000, to_us: 2_000 };
        let scale = Scale { shown, zero_us: 0, pixels_per_us: 0.5 };
        let places = [0, 1_000, 1_500, 9_000].map(|at| scale.x(at));
        assert_eq!(places, [LEFT, LEFT, LEFT + 250.0, LEFT + 500.0]);
        assert!(scale.shows(2_000) && !scale.shows(2_001));
    }

    #[test]
    fn the_numbers_of_an_axis_are_round_and_apart() {
        let shown = Span { from_us: 0, to_us: 20_000_000 };
        let scale = Scale { shown, zero_us: 0, pixels_per_us: 1_250.0 / 20e6 };
        assert_eq!(scale.step_us(), 2_000_000);
    }
}
