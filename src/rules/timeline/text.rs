//! The picture as text of at most 80 columns, in ASCII but for the owners' own letters.

use super::axis::{self, Mark};
use super::{Micros, Tenure, Timeline, shortened, span};

const COLUMNS: usize = 80;
const MOST_LABEL: usize = 20;
const MOST_OWNERS: usize = 20;
const MOST_LISTED: usize = 20;
const NOBODY: &str = "(nobody)";

/// The lines.
pub fn draw(timeline: &Timeline) -> String {
    let mut lines = vec![shortened(&timeline.title(), COLUMNS)];
    if !timeline.tenures.is_empty() || !timeline.vacancies.is_empty() {
        chart(timeline, &mut lines);
        list(timeline, &mut lines);
    }
    lines.iter().map(|line| line.trim_end()).collect::<Vec<_>>().join("\n")
}

/// Cells along the time.
struct Scale {
    start: Micros,
    span: Micros,
    width: usize,
}

impl Scale {
    fn cell(&self, at: Micros) -> usize {
        let part = i128::from(at - self.start) * self.width as i128 / i128::from(self.span);
        usize::try_from(part).unwrap_or(0).min(self.width - 1)
    }

    /// The cells from one time to another, at least one.
    fn cells(&self, from: Micros, to: Micros) -> (usize, usize) {
        let first = self.cell(from);
        let end = if to >= self.start + self.span { self.width } else { self.cell(to) };
        (first, end.max(first + 1))
    }
}

fn chart(timeline: &Timeline, lines: &mut Vec<String>) {
    let (owners, left_out) = timeline.owners(MOST_OWNERS);
    let longest = owners.iter().map(|owner| owner.chars().count()).max().unwrap_or(0);
    let label = longest.clamp(NOBODY.len(), MOST_LABEL);
    let scale = Scale { start: timeline.start, span: span(timeline), width: COLUMNS - label - 1 };
    if left_out > 0 {
        lines.push(format!("({left_out} earlier owners are left out)"));
    }
    let mut row = |name: &str, cells: &[u8]| {
        let pad = label - name.chars().count();
        lines.push(format!("{name}{} {}", " ".repeat(pad), String::from_utf8_lossy(cells)));
    };
    for owner in owners {
        let mut cells = vec![b' '; scale.width];
        timeline.of(owner).for_each(|tenure| bar(&mut cells, &scale, tenure));
        row(&shortened(owner, label), &cells);
    }
    let mut cells = vec![b' '; scale.width];
    for vacancy in &timeline.vacancies {
        let (first, end) = scale.cells(vacancy.from, vacancy.to);
        cells[first..end].fill(b'.');
    }
    row(NOBODY, &cells);
    for line in scale_lines(timeline, &scale) {
        row("", line.as_bytes());
    }
}

/// A tenure: `[==41==]`, open at an end where it goes on beyond; `|` where there is room for no
/// more, and `#` where several come together.
fn bar(cells: &mut [u8], scale: &Scale, tenure: &Tenure) {
    let (first, end) = scale.cells(tenure.from, tenure.to);
    let taken = cells[first..end].iter().any(|cell| *cell != b' ');
    if end - first == 1 {
        cells[first] = if taken { b'#' } else { b'|' };
        return;
    }
    if taken {
        cells[first..end].fill(b'#');
        return;
    }
    cells[first..end].fill(b'=');
    cells[first] = if tenure.began_earlier { b'<' } else { b'[' };
    cells[end - 1] = if tenure.is_open { b'>' } else { b']' };
    let token = token_for(tenure.token, end - first - 2);
    let at = first + (end - first - token.len()) / 2;
    cells[at..at + token.len()].copy_from_slice(token.as_bytes());
}

/// A token, or its last digits, which tell neighbours apart; nothing where there is no room for four.
fn token_for(token: i64, room: usize) -> String {
    let digits = token.to_string();
    match room {
        room if room >= digits.len() => digits,
        6.. => format!("..{}", &digits[digits.len() - 4..]),
        _ => String::new(),
    }
}

/// Marks, and the times under them.
fn scale_lines(timeline: &Timeline, scale: &Scale) -> [String; 2] {
    const ROOM_FOR_A_MARK: usize = 13;
    let most = (scale.width / ROOM_FOR_A_MARK) as i64;
    let marks = axis::marks(timeline.start, timeline.end, timeline.offset_s, most);
    let (mut line, mut texts) = (vec![b'-'; scale.width], String::new());
    for Mark { at, text } in marks {
        let cell = scale.cell(at);
        line[cell] = b'+';
        if cell >= texts.len() && cell + text.len() <= scale.width {
            texts.push_str(&" ".repeat(cell - texts.len()));
            texts.push_str(&text);
            texts.push(' ');
        }
    }
    [String::from_utf8_lossy(&line).into_owned(), texts.trim_end().to_owned()]
}

/// The tenures one by one, the last ones if there are many.
fn list(timeline: &Timeline, lines: &mut Vec<String>) {
    let left_out = timeline.tenures.len().saturating_sub(MOST_LISTED);
    lines.push(String::new());
    if left_out > 0 {
        lines.push(format!("({left_out} earlier tenures are left out)"));
    }
    for tenure in &timeline.tenures[left_out..] {
        let time = axis::date_and_time(tenure.from, timeline.offset_s);
        let from = if tenure.began_earlier { "earlier" } else { &time[11..] };
        let held = axis::duration(tenure.to - tenure.from);
        let end = if tenure.is_open { "holds it" } else { &tenure.ended_by };
        let owner = shortened(&tenure.owner, MOST_LABEL);
        let pad = " ".repeat(MOST_LABEL - owner.chars().count());
        lines.push(format!(
            "{from:<8}  {owner}{pad}  token {:<16}  {held:<11}  {end}",
            tenure.token
        ));
    }
}
