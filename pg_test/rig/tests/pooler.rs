//! Through the pooler, two clients share a session, one transaction at a time.

use anyhow::{Context, Result};
use postgres::SimpleQueryMessage::Row;
use rig::{Pooler, Server};

#[test]
fn two_clients_share_a_session_and_its_settings() -> Result<()> {
    let server = Server::builder("pooled").bare().start()?;
    let pooler = Pooler::over(&server, 1)?;
    let (mut one, mut two) = (pooler.connect("postgres")?, pooler.connect("postgres")?);
    assert_eq!(
        ask(&mut one, "SELECT pg_backend_pid()")?,
        ask(&mut two, "SELECT pg_backend_pid()")?
    );
    one.batch_execute("SET work_mem = '7MB'")?;
    assert_eq!(ask(&mut two, "SHOW work_mem")?, "7MB");
    Ok(())
}

#[test]
fn every_role_of_the_server_is_let_in() -> Result<()> {
    let server = Server::builder("roles").bare().start()?;
    server.execute("postgres", "CREATE ROLE somebody LOGIN")?;
    let pooler = Pooler::over(&server, 2)?;
    let through = pooler.conn_string("postgres").replace("user=postgres", "user=somebody");
    let mut client = postgres::Client::connect(&through, postgres::NoTls)?;
    assert_eq!(ask(&mut client, "SELECT current_user")?, "somebody");
    Ok(())
}

fn ask(client: &mut postgres::Client, query: &str) -> Result<String> {
    let answer = client.simple_query(query)?;
    let row = answer.iter().find_map(|m| if let Row(row) = m { row.get(0) } else { None });
    Ok(row.context("no row")?.to_owned())
}
