//! What is sent and what is told, in JSON and XML. What a read tells is all text; what is sent may have natural types.

use super::Schema;
use super::parameter::{ACCOUNT_NAME, IDENTIFIER, SOURCE_NAME};
use crate::accounts::MAX_NAME_LEN;
use crate::ingest::{MAX_COUNT, MAX_DESCRIPTION, MAX_SOURCE_ID, MAX_TITLE, MAX_TO, MAX_URL};

/// Every description, under its name.
pub(super) fn all() -> Vec<(&'static str, Schema)> {
    let mut all = told();
    all.extend(people());
    all.extend(sent());
    all.extend(sources());
    all.extend(tokens());
    all
}

fn address() -> Schema {
    Schema::text().format("uri").length(1, MAX_URL)
}

fn digits() -> Schema {
    Schema::text().pattern("^[0-9]+$")
}

fn truth() -> Schema {
    Schema::text().words(["true", "false"])
}

/// What reads tell of activities.
fn told() -> Vec<(&'static str, Schema)> {
    let thumbnail = Schema::object()
        .about("A small picture of the object.")
        .needs("Url", address())
        .field("Height", digits().about("In pixels."))
        .field("Width", digits().about("In pixels."));
    let object = Schema::any(["Title", "Url"].map(|name| Schema::object().requires(&[name])))
        .about("What the activity was done with. What is unknown is left out.")
        .field("Title", Schema::text().length(1, MAX_TITLE))
        .field("Description", Schema::text().length(1, MAX_DESCRIPTION))
        .field("Thumbnail", Schema::named("Thumbnail"))
        .field("Url", address());
    let service = Schema::object()
        .about("Where it was done.")
        .needs("Name", Schema::text().length(1, 64))
        .field("IconURL", address())
        .field("WebsiteURL", address());
    let counts: [&[&str]; 2] = [&["CommentsAvailable"], &["CommentCount", "LikeCount"]];
    let activity = Schema::any(counts.map(|names| Schema::object().requires(names)))
        .element("Activity")
        .about(
            "Somebody did something on a service. The object stands under the name of its type: `Bookmark`, `Photo`, \
             `Video`, `Book`, `Note` and so on. Every value is a text.",
        )
        .needs("ActivityUrl", Schema::text().format("uri").about("A page for people; for programs the activity."))
        .needs("ActivityIdentifier", Schema::text().pattern(IDENTIFIER))
        .needs("ReceivedDate", Schema::text().format("date-time").about("When the service received it."))
        .needs("Category", Schema::text().about("Type and verb in one word.").example("BookmarkShared"))
        .needs("Title", Schema::text().length(1, MAX_TITLE).about("A sentence for people."))
        .needs("SourceUser", Schema::named("SourceUser"))
        .needs("SourceService", Schema::named("SourceService"))
        .field("CommentsAvailable", truth().about("Where counts are not known."))
        .field("CommentCount", digits())
        .field("LikeCount", digits())
        .field("Bookmark", Schema::named("Object"))
        .others(Schema::named("Object"))
        .at_least_fields(9);
    let list =
        Schema::object().element("Activities").needs("Activity", Schema::list(Schema::named("Activity")));
    let page =
        Schema::object().about("A page of a collection.").needs("Activities", Schema::named("ActivityList"));
    vec![
        ("Activities", page),
        ("Activity", activity),
        ("ActivityList", list),
        ("Object", object),
        ("SourceService", service),
        ("Thumbnail", thumbnail),
    ]
}

