//! Renders every page with names that contain markup or quotes, or are empty.

use super::display_time::DisplayTime;
use super::docs::Explanation;
use super::feed::{Choices, FeedPage, Selection};
use super::frame::{Frame, Section};
use super::item::{ItemView, WebLink};
use super::picture::{Layout, PictureView};
use super::sentence::{Sentence, Words};
use super::sign_in::{Consent, ConsentSignIn, Declined, Verifier};
use super::{Failure, FormTargets, group, policy, service_icon};
use crate::KINDS;
use crate::media::Media;
use crate::site::Site;
use crate::views::assets::{Asset, MARK, STYLE};
use askama::Template;
use http::StatusCode;
use model::{Account, AccountName, Collection, CursorKeys, Millis, RawQuery, Scopes, Uid, Version};

const APPLICATION: &str = "Kiosk <i>7</i>";
const APPLICATION_AS_TEXT: &str = "Kiosk &#60;i&#62;7&#60;/i&#62;";

fn site() -> Site {
    Site::new("https://feed.example:8443/social", "feed.example", CursorKeys::new(&[[1; 32]]))
}

fn account() -> Account {
    Account {
        uid: Uid(1),
        name: AccountName::parse("alice").unwrap(),
        version: Version(1),
        given_name: Some("Alice & \"Al\"".to_owned()),
        family_name: Some("<u>Adams</u>".to_owned()),
        public: false,
        operator: false,
        password: None,
        created: Millis(0),
        removed: false,
        disabled: false,
        credential_epoch: 0,
        addressable_by: model::AddressableBy::Everyone,
    }
}

fn sign_in(username: &str, complaint: Option<&str>) -> String {
    let site = site();
    let page = ConsentSignIn { site: &site, application: APPLICATION, token: "t\"o'k", username, complaint };
    page.render().unwrap()
}

fn consent(scopes: Scopes, returns_to: Option<&str>) -> String {
    let (site, account) = (site(), account());
    let (application, account) = (APPLICATION, &account);
    let page =
        Consent { site: &site, application, returns_to, account, scopes, token: "t\"o'k", csrf: "c\"s'rf" };
    page.render().unwrap()
}

fn every_page() -> Vec<String> {
    let site = site();
    let application = APPLICATION;
    vec![
        sign_in("al\"ice' autofocus x=\"", Some("<Wrong>")),
        sign_in("", None),
        consent(Scopes::Read, Some("app.example.org")),
        consent(Scopes::ReadWrite, None),
        Verifier { site: &site, application, verifier: "a1-b2" }.render().unwrap(),
        Declined { site: &site, application }.render().unwrap(),
        Failure::new(&site, None, APPLICATION, "\"<>\"").render().unwrap(),
        Explanation { site: &site, title: APPLICATION, paragraphs: &["<x> `<y>` z"], foot: "<z>" }
            .render()
            .unwrap(),
    ]
}

#[test]
fn names_are_text_on_every_page() {
    for page in every_page() {
        assert!(page.contains(APPLICATION_AS_TEXT), "{page}");
        for markup in ["<i>", "<u>", "<Wrong>", "<x>", "<y>", "<z>", "<>"] {
            assert!(!page.contains(markup), "{markup} in {page}");
        }
    }
}

#[test]
fn no_page_has_inline_script_or_style() {
    for page in every_page() {
        for inline in ["<script", "<style", " style=", " onclick", "javascript:"] {
            assert!(!page.contains(inline), "{inline} in {page}");
        }
        assert!(page.contains(&format!("href=\"/social/assets/{}\"", STYLE.name())), "{page}");
        assert!(page.contains(&format!("src=\"/social/assets/{}\"", MARK.name())), "{page}");
    }
}

#[test]
fn quotes_are_escaped_in_attributes() {
    let page = sign_in("al\"ice' autofocus x=\"", None);
    assert!(page.contains("value=\"al&#34;ice&#39; autofocus x=&#34;\""), "{page}");
    assert!(page.contains("name=\"oauth_token\" value=\"t&#34;o&#39;k\""), "{page}");
    let page = consent(Scopes::Read, None);
    assert_eq!(page.matches("name=\"oauth_token\" value=\"t&#34;o&#39;k\"").count(), 2, "{page}");
    assert_eq!(page.matches("name=\"csrf\" value=\"c&#34;s&#39;rf\"").count(), 2, "{page}");
    assert!(page.contains("Alice &#38; &#34;Al&#34; &#60;u&#62;Adams&#60;/u&#62;"), "{page}");
}

