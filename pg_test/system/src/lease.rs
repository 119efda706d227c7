//! Calling the lease functions and reading their answers.

use anyhow::{Context, Result};
use postgres::{Error, GenericClient, Row};

/// What a lease function answered.
#[derive(Clone, Debug, PartialEq)]
pub struct Answer {
    pub status: String,
    pub owner: Option<String>,
    pub token: Option<i64>,
    /// From the answer's own `now` to its expiry.
    pub seconds_left: Option<f64>,
}

const COLUMNS: &str = "status, owner, token, extract(epoch FROM expires_at - now)::float8";

impl Answer {
    fn of(row: &Row) -> Self {
        Self { status: row.get(0), owner: row.get(1), token: row.get(2), seconds_left: row.get(3) }
    }
}

pub fn ask(
    client: &mut impl GenericClient,
    call: &str,
    arguments: &[&(dyn postgres::types::ToSql + Sync)],
) -> Result<Answer, Error> {
    let row = client.query_one(&format!("SELECT {COLUMNS} FROM {call}"), arguments)?;
    Ok(Answer::of(&row))
}

pub fn acquire(
    client: &mut impl GenericClient,
    name: &str,
    owner: &str,
    ttl: &str,
) -> Result<Answer, Error> {
    ask(client, "lease_acquire($1, $2, $3::text::interval)", &[&name, &owner, &ttl])
}

pub fn renew(
    client: &mut impl GenericClient,
    name: &str,
    owner: &str,
    token: i64,
    ttl: &str,
) -> Result<Answer, Error> {
    ask(client, "lease_renew($1, $2, $3, $4::text::interval)", &[&name, &owner, &token, &ttl])
}

pub fn release(
    client: &mut impl GenericClient,
    name: &str,
    owner: &str,
    token: i64,
) -> Result<Answer, Error> {
    ask(client, "lease_release($1, $2, $3)", &[&name, &owner, &token])
}

pub fn takeover(
    client: &mut impl GenericClient,
    name: &str,
    owner: &str,
    ttl: &str,
) -> Result<Answer, Error> {
    ask(client, "lease_takeover($1, $2, $3::text::interval)", &[&name, &owner, &ttl])
}

/// Acquires a lease that must be granted, for an hour, and returns its token.
pub fn grant(client: &mut impl GenericClient, name: &str, owner: &str) -> Result<i64> {
    let answer = acquire(client, name, owner, "1 hour")?;
    let token = answer.token.filter(|_| answer.status == "granted");
    token.with_context(|| format!("\"{name}\" was not granted to \"{owner}\": {answer:?}"))
}

/// Acquires several leases that must all be granted, and returns their tokens.
pub fn grant_many(
    client: &mut impl GenericClient,
    names: &[String],
    owner: &str,
) -> Result<Vec<i64>> {
    let call = "SELECT token FROM lease_acquire_many($1, $2, '1 hour') WHERE status = 'granted'";
    let tokens: Vec<i64> =
        client.query(call, &[&names, &owner])?.iter().map(|r| r.get(0)).collect();
    anyhow::ensure!(tokens.len() == names.len(), "only {} of {names:?} granted", tokens.len());
    Ok(tokens)
}

/// Lets a lease expire: the row is aged, nobody waits.
pub fn expire(superuser: &mut impl GenericClient, name: &str) -> Result<()> {
    let aged = superuser.execute(
        "UPDATE lease.lease SET expires_at = compute_now() - interval '1 s' WHERE name = $1",
        &[&name],
    )?;
    anyhow::ensure!(aged == 1, "there is no lease \"{name}\"");
    Ok(())
}

/// Makes a table `work` that the lease guards.
pub fn guarded_table(client: &mut impl GenericClient, lease: &str) -> Result<()> {
    client.batch_execute(&format!(
        "CREATE TABLE work (id bigserial, note text); SELECT lease_guard('work', '{lease}')"
    ))?;
    Ok(())
}

/// Presents a token for the rest of the session.
pub fn present(client: &mut impl GenericClient, lease: &str, token: i64) -> Result<(), Error> {
    client.batch_execute(&format!("SET pg_lease.token = '{lease}={token}'"))
}

/// Writes a row into `work`.
pub fn write(client: &mut impl GenericClient, note: &str) -> Result<u64, Error> {
    client.execute("INSERT INTO work (note) VALUES ($1)", &[&note])
}

/// What is in `work`, in the order in which it was written.
pub fn notes(client: &mut impl GenericClient) -> Result<Vec<String>> {
    let rows = client.query("SELECT note FROM work ORDER BY id", &[])?;
    Ok(rows.iter().map(|row| row.get(0)).collect())
}

/// The state that `lease.status` shows, and the token.
pub fn state(client: &mut impl GenericClient, name: &str) -> Result<(String, i64)> {
    let shown = "SELECT state, token FROM lease.status WHERE name = $1";
    let row = client.query_one(shown, &[&name])?;
    Ok((row.get(0), row.get(1)))
}

/// Sets this session's clock to a time before (or, negative, after) the only lease's expiry.
pub fn set_clock_before_expiry(
    superuser: &mut impl GenericClient,
    left: &str,
) -> Result<(), Error> {
    let offset = "SELECT set_config('pg_lease.clock_offset', (1000 * extract(epoch FROM
                    expires_at - $1::text::interval - clock_timestamp()))::bigint::text, false)
                  FROM lease.lease";
    superuser.query_one(offset, &[&left]).map(drop)
}
