//! Behind PgBouncer in transaction mode everything works, and no client presents another's token.
//!
//! The pool has one session where two clients are to share it: each transaction of either runs in
//! that one.

use anyhow::{Context, Result, ensure};
use postgres::{Client, Error, SimpleQueryMessage};
use rig::{Pooler, Server};
use std::collections::BTreeSet;
use system_tests::lease::{grant, guarded_table, notes, state};
use system_tests::refusal::refused;
use system_tests::shared::Shared;

static SERVER: Shared = Shared::new();

/// The first column of every row that simple queries return: no prepared statements, which this
/// PgBouncer does not follow from session to session.
fn ask_all(client: &mut Client, queries: &str) -> Result<Vec<String>, Error> {
    let messages = client.simple_query(queries)?;
    let values = messages.iter().filter_map(|message| match message {
        SimpleQueryMessage::Row(row) => Some(row.get(0).unwrap_or_default().to_owned()),
        _ => None,
    });
    Ok(values.collect())
}

fn ask(client: &mut Client, query: &str) -> Result<String, Error> {
    Ok(ask_all(client, query)?.pop().unwrap_or_default())
}

/// Two clients, one session of the server between them.
struct Pair {
    pooler: Pooler,
    database: String,
    superuser: Client,
    first: Client,
    second: Client,
    token: i64,
}

impl Pair {
    fn new(database: &str) -> Result<Self> {
        let (server, mut superuser) = SERVER.database(database)?;
        guarded_table(&mut superuser, "job")?;
        let token = grant(&mut superuser, "job", "a")?;
        Self::over(server, database, superuser, token)
    }

    fn over(server: &Server, database: &str, superuser: Client, token: i64) -> Result<Self> {
        let pooler = Pooler::over(server, 1)?;
        let (mut first, mut second) = (pooler.connect(database)?, pooler.connect(database)?);
        let backend = "SELECT pg_backend_pid()";
        ensure!(ask(&mut first, backend)? == ask(&mut second, backend)?, "not one session");
        let database = database.to_owned();
        Ok(Self { pooler, database, superuser, first, second, token })
    }

    /// A new pair of clients and a new session, as settings of a database reach new ones only.
    fn again(self) -> Result<Self> {
        let Self { pooler, database, superuser, token, .. } = self;
        drop(pooler);
        Self::over(SERVER.server()?, &database, superuser, token)
    }

    /// The second client presents nothing of its own: it must be refused.
    fn second_presents_nothing(&mut self) -> Result<()> {
        let told = refused(self.second.batch_execute(WRITE), "55000")?;
        assert_eq!(told.message(), "no token presented for lease \"job\"");
        Ok(())
    }
}

const WRITE: &str = "INSERT INTO work (note) VALUES ('x')";

/// A client whose every step runs in another session: the one that served the last step is kept
/// busy by somebody else.
struct Wanderer {
    pooler: Pooler,
    database: String,
    client: Client,
    sessions: BTreeSet<String>,
    keepers: Vec<Client>,
}

impl Wanderer {
    fn new(server: &Server, database: &str) -> Result<Self> {
        let pooler = Pooler::over(server, 20)?;
        let client = pooler.connect(database)?;
        let database = database.to_owned();
        Ok(Self { pooler, database, client, sessions: BTreeSet::new(), keepers: Vec::new() })
    }

    fn step(&mut self, query: &str) -> Result<String> {
        let answers = ask_all(&mut self.client, &format!("{query}; SELECT pg_backend_pid()"))?;
        let [.., answer, session] = answers.as_slice() else { anyhow::bail!("{answers:?}") };
        ensure!(self.sessions.insert(session.clone()), "a session that served a step before");
        loop {
            let mut keeper = self.pooler.connect(&self.database)?;
            let kept = ask(&mut keeper, "BEGIN; SELECT pg_backend_pid()")?;
            self.keepers.push(keeper);
            if kept == *session {
                return Ok(answer.clone());
            }
        }
    }
}

