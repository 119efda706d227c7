//! Every function does the same wherever it is called from.

use crate::call::{Function, functions, harmless, outcome};
use anyhow::{Context, Result, ensure};
use postgres::Client;
use system_tests::lease::acquire;
use system_tests::shared::Shared;

static SERVER: Shared = Shared::new();

/// A schema that has to be quoted, and whose name has a quote in it.
const WEIRD: &str = "\"We ird\"\"\"";

/// A place to call from: its name, and the statements. CALL is the call.
const PLACES: &[(&str, &str)] = &[
    ("an SQL function", "CREATE FUNCTION pg_temp.place() RETURNS void LANGUAGE sql
        AS $p$ SELECT 1 FROM CALL $p$; SELECT pg_temp.place()"),
    ("a PL/pgSQL function", "CREATE FUNCTION pg_temp.place() RETURNS void LANGUAGE plpgsql
        AS $p$ BEGIN PERFORM 1 FROM CALL; END $p$; SELECT pg_temp.place()"),
    ("a SECURITY DEFINER function", "CREATE FUNCTION pg_temp.place() RETURNS void LANGUAGE plpgsql
        SECURITY DEFINER AS $p$ BEGIN PERFORM 1 FROM CALL; END $p$; SELECT pg_temp.place()"),
    ("a trigger", "CREATE TEMP TABLE t (n int);
        CREATE FUNCTION pg_temp.place() RETURNS trigger LANGUAGE plpgsql
        AS $p$ BEGIN PERFORM 1 FROM CALL; RETURN NULL; END $p$;
        CREATE TRIGGER t AFTER INSERT ON t FOR EACH ROW EXECUTE FUNCTION pg_temp.place();
        INSERT INTO t VALUES (1)"),
    ("a trigger at the commit", "CREATE TEMP TABLE t (n int);
        CREATE FUNCTION pg_temp.place() RETURNS trigger LANGUAGE plpgsql
        AS $p$ BEGIN PERFORM 1 FROM CALL; RETURN NULL; END $p$;
        CREATE CONSTRAINT TRIGGER t AFTER INSERT ON t DEFERRABLE INITIALLY DEFERRED
        FOR EACH ROW EXECUTE FUNCTION pg_temp.place();
        INSERT INTO t VALUES (1)"),
    ("a DO block", "DO $p$ BEGIN PERFORM 1 FROM CALL; END $p$"),
    ("a block with an exception handler", "DO $p$ BEGIN
        BEGIN PERFORM 1 FROM CALL; EXCEPTION WHEN division_by_zero THEN NULL; END; END $p$"),
    ("a procedure that commits", "CREATE PROCEDURE pg_temp.place() LANGUAGE plpgsql
        AS $p$ BEGIN COMMIT; PERFORM 1 FROM CALL; COMMIT; END $p$; /* alone */ CALL pg_temp.place()"),
    ("a cursor", "BEGIN; DECLARE c CURSOR FOR SELECT * FROM CALL; FETCH ALL FROM c; COMMIT"),
    ("a parallel query", "SET PARALLEL = on; /* alone */ SELECT CALL FROM big WHERE n = 1"),
    ("a prepared statement after DDL", "PREPARE place AS SELECT * FROM CALL; /* alone */
        BEGIN; /* alone */ EXECUTE place; /* alone */ ROLLBACK; /* alone */
        VACUUM FULL lease.lease; /* alone */
        REINDEX TABLE lease.lease; ANALYZE lease.lease; ALTER TABLE work ADD COLUMN more int;
        /* alone */ EXECUTE place"),
];

/// The setting that makes every plan a parallel one.
fn forced_parallel(client: &mut Client) -> Result<String> {
    let setting = "SELECT name FROM pg_settings
                   WHERE name IN ('force_parallel_mode', 'debug_parallel_query')";
    Ok(client.query_one(setting, &[])?.get(0))
}

struct Place<'a> {
    client: &'a mut Client,
    /// Where the functions are, as SQL.
    schema: &'a str,
}

impl Place<'_> {
    /// The tables as they were, and one lease, `job`, that `a` holds. Returns its token.
    fn reset(&mut self) -> Result<i64> {
        self.client.batch_execute("ROLLBACK")?;
        self.client.batch_execute("DISCARD ALL")?;
        self.client.batch_execute(
            "DROP TABLE IF EXISTS work, plain;
             DO $$ BEGIN EXECUTE (SELECT 'TRUNCATE ' || string_agg(c.oid::regclass::text, ', ')
               FROM pg_class c WHERE relnamespace = 'lease'::regnamespace AND relkind = 'r'); END $$;
             CREATE TABLE work (n int); CREATE TABLE plain (n int)",
        )?;
        self.client.batch_execute(&format!("SET search_path = {}, public", self.schema))?;
        self.client.batch_execute("SELECT lease_guard('work', 'job')")?;
        let token = acquire(self.client, "job", "a", "1 h")?.token;
        self.client.batch_execute("SET search_path = public")?;
        token.context("no token")
    }

    /// How the call ends there. Statements after `alone` go to the server by themselves.
    fn outcome(&mut self, statements: &str, function: &Function) -> Result<String> {
        let token = self.reset()?;
        let call = function.call(|argument| harmless(function, argument, token))?;
        let statements = statements.replace("CALL pg_temp", "call pg_temp");
        let statements = if function.is_procedure {
            let (asked, done) = ("SELECT * FROM CALL", "PERFORM 1 FROM CALL");
            let statement = function.statement(&call);
            statements.replace(asked, &statement).replace(done, &statement)
        } else {
            statements.replace("CALL", &call)
        };
        let statements = statements.replace("PARALLEL", &forced_parallel(self.client)?);
        let mut last = String::new();
        for statement in statements.split("/* alone */") {
            last = outcome(self.client, statement)?;
        }
        Ok(last)
    }
}

/// Breaks if a function minded where it is called from, or in which schema the extension is: a snapshot
/// that is not there, a plan that is out of date, a name that is not qualified or not quoted.
#[test]
fn every_function_does_the_same_in_every_place() -> Result<()> {
    let (server, mut client) = SERVER.database("places")?;
    client.batch_execute(
        "CREATE TABLE big AS SELECT n FROM generate_series(1, 1000) AS n; ANALYZE",
    )?;
    server.create_database("weird")?;
    let mut weird = server.connect("weird")?;
    weird.batch_execute(&format!(
        "CREATE SCHEMA {WEIRD}; CREATE EXTENSION pg_lease SCHEMA {WEIRD};
         CREATE TABLE big AS SELECT n FROM generate_series(1, 1000) AS n; ANALYZE"
    ))?;
    let here = functions(&mut client)?;
    let there = functions(&mut weird)?;
    let mut here_as = Place { client: &mut client, schema: "public" };
    let mut there_as = Place { client: &mut weird, schema: WEIRD };
    let mut differences = Vec::new();
    for (function, again) in here.iter().zip(&there) {
        let plain = here_as.outcome("SELECT * FROM CALL", function)?;
        let mut compare = |place: &str, found: String| {
            if found != plain {
                differences.push(format!("{} in {place}: {found}, not {plain}", function.name));
            }
        };
        compare("another schema", there_as.outcome("SELECT * FROM CALL", again)?);
        let places = PLACES.iter().filter(|(place, _)| {
            !function.is_procedure || ["a DO block", "a procedure that commits"].contains(place)
        });
        for (place, statements) in places {
            compare(place, here_as.outcome(statements, function)?);
            compare(&format!("{place}, another schema"), there_as.outcome(statements, again)?);
        }
    }
    ensure!(differences.is_empty(), "\n{}", differences.join("\n"));
    Ok(())
}

/// Breaks if the parallel query of the test above ran in the session after all.
#[test]
fn safe_functions_do_run_in_workers() -> Result<()> {
    let (_, mut client) = SERVER.database("parallel")?;
    client.batch_execute(
        "CREATE TABLE big AS SELECT n FROM generate_series(1, 1000) AS n; ANALYZE",
    )?;
    let functions = functions(&mut client)?;
    let safe: Vec<&Function> = functions.iter().filter(|function| function.parallel_safe).collect();
    ensure!(safe.len() > 2, "only {} functions are safe", safe.len());
    let setting = forced_parallel(&mut client)?;
    client.batch_execute(&format!("SET {setting} = on"))?;
    for function in safe {
        let call = function.call(|argument| harmless(function, argument, 1))?;
        let explain = format!("EXPLAIN SELECT {call} FROM big WHERE n = 1");
        let plan = client.query(&explain, &[])?;
        let plan: Vec<String> = plan.iter().map(|row| row.get(0)).collect();
        ensure!(plan.iter().any(|line| line.contains("Gather")), "{}: {plan:?}", function.name);
    }
    Ok(())
}