/// What reads tell of accounts and callers.
fn people() -> Vec<(&'static str, Schema)> {
    let name = || Schema::text().length(1, MAX_NAME_LEN);
    let user = Schema::object()
        .about("An account, as an activity names it.")
        .needs("UserIdentifier", Schema::text().pattern(ACCOUNT_NAME))
        .needs("ProfileUrl", Schema::text().format("uri"))
        .field("GivenName", name())
        .field("FamilyName", name());
    let public = truth().about("Whether every authenticated caller may read its public activities.");
    let account = user.clone().element("User").about("An account.").needs("Public", public);
    let users = Schema::object().element("Users").needs("User", Schema::list(Schema::named("SourceUser")));
    let caller = Schema::object()
        .element("WhoAmI")
        .about("What a credential stands for.")
        .needs("Account", Schema::text().pattern(ACCOUNT_NAME))
        .needs("Method", Schema::text().words(["basic", "psk", "oauth"]))
        .needs("Scopes", Schema::text().words(["read", "read write"]))
        .field("Consumer", Schema::text().about("The consumer key, where an application was named."));
    vec![
        ("Account", account),
        ("Caller", caller),
        ("SourceUser", user),
        ("User", Schema::object().needs("User", Schema::named("Account"))),
        ("UserList", users),
        ("Users", Schema::object().about("A page of a list.").needs("Users", Schema::named("UserList"))),
        ("WhoAmI", Schema::object().needs("WhoAmI", Schema::named("Caller"))),
    ]
}

/// What writers send, and what is told of each of many.
fn sent() -> Vec<(&'static str, Schema)> {
    let natural = |name| Schema::types(&["string", name]);
    let count = || natural("integer").between(0, MAX_COUNT);
    let thumbnail = Schema::object()
        .needs("Url", address())
        .field("Height", natural("integer").about("In pixels."))
        .field("Width", natural("integer").about("In pixels."));
    let object = Schema::any(["Title", "Url"].map(|name| Schema::object().requires(&[name])))
        .about("What the activity was done with: `Title` or `Url` at least.")
        .field("Title", Schema::text().length(0, MAX_TITLE))
        .field("Description", Schema::text().length(0, MAX_DESCRIPTION).about("At most 16 KiB."))
        .field("Thumbnail", Schema::named("NewThumbnail"))
        .field("Url", address().about("An address of http or https."))
        .field(
            "AlternateUrl",
            address().about("A page about it, where that is another one. Only Atom shows it."),
        );
    let service = Schema::object()
        .field("Name", Schema::text().about("Comes from the address, where it has one."))
        .field("IconURL", address())
        .field("WebsiteURL", address());
    let activity = Schema::object()
        .element("Activity")
        .about(
            "What somebody did. It takes `Title`, `Category` or else `Verb` and `Type` (in the first PUT), and the \
             object under the name of its type. What a read gives can be put back; fields that are not known say \
             nothing. Identifier, received date and user never come from the body.",
        )
        .needs("Title", Schema::text().length(1, MAX_TITLE).about("A sentence for people."))
        .field("Category", Schema::text().about("Type and verb in one word.").example("BookmarkShared"))
        .field("Verb", Schema::text().about("`shared`, `share` or the IRI; fixed by the first PUT."))
        .field("Type", Schema::text().about("`bookmark` or the IRI; fixed by the first PUT."))
        .field(
            "EntrySummary",
            Schema::text()
                .length(0, MAX_DESCRIPTION)
                .about("A text about the activity itself. Only Atom shows it, as the entry's `summary`."),
        )
        .field("SourceService", Schema::named("NewSourceService"))
        .field("CommentsAvailable", natural("boolean"))
        .field("CommentCount", count().about("Where one count is given, the other is 0."))
        .field("LikeCount", count())
        .field(
            "PublishedDate",
            Schema::text().format("date-time").about("Else now; at most 24 h ahead. Fixed by the first PUT."),
        )
        .field(
            "To",
            Schema::list(Schema::text()).at_most(MAX_TO).about("The names of the accounts that it addresses."),
        )
        .field(
            "Visibility",
            Schema::text().words(["public", "followers", "direct"]).default_to("public"),
        )
        .field("Bookmark", Schema::named("NewObject"))
        .example(serde_json::json!({
            "Category": "BookmarkShared",
            "Title": "Alice shared a page",
            "Bookmark": { "Title": "Atom", "Url": "https://example.org/atom" },
        }));
    let item = Schema::object()
        .needs("SourceId", Schema::text().length(1, MAX_SOURCE_ID).about("What the service itself calls it."))
        .needs("SourceService", Schema::object().needs("Name", Schema::text().length(1, 64)));
    let item = Schema::all([Schema::named("NewActivity"), item])
        .about("One of many activities: a line. It also says where it comes from.")
        .example(serde_json::json!({
            "SourceId": "1",
            "SourceService": { "Name": "Flickr" },
            "Category": "PhotoPosted",
            "Title": "Alice posted a photo",
            "Photo": { "Title": "The harbour" },
        }));
    let taken = Schema::object()
        .needs("status", Schema::number(200, 201))
        .needs("ActivityUrl", Schema::text().format("uri"));
    let changes = Schema::object()
        .element("User")
        .about("What is not said stays as it is; an empty name is taken away.")
        .field("GivenName", Schema::types(&["string", "null"]).length(0, MAX_NAME_LEN))
        .field("FamilyName", Schema::types(&["string", "null"]).length(0, MAX_NAME_LEN))
        .field("Public", natural("boolean"));
    let became = Schema::any([taken, Schema::named("Problem")]).about("What became of one of many: a line.");
    vec![
        ("AccountChanges", changes),
        ("BatchItem", item),
        ("BatchLine", became),
        ("NewActivity", activity),
        ("NewObject", object),
        ("NewSourceService", service),
        ("NewThumbnail", thumbnail),
    ]
}

