//! `/compose`: a note, a link or a photo from the page, as an activity of the signed-in account on this service.

use crate::pages::form::{Fields, VerifiedForm};
use crate::pages::{Person, get_and_post, go};
use crate::problem::Problem;
use crate::service::{Service, Writer};
use crate::site::Site;
use crate::views::compose::{ComposePage, Post, PostKind};
use crate::views::frame::{Frame, Section};
use crate::views::{Policy, html};
use auth::session::SignedIn;
use axum::extract::State;
use axum::response::Response;
use axum::routing::{MethodRouter, get};
use domain::ingest::{MAX_URL, RawActivity, RawObject, RawService, RawThumbnail, RawValue, Submission};
use http::{StatusCode, Uri};
use model::{Format, Visibility};
use std::sync::Arc;
use url::Url;

/// The service of activities that are posted here.
const SERVICE: &str = "tofrom";
/// Maximum characters of a post.
pub(super) const MAX_TEXT: usize = 5_000;
/// Characters of an object's title. A longer text is the description.
const MAX_TITLE: usize = 300;

pub(crate) fn methods() -> MethodRouter<Service> {
    get_and_post(get(show).post(post))
}

async fn show(State(site): State<Site>, Person(person): Person, uri: Uri) -> Response {
    compose_page(&site, &person, &uri, Post::new(new_id()), None)
}

async fn post(
    State(writer): State<Arc<Writer>>,
    uri: Uri,
    VerifiedForm { person, fields }: VerifiedForm,
) -> Result<Response, Problem> {
    let post = read(&fields);
    let raw = match activity(&post, &person.account.display_name(), writer.site.base()) {
        Ok(raw) => raw,
        Err(complaint) => return Ok(compose_page(&writer.site, &person, &uri, post, Some(complaint))),
    };
    let submission = Submission { raw, format: Format::Json };
    let caller = person.principal();
    let mut outcomes = writer.submit(&caller, &person.account, vec![submission]).await?;
    match outcomes.next().ok_or_else(Problem::internal)? {
        Ok(_) => Ok(go(&writer.site, "/feed?done=posted")),
        Err(refused) if refused.kind().status == StatusCode::UNPROCESSABLE_ENTITY => {
            Ok(compose_page(&writer.site, &person, &uri, post, Some(refused.detail())))
        }
        Err(problem) => Err(problem),
    }
}

fn compose_page(site: &Site, person: &SignedIn, uri: &Uri, post: Post, complaint: Option<&str>) -> Response {
    let frame = Frame::new(site, person, Section::Other, uri);
    let page = ComposePage { site, frame, account: &person.account, post, complaint, max_text: MAX_TEXT };
    let status = if complaint.is_some() { StatusCode::UNPROCESSABLE_ENTITY } else { StatusCode::OK };
    html(status, &page, Policy::SAME_ORIGIN)
}

/// The identifier of a new post. A form that is sent twice has the same, so it posts once.
fn new_id() -> String {
    let mut bytes = [0; 12];
    // Without randomness a post could replace an earlier one, so it gets no identifier and is refused.
    aws_lc_rs::rand::fill(&mut bytes).map_or_else(|_| String::new(), |()| hex::encode(bytes))
}

fn read(fields: &Fields) -> Post {
    let visibility = fields.get("visibility").and_then(|word| Visibility::parse(&word));
    Post {
        id: fields.get("id").filter(|id| id.len() <= 64).unwrap_or_default(),
        kind: PostKind::parse(&fields.get("kind").unwrap_or_default()),
        // Browsers send line ends as CR LF.
        text: fields.text("text").unwrap_or_default().replace("\r\n", "\n"),
        address: fields.text("address").unwrap_or_default(),
        visibility: visibility.unwrap_or_default(),
    }
}

/// The activity of a post, or what is wrong with the post.
fn activity(post: &Post, name: &str, website: &str) -> Result<RawActivity, &'static str> {
    if post.text.chars().count() > MAX_TEXT {
        return Err("The text is too long: at most 5,000 characters.");
    }
    let address = match post.kind {
        PostKind::Note => None,
        PostKind::Link => Some(
            web_address(&post.address)
                .ok_or("Enter the address of the link, such as https://example.org/.")?,
        ),
        PostKind::Photo => Some(
            web_address(&post.address)
                .ok_or("Enter the address of the photo, such as https://example.org/photo.jpg.")?,
        ),
    };
    if post.text.is_empty() && post.kind == PostKind::Note {
        return Err("Write something first.");
    }
    let (title, description) = divided(&post.text);
    let host = address.as_deref().map(|address| {
        address.trim_start_matches("https://").trim_start_matches("http://").trim_end_matches('/')
    });
    let object_title = match (post.kind, host) {
        (PostKind::Link, Some(host)) if title.is_empty() => shortened(host),
        _ => title.clone(),
    };
    let (did, category, element) = match post.kind {
        PostKind::Note => ("posted a note", "NotePosted", "Note"),
        PostKind::Link => ("shared a link", "BookmarkShared", "Bookmark"),
        PostKind::Photo => ("posted a photo", "PhotoPosted", "Photo"),
    };
    let sentence = if object_title.is_empty() {
        format!("{name} {did}")
    } else {
        format!("{name} {did}: {object_title}")
    };
    let picture = match (post.kind, &address) {
        (PostKind::Photo, Some(address)) => RawValue::text(address.as_str()),
        _ => RawValue::Absent,
    };
    let object = RawObject {
        title: RawValue::text(object_title),
        description: RawValue::text(description),
        thumbnail: RawThumbnail { url: picture, ..RawThumbnail::default() },
        url: address.map_or(RawValue::Absent, RawValue::text),
        alternate: None,
    };
    Ok(RawActivity {
        source_id: RawValue::text(post.id.as_str()),
        title: RawValue::text(sentence),
        category: RawValue::text(category),
        service: RawService {
            name: RawValue::text(SERVICE),
            website: RawValue::text(website),
            icon: RawValue::Absent,
        },
        visibility: RawValue::text(post.visibility.as_str()),
        objects: vec![(element.to_owned(), object)],
        ..RawActivity::default()
    })
}

