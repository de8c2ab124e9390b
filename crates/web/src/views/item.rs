//! An activity as shown on pages.

use super::display_time::DisplayTime;
use crate::media::Media;
use crate::site::Site;
use auth::session::SignedIn;
use model::{Account, Body, Comments, Millis, State, Uid, category_label};
use url::Url;

/// The width of a thumbnail on a page, if the activity does not say it, and at most.
const THUMBNAIL_WIDTH: u32 = 160;
const MAX_THUMBNAIL_WIDTH: u32 = 640;

/// The signed-in user who views the page, and the time.
pub struct Viewer<'a> {
    /// The public addresses of the server.
    pub site: &'a Site,
    /// The signed-in user.
    pub person: &'a SignedIn,
    /// The current time.
    pub now: Millis,
    /// Pictures of other sites.
    pub media: &'a Media,
}

/// A link that a user may follow: `http` or `https` only.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WebLink {
    /// The address.
    pub href: String,
    /// The host of the address.
    pub host: String,
}

impl WebLink {
    /// A link to the address if its scheme is `http` or `https`. Addresses come from other sites and may have any scheme.
    pub fn of(text: Option<&str>) -> Option<WebLink> {
        let url = Url::parse(text?).ok().filter(|url| matches!(url.scheme(), "http" | "https"))?;
        Some(WebLink { host: url.host_str()?.to_owned(), href: url.into() })
    }

    /// Whether an HTTPS page may embed the target.
    fn is_safe(&self) -> bool {
        self.href.starts_with("https:")
    }
}

/// A thumbnail on another site.
#[derive(Clone, Debug)]
pub struct Picture {
    /// The address of the picture.
    pub link: WebLink,
    /// Its paths at our media proxy, for screens of single and double density. `None` if the proxy is off.
    pub proxied: Option<(String, String)>,
    /// Width and height in pixels, if known, to reserve its space on the page.
    pub size: Option<(u32, u32)>,
}

/// The shown parts of an activity.
#[derive(Clone, Debug)]
pub struct ItemView {
    /// Its identifier.
    pub id: String,
    /// The actor.
    pub actor: Uid,
    /// The actor's account name.
    pub name: String,
    /// The actor's display name.
    pub display_name: String,
    /// Whether the actor has a profile page that the reader may open.
    pub has_page: bool,
    /// The activity's title, a sentence.
    pub title: String,
    /// `Bookmark Shared`.
    pub label: String,
    /// The object type.
    pub kind: String,
    /// The verb in the past tense.
    pub done: String,
    /// The verb.
    pub verb: String,
    /// The service's name.
    pub service: String,
    /// The service's site.
    pub website: Option<WebLink>,
    /// The service's icon.
    pub icon: Option<WebLink>,
    /// The object's title.
    pub object: Option<String>,
    /// The object's description.
    pub description: Option<String>,
    /// The object's address.
    pub link: Option<WebLink>,
    /// The object's thumbnail.
    pub picture: Option<Picture>,
    /// Comments and likes, if the service counts them.
    pub counts: Option<(u64, u64)>,
    /// The time of publication.
    pub published: DisplayTime,
    /// The time of publication, for comparisons.
    pub published_at: Millis,
    /// Why the activity is in the reader's feed.
    pub why: String,
    /// Whether the reader is the actor.
    pub own: bool,
    /// Whether the reader can remove it from their feed.
    pub removable: bool,
}

impl Viewer<'_> {
    /// The activity as shown to this user.
    pub fn item(&self, state: &State, actor: &Account, body: &Body) -> ItemView {
        let me = self.person.account.uid;
        let own = state.actor == me;
        let addressed = state.addressed.contains(&me);
        let display_name = actor.display_name();
        let why = match (own, addressed) {
            (true, _) => "You see this because you did it.".to_owned(),
            (false, true) => format!("You see this because {display_name} addressed it to you."),
            (false, false) => {
                format!("You see this because you follow {display_name} or their profile is public.")
            }
        };
        let object = &body.object;
        let thumbnail = object.thumbnail.as_ref();
        let picture = thumbnail.and_then(|thumbnail| {
            let width = thumbnail.width.unwrap_or(THUMBNAIL_WIDTH).min(MAX_THUMBNAIL_WIDTH);
            let path = |width| self.media.address(&thumbnail.url, width);
            let proxied = path(width).zip(path(2 * width));
            let link =
                WebLink::of(Some(&thumbnail.url)).filter(|link| proxied.is_some() || link.is_safe())?;
            Some(Picture { link, proxied, size: thumbnail.width.zip(thumbnail.height) })
        });
        ItemView {
            id: state.id.to_string(),
            actor: state.actor,
            name: actor.name.to_string(),
            display_name,
            has_page: own || actor.public || self.person.account.operator,
            title: body.title.clone(),
            label: category_label(&state.facet.kind, &state.facet.verb),
            kind: state.facet.kind.as_str().to_owned(),
            done: state.facet.verb.past_tense().to_owned(),
            verb: state.facet.verb.as_str().to_owned(),
            service: body.service.name.as_str().to_owned(),
            website: WebLink::of(body.service.website.as_deref()),
            icon: WebLink::of(body.service.icon.as_deref()).filter(WebLink::is_safe),
            object: object.title.clone().filter(|title| *title != body.title),
            description: object.description.clone(),
            link: WebLink::of(object.url.as_deref()),
            picture,
            counts: match body.comments {
                Comments::Available(_) => None,
                Comments::Counted { comments, likes } => Some((comments, likes)),
            },
            published: DisplayTime::new(state.published, self.now),
            published_at: state.published,
            why,
            own,
            removable: addressed || !own,
        }
    }
}

impl ItemView {
    /// The path of the activity's page.
    pub fn path(&self) -> String {
        format!("/activity/{}", self.id)
    }

    /// The target of the form that deletes the activity.
    pub fn delete_path(&self) -> String {
        format!("{}/delete", self.path())
    }

    /// The target of the form that removes the activity from the reader's feed.
    pub fn remove_path(&self) -> String {
        format!("{}/remove", self.path())
    }

    /// Whether the page links to the thumbnail instead of showing it.
    pub fn links_to_picture(&self) -> bool {
        self.picture.as_ref().is_some_and(|picture| picture.proxied.is_none())
    }

    /// A letter in place of the service's icon.
    pub fn letter(&self) -> String {
        self.service.chars().next().map_or_else(String::new, |first| first.to_uppercase().collect())
    }
}
