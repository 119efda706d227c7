//! The command line.

use clap::Parser;
use nix::sys::signal::Signal;
use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

/// Below this, a busy machine takes longer to end the command than the lease lasts.
const LEAST_TTL: Duration = Duration::from_secs(1);
const MOST_TTL: Duration = Duration::from_secs(86_400);

#[derive(Debug, Parser)]
#[command(
    name = "lease-run",
    version,
    help_template = "NAME\n  lease-run - run a command while holding a lease of pg_lease\n\n\
                     SYNOPSIS\n  {usage}\n\n{about-with-newline}\nOPTIONS\n{options}{after-help}",
    long_about = include_str!("help/about.txt"),
    after_long_help = include_str!("help/after.txt"),
    override_usage = "lease-run [OPTIONS] --lease NAME -- COMMAND [ARGUMENT]...",
    max_term_width = 79
)]
pub struct Args {
    /// The lease: 1 to 200 letters, digits and . _ : @ / -
    #[arg(short, long, value_name = "NAME", value_parser = lease_name)]
    pub lease: String,

    /// How long the lease lasts without a renewal, 1s to 1day.
    ///
    /// It is renewed after a third of this. After half of it without a renewal the command is told
    /// to stop, and after nine tenths it is dead.
    #[arg(short, long, value_name = "DURATION", default_value = "30s", value_parser = ttl)]
    pub ttl: Duration,

    /// How long to wait for a lease that somebody else has.
    #[arg(short, long, value_name = "DURATION", default_value = "0s", value_parser = duration)]
    pub wait: Duration,

    /// Run at most once, ever: RUN names the occasion, for instance a date.
    ///
    /// Whoever is first to begin this run of the job (the lease's name) runs the command, and nobody
    /// ever begins it again, whatever becomes of it. Success is reported by lease_once_done.
    #[arg(long, value_name = "RUN")]
    pub once: Option<String>,

    /// A file that the command writes while it moves; any change to it counts.
    #[arg(long, value_name = "FILE", requires = "stall_after")]
    pub progress_file: Option<PathBuf>,

    /// How long that file may stay as it is before the lease is not renewed.
    #[arg(long, value_name = "DURATION", requires = "progress_file", value_parser = duration)]
    pub stall_after: Option<Duration>,

    /// What the command is sent first when it has to end.
    #[arg(short, long, value_name = "SIGNAL", default_value = "TERM", value_parser = signal)]
    pub signal: Signal,

    /// How long after that signal what still runs is killed; sooner if the lease ends sooner.
    #[arg(short, long, value_name = "DURATION", default_value = "10s", value_parser = duration)]
    pub kill_after: Duration,

    /// As whom to hold the lease, instead of HOST:PID:START.
    ///
    /// Whoever acquires as the owner that has the lease takes it from its former self, at once: for
    /// a service that is restarted. Never give two machines the same one.
    #[arg(long, value_name = "NAME")]
    pub owner: Option<String>,

    /// Where the server is: a connection string, a URL, or the name of a database.
    #[arg(short, long, value_name = "CONNECTION")]
    pub dsn: Option<String>,

    /// Say nothing but what went wrong: not that the lease is somebody else's, for instance.
    #[arg(short, long, conflicts_with = "verbose")]
    pub quiet: bool,

    /// Say also what happens every time: acquired, released.
    #[arg(short, long)]
    pub verbose: bool,

    /// What to run.
    #[arg(
        required = true,
        trailing_var_arg = true,
        allow_hyphen_values = true,
        value_name = "COMMAND"
    )]
    pub command: Vec<OsString>,
}

fn duration(text: &str) -> Result<Duration, String> {
    humantime::parse_duration(text).map_err(|e| format!("{e}: write 500ms, 30s, 5min, 2h"))
}

fn ttl(text: &str) -> Result<Duration, String> {
    let ttl = duration(text)?;
    let whole = ttl.subsec_nanos() % 1_000_000 == 0;
    let fits = (LEAST_TTL..=MOST_TTL).contains(&ttl) && whole;
    fits.then_some(ttl).ok_or_else(|| "a ttl is 1s to 1day, in whole milliseconds".to_owned())
}

/// The server's own rule: what does not match it would not get into PGOPTIONS unharmed.
fn lease_name(text: &str) -> Result<String, String> {
    let fits = |c: char| c.is_ascii_alphanumeric() || "._:@/-".contains(c);
    if (1..=200).contains(&text.len()) && text.chars().all(fits) {
        return Ok(text.to_owned());
    }
    Err("a lease's name is 1 to 200 letters, digits and . _ : @ / -".to_owned())
}

/// By number, or by name with or without SIG.
fn signal(text: &str) -> Result<Signal, String> {
    let unknown = || format!("there is no signal {text}");
    if let Ok(number) = text.parse::<i32>() {
        return Signal::try_from(number).map_err(|_| unknown());
    }
    let name = text.to_ascii_uppercase();
    let name = if name.starts_with("SIG") { name } else { format!("SIG{name}") };
    name.parse().map_err(|_| unknown())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(arguments: &[&str]) -> Result<Args, clap::Error> {
        Args::try_parse_from([&["lease-run"], arguments].concat())
    }

    #[test]
    fn options_end_where_the_command_begins() -> Result<(), clap::Error> {
        let args = parse(&["-l", "a:b", "--ttl", "2s", "--", "sh", "-c", "exit 3"])?;
        assert_eq!((args.lease.as_str(), args.ttl), ("a:b", Duration::from_secs(2)));
        assert_eq!(args.command, ["sh", "-c", "exit 3"]);
        assert_eq!(parse(&["-l", "a", "ls", "-q"])?.command, ["ls", "-q"]);
        Ok(())
    }

    #[test]
    fn what_is_wrong_is_refused() {
        for wrong in [
            &["--", "ls"][..],
            &["-l", "a"],
            &["-l", "a b", "ls"],
            &["-l", "", "ls"],
            &["-l", "a", "-t", "30", "ls"],
            &["-l", "a", "-t", "999ms", "ls"],
            &["-l", "a", "-t", "2days", "ls"],
            &["-l", "a", "-t", "1s 1us", "ls"],
            &["-l", "a", "-s", "NONE", "ls"],
            &["-l", "a", "--stall-after", "1s", "ls"],
            &["-l", "a", "--progress-file", "x", "ls"],
            &["-l", "a", "-q", "-v", "ls"],
        ] {
            assert!(parse(wrong).is_err(), "{wrong:?}");
        }
    }

    #[test]
    fn signals_have_names_and_numbers() {
        for text in ["TERM", "term", "SIGTERM", "15"] {
            assert_eq!(signal(text), Ok(Signal::SIGTERM), "{text}");
        }
        assert!(signal("SIG").is_err() && signal("99").is_err());
    }

    #[test]
    fn the_definition_is_sound() {
        use clap::CommandFactory;
        Args::command().debug_assert();
    }
}
