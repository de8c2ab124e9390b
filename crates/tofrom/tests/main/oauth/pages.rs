//! The authorize page: its content, its forms and its headers.

use super::super::support::browser::Page;
use super::super::support::signer::Pair;
use super::application::App;
use super::service::{BASE, authorize, consent, fixture, password_of};

#[test]
fn the_page_always_asks_and_names_application_and_account() {
    let fixture = fixture();
    let mut browser = fixture.service.signed_in("alice", &fixture.app);
    for _ in 0..2 {
        let (page, form) = consent(&mut browser, "alice", &fixture.other.temporary_credentials());
        for word in ["Second hand", "alice", "app.example.org", "read your whole feed"] {
            assert!(page.text().contains(word), "{word}: {}", page.text());
        }
        let values: Vec<&str> = form.buttons.iter().map(|(_, value)| value.as_str()).collect();
        assert_eq!(values, ["allow", "deny"]);
        fixture.other.verifier(&browser.submit(&form, &[("decision", "allow")]));
    }
}

#[test]
fn a_wrong_password_shows_the_sign_in_form_again() {
    let fixture = fixture();
    let mut browser = fixture.service.browser();
    let page = browser.visit(&authorize(&fixture.app.temporary_credentials()));
    assert!(page.form("decision").is_none(), "the sign-in form comes first");
    let form = page.form("password").unwrap();
    for (name, word) in [("alice", "wrong"), ("nobody", "wrong"), ("", ""), ("alice", "")] {
        let page = browser.submit(&form, &[("username", name), ("password", word)]);
        assert_eq!((page.status(), page.form("decision").is_none()), (403, true), "{name}");
        assert!(page.set_cookies.is_empty() && page.element("complaint").is_some());
        let form = page.form("password").unwrap();
        let fields = (form.field("username"), form.field("password"));
        assert_eq!(fields, (Some(name), Some("")), "the form keeps the name, not the password");
    }
}

#[test]
fn the_account_can_be_switched() {
    let fixture = fixture();
    let mut browser = fixture.service.signed_in("alice", &fixture.app);
    let before = browser.clone();
    let temporary = fixture.app.temporary_credentials();
    let (page, _) = consent(&mut browser, "alice", &temporary);
    let page = browser.submit(&page.form("switch").unwrap(), &[("switch", "1")]);
    assert!(page.form("password").is_some() && browser.cookie.is_none(), "{}", page.text());
    let page = before.clone().visit(&authorize(&temporary));
    assert!(page.form("password").is_some(), "the previous session has ended, even with its cookie");
    let (page, form) = consent(&mut browser, "bob", &temporary);
    assert!(page.text().contains("Signed in as bob"), "{}", page.text());
    let verifier = fixture.app.verifier(&browser.submit(&form, &[("decision", "allow")]));
    let exchange = fixture.app.exchange(&temporary, &verifier);
    let token = super::application::issued(&exchange.send(&fixture.service.client));
    let answer = fixture.app.whoami(&token).send(&fixture.service.client).json();
    assert_eq!(answer["WhoAmI"]["Account"], "bob");
}

#[test]
fn without_valid_temporary_credentials_there_is_no_decision() {
    let fixture = fixture();
    let mut browser = fixture.service.signed_in("alice", &fixture.app);
    let (used, verifier) = fixture.app.allowed("alice");
    fixture.app.exchange(&used, &verifier).send(&fixture.service.client);
    let (allowed, _) = fixture.app.allowed("alice");
    for (token, status) in [
        (Pair::new("", ""), 400),
        (Pair::new("nobody", ""), 404),
        (Pair::new("\0\r\nX-Injected: yes", ""), 404),
        (used, 404),
        (allowed, 404),
        (fixture.token.clone(), 404),
    ] {
        let page = browser.visit(&authorize(&token));
        assert_eq!(
            (page.status(), page.forms().len(), page.redirect_target()),
            (status, 0, None),
            "{token:?}"
        );
        assert_eq!(page.answer.header("x-injected"), None);
    }
    assert_eq!(browser.visit(&format!("{BASE}/oauth/authorize")).status(), 400);
}

