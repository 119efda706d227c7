//! A lease's handovers as a picture: who held it when, under which token, and when nobody did.
//!
//! `text` and `svg` draw the same data. Times here are microseconds since 1970-01-01 UTC.

mod axis;
mod svg;
mod text;

use serde_json::Value;
use std::collections::BTreeMap;

pub use svg::draw as draw_svg;
pub use text::draw as draw_text;

/// Microseconds since 1970-01-01 UTC.
type Micros = i64;

/// What is to be drawn.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Timeline {
    pub lease: String,
    pub start: Micros,
    pub end: Micros,
    /// How far the time zone in which times are written is ahead of UTC.
    pub offset_s: i64,
    pub tenures: Vec<Tenure>,
    pub vacancies: Vec<Vacancy>,
}

/// One owner's time under one token, as far as it is to be seen.
#[derive(Clone, Debug, PartialEq)]
pub struct Tenure {
    pub owner: String,
    pub token: i64,
    pub from: Micros,
    pub to: Micros,
    /// It began before the picture does.
    pub began_earlier: bool,
    /// It goes on.
    pub is_open: bool,
    /// What ended it; empty while it goes on.
    pub ended_by: String,
}

/// A time in which nobody held the lease.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Vacancy {
    pub from: Micros,
    pub to: Micros,
}

/// A change of ownership, as lease.history has it.
struct Change {
    at: Micros,
    why: String,
    old: Option<(String, i64)>,
    new: Option<(String, i64)>,
    vacancy_us: i64,
}

impl Change {
    fn read(value: &Value) -> Option<Self> {
        let tenure = |which: &str| {
            let owner = value[format!("{which}_owner")].as_str()?;
            Some((owner.to_owned(), value[format!("{which}_token")].as_i64()?))
        };
        Some(Self {
            at: value["at"].as_i64()?,
            why: value["why"].as_str()?.to_owned(),
            old: tenure("old"),
            new: tenure("new"),
            vacancy_us: value["vacancy_us"].as_i64().unwrap_or(0).max(0),
        })
    }

    /// When the tenure before it ended, and why.
    fn end_before(&self) -> (Micros, &str) {
        let ended = self.at.saturating_sub(self.vacancy_us);
        let why = match (self.why.as_str(), &self.old) {
            (_, None) => "unknown",
            ("acquired", _) => "void",
            (why, _) => why,
        };
        (ended, why)
    }
}

impl Timeline {
    /// Reads what lease.timeline_data returns: `lease`, `now`, `since` (null: from the first change
    /// on), `offset_s`, `token` and `expires_at` (of the lease as it is now; null where nobody has it),
    /// and `changes` in their order.
    pub fn read(json: &str) -> Option<Self> {
        let value: Value = serde_json::from_str(json).ok()?;
        let changes: Vec<Change> =
            value["changes"].as_array()?.iter().filter_map(Change::read).collect();
        let now = value["now"].as_i64()?;
        let start = value["since"].as_i64().or(changes.first().map(|c| c.at)).unwrap_or(now);
        let mut timeline = Self {
            lease: value["lease"].as_str()?.to_owned(),
            start: start.min(now),
            end: now,
            offset_s: value["offset_s"].as_i64().unwrap_or(0),
            ..Self::default()
        };
        let held = value["token"].as_i64().zip(value["expires_at"].as_i64());
        timeline.fill(&changes, held);
        timeline.clip();
        Some(timeline)
    }

    /// `held`: the token and the expiry of the lease, if somebody has it.
    fn fill(&mut self, changes: &[Change], held: Option<(i64, Micros)>) {
        let mut holder: Option<Tenure> = None;
        let mut free_from: Option<Micros> = None;
        for change in changes {
            let (ended, why) = change.end_before();
            let before = holder.take().or_else(|| self.older_tenure(change));
            if let Some(tenure) = before {
                self.push(tenure, ended, why);
            }
            if change.new.is_some() && change.vacancy_us > 0 {
                let from = free_from.unwrap_or(ended).max(ended);
                self.vacancies.push(Vacancy { from, to: change.at });
            }
            free_from = change.new.is_none().then_some(change.at);
            holder = change.new.as_ref().map(|new| begun(new, change.at));
        }
        self.finish(holder, free_from, held);
    }

