//! The messages of pgoutput, PostgreSQL's own output plugin for logical decoding, which is there
//! wherever a server is: protocol version 1, as PostgreSQL's manual describes it under "Logical
//! Replication Message Formats".

use anyhow::{Context, Result, bail};
use std::collections::BTreeMap;

/// A row as text, by column. A value that is null is not there.
pub type Columns = BTreeMap<String, String>;

#[derive(Clone, Debug, PartialEq)]
pub enum Event {
    Commit,
    Inserted {
        table: String,
        row: Columns,
    },
    Updated {
        table: String,
        row: Columns,
    },
    /// Rows were deleted, or the table emptied.
    Removed {
        table: String,
    },
}

#[derive(Default)]
struct Relation {
    table: String,
    columns: Vec<String>,
}

/// Reads messages one after the other: each table is described before its first row.
#[derive(Default)]
pub struct Decoder {
    relations: BTreeMap<u32, Relation>,
}

impl Decoder {
    /// None for a message that changes nothing.
    pub fn read(&mut self, message: &[u8]) -> Result<Option<Event>> {
        let mut rest = Bytes(message);
        Ok(match rest.byte()? {
            b'C' => Some(Event::Commit),
            b'R' => {
                let (id, relation) = relation(&mut rest)?;
                self.relations.insert(id, relation);
                None
            }
            b'I' => {
                let relation = self.relation(rest.int()?)?;
                let row = new_row(relation, &mut rest)?;
                Some(Event::Inserted { table: relation.table.clone(), row })
            }
            b'U' => {
                let relation = self.relation(rest.int()?)?;
                let row = new_row(relation, &mut rest)?;
                Some(Event::Updated { table: relation.table.clone(), row })
            }
            b'D' => Some(Event::Removed { table: self.relation(rest.int()?)?.table.clone() }),
            b'T' => {
                let (_count, _options) = (rest.int()?, rest.byte()?);
                Some(Event::Removed { table: self.relation(rest.int()?)?.table.clone() })
            }
            b'B' | b'O' | b'Y' | b'M' => None,
            other => bail!("pgoutput sends a message of an unknown kind: {}", char::from(other)),
        })
    }

    fn relation(&self, id: u32) -> Result<&Relation> {
        self.relations.get(&id).with_context(|| format!("relation {id} was not described"))
    }
}

fn relation(rest: &mut Bytes) -> Result<(u32, Relation)> {
    let id = rest.int()?;
    let table = format!("{}.{}", rest.word()?, rest.word()?);
    rest.byte()?;
    let columns = (0..rest.short()?)
        .map(|_| {
            rest.byte()?;
            let name = rest.word()?;
            rest.take(8)?;
            Ok(name)
        })
        .collect::<Result<_>>()?;
    Ok((id, Relation { table, columns }))
}

/// The row as it is now; what it was before an update may stand in front of it.
fn new_row(relation: &Relation, rest: &mut Bytes) -> Result<Columns> {
    match rest.byte()? {
        b'N' => tuple(relation, rest),
        _ => {
            tuple(relation, rest)?;
            rest.byte()?;
            tuple(relation, rest)
        }
    }
}

fn tuple(relation: &Relation, rest: &mut Bytes) -> Result<Columns> {
    let mut row = Columns::new();
    for at in 0..usize::from(rest.short()?) {
        let column = relation.columns.get(at).context("a row has too many columns")?;
        if rest.byte()? == b't' {
            let length = rest.int()? as usize;
            let value = std::str::from_utf8(rest.take(length)?)?;
            row.insert(column.clone(), value.to_owned());
        }
    }
    Ok(row)
}

/// What is left of a message.
struct Bytes<'a>(&'a [u8]);

impl<'a> Bytes<'a> {
    fn take(&mut self, count: usize) -> Result<&'a [u8]> {
        let (taken, rest) = self.0.split_at_checked(count).context("a message is cut short")?;
        self.0 = rest;
        Ok(taken)
    }

    fn byte(&mut self) -> Result<u8> {
        Ok(self.take(1)?[0])
    }

    fn short(&mut self) -> Result<u16> {
        Ok(u16::from_be_bytes(self.take(2)?.try_into()?))
    }

    fn int(&mut self) -> Result<u32> {
        Ok(u32::from_be_bytes(self.take(4)?.try_into()?))
    }

    fn word(&mut self) -> Result<String> {
        let end = self.0.iter().position(|byte| *byte == 0).context("a message is cut short")?;
        let word = std::str::from_utf8(self.take(end)?)?.to_owned();
        self.byte()?;
        Ok(word)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A table `lease.lease` with two columns.
    fn described() -> Vec<u8> {
        let mut message = vec![b'R', 0, 0, 0, 7];
        message.extend(b"lease\0lease\0d\0\x02");
        for column in ["token", "owner"] {
            message.push(0);
            message.extend(column.as_bytes());
            message.extend([0; 9]);
        }
        message
    }

    fn tuple_of(values: [Option<&str>; 2]) -> Vec<u8> {
        let mut bytes = vec![0, 2];
        for value in values {
            match value {
                None => bytes.push(b'n'),
                Some(text) => {
                    bytes.push(b't');
                    bytes.extend((text.len() as u32).to_be_bytes());
                    bytes.extend(text.as_bytes());
                }
            }
        }
        bytes
    }

    #[test]
    fn rows_are_read_with_their_columns() -> Result<()> {
        let mut decoder = Decoder::default();
        assert_eq!(decoder.read(&described())?, None);
        let insert = [b"I\0\0\0\x07N".to_vec(), tuple_of([Some("41"), Some("a b")])].concat();
        let row = Columns::from([("token".into(), "41".into()), ("owner".into(), "a b".into())]);
        let table = "lease.lease".to_owned();
        assert_eq!(decoder.read(&insert)?, Some(Event::Inserted { table: table.clone(), row }));
        let old = [b"U\0\0\0\x07O".to_vec(), tuple_of([Some("41"), Some("a b")])].concat();
        let update = [old, b"N".to_vec(), tuple_of([Some("42"), None])].concat();
        let row = Columns::from([("token".into(), "42".into())]);
        assert_eq!(decoder.read(&update)?, Some(Event::Updated { table: table.clone(), row }));
        let delete = [b"D\0\0\0\x07K".to_vec(), tuple_of([Some("42"), None])].concat();
        assert_eq!(decoder.read(&delete)?, Some(Event::Removed { table: table.clone() }));
        let truncate = b"T\0\0\0\x01\0\0\0\0\x07";
        assert_eq!(decoder.read(truncate)?, Some(Event::Removed { table }));
        assert_eq!(decoder.read(b"C\0rest")?, Some(Event::Commit));
        Ok(())
    }

    #[test]
    fn what_is_not_understood_is_refused() -> Result<()> {
        let mut decoder = Decoder::default();
        assert!(decoder.read(b"I\0\0\0\x07N\0\0").is_err(), "a table that was not described");
        decoder.read(&described())?;
        assert!(decoder.read(b"I\0\0\0\x07N\0\x02t\0\0\0\x09short").is_err());
        assert!(decoder.read(b"").is_err() && decoder.read(b"?").is_err());
        Ok(())
    }
}
