//! Who may do what with which names.

use super::pattern;
use super::refusal::{self, Result};

/// What a role may be allowed to do with a lease.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Right {
    /// Acquire, renew and release it.
    Use,
    /// Take it from another, and drop it.
    Force,
    /// End the sessions that still work under an old token of it.
    Evict,
    /// See it in lease.status. Every other right brings this one.
    List,
}

impl Right {
    pub const ALL: [Self; 4] = [Self::Use, Self::Force, Self::Evict, Self::List];

    pub fn parse(text: &str) -> Result<Self> {
        Self::known(text)
            .ok_or_else(|| refusal::bad_choice("right", text, &Self::ALL.map(Self::name)))
    }

    pub fn known(text: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|right| right.name() == text)
    }

    pub fn name(self) -> &'static str {
        match self {
            Self::Use => "use",
            Self::Force => "force",
            Self::Evict => "evict",
            Self::List => "list",
        }
    }

    /// Whether somebody with this right may do what `wanted` stands for.
    fn brings(self, wanted: Self) -> bool {
        self == wanted || wanted == Self::List
    }
}

/// One line of what a role is allowed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Allowed {
    pub pattern: String,
    pub right: Right,
}

/// Whether any of these lines allows it. Nothing is allowed that no line allows.
pub fn allows(lines: &[Allowed], lease: &str, wanted: Right) -> bool {
    lines.iter().any(|line| line.right.brings(wanted) && pattern::matches(&line.pattern, lease))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_is_allowed_that_no_line_allows() {
        let line = |pattern: &str, right| Allowed { pattern: pattern.to_owned(), right };
        let lines = [line("a:*", Right::Use), line("b", Right::Force), line("c", Right::List)];
        let may = |lease, right| allows(&lines, lease, right);
        assert!(may("a:1", Right::Use) && may("b", Right::Force) && may("c", Right::List));
        assert!(may("a:1", Right::List) && may("b", Right::List));
        assert!(
            !may("b", Right::Evict)
                && !may("a:1", Right::Force)
                && !may("b", Right::Use)
                && !may("c", Right::Use)
        );
        assert!(!may("d", Right::List) && !allows(&[], "a:1", Right::List));
    }

    #[test]
    fn rights_have_names() {
        for right in Right::ALL {
            assert_eq!(Right::parse(right.name()), Ok(right));
        }
        assert!(Right::parse("Use").is_err() && Right::parse("").is_err());
    }
}
