//! The fields of an activity, in the order of the API contract.

use crate::site::Site;
use model::{Account, Body, Comments, State, category};

/// A sink for fields and groups of fields.
pub trait Fields {
    /// Writes a text field.
    fn text(&mut self, name: &str, value: &str);
    /// Opens a group; the fields up to the matching [`Fields::end`] belong to it.
    fn group(&mut self, name: &str);
    /// Ends the group.
    fn end(&mut self);

    /// Writes a field if it has a value.
    fn optional(&mut self, name: &str, value: Option<&str>) {
        if let Some(value) = value {
            self.text(name, value);
        }
    }
}

/// Writes the fields of an activity.
pub fn activity(site: &Site, state: &State, body: &Body, actor: &Account, fields: &mut impl Fields) {
    fields.text("ActivityUrl", &site.activity_url(state.id));
    fields.text("ActivityIdentifier", &state.id.to_string());
    fields.text("ReceivedDate", &state.received.with_offset());
    fields.text("Category", &category(&state.facet.kind, &state.facet.verb));
    fields.text("Title", &body.title);
    fields.group("SourceUser");
    user(site, actor, fields);
    fields.end();
    fields.group("SourceService");
    fields.text("Name", body.service.name.as_str());
    fields.optional("IconURL", body.service.icon.as_deref());
    fields.optional("WebsiteURL", body.service.website.as_deref());
    fields.end();
    match body.comments {
        Comments::Available(available) => {
            fields.text("CommentsAvailable", if available { "true" } else { "false" })
        }
        Comments::Counted { comments, likes } => {
            fields.text("CommentCount", &comments.to_string());
            fields.text("LikeCount", &likes.to_string());
        }
    }
    fields.group(&state.facet.kind.element());
    object(body, fields);
    fields.end();
}

/// Writes the fields of a user.
pub fn user(site: &Site, account: &Account, fields: &mut impl Fields) {
    fields.text("UserIdentifier", account.name.as_str());
    fields.text("ProfileUrl", &site.profile_url(&account.name));
    fields.optional("GivenName", account.given_name.as_deref());
    fields.optional("FamilyName", account.family_name.as_deref());
}

fn object(body: &Body, fields: &mut impl Fields) {
    let object = &body.object;
    fields.optional("Title", object.title.as_deref());
    fields.optional("Description", object.description.as_deref());
    if let Some(thumbnail) = &object.thumbnail {
        fields.group("Thumbnail");
        fields.text("Url", &thumbnail.url);
        fields.optional("Height", thumbnail.height.map(|n| n.to_string()).as_deref());
        fields.optional("Width", thumbnail.width.map(|n| n.to_string()).as_deref());
        fields.end();
    }
    fields.optional("Url", object.url.as_deref());
}
