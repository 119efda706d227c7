//! Ways to break the extension on purpose, for the fault test in `pg_test/soak`, which must notice
//! each of them.
//!
//! They exist only with the cargo feature `mutants`. Without it `is_on` is false when this is
//! compiled, and nothing of them is left.

use crate::rules::time::Micros;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mutant {
    /// The guard reads with the transaction's snapshot.
    Snapshot,
    /// COMMIT is not checked.
    CommitCheck,
    /// PREPARE TRANSACTION is not checked.
    PrePrepare,
    /// The check at the commit takes no lock.
    LockMode,
    /// The check does not hear that a token it knows has ended.
    Deaf,
    /// A change of ownership is not forced to disk.
    DurableCommit,
    /// The mint goes on where it was, whatever has been lost.
    Incarnation,
    /// The clock is read before the lock is waited for.
    #[cfg(feature = "mutants")]
    EarlyExpiry,
}

#[cfg(not(feature = "mutants"))]
pub const fn is_on(_: Mutant) -> bool {
    false
}

/// What the clock says instead of the time, if it is broken.
#[cfg(not(feature = "mutants"))]
pub const fn stopped_clock() -> Option<Micros> {
    None
}

#[cfg(feature = "mutants")]
pub fn stopped_clock() -> Option<Micros> {
    is_on(Mutant::EarlyExpiry).then(crate::pg::mutants::stopped_clock)
}

/// Whether the database's setting soak.mutant names it.
#[cfg(feature = "mutants")]
pub fn is_on(mutant: Mutant) -> bool {
    let name = match mutant {
        Mutant::Snapshot => "snapshot",
        Mutant::CommitCheck => "commit_check",
        Mutant::PrePrepare => "pre_prepare",
        Mutant::LockMode => "lock_mode",
        Mutant::Deaf => "deaf",
        Mutant::DurableCommit => "durable_commit",
        Mutant::Incarnation => "incarnation",
        Mutant::EarlyExpiry => "early_expiry",
    };
    crate::pg::mutants::chosen().is_some_and(|chosen| chosen == name)
}
