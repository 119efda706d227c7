//! What one server's history says, in the order in which its transactions committed: read by
//! logical decoding, from a slot that was there before the first client.

use crate::pgoutput::{Columns, Decoder, Event};
use crate::worker::Order;
use anyhow::{Context, Result, bail};
use postgres::Client;
use std::collections::BTreeMap;

/// A lease's row, or the newest token that a resource has obeyed.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Row {
    pub token: i64,
    /// None after a release.
    pub owner: Option<String>,
}

#[derive(Clone, Debug, PartialEq)]
pub enum Change {
    Lease {
        name: String,
        row: Row,
    },
    /// A row of a guarded table: which operation wrote which part of it, under which token.
    Work {
        lease: String,
        operation: String,
        part: i32,
        token: i64,
    },
}

/// What one transaction changed.
pub type Transaction = Vec<Change>;

/// One server, and what was committed on it while the test looked.
#[derive(Clone, Debug, Default)]
pub struct Node {
    pub server: String,
    /// Its guards obey the newest token: the leases are granted elsewhere.
    pub is_resource: bool,
    /// The leases when the slot was made.
    pub before: BTreeMap<String, Row>,
    /// The rows that were there then, with their lease: a promoted standby has its primary's.
    pub inherited: Vec<(String, String, i32)>,
    pub transactions: Vec<Transaction>,
}

/// What the slot's plugin is told to send.
const PUBLICATION: &str = "soak";

/// Makes the slot, and notes what the leases are. Nobody may be at work yet.
pub fn watch(client: &mut Client, server: &str, is_resource: bool) -> Result<Node> {
    publish(client)?;
    client.execute(
        "SELECT pg_create_logical_replication_slot(current_database(), 'pgoutput')",
        &[],
    )?;
    let mut node = Node { server: server.to_owned(), is_resource, ..Node::default() };
    for row in client.query("SELECT name, token, owner FROM lease.lease", &[])? {
        let lease = Row { token: row.get(1), owner: row.get(2) };
        node.before.insert(row.get(0), lease);
    }
    for lease in &guarded(client)? {
        let table = Order::table(lease);
        for row in client.query(&format!("SELECT operation, part FROM {table}"), &[])? {
            node.inherited.push((lease.clone(), row.get(0), row.get(1)));
        }
    }
    Ok(node)
}

/// A promoted standby has its primary's publication.
fn publish(client: &mut Client) -> Result<()> {
    let there = "SELECT FROM pg_publication WHERE pubname = $1";
    if client.query_opt(there, &[&PUBLICATION])?.is_some() {
        return Ok(());
    }
    let works =
        guarded(client)?.iter().fold(String::new(), |all, lease| all + ", " + &Order::table(lease));
    client.batch_execute(&format!(
        "CREATE PUBLICATION {PUBLICATION} FOR TABLE lease.lease, lease.fence{works}"
    ))?;
    Ok(())
}

/// The leases that guard tables here.
fn guarded(client: &mut Client) -> Result<Vec<String>> {
    let rows = client.query("SELECT lease FROM lease.guards ORDER BY lease", &[])?;
    Ok(rows.iter().map(|row| row.get(0)).collect())
}

impl Node {
    /// Reads what was committed since.
    pub fn read(&mut self, client: &mut Client) -> Result<()> {
        let question =
            "SELECT data FROM pg_logical_slot_peek_binary_changes(current_database(), NULL, NULL,
                          'proto_version', '1', 'publication_names', $1)";
        let mut decoder = Decoder::default();
        let mut open = Transaction::new();
        for row in client.query(question, &[&PUBLICATION])? {
            match decoder.read(row.get(0))? {
                None => {}
                Some(Event::Commit) => self.transactions.push(std::mem::take(&mut open)),
                Some(event) => open.extend(change(&event, self.is_resource)?),
            }
        }
        Ok(())
    }

    /// The rows of guarded tables, in commit order.
    pub fn works(&self) -> impl Iterator<Item = (&str, i32)> {
        let inherited =
            self.inherited.iter().map(|(_, operation, part)| (operation.as_str(), *part));
        inherited.chain(self.transactions.iter().flatten().filter_map(|change| match change {
            Change::Work { operation, part, .. } => Some((operation.as_str(), *part)),
            Change::Lease { .. } => None,
        }))
    }
}

/// None where it is none of the history's.
fn change(event: &Event, is_resource: bool) -> Result<Option<Change>> {
    let leases = if is_resource { "lease.fence" } else { "lease.lease" };
    match event {
        Event::Inserted { table, row } | Event::Updated { table, row } if table == leases => {
            Ok(Some(Change::Lease { name: needed(row, "name")?, row: lease(row)? }))
        }
        Event::Inserted { table, row } => table
            .strip_prefix("public.work_")
            .map(|number| {
                Ok(Change::Work {
                    lease: format!("job:{number}"),
                    operation: needed(row, "operation")?,
                    part: needed(row, "part")?.parse()?,
                    token: needed(row, "token")?.parse()?,
                })
            })
            .transpose(),
        Event::Updated { table, .. } | Event::Removed { table }
            if table.starts_with("public.work_") =>
        {
            bail!("nobody but the clients writes to {table}, and they only insert")
        }
        _ => Ok(None),
    }
}

fn lease(columns: &Columns) -> Result<Row> {
    let token = needed(columns, "token")?.parse()?;
    Ok(Row { token, owner: columns.get("owner").cloned() })
}

fn needed(columns: &Columns, name: &str) -> Result<String> {
    columns.get(name).cloned().with_context(|| format!("no {name} in {columns:?}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(columns: &[(&str, &str)]) -> Columns {
        columns.iter().map(|(name, value)| (name.to_string(), value.to_string())).collect()
    }

    #[test]
    fn a_lease_is_read() -> Result<()> {
        let columns = [("token", "41"), ("ttl_ms", "500"), ("name", "job:1"), ("owner", "w1.0")];
        let read = |columns: &[_], is_resource| {
            let event = Event::Updated { table: "lease.lease".to_owned(), row: row(columns) };
            change(&event, is_resource)
        };
        let name = "job:1".to_owned();
        let held = Row { token: 41, owner: Some("w1.0".to_owned()) };
        assert_eq!(
            read(&columns, false)?,
            Some(Change::Lease { name: name.clone(), row: held.clone() })
        );
        let released = Row { owner: None, ..held };
        assert_eq!(read(&columns[..3], false)?, Some(Change::Lease { name, row: released }));
        assert_eq!(read(&columns, true)?, None);
        Ok(())
    }

    #[test]
    fn a_row_is_read_and_a_deleted_one_is_refused() -> Result<()> {
        let table = "public.work_3".to_owned();
        let columns = row(&[("operation", "w1.0/7"), ("part", "-1"), ("token", "41")]);
        let inserted = Event::Inserted { table: table.clone(), row: columns.clone() };
        let work = Change::Work {
            lease: "job:3".to_owned(),
            operation: "w1.0/7".to_owned(),
            part: -1,
            token: 41,
        };
        assert_eq!(change(&inserted, false)?, Some(work));
        assert!(change(&Event::Updated { table: table.clone(), row: columns }, false).is_err());
        assert!(change(&Event::Removed { table }, false).is_err());
        Ok(())
    }
}
