//! An activity as people see it.

use super::moment::Moment;
use crate::auth::session::SignedIn;
use crate::site::Site;
use model::{Account, Body, Comments, Millis, State, Uid, category_label};
use url::Url;

/// Who looks, and when.
pub struct Looking<'a> {
    /// The public face.
    pub site: &'a Site,
    /// Who looks.
    pub person: &'a SignedIn,
    /// When.
    pub now: Millis,
}

/// An address that a person may follow: of the web, and of nothing else.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WebLink {
    /// The address.
    pub href: String,
    /// Where it leads.
    pub host: String,
}

impl WebLink {
    /// The address, if it is one of the web. Whoever wrote it may have meant any scheme.
    pub fn of(text: Option<&str>) -> Option<WebLink> {
        let url = Url::parse(text?).ok().filter(|url| matches!(url.scheme(), "http" | "https"))?;
        Some(WebLink { host: url.host_str()?.to_owned(), href: url.into() })
    }

    /// Whether a page that came over TLS may show what is there.
    fn is_safe(&self) -> bool {
        self.href.starts_with("https:")
    }
}

/// A small picture, elsewhere.
#[derive(Clone, Debug)]
pub struct Picture {
    /// Where.
    pub link: WebLink,
    /// Pixels, where they are known: room is kept for it.
    pub size: Option<(u32, u32)>,
}

/// What is shown of an activity.
#[derive(Clone, Debug)]
pub struct ItemView {
    /// Its identifier.
    pub id: String,
    /// The account that did it.
    pub actor: Uid,
    /// Its name.
    pub name: String,
    /// What it is called.
    pub display_name: String,
    /// Whether it has a page that the reader may open.
    pub has_page: bool,
    /// A sentence of what was done.
    pub title: String,
    /// `Bookmark Shared`.
    pub label: String,
    /// The type, in a word.
    pub kind: String,
    /// The verb as the past has it.
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
    /// A longer text.
    pub description: Option<String>,
    /// The object's address.
    pub link: Option<WebLink>,
    /// A small picture of it.
    pub picture: Option<Picture>,
    /// Comments and likes, where they are counted.
    pub counts: Option<(u64, u64)>,
    /// When it happened.
    pub published: Moment,
    /// The same for computing.
    pub published_at: Millis,
    /// Why the reader sees it.
    pub why: String,
    /// Whether the reader did it.
    pub own: bool,
    /// Whether it reaches the reader, who may not want that.
    pub reaches: bool,
}

impl Looking<'_> {
    /// An activity, to this person.
    pub fn at(&self, state: &State, actor: &Account, body: &Body) -> ItemView {
        let me = self.person.account.uid;
        let own = state.actor == me;
        let addressed = state.addressed.contains(&me);
        let display_name = actor.display_name();
        let why = match (own, addressed) {
            (true, _) => "You did this, so it is in what comes from you.".to_owned(),
            (false, true) => format!("{display_name} addressed it to you."),
            (false, false) => format!("You follow {display_name}, or their page is open to you."),
        };
        let object = &body.object;
        let thumbnail = object.thumbnail.as_ref();
        let picture = thumbnail.and_then(|thumbnail| {
            let link = WebLink::of(Some(&thumbnail.url)).filter(WebLink::is_safe)?;
            Some(Picture { link, size: thumbnail.width.zip(thumbnail.height) })
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
            published: Moment::told(state.published, self.now),
            published_at: state.published,
            why,
            own,
            reaches: addressed || !own,
        }
    }
}

impl ItemView {
    /// Where its own page is.
    pub fn path(&self) -> String {
        format!("/activity/{}", self.id)
    }

    /// Where the form goes that takes it back.
    pub fn delete_path(&self) -> String {
        format!("{}/delete", self.path())
    }

    /// Where the form goes that takes it out of the reader's feed.
    pub fn remove_path(&self) -> String {
        format!("{}/remove", self.path())
    }

    /// What stands for the service's icon.
    pub fn letter(&self) -> String {
        self.service.chars().next().map_or_else(String::new, |first| first.to_uppercase().collect())
    }
}
