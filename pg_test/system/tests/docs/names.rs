//! What the pages name exists, and what exists is in the reference.

use crate::pages::{self, Page};
use anyhow::{Context, Result, ensure};
use rig::{Server, home};
use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

/// Functions, relations, columns and types of the extension, `lease.` before those of its schema.
const OBJECTS: &str = "
WITH ours AS (
    SELECT classid, objid FROM pg_depend
    WHERE deptype = 'e' AND refclassid = 'pg_extension'::regclass
      AND refobjid = (SELECT oid FROM pg_extension WHERE extname = 'pg_lease')
)
SELECT CASE n.nspname WHEN 'lease' THEN 'lease.' ELSE '' END || p.proname
FROM ours JOIN pg_proc p ON classid = 'pg_proc'::regclass AND objid = p.oid
JOIN pg_namespace n ON n.oid = p.pronamespace
UNION
SELECT 'lease.' || c.relname
FROM ours JOIN pg_class c ON classid = 'pg_class'::regclass AND objid = c.oid
UNION
SELECT 'lease.' || t.typname
FROM ours JOIN pg_type t ON classid = 'pg_type'::regclass AND objid = t.oid
WHERE t.typrelid = 0 OR t.typname IN ('answer', 'ownership')
UNION
SELECT name FROM pg_settings WHERE name LIKE 'pg\\_lease.%'";

/// Columns of what people look at, and arguments of what they call.
const PARTS: &str = "
SELECT a.attname::text
FROM pg_attribute a JOIN pg_class c ON c.oid = a.attrelid
WHERE c.relnamespace = 'lease'::regnamespace AND c.relkind IN ('r', 'v', 'c') AND a.attnum > 0
UNION
SELECT unnest(p.proargnames)
FROM pg_proc p WHERE p.proname LIKE 'lease\\_%' AND p.pronamespace = 'public'::regnamespace";

struct Catalog {
    objects: BTreeSet<String>,
    parts: BTreeSet<String>,
}

fn catalog() -> Result<Catalog> {
    let server = Server::start("names")?;
    server.create_extension("postgres")?;
    let mut client = server.connect("postgres")?;
    client.batch_execute("SELECT compute_now()")?;
    let mut names = |query: &str| -> Result<BTreeSet<String>> {
        Ok(client.query(query, &[])?.iter().map(|row| row.get(0)).collect())
    };
    Ok(Catalog { objects: names(OBJECTS)?, parts: names(PARTS)? })
}

/// Breaks when a page promises a function, a setting or a view that this version does not have.
#[test]
fn what_is_named_exists_and_what_exists_is_in_the_reference() -> Result<()> {
    let catalog = catalog()?;
    let checkout = home::checkout()?;
    ensure!(catalog.objects.contains("lease_acquire") && catalog.parts.contains("renew_after"));
    let mut wrong = Vec::new();
    for page in pages::all(&checkout)? {
        let unknown = named(&page.text).into_iter().filter(|name| !exists(name, &catalog));
        wrong.extend(unknown.map(|name| format!("{} names {name}, which is not there", page.name)));
    }
    let reference = pages::one(&checkout, "docs/reference.md")?.text;
    let missing = catalog.objects.iter().chain(&catalog.parts).filter(|n| !shows(&reference, n));
    wrong.extend(missing.map(|name| format!("{name} is not in docs/reference.md")));
    ensure!(wrong.is_empty(), "{}", wrong.join("\n"));
    Ok(())
}

/// Breaks when an error has other words than the reference says.
#[test]
fn every_refusal_is_in_the_reference() -> Result<()> {
    let checkout = home::checkout()?;
    let mut source = String::new();
    for file in ["src/rules/refusal.rs", "src/rules/refusal/rows.rs"] {
        source += &fs::read_to_string(checkout.join(file))?;
    }
    let reference = pages::one(&checkout, "docs/reference.md")?.text;
    let messages = messages(&source);
    ensure!(messages.len() > 20, "few messages found: {messages:?}");
    let missing: Vec<_> =
        messages.iter().filter(|m| !reference.contains(&format!("`{m}`"))).collect();
    ensure!(missing.is_empty(), "not in docs/reference.md: {missing:#?}");
    Ok(())
}

/// Breaks when a page points to a file, or to a heading of one, that is not there.
#[test]
fn links_lead_somewhere() -> Result<()> {
    let checkout = home::checkout()?;
    let mut dead = Vec::new();
    for page in pages::all(&checkout)? {
        let broken = links(&page.text).into_iter().filter(|link| !leads(&checkout, &page, link));
        dead.extend(broken.map(|link| format!("{} links to {link}", page.name)));
    }
    ensure!(dead.is_empty(), "{}", dead.join("\n"));
    Ok(())
}

