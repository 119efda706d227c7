//! Passwords from libpq's password file: `host:port:database:user:password`, `*` for any.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

/// What a line has to match.
pub struct Wanted<'a> {
    pub host: &'a str,
    pub port: &'a str,
    pub dbname: &'a str,
    pub user: &'a str,
}

/// The password of the first line that matches. A file that others may read is not used, as with
/// libpq, and the reason is returned to be said.
pub fn password(file: &Path, wanted: &Wanted) -> Result<Option<String>, String> {
    let Ok(about) = fs::metadata(file) else { return Ok(None) };
    if !about.is_file() {
        return Err(format!("password file \"{}\" is not a plain file", file.display()));
    }
    if about.mode() & 0o077 != 0 {
        let path = file.display();
        return Err(format!(
            "password file \"{path}\" has group or world access; permissions should be u=rw (0600) or less"
        ));
    }
    let text = fs::read_to_string(file);
    let text =
        text.map_err(|e| format!("cannot read password file \"{}\": {e}", file.display()))?;
    Ok(find(&text, wanted))
}

fn find(text: &str, wanted: &Wanted) -> Option<String> {
    let keys = [wanted.host, wanted.port, wanted.dbname, wanted.user];
    let lines = text.lines().filter(|line| !line.starts_with('#'));
    lines.map(fields).find_map(|fields| {
        let (found, password) = fields.split_at_checked(4)?;
        let matches =
            found.iter().zip(keys).all(|(field, key)| field == "*" || unescaped(field) == key);
        password.first().filter(|_| matches).map(|password| unescaped(password))
    })
}

/// A line's parts, still escaped: an escaped `*` is no wildcard, an escaped colon does not part.
fn fields(line: &str) -> Vec<String> {
    let mut fields = vec![String::new()];
    let mut escaped = false;
    for letter in line.chars() {
        if letter == ':' && !escaped && fields.len() < 5 {
            fields.push(String::new());
        } else if let Some(last) = fields.last_mut() {
            last.push(letter);
        }
        escaped = letter == '\\' && !escaped;
    }
    fields
}

fn unescaped(field: &str) -> String {
    let mut letters = field.chars();
    let mut text = String::new();
    while let Some(letter) = letters.next() {
        text.extend(if letter == '\\' { letters.next() } else { Some(letter) });
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;

    const FILE: &str = "\
# host:port:database:user:password
db1:5432:jobs:me:first
db1:*:*:me:any port
\\*:5432:jobs:star:no wildcard
fe80\\:\\:1:5432:jobs:me:six
db2:5432:jobs:me:col\\:on and back\\\\slash
short:5432:jobs
*:*:*:other:";

    fn ask(host: &str, port: &str, user: &str) -> Option<String> {
        find(FILE, &Wanted { host, port, dbname: "jobs", user })
    }

    #[test]
    fn the_first_line_that_matches_counts() {
        assert_eq!(ask("db1", "5432", "me").as_deref(), Some("first"));
        assert_eq!(ask("db1", "5433", "me").as_deref(), Some("any port"));
        assert_eq!(ask("fe80::1", "5432", "me").as_deref(), Some("six"));
        assert_eq!(ask("db2", "5432", "me").as_deref(), Some("col:on and back\\slash"));
        assert_eq!(ask("*", "5432", "star").as_deref(), Some("no wildcard"));
        assert_eq!(ask("db9", "5432", "star"), None);
        assert_eq!(ask("short", "5432", "me"), None);
        assert_eq!(ask("db9", "1", "other").as_deref(), Some(""));
    }

    #[test]
    fn a_file_that_others_may_read_is_not_used() -> Result<(), Box<dyn std::error::Error>> {
        let file = std::env::temp_dir().join(format!("lease-run-pgpass-{}", std::process::id()));
        fs::write(&file, "*:*:*:*:secret\n")?;
        let wanted = Wanted { host: "db", port: "5432", dbname: "jobs", user: "me" };
        fs::set_permissions(&file, fs::Permissions::from_mode(0o640))?;
        let refused = password(&file, &wanted);
        fs::set_permissions(&file, fs::Permissions::from_mode(0o600))?;
        let found = password(&file, &wanted);
        fs::remove_file(&file)?;
        assert!(refused.is_err_and(|why| why.contains("group or world access")));
        assert_eq!(found?.as_deref(), Some("secret"));
        assert_eq!(password(&file, &wanted)?, None);
        Ok(())
    }
}