#[test]
fn only_a_post_with_allow_or_deny_decides() {
    let fixture = fixture();
    let mut browser = fixture.service.signed_in("alice", &fixture.app);
    let temporary = fixture.app.temporary_credentials();
    let (_, form) = consent(&mut browser, "alice", &temporary);
    let csrf = form.field("csrf").unwrap();
    let page = browser.visit(&format!("{}&decision=allow&csrf={csrf}", authorize(&temporary)));
    assert!(page.redirect_target().is_none() && page.form("decision").is_some());
    for changes in [&[("decision", "perhaps")][..], &[("decision", "")], &[("decision", "ALLOW")], &[]] {
        assert_eq!(browser.submit(&form, changes).status(), 400, "{changes:?}");
    }
    let still = browser.submit(&form, &[("decision", "allow")]);
    fixture.app.verifier(&still);
}

/// Every state of the page, as a browser gets it.
fn every_page(app: &App<'_>) -> Vec<(&'static str, Page)> {
    let (service, oob) = (app.service, App { callback: "oob".to_owned(), ..app.clone() });
    let mut browser = service.browser();
    let mut pages = vec![("sign in", browser.visit(&authorize(&app.temporary_credentials())))];
    let form = pages[0].1.form("password").unwrap();
    pages.push(("wrong password", browser.submit(&form, &[("username", "alice"), ("password", "wrong")])));
    pages.push(("consent", consent(&mut browser, "alice", &app.temporary_credentials()).0));
    for (name, decision) in [("verifier", "allow"), ("declined", "deny")] {
        let (_, form) = consent(&mut browser, "alice", &oob.temporary_credentials());
        pages.push((name, browser.submit(&form, &[("decision", decision)])));
    }
    pages.push(("nothing", browser.visit(&authorize(&Pair::new("nobody", "")))));
    let (_, form) = consent(&mut browser, "alice", &app.temporary_credentials());
    pages.push(("not ours", browser.submit(&form, &[("csrf", ""), ("decision", "allow")])));
    pages.push(("neither", browser.submit(&form, &[("decision", "perhaps")])));
    pages
}

#[test]
fn no_page_allows_frames_caching_or_scripts() {
    for (name, page) in every_page(&fixture().other) {
        let header = |name| page.answer.header(name).unwrap_or_default();
        assert_eq!(header("x-frame-options"), "DENY", "{name}");
        assert_eq!(header("cache-control"), "no-store", "{name}");
        assert_eq!(header("referrer-policy"), "same-origin", "{name}");
        assert_eq!(header("x-content-type-options"), "nosniff", "{name}");
        let policy = header("content-security-policy");
        for rule in ["default-src 'none'", "frame-ancestors 'none'", "base-uri 'none'"] {
            assert!(policy.split("; ").any(|part| part == rule), "{name}: {policy}");
        }
        assert!(!policy.contains("script-src") && !policy.contains("unsafe"), "{name}: {policy}");
        let handler =
            |rest: &str| rest.trim_start_matches(|c: char| c.is_ascii_alphabetic()).starts_with('=');
        let scripted = page.html().contains("<script") || page.html().split(" on").skip(1).any(handler);
        assert!(!scripted, "{name}: {}", page.html());
        // Only the consent form leads to a redirect to another site; browsers apply the policy to it too.
        let targets = match name {
            "consent" => "form-action 'self' https://app.example.org",
            "sign in" | "wrong password" => "form-action 'self'",
            _ => "form-action 'none'",
        };
        assert!(policy.split("; ").any(|part| part == targets), "{name}: {policy}");
    }
}

#[test]
fn the_cookie_is_host_only_and_secure() {
    let fixture = fixture();
    let mut browser = fixture.service.browser();
    let form = browser.visit(&authorize(&fixture.app.temporary_credentials())).form("password").unwrap();
    let page = browser.submit(&form, &[("username", "Alice"), ("password", &password_of("alice"))]);
    let [session, device] = &page.set_cookies[..] else { panic!("{:?}", page.set_cookies) };
    for (line, name, days) in [(session, "__Host-session=", 90), (device, "__Host-device=", 90)] {
        let parts: Vec<&str> = line.split("; ").collect();
        assert!(parts[0].starts_with(name) && parts[0].len() > 43, "{line}");
        let age = format!("Max-Age={}", days * 24 * 60 * 60);
        for rule in ["Secure", "HttpOnly", "SameSite=Lax", "Path=/", &age] {
            assert!(parts.contains(&rule), "{line}");
        }
        assert!(!line.contains("Domain"), "{line}");
    }
}