/// Breaks when the pages speak of another version than the one that is built.
#[test]
fn the_changelog_begins_with_this_version() -> Result<()> {
    let checkout = home::checkout()?;
    let changelog = pages::one(&checkout, "CHANGELOG.md")?.text;
    let newest = changelog.lines().find_map(|line| line.strip_prefix("## "));
    let newest = newest.and_then(|heading| heading.split(' ').next()).context("no version")?;
    let control = fs::read_to_string(checkout.join("pg_lease.control"))?;
    ensure!(control.contains("default_version = '@CARGO_VERSION@'"), "{control}");
    ensure!(newest == env!("CARGO_PKG_VERSION"), "CHANGELOG.md begins with {newest}");
    Ok(())
}

#[test]
fn names_messages_and_links_are_found() {
    let page =
        "`lease_acquire(name)`, pg_lease.token, lease.status; not pg_lease_cover, a/lease.rs";
    let names: Vec<_> = named(page).into_iter().collect();
    assert_eq!(names, ["lease.status", "lease_acquire", "pg_lease.token"]);
    let code = r#"Refusal::new(Code::Busy, format!("lease \"{lease}\" is held"))"#;
    assert_eq!(messages(code), [r#"lease "…" is held"#]);
    assert_eq!(links("see [a](docs/a.md#b) and [c](https://d)"), ["docs/a.md#b", "https://d"]);
    assert_eq!(anchor("Two leases, one `table`"), "two-leases-one-table");
}

/// Words of a page that can only be names of ours.
fn named(text: &str) -> BTreeSet<String> {
    let of_a_name = |c: char| c.is_ascii_alphanumeric() || "_./-".contains(c);
    let words = text.split(|c| !of_a_name(c)).map(|word| word.trim_matches(['.', '-']));
    let ours = words.filter(|word| {
        ["lease_", "lease.", "pg_lease."].iter().any(|start| word.starts_with(start))
            && !["/", "-", ".md", ".rs", ".sql", ".so", ".control"].iter().any(|p| word.contains(p))
    });
    ours.map(str::to_owned).collect()
}

fn exists(name: &str, catalog: &Catalog) -> bool {
    let column_of = |(table, column): (&str, &str)| {
        catalog.objects.contains(table) && catalog.parts.contains(column)
    };
    catalog.objects.contains(name)
        || catalog.parts.contains(name)
        || name.rsplit_once('.').is_some_and(column_of)
        || is_test(name)
}

/// A regress or isolation test may have a name that looks like one of ours.
fn is_test(name: &str) -> bool {
    let files = ["regress/sql", "isolation/specs"].map(|d| Path::new("pg_test").join(d));
    let here = |file: &Path| home::checkout().is_ok_and(|root| root.join(file).is_file());
    let [sql, spec] = files;
    here(&sql.join(format!("{name}.sql"))) || here(&spec.join(format!("{name}.spec")))
}

/// Whether the reference has the name in a piece of code.
fn shows(reference: &str, name: &str) -> bool {
    let of_a_name = |c: char| c.is_ascii_alphanumeric() || "_.".contains(c);
    let code = reference.split('`').skip(1).step_by(2);
    code.flat_map(|piece| piece.split(|c| !of_a_name(c))).any(|word| word == name)
}

/// The first text after each `Refusal::new(`, with … for what is filled in.
fn messages(source: &str) -> Vec<String> {
    let calls = source.split("Refusal::new(").skip(1);
    let texts = calls.filter_map(|call| {
        let before_the_next = call.split(".detail(").next()?;
        let text = before_the_next.split_once('"')?.1.replace("\\\"", "\u{1}");
        Some(filled(text.split_once('"')?.0))
    });
    texts.collect()
}

fn filled(text: &str) -> String {
    let mut parts = text.split('{');
    let mut message = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        message.push('…');
        message.push_str(part.split_once('}').map_or("", |(_, rest)| rest));
    }
    message.replace('\u{1}', "\"")
}

fn links(text: &str) -> Vec<&str> {
    let after = text.split("](").skip(1);
    after.filter_map(|rest| rest.split_once(')').map(|(link, _)| link)).collect()
}

fn leads(checkout: &Path, page: &Page, link: &str) -> bool {
    if link.starts_with("https://") {
        return true;
    }
    let (file, heading) = link.split_once('#').unwrap_or((link, ""));
    let here = checkout.join(&page.name);
    let target = match (file, here.parent()) {
        ("", _) => here,
        (file, Some(dir)) => dir.join(file),
        (_, None) => return false,
    };
    let text = fs::read_to_string(&target).unwrap_or_default();
    target.exists() && (heading.is_empty() || anchors(&text).any(|known| known == heading))
}

fn anchors(text: &str) -> impl Iterator<Item = String> {
    let headings = text.lines().filter(|line| line.starts_with('#'));
    headings.map(|line| anchor(line.trim_start_matches('#').trim()))
}

/// The name that a heading has in links.
fn anchor(heading: &str) -> String {
    let kept = heading.chars().filter(|c| c.is_alphanumeric() || " -_".contains(*c));
    kept.collect::<String>().to_lowercase().replace(' ', "-")
}
