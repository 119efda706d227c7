//! Time since the machine started. It counts while the machine sleeps, and nobody can set it.

use nix::time::ClockId;
use std::ops::Add;
use std::time::Duration;

/// A moment by CLOCK_BOOTTIME. `Instant` would stand still while the machine is suspended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Moment(Duration);

impl Moment {
    /// Linux has had this clock since 2.6.39: without it there is no deadline, and nothing may run.
    pub fn now() -> Self {
        match ClockId::CLOCK_BOOTTIME.now() {
            Ok(time) => Self(time.into()),
            Err(error) => {
                eprintln!("lease-run: this machine has no CLOCK_BOOTTIME: {error}");
                std::process::exit(crate::status::INTERNAL.into())
            }
        }
    }

    /// Zero if `earlier` is later.
    pub fn since(self, earlier: Self) -> Duration {
        self.0.saturating_sub(earlier.0)
    }

    pub fn is_over(self) -> bool {
        self <= Self::now()
    }

    /// What is left until then.
    pub fn left(self) -> Duration {
        self.since(Self::now())
    }
}

impl Add<Duration> for Moment {
    type Output = Self;

    fn add(self, more: Duration) -> Self {
        Self(self.0.saturating_add(more))
    }
}

/// Tokio's timers stand still while the machine is suspended: so they only ever run for this long,
/// and after it is back the moment is seen to be over this late at most.
const TICK: Duration = Duration::from_millis(250);

/// Waits for a moment.
pub async fn sleep_until(moment: Moment) {
    while !moment.is_over() {
        tokio::time::sleep(moment.left().min(TICK)).await;
    }
}

/// What `future` gives, or None if it takes longer than until then.
pub async fn within<T>(moment: Moment, future: impl Future<Output = T>) -> Option<T> {
    tokio::select! {
        biased;
        done = future => Some(done),
        () = sleep_until(moment) => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io;

    fn block_on<T>(future: impl Future<Output = T>) -> io::Result<T> {
        Ok(tokio::runtime::Builder::new_current_thread().enable_all().build()?.block_on(future))
    }

    #[test]
    fn sleeps_until_the_moment_and_no_longer() -> io::Result<()> {
        let began = Moment::now();
        let wanted = began + Duration::from_millis(50);
        block_on(sleep_until(wanted))?;
        assert!(wanted.is_over() && Moment::now().since(began) < Duration::from_secs(20));
        block_on(sleep_until(began))
    }

    #[test]
    fn what_takes_too_long_is_given_up() -> io::Result<()> {
        let soon = Moment::now() + Duration::from_millis(20);
        assert_eq!(block_on(within(soon, std::future::pending::<()>()))?, None);
        assert_eq!(block_on(within(soon, async { 7 }))?, Some(7));
        Ok(())
    }
}
