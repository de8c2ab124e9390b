//! The fields of an activity as the contract demands, in order.

use super::super::support::pages::PageFixture;
use super::content::Content;
use domain::feed::Item;
use model::{Account, Comments, Object, category};

/// Fields in order of insertion.
#[derive(Default)]
struct Fields(Vec<(String, Content)>);

impl Fields {
    fn put(&mut self, name: &str, text: impl Into<String>) {
        self.0.push((name.to_owned(), Content::Text(text.into())));
    }

    fn put_known(&mut self, name: &str, text: Option<impl ToString>) {
        if let Some(text) = text {
            self.put(name, text.to_string());
        }
    }

    fn group(&mut self, name: &str, fields: Fields) {
        self.0.push((name.to_owned(), Content::Group(fields.0)));
    }
}

pub(super) fn expected(fixture: &PageFixture, item: &Item) -> Content {
    let activity = &fixture.data.activities[&item.state.id];
    let (state, body, id) = (&activity.state, &activity.body, activity.state.id);
    let mut fields = Fields::default();
    fields.put("ActivityUrl", format!("https://feed.example:8443/prefix/activity/{id}"));
    fields.put("ActivityIdentifier", id.to_string());
    fields.put("ReceivedDate", state.received.zulu().replace('Z', "+00:00"));
    fields.put("Category", category(&state.facet.kind, &state.facet.verb));
    fields.put("Title", &body.title);
    let actor = fixture.data.accounts.iter().find(|account| account.uid == state.actor).unwrap();
    fields.group("SourceUser", user(actor));
    let mut service = Fields::default();
    service.put("Name", body.service.name.as_str());
    service.put_known("IconURL", body.service.icon.as_ref());
    service.put_known("WebsiteURL", body.service.website.as_ref());
    fields.group("SourceService", service);
    match body.comments {
        Comments::Available(available) => fields.put("CommentsAvailable", available.to_string()),
        Comments::Counted { comments, likes } => {
            fields.put("CommentCount", comments.to_string());
            fields.put("LikeCount", likes.to_string());
        }
    }
    fields.group(&state.facet.kind.element(), object(&body.object));
    Content::Group(fields.0)
}

fn user(account: &Account) -> Fields {
    let mut fields = Fields::default();
    fields.put("UserIdentifier", account.name.as_str());
    fields.put("ProfileUrl", format!("https://feed.example:8443/prefix/user/{}", account.name));
    fields.put_known("GivenName", account.given_name.as_ref());
    fields.put_known("FamilyName", account.family_name.as_ref());
    fields
}

fn object(object: &Object) -> Fields {
    let mut fields = Fields::default();
    fields.put_known("Title", object.title.as_ref());
    fields.put_known("Description", object.description.as_ref());
    if let Some(thumbnail) = &object.thumbnail {
        let mut picture = Fields::default();
        picture.put("Url", &thumbnail.url);
        picture.put_known("Height", thumbnail.height);
        picture.put_known("Width", thumbnail.width);
        fields.group("Thumbnail", picture);
    }
    fields.put_known("Url", object.url.as_ref());
    fields
}
