//! The pages that people read: README.md, CHANGELOG.md and docs/.

use anyhow::{Context, Result};
use std::fs;
use std::path::Path;

pub struct Page {
    /// Its path in the checkout.
    pub name: String,
    pub text: String,
}

/// A fenced block of a page.
pub struct Block {
    /// What stands after the fence: `sql`, `text`, `sql fragment`.
    pub kind: String,
    /// Where its first line is, counted from 1.
    pub line: usize,
    pub text: String,
    /// Nothing but empty lines lie between the block before it and this one.
    pub follows: bool,
}

pub fn one(checkout: &Path, name: &str) -> Result<Page> {
    let text = fs::read_to_string(checkout.join(name)).with_context(|| format!("no {name}"))?;
    Ok(Page { name: name.to_owned(), text })
}

/// All pages, in order of name.
pub fn all(checkout: &Path) -> Result<Vec<Page>> {
    let mut names = vec!["README.md".to_owned(), "CHANGELOG.md".to_owned()];
    for entry in fs::read_dir(checkout.join("docs")).context("no docs/")? {
        let name = entry?.file_name().to_string_lossy().into_owned();
        if name.ends_with(".md") {
            names.push(format!("docs/{name}"));
        }
    }
    names.sort();
    names.iter().map(|name| one(checkout, name)).collect()
}

/// The fenced blocks of a page, in their order.
pub fn blocks(text: &str) -> Vec<Block> {
    let mut found: Vec<Block> = Vec::new();
    let mut open: Option<Block> = None;
    let mut only_space = false;
    for (at, line) in text.lines().enumerate() {
        match (&mut open, line.strip_prefix("```")) {
            (None, Some(kind)) => {
                let (kind, line) = (kind.trim().to_owned(), at + 2);
                open = Some(Block { kind, line, text: String::new(), follows: only_space });
            }
            (None, None) => only_space = only_space && line.trim().is_empty(),
            (Some(_), Some(_)) => {
                found.extend(open.take());
                only_space = true;
            }
            (Some(block), None) => {
                block.text.push_str(line);
                block.text.push('\n');
            }
        }
    }
    found
}
