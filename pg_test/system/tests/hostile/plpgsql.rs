//! plpgsql_check, which knows more mistakes than the server does when a function is created.

use anyhow::{Result, ensure};
use system_tests::shared::Shared;

static SERVER: Shared = Shared::new();

/// Each function of ours that is written in PL/pgSQL, and what plpgsql_check says of it.
const CHECKED: &str = "
SELECT p.oid::regprocedure::text,
       (SELECT string_agg(concat_ws(' ', c.lineno, c.level, c.sqlstate, c.message, c.query), '; ')
        FROM plpgsql_check_function_tb(p.oid, fatal_errors => false, extra_warnings => true,
                 performance_warnings => false, security_warnings => true) AS c)
FROM pg_proc p JOIN pg_depend d ON d.objid = p.oid AND d.classid = 'pg_proc'::regclass
JOIN pg_extension e ON e.oid = d.refobjid AND d.refclassid = 'pg_extension'::regclass
WHERE d.deptype = 'e' AND e.extname = 'pg_lease'
  AND p.prolang = (SELECT oid FROM pg_language WHERE lanname = 'plpgsql')";

#[test]
fn plpgsql_check_finds_nothing() -> Result<()> {
    let (server, mut client) = SERVER.database("checked")?;
    if !server.tree().own.share.join("extension/plpgsql_check.control").is_file() {
        println!("skipped: this PostgreSQL has no plpgsql_check");
        ensure!(!server.tree().origin.program.starts_with("/usr/lib/postgresql"), "make deps");
        return Ok(());
    }
    client.batch_execute("CREATE EXTENSION plpgsql_check")?;
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
    // the tool sees what it is to see
    client.batch_execute(
        "CREATE FUNCTION wrong() RETURNS int LANGUAGE plpgsql AS 'BEGIN RETURN nothing; END'",
    )?;
    let seen = "SELECT count(*) > 0 FROM plpgsql_check_function_tb('wrong()')";
    ensure!(client.query_one(seen, &[])?.get::<_, bool>(0), "plpgsql_check sees nothing");
    Ok(())
}