#[test]
fn every_form_posts_to_the_authorize_endpoint() {
    for page in every_page() {
        let own = page.matches("<form method=\"post\" action=\"/social/oauth/authorize\">").count();
        assert_eq!(page.matches("<form").count(), own, "{page}");
    }
}

#[test]
fn the_first_empty_field_has_the_focus_and_errors_describe_the_fields() {
    let focused = |page: &str| {
        let field = page.split('<').find(|tag| tag.contains(" autofocus")).unwrap().to_owned();
        assert_eq!(page.matches(" autofocus").count(), 1, "{page}");
        field
    };
    let first = sign_in("", None);
    assert!(focused(&first).contains("name=\"username\""));
    assert!(!first.contains("complaint"), "{first}");
    let again = sign_in("alice", Some("Wrong password."));
    assert!(focused(&again).contains("name=\"password\""));
    assert!(again.contains("role=\"alert\" id=\"complaint\">Wrong password.<"), "{again}");
    assert_eq!(again.matches("aria-describedby=\"complaint\"").count(), 2, "{again}");
}

#[test]
fn consent_lists_exactly_the_requested_permissions() {
    let read = consent(Scopes::Read, Some("app.example.org"));
    assert!(read.contains("create, edit or delete anything"), "{read}");
    assert!(!read.contains("on your behalf"), "{read}");
    assert!(read.contains("redirected to <bdi dir=\"auto\">app.example.org</bdi>"), "{read}");
    let write = consent(Scopes::ReadWrite, None);
    assert!(write.contains("create, edit and delete activities on your behalf"), "{write}");
    assert!(!write.contains("delete anything"), "{write}");
    assert!(write.contains("you get a code"), "{write}");
    for page in [read, write] {
        for button in [
            "name=\"decision\" value=\"allow\"",
            "name=\"decision\" value=\"deny\"",
            "name=\"switch\" value=\"1\"",
        ] {
            assert_eq!(page.matches(button).count(), 1, "{button} in {page}");
        }
        assert!(page.contains("Signed in as alice"), "{page}");
    }
}

#[test]
fn the_verifier_is_the_only_text_of_its_element() {
    let page = Verifier { site: &site(), application: "Kiosk", verifier: "a1-b2" }.render().unwrap();
    assert!(page.contains("id=\"verifier\">a1-b2</code>"), "{page}");
}

#[test]
fn explanations_are_readable_as_source_and_backquotes_become_code() {
    for kind in KINDS {
        let page = Explanation { site: &site(), title: kind.title, paragraphs: &[kind.about], foot: "" };
        let page = page.render().unwrap();
        assert_eq!(page.matches("<code>").count(), kind.about.matches('`').count() / 2, "{page}");
        assert!(!page.contains('`'), "{page}");
        assert!(page.contains(&format!("<h1>{}</h1>", kind.title)), "apostrophes are not escaped: {page}");
    }
}

#[test]
fn a_page_is_neither_cached_nor_framed() {
    let site = site();
    let response = Failure::new(&site, None, "", "").respond(StatusCode::FORBIDDEN);
    assert_eq!(response.status(), StatusCode::FORBIDDEN);
    for (name, value) in [
        ("content-type", "text/html; charset=utf-8"),
        ("cache-control", "no-store"),
        ("x-frame-options", "DENY"),
        ("referrer-policy", "same-origin"),
        (
            "content-security-policy",
            "default-src 'none'; style-src 'self'; img-src 'self'; manifest-src 'self'; form-action 'none'; \
             frame-ancestors 'none'; base-uri 'none'",
        ),
    ] {
        assert_eq!(response.headers()[name], value);
    }
}

#[test]
fn the_policy_allows_only_the_given_form_targets() {
    let targets = |forms: FormTargets<'_>| {
        let policy = policy(forms.into());
        let policy = policy.to_str().unwrap();
        let directives: Vec<&str> = policy.split("; ").collect();
        assert_eq!(directives.len(), 7, "{policy}");
        directives[4].to_owned()
    };
    assert_eq!(targets(FormTargets::Own), "form-action 'self'");
    let app = FormTargets::OwnThen("https://app.example.org");
    assert_eq!(targets(app), "form-action 'self' https://app.example.org");
    assert_eq!(targets(FormTargets::OwnThen("http:")), "form-action 'self' http:");
    for invalid in ["", "x; script-src *", "x y", "x,y", "x\r\nSet-Cookie: a", "é"] {
        assert_eq!(targets(FormTargets::OwnThen(invalid)), "form-action 'self'", "{invalid:?}");
    }
}