/// Breaks if anything that a client needs lived in a session.
#[test]
fn each_step_may_run_in_another_session() -> Result<()> {
    let (server, mut superuser) = SERVER.database("steps")?;
    guarded_table(&mut superuser, "job")?;
    let mut client = Wanderer::new(server, "steps")?;
    let mut step = |query: &str| client.step(query);
    let granted = step("SELECT token FROM lease_acquire('job', 'a', '1 hour')")?;
    let token: i64 = granted.parse().context("no token")?;
    let renew = format!("SELECT status FROM lease_renew('job', 'a', {token}, '1 hour')");
    assert_eq!(step(&renew)?, "renewed");
    step(&format!("BEGIN; SELECT lease_fence_check('job', {token}); {WRITE}; COMMIT"))?;
    assert_eq!(step(&renew)?, "renewed");
    let local = format!("SET LOCAL pg_lease.token = 'job={token}'");
    step(&format!("BEGIN; {local}; {WRITE} RETURNING note; COMMIT"))?;
    assert_eq!(notes(&mut superuser)?.len(), 2);
    let released = step(&format!("SELECT status FROM lease_release('job', 'a', {token})"))?;
    assert_eq!(released, "released");
    assert_eq!(state(&mut superuser, "job")?, ("free".into(), token));
    Ok(())
}

/// Breaks if what lease_fence_check declares outlived its transaction.
#[test]
fn a_declared_token_ends_with_its_transaction() -> Result<()> {
    let mut pair = Pair::new("declared")?;
    let check = format!("SELECT lease_fence_check('job', {})", pair.token);
    for end in ["COMMIT", "ROLLBACK"] {
        pair.first.batch_execute(&format!("BEGIN; {check}; {WRITE}; {end}"))?;
        pair.second_presents_nothing()?;
    }
    // and without a BEGIN, where the statement is a transaction of its own
    pair.first.batch_execute(&check)?;
    pair.second_presents_nothing()?;
    refused(pair.first.batch_execute(WRITE), "55000")?;
    assert_eq!(notes(&mut pair.superuser)?.len(), 1);
    Ok(())
}

/// Breaks if the token were remembered in the session after the setting is gone.
#[test]
fn a_local_setting_ends_with_its_transaction() -> Result<()> {
    let mut pair = Pair::new("local")?;
    let set = format!("SET LOCAL pg_lease.token = 'job={}'", pair.token);
    for end in ["COMMIT", "ROLLBACK"] {
        pair.first.batch_execute(&format!("BEGIN; {set}; {WRITE}; {end}"))?;
        pair.second_presents_nothing()?;
    }
    assert_eq!(notes(&mut pair.superuser)?.len(), 1);
    Ok(())
}

/// The limit that the documentation states: under token_scope = session a plain SET belongs to the
/// session, and a transaction pooler gives the session to the next client.
#[test]
fn a_plain_setting_leaks_under_scope_session() -> Result<()> {
    let mut pair = Pair::new("leaks")?;
    pair.first.batch_execute(&format!("SET pg_lease.token = 'job={}'", pair.token))?;
    pair.second.batch_execute(WRITE)?;
    assert_eq!(notes(&mut pair.superuser)?.len(), 1);
    Ok(())
}

/// The cure: set for the database by a superuser. Breaks if the setting were honoured all the same,
/// or if lease_fence_check were not.
#[test]
fn a_plain_setting_does_not_leak_under_scope_transaction() -> Result<()> {
    let mut pair = Pair::new("scoped")?;
    let scope = "ALTER DATABASE scoped SET pg_lease.token_scope = 'transaction'";
    pair.superuser.batch_execute(scope)?;
    let mut pair = pair.again()?;
    assert_eq!(ask(&mut pair.first, "SHOW pg_lease.token_scope")?, "transaction");
    pair.first.batch_execute(&format!("SET pg_lease.token = 'job={}'", pair.token))?;
    pair.second_presents_nothing()?;
    refused(pair.first.batch_execute(WRITE), "55000")?;
    let token = pair.token;
    let declared = format!("BEGIN; SELECT lease_fence_check('job', {token}); {WRITE}; COMMIT");
    pair.first.batch_execute(&declared)?;
    assert_eq!(notes(&mut pair.superuser)?.len(), 1);
    Ok(())
}

/// A writer that may not change the scope cannot take the cure away.
#[test]
fn the_scope_is_the_superusers_to_set() -> Result<()> {
    let (server, mut superuser) = SERVER.database("scope")?;
    superuser.batch_execute("CREATE ROLE writer LOGIN; SELECT compute_now()")?;
    let connected = server.config("scope").user("writer").connect(postgres::NoTls);
    let mut writer = connected?;
    writer.batch_execute("SELECT compute_now()")?; // loads the library
    refused(writer.batch_execute("SET pg_lease.token_scope = 'session'"), "42501")?;
    Ok(())
}
