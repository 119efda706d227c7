//! plpgsql_check, which knows more mistakes than the server does when a function is created.

use anyhow::{Result, ensure};
use system_tests::shared::Shared;

static SERVER: Shared = Shared::new();

/// Each function in PL/pgSQL that is not the server's own, and what plpgsql_check says of it. A trigger's
/// is looked at as one of its table, or of `work`.
const CHECKED: &str = "
SELECT p.oid::regprocedure::text,
       (SELECT string_agg(concat_ws(' ', c.lineno, c.level, c.sqlstate, c.message, c.query), '; ')
        FROM plpgsql_check_function_tb(p.oid,
                 relid => CASE p.prorettype WHEN 'trigger'::regtype THEN coalesce(
                     (SELECT max(tgrelid) FROM pg_trigger WHERE tgfoid = p.oid), 'work'::regclass)
                     ELSE 0 END,
                 fatal_errors => false, extra_warnings => true, performance_warnings => false,
                 security_warnings => true) AS c)
FROM pg_proc p JOIN pg_namespace n ON n.oid = p.pronamespace
WHERE n.nspname IN ('public', 'lease')
  AND p.prolang = (SELECT oid FROM pg_language WHERE lanname = 'plpgsql')";

#[test]
fn plpgsql_check_finds_nothing() -> Result<()> {
    let (server, mut client) = SERVER.database("checked")?;
    server.create_database("alone")?;
    let mut alone = server.connect("alone")?;
    let script = rig::home::checkout()?.join("sql/remote_fence.sql");
    alone.batch_execute(&std::fs::read_to_string(script)?)?;
    if !server.tree().own.share.join("extension/plpgsql_check.control").is_file() {
        println!("skipped: this PostgreSQL has no plpgsql_check");
        ensure!(!server.tree().origin.program.starts_with("/usr/lib/postgresql"), "make deps");
        return Ok(());
    }
    for client in [&mut client, &mut alone] {
        let checker = "CREATE TABLE work (n int); CREATE EXTENSION plpgsql_check";
        client.batch_execute(checker)?;
        let found = client.query(CHECKED, &[])?;
        ensure!(!found.is_empty(), "there is no function in PL/pgSQL");
        let wrong: Vec<String> = found
            .iter()
            .filter_map(|row| {
                let (function, said): (String, Option<String>) = (row.get(0), row.get(1));
                Some(format!("{function}: {}", said?))
            })
            .collect();
        ensure!(wrong.is_empty(), "\n{}", wrong.join("\n"));
    }
    // the tool sees what it is to see
    client.batch_execute(
        "CREATE FUNCTION wrong() RETURNS int LANGUAGE plpgsql AS 'BEGIN RETURN nothing; END'",
    )?;
    let seen = "SELECT count(*) > 0 FROM plpgsql_check_function_tb('wrong()')";
    ensure!(client.query_one(seen, &[])?.get::<_, bool>(0), "plpgsql_check sees nothing");
    Ok(())
}
