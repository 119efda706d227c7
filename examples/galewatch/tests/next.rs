//! The ten lines that the demo ends with run on a new server, and the one that says so is refused.

use anyhow::{Context, Result};
use rig::Server;
use std::process::Stdio;

const NEXT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/next.sql");

#[test]
fn one_line_of_ten_is_refused() -> Result<()> {
    assert_eq!(std::fs::read_to_string(NEXT)?.lines().count(), 10);
    let server = Server::start("next")?;
    let mut psql = server.client("psql", "postgres");
    psql.args(["-X", "-A", "-t", "-v", "VERBOSITY=verbose"]);
    psql.stdin(std::fs::File::open(NEXT)?).stdout(Stdio::piped()).stderr(Stdio::piped());
    let output = psql.output().context("cannot run psql")?;
    let errors = String::from_utf8(output.stderr)?;
    assert_eq!(errors.matches("ERROR:").count(), 1, "{errors}");
    assert!(
        errors.contains("ERROR:  55000: lease \"mover\" is no longer held with token"),
        "{errors}"
    );
    let left = server.psql("postgres", "SELECT turbine_id, power_kw FROM readings")?;
    assert_eq!(left, "AP-0163|2100\n");
    Ok(())
}