/// The address as written, or with `https://` in front.
fn web_address(text: &str) -> Option<String> {
    let is_web = |url: &Url| matches!(url.scheme(), "http" | "https") && url.has_host();
    let with_scheme = format!("https://{text}");
    let url = Url::parse(text).ok().filter(is_web).or_else(|| {
        let plain = text.contains('.') && !text.contains(char::is_whitespace) && !text.contains("://");
        Url::parse(&with_scheme).ok().filter(|url| plain && is_web(url))
    })?;
    Some(String::from(url)).filter(|url| url.len() <= MAX_URL)
}

/// The title and the description of a text: a short text is the title, a longer one has its beginning as the title and
/// the whole as the description.
fn divided(text: &str) -> (String, String) {
    let first_line = text.lines().next().unwrap_or_default().trim();
    let title = shortened(first_line);
    if title == text { (title, String::new()) } else { (marked(&title), text.to_owned()) }
}

/// At most [`MAX_TITLE`] characters of the text.
fn shortened(text: &str) -> String {
    if text.chars().count() <= MAX_TITLE {
        return text.to_owned();
    }
    marked(text.chars().take(MAX_TITLE).collect::<String>().trim_end())
}

/// The text with a mark that it continues.
fn marked(text: &str) -> String {
    if text.is_empty() || text.ends_with('…') { text.to_owned() } else { format!("{text}…") }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn post(kind: PostKind, text: &str, address: &str) -> Post {
        Post { kind, text: text.to_owned(), address: address.to_owned(), ..Post::new("1".to_owned()) }
    }

    fn object(post: &Post) -> (RawActivity, RawObject) {
        let raw = activity(post, "Alice", "https://feed.example").unwrap();
        let (_, object) = raw.objects.first().cloned().unwrap();
        (raw, object)
    }

    #[test]
    fn a_short_note_is_its_title() {
        let (raw, note) = object(&post(PostKind::Note, "Moon over the gasworks", "https://ignored.example/"));
        assert_eq!(raw.title, RawValue::text("Alice posted a note: Moon over the gasworks"));
        assert_eq!(raw.category, RawValue::text("NotePosted"));
        assert_eq!(
            note,
            RawObject { title: RawValue::text("Moon over the gasworks"), ..RawObject::default() }
        );
    }

    #[test]
    fn a_long_text_is_the_description() {
        let text = format!("{}\n{}", "a".repeat(400), "b".repeat(400));
        let (_, note) = object(&post(PostKind::Note, &text, ""));
        assert_eq!(note.title, RawValue::text(format!("{}…", "a".repeat(MAX_TITLE))));
        assert_eq!(note.description, RawValue::text(text));
        let (_, note) = object(&post(PostKind::Note, "One\nTwo", ""));
        assert_eq!(note.title, RawValue::text("One…"));
        assert_eq!(note.description, RawValue::text("One\nTwo"));
    }

    #[test]
    fn a_link_without_words_is_named_by_its_address() {
        let (raw, link) = object(&post(PostKind::Link, "", "example.org/a"));
        assert_eq!(link.url, RawValue::text("https://example.org/a"));
        assert_eq!(link.title, RawValue::text("example.org/a"));
        assert_eq!(raw.category, RawValue::text("BookmarkShared"));
        let (_, link) = object(&post(PostKind::Link, "Worth it", "http://example.org/a"));
        assert_eq!(
            (link.title, link.url),
            (RawValue::text("Worth it"), RawValue::text("http://example.org/a"))
        );
    }

    #[test]
    fn a_photo_is_its_own_thumbnail() {
        let (raw, photo) = object(&post(PostKind::Photo, "", "https://example.org/p.jpg"));
        assert_eq!(photo.thumbnail.url, RawValue::text("https://example.org/p.jpg"));
        assert_eq!((raw.title, photo.title), (RawValue::text("Alice posted a photo"), RawValue::Absent));
    }

    #[test]
    fn a_post_without_content_is_refused() {
        for wrong in [
            post(PostKind::Note, "", "https://example.org/"),
            post(PostKind::Link, "words", ""),
            post(PostKind::Link, "words", "javascript:alert(1)"),
            post(PostKind::Link, "words", "no address"),
            post(PostKind::Photo, "words", "data:image/png,x"),
            post(PostKind::Note, &"x".repeat(MAX_TEXT + 1), ""),
        ] {
            assert!(activity(&wrong, "Alice", "https://feed.example").is_err(), "{wrong:?}");
        }
    }
}
