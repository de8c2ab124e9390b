//! The full-text index of activities, written together with the body. Triggers of the schema delete a text when its body
//! is cleared or deleted.

use super::values::{activity_id, count};
use crate::Result;
use model::{ActivityId, Body};
use rusqlite::{Connection, params};

const FIND: &str =
    "SELECT aid, rowid FROM search WHERE search MATCH ?1 AND rowid < ?2 ORDER BY rowid DESC LIMIT ?3";

/// Maximum words of a query.
const MAX_WORDS: usize = 16;

/// Indexes the text of a body. A deleted activity has none.
pub(super) fn put(connection: &Connection, number: i64, id: ActivityId, body: Option<&Body>) -> Result<()> {
    connection.prepare_cached("DELETE FROM search WHERE rowid = ?1")?.execute([number])?;
    let Some(body) = body else { return Ok(()) };
    let mut insert =
        connection.prepare_cached("INSERT INTO search (rowid, text, aid) VALUES (?1, ?2, ?3)")?;
    insert.execute(params![number, text(body), id.as_bytes()])?;
    Ok(())
}

/// The searchable text: every text that a page shows, each once.
fn text(body: &Body) -> String {
    let object = &body.object;
    let all = [
        Some(body.title.as_str()),
        body.summary.as_deref(),
        object.title.as_deref(),
        object.description.as_deref(),
        Some(body.service.name.as_str()),
    ];
    let mut texts: Vec<&str> = Vec::new();
    for text in all.into_iter().flatten() {
        if !texts.iter().any(|known| known.contains(text)) {
            texts.push(text);
        }
    }
    texts.join("\n")
}

/// The newest activities with all words of the query before the place `before`, with their places.
pub(super) fn find(
    connection: &Connection,
    words: &str,
    before: Option<i64>,
    limit: usize,
) -> Result<Vec<(ActivityId, i64)>> {
    let Some(query) = query(words) else { return Ok(Vec::new()) };
    let mut statement = connection.prepare_cached(FIND)?;
    let mut rows = statement.query(params![query, before.unwrap_or(i64::MAX), count(limit)])?;
    let mut found = Vec::new();
    while let Some(row) = rows.next()? {
        found.push((activity_id(row, 0)?, row.get(1)?));
    }
    Ok(found)
}

/// A query of FTS5 for all of the words, the last of which may be incomplete. `None` if there is no word.
fn query(words: &str) -> Option<String> {
    let words: Vec<&str> =
        words.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty()).take(MAX_WORDS).collect();
    let quoted = words.iter().map(|word| format!("\"{word}\"")).collect::<Vec<_>>().join(" ");
    (!quoted.is_empty()).then(|| format!("{quoted} *"))
}

#[cfg(test)]
mod tests {
    #[test]
    fn words_are_quoted_and_the_last_is_a_prefix() {
        for (words, expected) in [
            ("", None),
            (" \"*()", None),
            ("king", Some("\"king\" *")),
            ("the NEAR(king) OR -fish*", Some("\"the\" \"NEAR\" \"king\" \"OR\" \"fish\" *")),
            ("e-mail über", Some("\"e\" \"mail\" \"über\" *")),
        ] {
            assert_eq!(super::query(words).as_deref(), expected, "{words}");
        }
    }
}
