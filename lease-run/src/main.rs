//! lease-run: runs a command while it holds a lease.
//!
//! | module        | what it knows |
//! |---------------|---------------|
//! | `args`        | the command line |
//! | `run`         | the way from there to the exit status |
//! | `acquire`     | getting the lease |
//! | `keeper`      | renewing it, giving it back |
//! | `supervise`   | when the command has to end |
//! | `job`         | the command and its descendants |
//! | `terminal`    | who is in its foreground |
//! | `signals`     | what is passed on to it |
//! | `environment` | what it finds in its environment |
//! | `progress`    | whether it moves |
//! | `lease`       | the SQL |
//! | `session`     | one connection, opened again when needed |
//! | `conninfo`    | where the server is, as libpq finds it |
//! | `deadline`    | when to renew, to stop, to kill |
//! | `clock`       | time that counts while the machine sleeps |
//! | `say`         | stderr, without ever waiting for it |
//! | `status`      | the exit statuses |

mod acquire;
mod args;
mod clock;
mod conninfo;
mod deadline;
mod environment;
mod job;
mod keeper;
mod lease;
mod progress;
mod run;
mod say;
mod session;
mod signals;
mod status;
mod supervise;
mod terminal;

use args::Args;
use clap::Parser;
use say::Level;
use status::Exit;
use std::process::ExitCode;

fn main() -> ExitCode {
    let args = match Args::try_parse() {
        Ok(args) => args,
        Err(error) => {
            let _ = error.print();
            return ExitCode::from(if error.use_stderr() { status::USAGE } else { 0 });
        }
    };
    say::begin(match (args.quiet, args.verbose) {
        (true, _) => Level::Error,
        (_, true) => Level::All,
        _ => Level::Usual,
    });
    let ended = in_one_thread(args);
    say::end();
    ExitCode::from(ended)
}

/// In the main thread, as the command dies with the thread that has started it.
fn in_one_thread(args: Args) -> u8 {
    let built = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let ended = match built {
        Ok(runtime) => {
            let ended = runtime.block_on(run::run(args));
            // a name server that does not answer is not waited for
            runtime.shutdown_background();
            ended
        }
        Err(error) => Err(Exit::new(status::INTERNAL, format!("cannot begin: {error}"))),
    };
    ended.unwrap_or_else(|exit| {
        let usual = [status::NOT_ACQUIRED, status::BEGUN_BEFORE].contains(&exit.status);
        say::line(if usual { Level::Usual } else { Level::Error }, exit.why);
        exit.status
    })
}
