//! Pictures and enclosed media: Media RSS, enclosures, and images in the text.

use crate::address::absolute;
use crate::element::{Element, Node};
use crate::feed::{Medium, Picture};
use crate::html::{Token, tokens};
use crate::namespace::Ns;
use url::Url;

/// Addresses of avatars.
const AVATARS: [&str; 2] = ["gravatar.com/avatar/", "://avatars.githubusercontent.com/"];

/// The pictures and media of an item.
#[derive(Default)]
pub(crate) struct Media {
    /// A picture that is meant as a preview.
    thumbnail: Option<Picture>,
    /// A picture that is content.
    photo: Option<Picture>,
    /// The first picture in the text.
    inline: Option<Picture>,
    medium: Option<Medium>,
}

impl Media {
    /// The picture that represents the item.
    pub(crate) fn picture(&self) -> Option<Picture> {
        [&self.thumbnail, &self.photo, &self.inline].into_iter().flatten().next().cloned()
    }

    /// The enclosed medium. Video and audio come with a picture, so they take precedence over a photo.
    pub(crate) fn medium(&self) -> Option<Medium> {
        self.medium
    }

    pub(crate) fn add_thumbnail(&mut self, picture: Option<Picture>) {
        self.thumbnail = self.thumbnail.take().or(picture);
    }

    /// Adds an enclosure with a media type (`image/jpeg`) or a medium (`image`).
    pub(crate) fn add_enclosure(&mut self, media_type: &str, picture: Option<Picture>) {
        let medium = match media_type.split('/').next().map(str::trim) {
            Some("image") => Medium::Photo,
            Some("video") => Medium::Video,
            Some("audio") => Medium::Audio,
            _ => return,
        };
        if medium == Medium::Photo {
            self.photo = self.photo.take().or(picture);
        }
        self.medium = Some(match self.medium {
            None | Some(Medium::Photo) => medium,
            Some(existing) => existing,
        });
    }

    /// Adds the Media RSS children of this element, including nested contents and groups.
    pub(crate) fn add_media_rss(&mut self, element: &Element, base: &Url) {
        let is_shown = |child: &&Element| child.ns == Ns::Media && !child.get("url").is_some_and(is_avatar);
        for child in element.elements().filter(is_shown) {
            match &*child.name {
                "thumbnail" => self.add_thumbnail(picture(child, "url", base)),
                "content" => {
                    let media_type = child.get("type").or_else(|| child.get("medium"));
                    self.add_enclosure(media_type.unwrap_or_default(), picture(child, "url", base));
                    self.add_media_rss(child, base);
                }
                "group" => self.add_media_rss(child, base),
                _ => {}
            }
        }
    }

    /// Adds the first image of HTML text.
    pub(crate) fn add_inline_html(&mut self, html: &str, base: &Url) {
        if self.inline.is_some() {
            return;
        }
        self.inline = tokens(html).find_map(|token| match token {
            Token::Start(tag) if tag.name == "img" => {
                visible_image(tag.get("src")?, tag.get("width"), tag.get("height"), base)
            }
            _ => None,
        });
    }

    /// Adds the first image of a tree.
    pub(crate) fn add_inline_element(&mut self, element: &Element, base: &Url) {
        self.inline = self.inline.take().or_else(|| first_image(element, base));
    }
}

/// The picture whose address is in this attribute.
pub(crate) fn picture(element: &Element, attribute: &str, base: &Url) -> Option<Picture> {
    // Atom links have their sizes in the atommedia namespace.
    let size = |name| pixels(element.get(name).or_else(|| element.attribute(Ns::AtomMedia, name)));
    let url = absolute(element.get(attribute)?, base)?;
    Some(Picture { url, width: size("width"), height: size("height") })
}

pub(crate) fn picture_at(address: &str, base: &Url) -> Option<Picture> {
    absolute(address, base).map(|url| Picture { url, width: None, height: None })
}

pub(crate) fn first_image(element: &Element, base: &Url) -> Option<Picture> {
    if element.is(Ns::Xhtml, "img") {
        return visible_image(element.get("src")?, element.get("width"), element.get("height"), base);
    }
    element.children.iter().find_map(|node| match node {
        Node::Element(inner) => first_image(inner, base),
        Node::Text(_) => None,
    })
}

/// An image that is visible: tracking pixels are left out.
fn visible_image(src: &str, width: Option<&str>, height: Option<&str>, base: &Url) -> Option<Picture> {
    let (width, height) = (pixels(width), pixels(height));
    let is_dot = [width, height].into_iter().flatten().any(|size| size <= 2);
    if is_dot { None } else { absolute(src, base).map(|url| Picture { url, width, height }) }
}

/// Whether the picture is an avatar. Some services put the author's avatar into the item's picture.
fn is_avatar(address: &str) -> bool {
    AVATARS.iter().any(|host| address.contains(host))
}

/// A size: `80`, or `80px`.
fn pixels(text: Option<&str>) -> Option<u32> {
    text?.trim().trim_end_matches("px").parse().ok().filter(|size| (0..=100_000).contains(size))
}
