//! Pictures, and what is enclosed: Media RSS, enclosures, and the images that stand in a text.

use crate::address::absolute;
use crate::element::{Element, Node};
use crate::feed::{Medium, Picture};
use crate::html::{Token, tokens};
use crate::namespace::Ns;
use url::Url;

/// Where faces come from.
const FACES: [&str; 2] = ["gravatar.com/avatar/", "://avatars.githubusercontent.com/"];

/// What an item has to show.
#[derive(Default)]
pub(crate) struct Media {
    /// A picture that is meant to be small, or to stand for the whole.
    thumbnail: Option<Picture>,
    /// A picture that is content itself.
    photo: Option<Picture>,
    /// A picture that stands somewhere in the text.
    inline: Option<Picture>,
    medium: Option<Medium>,
}

impl Media {
    /// The picture that stands for the item.
    pub(crate) fn picture(&self) -> Option<Picture> {
        [&self.thumbnail, &self.photo, &self.inline].into_iter().flatten().next().cloned()
    }

    /// What is enclosed. Moving pictures and sound come with a picture, so they count more than one.
    pub(crate) fn medium(&self) -> Option<Medium> {
        self.medium
    }

    pub(crate) fn add_thumbnail(&mut self, picture: Option<Picture>) {
        self.thumbnail = self.thumbnail.take().or(picture);
    }

    /// Something enclosed, of which the type or the kind (`image/jpeg`, `image`) is told.
    pub(crate) fn add_enclosure(&mut self, told: &str, picture: Option<Picture>) {
        let found = match told.split('/').next().map(str::trim) {
            Some("image") => Medium::Photo,
            Some("video") => Medium::Video,
            Some("audio") => Medium::Audio,
            _ => return,
        };
        if found == Medium::Photo {
            self.photo = self.photo.take().or(picture);
        }
        self.medium = Some(match self.medium {
            None | Some(Medium::Photo) => found,
            Some(before) => before,
        });
    }

    /// What Media RSS has directly in this element, in its contents and groups.
    pub(crate) fn add_media_rss(&mut self, element: &Element, base: &Url) {
        let is_shown = |child: &&Element| child.ns == Ns::Media && !child.get("url").is_some_and(is_face);
        for child in element.elements().filter(is_shown) {
            match &*child.name {
                "thumbnail" => self.add_thumbnail(picture(child, "url", base)),
                "content" => {
                    let told = child.get("type").or_else(|| child.get("medium"));
                    self.add_enclosure(told.unwrap_or_default(), picture(child, "url", base));
                    self.add_media_rss(child, base);
                }
                "group" => self.add_media_rss(child, base),
                _ => {}
            }
        }
    }

    /// The first image of a text's markup.
    pub(crate) fn add_inline_html(&mut self, html: &str, base: &Url) {
        if self.inline.is_some() {
            return;
        }
        self.inline = tokens(html).find_map(|token| match token {
            Token::Start(tag) if tag.name == "img" => {
                shown(tag.get("src")?, tag.get("width"), tag.get("height"), base)
            }
            _ => None,
        });
    }

    /// The first image of a text's tree.
    pub(crate) fn add_inline_element(&mut self, element: &Element, base: &Url) {
        self.inline = self.inline.take().or_else(|| first_image(element, base));
    }
}

/// The picture whose address that attribute has.
pub(crate) fn picture(element: &Element, attribute: &str, base: &Url) -> Option<Picture> {
    // Atom's links have their sizes in a namespace of their own.
    let size = |name| pixels(element.get(name).or_else(|| element.attribute(Ns::AtomMedia, name)));
    let url = absolute(element.get(attribute)?, base)?;
    Some(Picture { url, width: size("width"), height: size("height") })
}

pub(crate) fn picture_at(address: &str, base: &Url) -> Option<Picture> {
    absolute(address, base).map(|url| Picture { url, width: None, height: None })
}

pub(crate) fn first_image(element: &Element, base: &Url) -> Option<Picture> {
    if element.is(Ns::Xhtml, "img") {
        return shown(element.get("src")?, element.get("width"), element.get("height"), base);
    }
    element.children.iter().find_map(|node| match node {
        Node::Element(inner) => first_image(inner, base),
        Node::Text(_) => None,
    })
}

/// An image that can be seen: those that only count readers have no size.
fn shown(src: &str, width: Option<&str>, height: Option<&str>, base: &Url) -> Option<Picture> {
    let (width, height) = (pixels(width), pixels(height));
    let is_dot = [width, height].into_iter().flatten().any(|size| size <= 2);
    if is_dot { None } else { absolute(src, base).map(|url| Picture { url, width, height }) }
}

/// Whether it is the face of who wrote the item, which some services put where its own picture belongs.
fn is_face(address: &str) -> bool {
    FACES.iter().any(|host| address.contains(host))
}

/// A size: `80`, or `80px`.
fn pixels(said: Option<&str>) -> Option<u32> {
    said?.trim().trim_end_matches("px").parse().ok().filter(|size| (0..=100_000).contains(size))
}