#[test]
fn assets_are_found_only_by_their_hashed_name() {
    for (asset, start, end) in [(&STYLE, "style-", ".css"), (&MARK, "mark-", ".svg")] {
        let name = asset.name();
        assert!(name.starts_with(start) && name.ends_with(end), "{name}");
        assert_eq!(Asset::find(name).map(Asset::content), Some(asset.content()));
    }
    for absent in ["", "style.css", "style-0000000000000000.css", "../style.css"] {
        assert!(Asset::find(absent).is_none(), "{absent}");
    }
}

/// An activity whose words contain markup.
fn item(id: usize, kind: &str, picture: bool) -> ItemView {
    let words = Words {
        names: &["<u>Bob</u>"],
        kind,
        verb: "like",
        done: "liked",
        title: "<i>Title</i>",
        object: Some("<x>"),
        description: Some("<y>"),
    };
    let media = Media::new(&site(), None);
    let picture = picture.then(|| PictureView::of(&media, "https://pictures.example/1.jpg", kind));
    let time = DisplayTime::new(Millis(0), Millis(0));
    ItemView {
        id: id.to_string(),
        actor: Uid(2),
        name: "bob".to_owned(),
        display_name: "<u>Bob</u>".to_owned(),
        has_page: true,
        title: "<i>Title</i>".to_owned(),
        kind: kind.to_owned(),
        done: "liked".to_owned(),
        verb: "like".to_owned(),
        service: "<z>".to_owned(),
        website: WebLink::of(Some("javascript:alert(1)")),
        icon: service_icon::path("<z>", &site()),
        sentence: Sentence::of(&words),
        link: WebLink::of(Some(&format!("https://example.org/{id}\"><i>"))),
        layout: Layout::of("like", kind, picture.as_ref()),
        picture,
        counts: Some((1, 2)),
        time,
        sorted_at: Millis(0),
        shows_published: true,
        published_at: Millis(i64::try_from(id).unwrap() * 7_200_000),
        now: Millis(0),
        why: "<Wrong>".to_owned(),
        own: id.is_multiple_of(2),
        removable: true,
        is_unread: false,
        is_labelled: false,
    }
}

#[test]
fn the_feed_shows_words_as_text_and_says_each_once() {
    let (site, name) = (site(), AccountName::parse("alice").unwrap());
    let raw = RawQuery::parse(b"type=%3Cx%3E&service=%3Cy%3E");
    let query = site.query(&raw, Uid(1), Collection::ToFrom).unwrap();
    let kinds = ["photo", "note", "song", "video", "book"];
    let mut items: Vec<ItemView> =
        kinds.iter().enumerate().map(|(at, kind)| item(at, kind, at != 1)).collect();
    // Three of one kind within an hour are a group.
    items.extend((5..8).map(|id| ItemView { published_at: Millis(0), link: None, ..item(id, "song", true) }));
    let page = FeedPage {
        site: &site,
        frame: Frame::of_visitor(&site, None, Section::Feed(Collection::ToFrom), &http::Uri::default()),
        selection: Selection::new(&site, &name, &query),
        complaint: Some("<Wrong>"),
        choices: Choices::of(&site, &items, &query.filter),
        days: group::by_day(group::of(items), Millis(0)),
        next: None,
        sync_token: None,
        unread: None,
        steps: None,
    };
    let page = page.render().unwrap();
    for markup in ["<i>", "<u>", "<Wrong>", "<x>", "<y>", "<z>", "javascript:", " style="] {
        assert!(!page.contains(markup), "{markup} in {page}");
    }
    for id in 0..8 {
        assert_eq!(page.matches(&format!(" id=\"a-{id}\"")).count(), 1, "{id}");
    }
    assert_eq!(page.matches("<section class=\"day\"").count(), 1, "{page}");
    let first = page.split("<article").nth(1).unwrap();
    assert_eq!(first.matches(">&#60;x&#62;</a>").count(), 1, "{first}");
    assert_eq!(first.matches("&#60;y&#62;").count(), 1, "{first}");
    assert!(!first.contains("Title"), "{first}");
}
