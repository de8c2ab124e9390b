//! Schemas of request and response bodies in JSON and XML. All values of responses are strings. Requests may also use
//! JSON numbers and booleans.

use super::Schema;
use super::parameter::{ACCOUNT_NAME, IDENTIFIER, SOURCE_NAME};
use domain::ingest::{MAX_COUNT, MAX_DESCRIPTION, MAX_SOURCE_ID, MAX_TITLE, MAX_TO, MAX_URL};
use model::{AddressableBy, MAX_PERSON_NAME};

/// The fields of the usual objects, so that generated clients have them by name. The vocabulary is open.
const OBJECTS: &[&str] = &[
    "Article", "Book", "Bookmark", "Comment", "Event", "Note", "Photo", "Place", "Product", "Song", "Status",
    "Video",
];

/// All schemas, by name.
pub(super) fn all() -> Vec<(&'static str, Schema)> {
    let mut all = activities();
    all.extend(accounts());
    all.extend(requests());
    all.extend(sources());
    all.extend(unread());
    all.extend(hooks());
    all.extend(keys());
    all.extend(tokens());
    all
}

fn url() -> Schema {
    Schema::text().format("uri").length(1, MAX_URL)
}

fn digits() -> Schema {
    Schema::text().pattern("^[0-9]+$")
}

fn boolean_text() -> Schema {
    Schema::text().words(["true", "false"])
}

