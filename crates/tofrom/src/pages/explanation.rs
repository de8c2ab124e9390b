//! Pages that explain a part of the API, such as a problem type.

use crate::site::Site;
use askama::Template;

/// A page of explanatory text.
#[derive(Debug, Template)]
#[template(path = "explanation.html")]
pub struct Explanation<'a> {
    /// The public addresses of the server.
    pub site: &'a Site,
    /// The heading.
    pub title: &'a str,
    /// The explanation. Text in backquotes is shown as code.
    pub paragraphs: &'a [&'a str],
    /// The footer line.
    pub foot: &'a str,
}
