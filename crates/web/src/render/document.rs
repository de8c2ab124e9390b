//! The fields of an activity, in the order of the API contract. Two sinks write them: JSON, where groups are
//! objects and every value is a string, and elements without a namespace, for XML text and Fast Infoset alike.

use crate::site::Site;
use infoset::{Name, Sink};
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

/// Writes fields into a JSON object.
pub(super) struct Object {
    text: Vec<u8>,
    /// Whether the current object has a member already.
    begun: bool,
}

impl Object {
    pub(super) fn new() -> Object {
        Object { text: vec![b'{'], begun: false }
    }

    pub(super) fn finish(mut self) -> Vec<u8> {
        self.text.push(b'}');
        self.text
    }

    fn name(&mut self, name: &str) {
        if self.begun {
            self.text.push(b',');
        }
        self.string(name);
        self.text.push(b':');
        self.begun = true;
    }

    fn string(&mut self, value: &str) {
        // Writing to memory cannot fail.
        let _ = domain::json::write(&mut self.text, value);
    }
}

impl Fields for Object {
    fn text(&mut self, name: &str, value: &str) {
        self.name(name);
        self.string(value);
    }

    fn group(&mut self, name: &str) {
        self.name(name);
        self.text.push(b'{');
        self.begun = false;
    }

    fn end(&mut self) {
        self.text.push(b'}');
        self.begun = true;
    }
}

/// Writes fields as elements into a sink.
pub(super) struct Elements<'a, S: Sink>(pub(super) &'a mut S);

impl<S: Sink> Fields for Elements<'_, S> {
    fn text(&mut self, name: &str, value: &str) {
        self.0.leaf(Name::local(name), value);
    }

    fn group(&mut self, name: &str) {
        self.0.open(Name::local(name));
    }

    fn end(&mut self) {
        self.0.end();
    }
}