/// Activities in responses.
fn activities() -> Vec<(&'static str, Schema)> {
    let thumbnail = Schema::object()
        .about("A small picture of the object.")
        .needs("Url", url())
        .field("Height", digits().about("In pixels."))
        .field("Width", digits().about("In pixels."));
    let object = Schema::object()
        .about("The object of the activity. Unknown fields are absent.")
        .otherwise("Title", &[], &["Url"])
        .field("Title", Schema::text().length(1, MAX_TITLE))
        .field("Description", Schema::text().length(1, MAX_DESCRIPTION))
        .field("Thumbnail", Schema::named("Thumbnail"))
        .field("Url", url());
    let service = Schema::object()
        .about("The service that the activity took place on.")
        .needs("Name", Schema::text().length(1, 64))
        .field("IconURL", url())
        .field("WebsiteURL", url());
    let activity = Schema::object()
        .otherwise("LikeCount", &["CommentCount"], &["CommentsAvailable"])
        .element("Activity")
        .about(
            "An activity: someone did something on a service. The object is in a field named after its type: `Bookmark`, \
             `Photo`, `Video`, `Book`, `Note` and so on. Every value is a string.",
        )
        .needs("ActivityUrl", Schema::text().format("uri").about("The address of the activity: a web page for browsers, the activity for API clients."))
        .needs("ActivityIdentifier", Schema::text().pattern(IDENTIFIER))
        .needs("ReceivedDate", Schema::text().format("date-time").about("When the server received it."))
        .needs("Category", Schema::text().about("Type and verb in one word.").example("BookmarkShared"))
        .needs("Title", Schema::text().length(1, MAX_TITLE).about("A sentence for display."))
        .needs("SourceUser", Schema::named("SourceUser"))
        .needs("SourceService", Schema::named("SourceService"))
        .field("CommentsAvailable", boolean_text().about("Present if the counts are unknown."))
        .field("CommentCount", digits())
        .field("LikeCount", digits())
        .fields(OBJECTS, &Schema::named("Object"))
        .additional(Schema::named("Object"))
        .min_fields(9);
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

/// Accounts and callers in responses.
fn accounts() -> Vec<(&'static str, Schema)> {
    let name = || Schema::text().length(1, MAX_PERSON_NAME);
    let user = Schema::object()
        .about("An account, as in an activity.")
        .needs("UserIdentifier", Schema::text().pattern(ACCOUNT_NAME))
        .needs("ProfileUrl", Schema::text().format("uri"))
        .field("GivenName", name())
        .field("FamilyName", name());
    let public = boolean_text().about("Whether every authenticated caller may read its public activities.");
    let addressable_by = addressable_by().about("Only the account itself and operators see it.");
    let account = user
        .clone()
        .element("User")
        .about("An account.")
        .needs("Public", public)
        .field("AddressableBy", addressable_by);
    let users = Schema::object().element("Users").needs("User", Schema::list(Schema::named("SourceUser")));
    let caller = Schema::object()
        .element("WhoAmI")
        .about("The account and rights of a credential.")
        .needs("Account", Schema::text().pattern(ACCOUNT_NAME))
        .needs("Method", Schema::text().words(["basic", "psk", "oauth"]))
        .needs("Scopes", Schema::text().words(["read", "read write"]))
        .field("Consumer", Schema::text().about("The consumer key, if an application was named."));
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

fn addressable_by() -> Schema {
    Schema::text().words(AddressableBy::ALL.map(AddressableBy::as_str))
}

/// Activities and accounts in requests, and the lines of a batch.
fn requests() -> Vec<(&'static str, Schema)> {
    let string_or = |name| Schema::types(&["string", name]);
    let count = || string_or("integer").between(0, MAX_COUNT);
    let thumbnail = Schema::object()
        .needs("Url", url())
        .field("Height", string_or("integer").about("In pixels."))
        .field("Width", string_or("integer").about("In pixels."));
    let object = Schema::object()
        .about("The object of the activity. Requires `Title` or `Url`.")
        .otherwise("Title", &[], &["Url"])
        .field("Title", Schema::text().length(0, MAX_TITLE))
        .field("Description", Schema::text().length(0, MAX_DESCRIPTION).about("At most 16 KiB."))
        .field("Thumbnail", Schema::named("NewThumbnail"))
        .field("Url", url().about("An http or https address."))
        .field(
            "AlternateUrl",
            url().about("A page about the object, if different from `Url`. Only included in Atom."),
        );
    let service = Schema::object()
        .field("Name", Schema::text().about("Taken from the request path, if the path has it."))
        .field("IconURL", url())
        .field("WebsiteURL", url());
    let activity = Schema::object()
        .element("Activity")
        .about(
            "An activity to create or update. Requires `Title`, the object in a field named after its type, and in the \
             first PUT `Category`, or `Verb` and `Type`. The body of a response can be sent back. Unknown fields are \
             ignored. Identifier, received date and user are never taken from the body.",
        )
        .needs("Title", Schema::text().length(1, MAX_TITLE).about("A sentence for display."))
        .field("Category", Schema::text().about("Type and verb in one word.").example("BookmarkShared"))
        .field("Verb", Schema::text().about("`shared`, `share` or the IRI. Cannot change after the first PUT."))
        .field("Type", Schema::text().about("`bookmark` or the IRI. Cannot change after the first PUT."))
        .field(
            "EntrySummary",
            Schema::text()
                .length(0, MAX_DESCRIPTION)
                .about("A text about the activity itself. Only included in Atom, as the `summary` of the entry."),
        )
        .field("SourceService", Schema::named("NewSourceService"))
        .field("CommentsAvailable", string_or("boolean"))
        .field("CommentCount", count().about("If only one count is sent, the other is 0."))
        .field("LikeCount", count())
        .field(
            "PublishedDate",
            Schema::text().format("date-time").about("Defaults to now. At most 24 hours in the future. Cannot change after the first PUT."),
        )
        .field(
            "To",
            Schema::list(Schema::text()).max_items(MAX_TO).about("The names of the recipients."),
        )
        .field(
            "Visibility",
            Schema::text().words(["public", "followers", "direct"]).default_to("public"),
        )
        .fields(OBJECTS, &Schema::named("NewObject"))
;
    let item = activity
        .clone()
        .about("An activity of a batch: one line. Includes its service and its id there.")
        .needs(
            "SourceId",
            Schema::text().length(1, MAX_SOURCE_ID).about("The id of the activity on the service."),
        )
        .needs("SourceService", service.clone().needs("Name", Schema::text().length(1, 64)));
    let accepted = Schema::object()
        .needs("status", Schema::number(200, 201))
        .needs("ActivityUrl", Schema::text().format("uri"));
    let changes = Schema::object()
        .element("User")
        .about("Absent fields keep their value. An empty name is removed.")
        .field("GivenName", Schema::types(&["string", "null"]).length(0, MAX_PERSON_NAME))
        .field("FamilyName", Schema::types(&["string", "null"]).length(0, MAX_PERSON_NAME))
        .field("Public", string_or("boolean"))
        .field("AddressableBy", addressable_by().about("Who may address activities to the account."));
    let words = |about: &str| Schema::list(Schema::text().length(1, 200)).max_items(100).about(about);
    let filter = Schema::object()
        .element("Filter")
        .about("Any word of a list, all lists together. An absent list selects everything.")
        .field("Service", words("Names of services."))
        .field("Type", words("Types of objects."))
        .field("Verb", words("Verbs."));
    let result = Schema::any(["AcceptedActivity", "Problem"].map(Schema::named))
        .about("The result of one activity of a batch: one line.");
    vec![
        ("AcceptedActivity", accepted),
        ("AccountChanges", changes),
        ("BatchItem", item),
        ("BatchLine", result),
        ("EdgeFilter", filter),
        ("NewActivity", activity),
        ("NewObject", object),
        ("NewSourceService", service),
        ("NewThumbnail", thumbnail),
    ]
}

/// Sources in responses and requests.
fn sources() -> Vec<(&'static str, Schema)> {
    let time = || Schema::text().format("date-time");
    let state = Schema::object()
        .element("Source")
        .about("A source with its status. Unknown fields are absent.")
        .needs("Name", Schema::text().pattern(SOURCE_NAME))
        .needs("Address", Schema::text().about("The address of the feed."))
        .needs("Service", Schema::text().length(1, 64).about("The service of its activities."))
        .field("Title", Schema::text().about("The title of the feed."))
        .field("Page", Schema::text().format("uri").about("The web page of the feed."))
        .needs("Verified", boolean_text().about("Whether that page links to the account with `rel=me`."))
        .needs("Paused", boolean_text().about("Whether polling is paused."))
        .needs("Well", boolean_text().about("Whether the source works without intervention."))
        .needs("Health", Schema::text().about("The status as a sentence."))
        .field("CheckedDate", time().about("When it was last polled."))
        .field("NextDate", time().about("When it will be polled next. Absent if polling has stopped."));
    let previewed = Schema::object()
        .element("Activity")
        .about("An activity that would be imported.")
        .needs("Title", Schema::text().length(1, MAX_TITLE))
        .needs("Category", Schema::text().example("ArticlePosted"))
        .needs("Service", Schema::text().length(1, 64))
        .field("Url", url())
        .needs("PublishedDate", time())
        .needs("SourceId", Schema::text().length(1, MAX_SOURCE_ID))
        .needs("Address", Schema::text().format("uri").about("The address of the feed."));
    let address = Schema::text()
        .about("The address of a web page or a feed, or a handle like `@alice@example.social`.")
        .example("https://example.org/blog");
    let paused = Schema::types(&["string", "boolean"]).about("Whether to pause polling.");
    let list = |element: &str, item: &str, schema: &str| {
        Schema::object().element(element).needs(item, Schema::list(Schema::named(schema)))
    };
    vec![
        ("Preview", Schema::object().needs("Preview", Schema::named("PreviewList"))),
        ("PreviewList", list("Preview", "Activity", "PreviewedActivity")),
        ("PreviewedActivity", previewed),
        ("Source", Schema::object().needs("Source", Schema::named("SourceState"))),
        ("SourceAddress", Schema::object().element("Source").needs("Address", address.clone())),
        (
            "SourceChanges",
            Schema::object().element("Source").field("Address", address).field("Paused", paused),
        ),
        ("SourceList", list("Sources", "Source", "SourceState")),
        ("SourceState", state),
        ("Sources", Schema::object().needs("Sources", Schema::named("SourceList"))),
    ]
}

/// Seen positions and unread counts.
fn unread() -> Vec<(&'static str, Schema)> {
    let count = Schema::object()
        .element("Unread")
        .about("The number of activities that arrived after the seen position.")
        .needs("Count", digits().about("At most 1000."))
        .needs("AtLeast", boolean_text().about("Whether there are more, or may be."))
        .needs("Url", Schema::text().format("uri").about("The `updates` link that brings them."));
    let cursor = Schema::text().about("The cursor of an `updates` link, or the id of an event.");
    vec![
        ("Seen", Schema::object().element("Seen").needs("Cursor", cursor)),
        ("Unread", Schema::object().needs("Unread", Schema::named("UnreadCount"))),
        ("UnreadCount", count),
    ]
}

/// Hooks in responses and requests.
fn hooks() -> Vec<(&'static str, Schema)> {
    let time = || Schema::text().format("date-time");
    let words = || Schema::list(Schema::text().length(1, 512)).max_items(100);
    let collection = || Schema::text().words(["to", "from", "tofrom"]);
    let settings = Schema::object()
        .element("Hook")
        .about("The settings of a hook. Absent filters select everything.")
        .needs("Url", url().about("An https address.").example("https://example.org/hook"))
        .needs("Collection", collection())
        .field("Service", words().about("Only events of these services."))
        .field("Type", words().about("Only events of these types."))
        .field("Verb", words().about("Only events of these verbs."));
    let name = || Schema::text().pattern(SOURCE_NAME);
    let state = || {
        Schema::object()
            .element("Hook")
            .about("A hook with its status. Unknown fields are absent.")
            .needs("Name", name())
            .needs("Url", url())
            .needs("Collection", collection())
            .field("Service", Schema::list(Schema::text()))
            .field("Type", Schema::list(Schema::text()))
            .field("Verb", Schema::list(Schema::text()))
            .needs("CreatedDate", time())
            .field("LastStatus", digits().about("The status of the last response."))
            .field("LastDate", time().about("When the last request ended."))
            .field("NextDate", time().about("When the next try is due, after a failure."))
            .needs("Lag", digits().about("How many seconds the oldest event waits. 0 if none does."))
            .needs("Disabled", boolean_text())
            .field("Reason", Schema::text().about("Why it is disabled, or why the last request failed."))
    };
    let secret = || Schema::text().pattern("^whsec_").about("Shown only once.");
    let ping = Schema::object()
        .element("Ping")
        .needs("Delivered", boolean_text().about("Whether the receiver accepted the message."))
        .field("Status", digits().about("The status of the response."))
        .field("Reason", Schema::text().about("Why there was no response."));
    let list = Schema::object().element("Hooks").needs("Hook", Schema::list(Schema::named("HookState")));
    vec![
        ("CreatedHook", Schema::object().needs("Hook", Schema::named("HookWithSecret"))),
        ("Hook", Schema::object().needs("Hook", Schema::named("HookState"))),
        ("HookList", list),
        ("HookSecret", Schema::object().element("Hook").needs("Name", name()).needs("Secret", secret())),
        ("HookSettings", settings),
        ("HookState", state()),
        ("HookWithSecret", state().needs("Secret", secret())),
        ("Hooks", Schema::object().needs("Hooks", Schema::named("HookList"))),
        ("Ping", Schema::object().needs("Ping", Schema::named("PingResult"))),
        ("PingResult", ping),
        ("RotatedHook", Schema::object().needs("Hook", Schema::named("HookSecret"))),
    ]
}

/// Keys in responses and requests.
fn keys() -> Vec<(&'static str, Schema)> {
    let time = || Schema::text().format("date-time");
    let scope = || Schema::text().words(["read", "write"]);
    let fields = |key: Schema| {
        key.needs("Name", Schema::text().length(1, 100))
            .needs("Scope", scope().about("`write` includes `read`."))
            .field("Expires", time().about("Absent if it does not expire."))
            .needs("CreatedDate", time())
            .field("UsedDate", time().about("About when it was used last. Absent if it was not."))
    };
    let id = || Schema::object().element("Key").needs("Id", Schema::text().pattern("^[0-9a-f]{16}$"));
    let secret = Schema::text().pattern("^tfk_").about("Shown only once.");
    let new = Schema::object()
        .element("Key")
        .about("At most one of `Expires` and `ExpiresIn`.")
        .field("Name", Schema::text().length(1, 100).default_to("key"))
        .field("Scope", scope().default_to("read"))
        .field("Expires", time().about("A time in the future."))
        .field("ExpiresIn", Schema::types(&["string", "integer"]).about("Seconds from now.").example("900"));
    vec![
        ("CreatedKey", Schema::object().needs("Key", Schema::named("KeyWithSecret"))),
        ("Key", fields(id())),
        ("KeyList", Schema::object().element("Keys").needs("Key", Schema::list(Schema::named("Key")))),
        ("KeyWithSecret", fields(id().needs("Key", secret))),
        ("Keys", Schema::object().needs("Keys", Schema::named("KeyList"))),
        ("NewKey", new),
    ]
}

/// Tokens in responses of the OAuth steps.
fn tokens() -> Vec<(&'static str, Schema)> {
    let token = |prefix: &str| {
        Schema::object()
            .needs("oauth_token", Schema::text().pattern(&format!("^{prefix}")))
            .needs("oauth_token_secret", Schema::text().about("Shown only once."))
    };
    let temporary = token("tft_").needs("oauth_callback_confirmed", Schema::exactly("true"));
    vec![
        ("AccessToken", token("tfa_").about("Valid until it is revoked.")),
        ("TemporaryToken", temporary.about("Valid for 15 minutes and one exchange.")),
    ]
}
