//! What commands print.

use crate::json;
use comfy_table::{Table, presets};
use serde_json::Value;
use std::io::{self, Write};

/// A line on standard output.
pub fn line(text: impl std::fmt::Display) -> io::Result<()> {
    let mut out = io::stdout().lock();
    writeln!(out, "{text}")?;
    out.flush()
}

/// A line of JSON on standard output.
pub fn json_line(value: Value) -> io::Result<()> {
    line(json::text(value))
}

/// A line on standard error, for people. That it can't be written is no reason to fail.
pub fn note(text: impl std::fmt::Display) {
    let _ = writeln!(io::stderr().lock(), "{text}");
}

/// A listing: a table for people, an array for programs.
pub struct Listing {
    json: bool,
    columns: &'static [&'static str],
    rows: Vec<Vec<String>>,
    values: Vec<Value>,
}

impl Listing {
    /// An empty one with these columns.
    pub fn new(json: bool, columns: &'static [&'static str]) -> Listing {
        Listing { json, columns, rows: Vec::new(), values: Vec::new() }
    }

    /// Adds what the one kind of reader sees, and what the other does.
    pub fn add(&mut self, row: impl FnOnce() -> Vec<String>, value: impl FnOnce() -> Value) {
        if self.json { self.values.push(value()) } else { self.rows.push(row()) }
    }

    /// Prints it. `none` is said to people where there is nothing to list.
    pub fn print(self, none: &str) -> io::Result<()> {
        if self.json {
            return json_line(Value::Array(self.values));
        }
        if self.rows.is_empty() {
            note(none);
            return Ok(());
        }
        let mut table = Table::new();
        table
            .load_preset(presets::NOTHING)
            .set_header(self.columns.iter().map(|column| column.to_uppercase()));
        table.add_rows(self.rows);
        for column in table.column_iter_mut() {
            column.set_padding((0, 2));
        }
        // The preset pads the last column; nobody wants that in a copied line.
        let text: Vec<_> = table.lines().map(|line| line.trim_end().to_owned()).collect();
        line(text.join("\n"))
    }
}

/// A time for people: to the second, in UTC.
pub fn moment(at: model::Millis) -> String {
    let text = at.zulu();
    text.get(..19).map_or_else(|| text.clone(), |seconds| seconds.replace('T', " "))
}

/// A time that may not be there.
pub fn moment_or(at: Option<model::Millis>, otherwise: &str) -> String {
    at.map_or_else(|| otherwise.to_owned(), moment)
}