/// What is told of sources and sent for them.
fn sources() -> Vec<(&'static str, Schema)> {
    let time = || Schema::text().format("date-time");
    let state = Schema::object()
        .element("Source")
        .about("A source, and how it is. What is unknown is left out.")
        .needs("Name", Schema::text().pattern(SOURCE_NAME))
        .needs("Address", Schema::text().about("Where it is fetched."))
        .needs("Service", Schema::text().length(1, 64).about("What its activities are done on."))
        .field("Title", Schema::text().about("What it calls itself."))
        .field("Page", Schema::text().format("uri").about("The page that it is about."))
        .needs("Verified", truth().about("Whether that page says by `rel=me` that it is the account's."))
        .needs("Paused", truth().about("Whether nothing is brought for now."))
        .needs("Well", truth().about("Whether nobody needs to look at it."))
        .needs("Health", Schema::text().about("How it is, in a sentence for people."))
        .field("CheckedDate", time().about("When it was last looked at."))
        .field("NextDate", time().about("When it is looked at next; not there if it is not any more."));
    let previewed = Schema::object()
        .element("Activity")
        .about("An activity that would come in.")
        .needs("Title", Schema::text().length(1, MAX_TITLE))
        .needs("Category", Schema::text().example("ArticlePosted"))
        .needs("Service", Schema::text().length(1, 64))
        .field("Url", address())
        .needs("PublishedDate", time())
        .needs("SourceId", Schema::text().length(1, MAX_SOURCE_ID))
        .needs("Address", Schema::text().format("uri").about("Where the feed is."));
    let wanted = Schema::text()
        .about("The address of a page or a feed, or a name like `@alice@example.social`.")
        .example("https://example.org/blog");
    let paused = Schema::types(&["string", "boolean"]).about("Whether nothing is brought for now.");
    let listed = |element: &str, one: &str, schema: &str| {
        Schema::object().element(element).needs(one, Schema::list(Schema::named(schema)))
    };
    vec![
        ("Preview", Schema::object().needs("Preview", Schema::named("PreviewList"))),
        ("PreviewList", listed("Preview", "Activity", "PreviewedActivity")),
        ("PreviewedActivity", previewed),
        ("Source", Schema::object().needs("Source", Schema::named("SourceState"))),
        ("SourceAddress", Schema::object().element("Source").needs("Address", wanted.clone())),
        (
            "SourceChanges",
            Schema::object().element("Source").field("Address", wanted).field("Paused", paused),
        ),
        ("SourceList", listed("Sources", "Source", "SourceState")),
        ("SourceState", state),
        ("Sources", Schema::object().needs("Sources", Schema::named("SourceList"))),
    ]
}

/// What the steps of OAuth give.
fn tokens() -> Vec<(&'static str, Schema)> {
    let token = |start: &str| {
        Schema::object()
            .needs("oauth_token", Schema::text().pattern(&format!("^{start}")))
            .needs("oauth_token_secret", Schema::text().about("Told this once."))
    };
    let temporary = token("tft_").needs("oauth_callback_confirmed", Schema::exactly("true"));
    vec![
        ("AccessToken", token("tfa_").about("Signs requests until it is ended.")),
        ("TemporaryToken", temporary.about("Good for 15 minutes and one exchange.")),
    ]
}
