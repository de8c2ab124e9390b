//! An activity as shown on pages.

use super::display_time::{DAY, DisplayTime};
use super::picture::{Layout, PictureView};
use super::sentence::{Sentence, Words};
use super::service_icon;
use crate::media::Media;
use crate::site::Site;
use auth::session::SignedIn;
use model::{Account, Body, Comments, Millis, Order, State, Uid};
use url::Url;

/// The signed-in user who views the page, and the time.
pub struct Viewer<'a> {
    /// The public addresses of the server.
    pub site: &'a Site,
    /// The signed-in user.
    pub person: &'a SignedIn,
    /// The current time.
    pub now: Millis,
    /// The order of the page, which selects the time that items show.
    pub order: Order,
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
    /// The path of the service's icon.
    pub icon: String,
    /// What the actor did, and the text below it.
    pub sentence: Sentence,
    /// The object's address.
    pub link: Option<WebLink>,
    /// The object's picture.
    pub picture: Option<PictureView>,
    /// How much room the item takes.
    pub layout: Layout,
    /// Comments and likes, if the service counts them.
    pub counts: Option<(u64, u64)>,
    /// The time by which the page is sorted.
    pub time: DisplayTime,
    /// The same, for comparisons.
    pub sorted_at: Millis,
    /// Whether the time of publication is worth showing too: it differs by more than a day.
    pub shows_published: bool,
    /// The time of publication.
    pub published_at: Millis,
    /// The time at which the page is made.
    pub now: Millis,
    /// Why the activity is in the reader's feed.
    pub why: String,
    /// Whether the reader is the actor.
    pub own: bool,
    /// Whether the reader can remove it from their feed.
    pub removable: bool,
    /// Whether it arrived after the reader's seen position.
    pub is_unread: bool,
    /// Whether it says so, because no line does.
    pub is_labelled: bool,
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
        let (kind, verb) = (state.facet.kind.as_str(), state.facet.verb.as_str());
        let picture =
            object.thumbnail.as_ref().map(|thumbnail| PictureView::of(self.media, &thumbnail.url, kind));
        let names =
            [display_name.as_str(), actor.given_name.as_deref().unwrap_or_default(), actor.name.as_str()];
        let sentence = Sentence::of(&Words {
            names: &names,
            kind,
            verb,
            done: state.facet.verb.past_tense(),
            title: &body.title,
            object: object.title.as_deref(),
            description: object.description.as_deref(),
        });
        let sorted_at = match self.order {
            Order::Received => state.received,
            Order::Published => state.published,
        };
        ItemView {
            id: state.id.to_string(),
            actor: state.actor,
            name: actor.name.to_string(),
            display_name,
            has_page: own || actor.public || self.person.account.operator,
            title: body.title.clone(),
            kind: kind.to_owned(),
            done: state.facet.verb.past_tense().to_owned(),
            verb: verb.to_owned(),
            service: body.service.name.as_str().to_owned(),
            website: WebLink::of(body.service.website.as_deref()),
            icon: service_icon::path(body.service.name.as_str(), self.site),
            layout: Layout::of(verb, kind, picture.as_ref()),
            sentence,
            link: WebLink::of(object.url.as_deref()),
            picture,
            counts: match body.comments {
                Comments::Available(_) => None,
                Comments::Counted { comments, likes } => Some((comments, likes)),
            },
            time: DisplayTime::new(sorted_at, self.now),
            sorted_at,
            shows_published: (sorted_at.0 - state.published.0).abs() > DAY,
            published_at: state.published,
            now: self.now,
            why,
            own,
            removable: addressed || !own,
            is_unread: false,
            is_labelled: false,
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

    /// The time of publication, as shown.
    pub fn published(&self) -> DisplayTime {
        DisplayTime::new(self.published_at, self.now)
    }

    /// The object in a few words: its title, the text of a note, or the sentence.
    pub fn subject(&self) -> &str {
        let sentence = &self.sentence;
        sentence.what.as_deref().or(sentence.note.as_deref()).unwrap_or(&sentence.did)
    }

    /// What the actor did, as the beginning of a sentence.
    pub fn did_capitalised(&self) -> String {
        super::capitalised(&self.sentence.did)
    }
}
