//! Labels above a lane: each begins above its mark, and none crosses another.

use super::svg::{Canvas, width_of};

pub const ROW: f64 = 18.0;
const GAP: f64 = 12.0;

#[derive(Clone, Debug, PartialEq)]
pub struct Label {
    pub x: f64,
    pub class: &'static str,
    pub text: String,
}

/// The row of each label, counted upwards from the lane.
///
/// From right to left: a label is above all those that begin under it, so that its line down to the
/// lane meets none of them.
pub fn rows(labels: &[Label]) -> Vec<usize> {
    let mut order: Vec<usize> = (0..labels.len()).collect();
    order.sort_by(|a, b| labels[*b].x.total_cmp(&labels[*a].x));
    let mut rows: Vec<Option<usize>> = vec![None; labels.len()];
    for at in order {
        let end = labels[at].x + width_of(&labels[at].text) + GAP;
        let under = labels.iter().zip(&rows).filter(|(other, _)| other.x < end);
        let highest = under.filter_map(|(_, row)| *row).max();
        rows[at] = Some(highest.map_or(0, |row| row + 1));
    }
    rows.into_iter().flatten().collect()
}

/// How high all of them are.
pub fn height(labels: &[Label]) -> f64 {
    rows(labels).iter().max().map_or(0.0, |highest| (*highest + 1) as f64 * ROW)
}

/// Draws them above `lane`, and their lines down into it.
pub fn draw(canvas: &mut Canvas, labels: &[Label], lane: f64) {
    for (label, row) in labels.iter().zip(rows(labels)) {
        let base = lane - row as f64 * ROW - 6.0;
        canvas.line("leader", (label.x, base - 9.0), (label.x, lane));
        canvas.text(label.class, label.x + 4.0, base, &label.text);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn label(x: f64, text: &str) -> Label {
        Label { x, class: "", text: text.to_owned() }
    }

    #[test]
    fn labels_with_room_are_in_one_row() {
        assert_eq!(rows(&[label(0.0, "one"), label(300.0, "two")]), [0, 0]);
    }

    #[test]
    fn a_label_is_above_those_that_begin_under_it() {
        let close = [label(0.0, "a long label"), label(20.0, "another"), label(25.0, "last")];
        assert_eq!(rows(&close), [2, 1, 0]);
    }

    #[test]
    fn no_line_crosses_a_label() {
        let labels: Vec<Label> = (0..12).map(|n| label(f64::from(n * n), "some words")).collect();
        let rows = rows(&labels);
        for (upper, row) in labels.iter().zip(&rows) {
            let crossed = labels.iter().zip(&rows).any(|(lower, below)| {
                below < row && (lower.x..lower.x + width_of(&lower.text)).contains(&upper.x)
            });
            assert!(!crossed, "{} is crossed", upper.x);
        }
    }
}
