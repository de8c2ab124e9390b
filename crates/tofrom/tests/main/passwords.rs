//! Passwords: the accepted ones, and that every form applies the same rules.

use super::oauth::service::{BASE, Service, password_of};
use super::program::tofrom;
use super::support::browser::{ACCEPT, Page};
use super::support::folder::Folder;
use base64::Engine;
use base64::prelude::BASE64_STANDARD;

/// Too short, common, repetitive, and made of the account's name.
const WEAK: [&str; 4] = ["vK7#qzR2!", "password1234", "aaaaaaaaaaaa", "zebedeezebedee"];
const STRONG: &str = "tidal lantern quorum fig";

/// Sends a form that has no CSRF field.
fn send(service: &Service, address: &str, fields: &[(&str, &str)]) -> Page {
    let path = address.strip_prefix("https://feeds.example").unwrap();
    let body = url::form_urlencoded::Serializer::new(String::new()).extend_pairs(fields).finish();
    let headers = [("Accept", ACCEPT), ("Content-Type", "application/x-www-form-urlencoded")];
    let answer = service.client.send("POST", path, &headers, body.as_bytes());
    Page { answer, set_cookies: Vec::new() }
}

fn whoami(service: &Service, name: &str, password: &str) -> u16 {
    let basic = format!("Basic {}", BASE64_STANDARD.encode(format!("{name}:{password}")));
    service.client.get("/social/200909/whoami", &[("Authorization", &basic)]).status
}

fn refused(page: &Page, label: &str) {
    assert_eq!(page.status(), 422, "{label}");
    let why = page.element("complaint").unwrap_or_else(|| panic!("{label}: {}", page.text()));
    assert!(why.contains("password") && why.contains("words"), "{label}: {why}");
}

#[test]
fn weak_passwords_are_refused_everywhere() {
    let folder = Folder::new();
    let in_store = Folder::new();
    let service = Service::start(folder, "registration = \"open\"\n", "info");
    let link = |arguments: &[&str]| service.run(arguments, "").trim().to_owned();
    let invitation = link(&["account", "invite"]);

    for weak in WEAK {
        let done = tofrom(&in_store, &["account", "add", "zebedee", "--password-stdin"], weak);
        let why = String::from_utf8(done.stderr).unwrap();
        assert!(done.status.code() == Some(1) && why.contains("password"), "{weak}: {why}");
        assert!(!why.contains(weak), "no password is echoed: {why}");

        let new = [("username", "zebedee"), ("given", "Zeb"), ("family", ""), ("password", weak)];
        for address in [&format!("{BASE}/join"), &invitation] {
            let page = send(&service, address, &new);
            refused(&page, weak);
            assert!(page.html().contains("value=\"zebedee\"") && page.html().contains("value=\"Zeb\""));
        }
    }
    service.run(&["account", "add", "zebedee", "--no-password"], "");
    let reset = link(&["account", "reset", "zebedee"]);
    for weak in WEAK {
        refused(&send(&service, &reset, &[("password", weak)]), weak);
    }
    // A refusal does not use up the link. The longest password, of the characters with the longest encoding, passes
    // through every form.
    let long: String = (0..1_024_u32)
        .filter_map(|n| char::from_u32(0x1_F300 + n.wrapping_mul(2_654_435_761) % 512))
        .collect();
    assert_eq!(send(&service, &reset, &[("password", &long)]).status(), 303);
    assert_eq!(whoami(&service, "zebedee", &long), 200);
    let new = [("username", "yolanda"), ("password", STRONG)];
    assert_eq!(send(&service, &invitation, &new).status(), 303);

    let mut browser = service.browser();
    let form = browser.visit(&format!("{BASE}/sign-in")).form("username").unwrap();
    browser.submit(&form, &[("username", "yolanda"), ("password", STRONG)]);
    let security = format!("{BASE}/settings/security");
    let form = browser.visit(&security).form("old").unwrap();
    for weak in [WEAK[0], WEAK[1], "yolandayolanda"] {
        refused(&browser.submit(&form, &[("old", STRONG), ("new", weak), ("again", weak)]), weak);
    }
    assert_eq!(browser.submit(&form, &[("old", STRONG), ("new", &long), ("again", &long)]).status(), 200);
    assert_eq!(whoami(&service, "yolanda", &long), 200);
}

#[test]
fn one_password_in_two_unicode_forms_is_one_password() {
    let service = Service::start(Folder::new(), "", "info");
    let (composed, decomposed) = ("k\u{16f}\u{148} \u{fa}p\u{11b}l", "ku\u{30a}n\u{30c} u\u{301}pe\u{30c}l");
    let [composed, decomposed] = [composed, decomposed].map(|text| format!("{text} tidal quorum"));
    assert_eq!(composed.chars().count() + 4, decomposed.chars().count());
    service.run(&["account", "add", "karel", "--password-stdin"], &decomposed);
    for form in [&composed, &decomposed] {
        assert_eq!(whoami(&service, "karel", form), 200);
        let mut browser = service.browser();
        let page = browser.visit(&format!("{BASE}/sign-in")).form("username").unwrap();
        assert_eq!(browser.submit(&page, &[("username", "karel"), ("password", form)]).status(), 200);
    }
    service.add_account("karla", &[]);
    assert_eq!(whoami(&service, "karla", &password_of("karla")), 200);
}
