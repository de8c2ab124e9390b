//! The status of a source, as a sentence.

use super::connection::Connection;
use super::source::Source;
use model::Millis;

/// The status of a source.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Health {
    /// Whether it works without intervention.
    pub well: bool,
    /// The status as a sentence.
    pub words: String,
}

impl Health {
    /// The status of a connection and its source at this time. `has_hub`: a hub sends its updates.
    pub fn of(connection: &Connection, source: Option<&Source>, has_hub: bool, now: Millis) -> Health {
        let well = |words: String| Health { well: true, words };
        if connection.settings.paused {
            return well("Paused: nothing is imported until it is resumed.".to_owned());
        }
        let Some(source) = source else { return well("Waiting for the first poll.".to_owned()) };
        let known = &source.known;
        let next = source.due.map_or_else(String::new, |due| match due.0 - now.0 {
            ahead if ahead <= 0 => "; next now".to_owned(),
            ahead => format!("; next in {}", span(ahead)),
        });
        if let Some(error) = &known.error {
            let since = span(now.0 - error.since.0);
            let words = match (known.ended, error.times) {
                (true, _) => format!("Ended: {}", error.what),
                (false, 1) => format!("{} Last tried {} ago{next}.", error.what, ago(known.checked, now)),
                (false, times) => format!("{} For {since}, {times} times in a row{next}.", error.what),
            };
            return Health { well: false, words };
        }
        let Some(checked) = known.checked else { return well(format!("Waiting for the first poll{next}.")) };
        let found = match known.news {
            Some((at, count)) if at == checked => format!("{count} new"),
            _ => "nothing new".to_owned(),
        };
        let mut words = format!("Checked {} ago, {found}{next}.", span(now.0 - checked.0));
        if let Some((to, _)) = &known.moving {
            words.push_str(&format!(" Its server reports that the feed has moved to {to}."));
        }
        if has_hub {
            words.push_str(" A hub sends updates immediately.");
        }
        well(words)
    }
}

/// The reason why a feed is unreadable, as a sentence.
pub(super) fn sentence(unreadable: &feeds::FeedError) -> String {
    let words = unreadable.to_string();
    let mut letters = words.chars();
    let first: String = letters.next().into_iter().flat_map(char::to_uppercase).collect();
    format!("{first}{}.", letters.as_str().trim_end_matches('.'))
}

fn ago(at: Option<Millis>, now: Millis) -> String {
    span(at.map_or(0, |at| now.0 - at.0))
}

/// A rounded time span.
fn span(millis: i64) -> String {
    let seconds = millis.max(0) / 1_000;
    let (count, unit) = match seconds {
        0..90 => (seconds, "second"),
        90..5_400 => ((seconds + 30) / 60, "minute"),
        5_400..129_600 => ((seconds + 1_800) / 3_600, "hour"),
        _ => ((seconds + 43_200) / 86_400, "day"),
    };
    format!("{count} {unit}{}", if count == 1 { "" } else { "s" })
}
