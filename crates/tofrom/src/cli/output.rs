//! Output of commands.

use comfy_table::{Table, presets};
use domain::json;
use indicatif::{ProgressBar, ProgressStyle};
use serde_json::Value;
use std::io::{self, Write};

/// Prints a line on standard output.
pub fn line(text: impl std::fmt::Display) -> io::Result<()> {
    let mut out = io::stdout().lock();
    writeln!(out, "{text}")?;
    out.flush()
}

/// Prints a line of JSON on standard output.
pub fn json_line(value: Value) -> io::Result<()> {
    line(json::text(value))
}

/// Prints a line on standard error, for people. Write errors are ignored.
pub fn note(text: impl std::fmt::Display) {
    let _ = writeln!(io::stderr().lock(), "{text}");
}

/// A progress bar of this form. It draws nothing if standard error is not a terminal.
pub fn progress_bar(template: &str) -> ProgressBar {
    let bar = ProgressBar::new(0);
    if let Ok(style) = ProgressStyle::with_template(template) {
        bar.set_style(style);
    }
    bar
}

/// A listing: a table, or a JSON array with `--json`.
pub struct Listing {
    json: bool,
    columns: &'static [&'static str],
    rows: Vec<Vec<String>>,
    values: Vec<Value>,
}

impl Listing {
    /// An empty listing with these columns.
    pub fn new(json: bool, columns: &'static [&'static str]) -> Listing {
        Listing { json, columns, rows: Vec::new(), values: Vec::new() }
    }

    /// Adds an item: a table row or a JSON value.
    pub fn add(&mut self, row: impl FnOnce() -> Vec<String>, value: impl FnOnce() -> Value) {
        if self.json { self.values.push(value()) } else { self.rows.push(row()) }
    }

    /// Prints the listing, or the note `none` instead of an empty table.
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
        // The preset pads the last column, which is unwanted in copied lines.
        let text: Vec<_> = table.lines().map(|line| line.trim_end().to_owned()).collect();
        line(text.join("\n"))
    }
}

/// A time in UTC, to the second.
pub fn time(at: model::Millis) -> String {
    let text = at.zulu();
    text.get(..19).map_or_else(|| text.clone(), |seconds| seconds.replace('T', " "))
}

/// An optional time, or the given text.
pub fn time_or(at: Option<model::Millis>, otherwise: &str) -> String {
    at.map_or_else(|| otherwise.to_owned(), time)
}
