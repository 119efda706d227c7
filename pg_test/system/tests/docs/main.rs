//! What README.md, CHANGELOG.md and docs/ say is true of this version: the examples run as shown, what
//! is named exists, what exists is in the reference, and links lead somewhere.

mod examples;
mod names;
mod pages;
