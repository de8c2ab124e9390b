//! The page with the form of a post.

use super::frame::Frame;
use crate::site::Site;
use askama::Template;
use model::{Account, Visibility};

/// What is posted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum PostKind {
    /// A text.
    #[default]
    Note,
    /// A page, with a text.
    Link,
    /// A photo on another site, with a text.
    Photo,
}

impl PostKind {
    /// The kind of this form value; a note if it is unknown.
    pub fn parse(word: &str) -> PostKind {
        match word {
            "link" => PostKind::Link,
            "photo" => PostKind::Photo,
            _ => PostKind::Note,
        }
    }
}

/// The values of the form.
#[derive(Clone, Debug)]
pub struct Post {
    /// The identifier, the same if the form is sent again.
    pub id: String,
    /// What is posted.
    pub kind: PostKind,
    /// The text.
    pub text: String,
    /// The address of the link or of the photo.
    pub address: String,
    /// Who sees it.
    pub visibility: Visibility,
}

impl Post {
    /// An empty form.
    pub fn new(id: String) -> Post {
        let (text, address) = (String::new(), String::new());
        Post { id, kind: PostKind::Note, text, address, visibility: Visibility::Public }
    }
}

/// The page.
#[derive(Template)]
#[template(path = "feed/compose.html")]
pub struct ComposePage<'a> {
    /// The public addresses of the server.
    pub site: &'a Site,
    /// Header and navigation.
    pub frame: Frame<'a>,
    /// The signed-in account.
    pub account: &'a Account,
    /// The values of the form.
    pub post: Post,
    /// The error to show, if any.
    pub complaint: Option<&'a str>,
    /// Maximum characters of the text.
    pub max_text: usize,
}

impl ComposePage<'_> {
    /// The kinds: value, label, icon, and whether it is chosen.
    fn kinds(&self) -> [(&'static str, &'static str, &'static str, bool); 3] {
        let chosen = |kind| self.post.kind == kind;
        [
            ("note", "Note", "note", chosen(PostKind::Note)),
            ("link", "Link", "link", chosen(PostKind::Link)),
            ("photo", "Photo", "photo", chosen(PostKind::Photo)),
        ]
    }

    /// The choices of who sees it: value, label, and whether it is chosen.
    fn visibilities(&self) -> [(&'static str, &'static str, bool); 3] {
        let all = [Visibility::Public, Visibility::Followers, Visibility::Direct];
        all.map(|one| {
            let label = match one {
                Visibility::Public => "Everyone",
                Visibility::Followers => "Followers",
                Visibility::Direct => "Only me",
            };
            (one.as_str(), label, one == self.post.visibility)
        })
    }
}