    /// The last tenure, and a vacancy that goes on.
    fn finish(
        &mut self,
        holder: Option<Tenure>,
        free_from: Option<Micros>,
        held: Option<(i64, Micros)>,
    ) {
        let now = self.end;
        let mut free_from = free_from;
        if let Some(mut tenure) = holder {
            match held.filter(|(token, _)| *token == tenure.token) {
                Some((_, expires_at)) if expires_at <= now => {
                    free_from = Some(expires_at.max(tenure.from));
                    self.push(tenure, expires_at, "lapsed");
                }
                Some(_) => {
                    tenure.is_open = true;
                    self.push(tenure, now, "");
                }
                None => self.push(tenure, now, "unknown"),
            }
        }
        if let Some(from) = free_from.filter(|from| *from < now) {
            self.vacancies.push(Vacancy { from, to: now });
        }
    }

    /// A tenure of which the beginning is not in the history any more.
    fn older_tenure(&self, change: &Change) -> Option<Tenure> {
        let old = change.old.as_ref()?;
        let tenure = begun(old, self.start.min(change.at));
        Some(Tenure { began_earlier: true, ..tenure })
    }

    fn push(&mut self, tenure: Tenure, to: Micros, ended_by: &str) {
        let to = to.max(tenure.from);
        self.tenures.push(Tenure { to, ended_by: ended_by.to_owned(), ..tenure });
    }

    /// Leaves out what is not to be seen.
    fn clip(&mut self) {
        let (start, end) = (self.start, self.end);
        self.tenures.retain(|tenure| tenure.to >= start && tenure.from <= end);
        for tenure in &mut self.tenures {
            tenure.began_earlier |= tenure.from < start;
            (tenure.from, tenure.to) = (tenure.from.clamp(start, end), tenure.to.clamp(start, end));
        }
        self.vacancies.retain(|vacancy| vacancy.to > start && vacancy.from < end);
        for vacancy in &mut self.vacancies {
            (vacancy.from, vacancy.to) = (vacancy.from.max(start), vacancy.to.min(end));
        }
    }

    /// The owners, in the order in which they came, and how many others came before them: at most
    /// `most`, those that held it last.
    fn owners(&self, most: usize) -> (Vec<&str>, usize) {
        let mut last: BTreeMap<&str, usize> = BTreeMap::new();
        for (at, tenure) in self.tenures.iter().enumerate() {
            last.insert(&tenure.owner, at);
        }
        let mut by_last: Vec<(usize, &str)> =
            last.iter().map(|(owner, at)| (*at, *owner)).collect();
        by_last.sort_unstable();
        let left_out = by_last.len().saturating_sub(most);
        let kept: Vec<&str> = by_last[left_out..].iter().map(|(_, owner)| *owner).collect();
        let mut owners: Vec<&str> = Vec::new();
        for tenure in &self.tenures {
            let owner = tenure.owner.as_str();
            if kept.contains(&owner) && !owners.contains(&owner) {
                owners.push(owner);
            }
        }
        (owners, left_out)
    }

    fn of<'a>(&'a self, owner: &'a str) -> impl Iterator<Item = &'a Tenure> {
        self.tenures.iter().filter(move |tenure| tenure.owner == owner)
    }

    fn title(&self) -> String {
        let count = self.tenures.len();
        let tenures = if count == 1 { "1 tenure".to_owned() } else { format!("{count} tenures") };
        let (from, to) = (self.written(self.start), self.written(self.end));
        format!("{}: {tenures} from {from} to {to}", self.lease)
    }

    fn written(&self, at: Micros) -> String {
        axis::date_and_time(at, self.offset_s)
    }
}

fn begun(new: &(String, i64), from: Micros) -> Tenure {
    Tenure {
        owner: new.0.clone(),
        token: new.1,
        from,
        to: from,
        began_earlier: false,
        is_open: false,
        ended_by: String::new(),
    }
}

/// Two changes within a microsecond, or a single one: there is something to divide by.
fn span(timeline: &Timeline) -> Micros {
    timeline.end.saturating_sub(timeline.start).max(1)
}

/// A text of at most `most` characters; a longer one loses its middle, as hosts begin owners and
/// what tells processes apart ends them.
fn shortened(text: &str, most: usize) -> String {
    let length = text.chars().count();
    if length <= most {
        return text.to_owned();
    }
    let (head, tail) = ((most - 2).div_ceil(2), (most - 2) / 2);
    let start: String = text.chars().take(head).collect();
    let end: String = text.chars().skip(length - tail).collect();
    format!("{start}..{end}")
}

#[cfg(test)]
mod tests;
