//! Another site sends our forms from a victim's browser, or frames them.

use super::super::super::support::browser::{Browser, Form, Page};
use super::super::super::support::signer::Pair;
use super::super::answers::refused;
use super::super::service::{authorize, consent, fixture, password_of};

/// The form had no effect, and the victim can still consent.
fn assert_undecided(page: &Page, person: &mut Browser, form: &Form, temporary: &Pair) {
    let fixture = fixture();
    assert_eq!((page.status(), page.redirect_target()), (403, None), "{}", page.text());
    let answer = fixture.app.exchange(temporary, "guess").send(&fixture.service.client);
    refused(&answer, 401, "verifier-invalid", "verifier_invalid");
    fixture.app.verifier(&person.submit(form, &[("decision", "allow")]));
}

#[test]
fn consent_needs_the_csrf_field_of_this_session_and_request() {
    let fixture = fixture();
    let mut person = fixture.service.signed_in("alice", &fixture.app);
    let mut attacker = fixture.service.signed_in("bob", &fixture.app);
    let mut other_browser = fixture.service.signed_in("alice", &fixture.app);
    for attempt in 0..6 {
        let temporary = fixture.app.temporary_credentials();
        let (page, form) = consent(&mut person, "alice", &temporary);
        let field = |form: &Form| form.field("csrf").unwrap().to_owned();
        let right = field(&form);
        let forged = match attempt {
            0 => String::new(),
            1 => field(&consent(&mut attacker, "bob", &temporary).1),
            2 => field(&consent(&mut other_browser, "alice", &temporary).1),
            3 => field(&consent(&mut person, "alice", &fixture.app.temporary_credentials()).1),
            4 => right[..right.len() - 1].to_owned(),
            _ => format!("{right}="),
        };
        assert_ne!(forged, right);
        assert_eq!(page.form("switch").unwrap().field("csrf"), Some(right.as_str()));
        let without =
            Form { fields: vec![("oauth_token".to_owned(), temporary.key.clone())], ..form.clone() };
        let page = match attempt {
            0 => person.submit(&without, &[("decision", "allow")]),
            _ => person.submit(&form, &[("decision", "allow"), ("csrf", &forged)]),
        };
        assert_undecided(&page, &mut person, &form, &temporary);
    }
}

#[test]
fn a_decision_from_another_site_is_refused() {
    let fixture = fixture();
    let mut person = fixture.service.signed_in("alice", &fixture.app);
    for says in [
        &[("Origin", "https://evil.example")][..],
        &[("Origin", "null")],
        &[("Origin", "http://feeds.example")],
        &[("Origin", "https://feeds.example:8443")],
        &[("Origin", "https://feeds.example.evil.example")],
        &[("Origin", "https://feeds.example/social")],
        &[("Origin", "https://\u{e9}vil.example")],
        &[("Sec-Fetch-Site", "cross-site")],
        &[("Sec-Fetch-Site", "same-site")],
        &[("Origin", "https://feeds.example"), ("Sec-Fetch-Site", "cross-site")],
        &[("Origin", "https://evil.example"), ("Sec-Fetch-Site", "same-origin")],
    ] {
        let temporary = fixture.app.temporary_credentials();
        let (_, form) = consent(&mut person, "alice", &temporary);
        let mut forged = person.clone();
        forged.origin_headers = says.iter().map(|(name, value)| (*name, (*value).to_owned())).collect();
        // With the right field, so that only the origin can be the reason for the refusal.
        let page = forged.submit(&form, &[("decision", "allow")]);
        assert_eq!(page.status(), 403, "{says:?}");
        assert_undecided(&page, &mut person, &form, &temporary);
    }
    // Old browsers send no origin headers; there only the field protects.
    let (_, form) = consent(&mut person, "alice", &fixture.app.temporary_credentials());
    person.origin_headers.clear();
    fixture.app.verifier(&person.submit(&form, &[("decision", "allow")]));
}

#[test]
fn another_site_cannot_sign_in_or_out() {
    let fixture = fixture();
    let temporary = fixture.app.temporary_credentials();
    let mut person = fixture.service.signed_in("alice", &fixture.app);
    let (page, _) = consent(&mut person, "alice", &temporary);
    let switch = page.form("switch").unwrap();
    let sign_in = fixture.service.browser().visit(&authorize(&temporary)).form("password").unwrap();
    for (name, value) in
        [("Origin", "https://evil.example"), ("Origin", "null"), ("Sec-Fetch-Site", "cross-site")]
    {
        let mut forged = person.clone();
        forged.origin_headers = vec![(name, value.to_owned())];
        // The attacker's own name and password, so that the victim would act in the attacker's account.
        let page = forged.submit(&sign_in, &[("username", "bob"), ("password", &password_of("bob"))]);
        assert_eq!((page.status(), page.set_cookies.len()), (403, 0), "{name} {value}");
        let page = forged.submit(&switch, &[("switch", "1")]);
        assert_eq!((page.status(), page.set_cookies.len()), (403, 0), "{name} {value}");
    }
    let page = person.submit(&switch, &[("switch", "1"), ("csrf", "")]);
    assert_eq!((page.status(), page.set_cookies.len()), (403, 0), "signing out needs the CSRF field");
    assert!(person.visit(&authorize(&temporary)).text().contains("Signed in as alice"));
}

#[test]
fn a_decision_without_a_session_cookie_is_ignored() {
    let fixture = fixture();
    let temporary = fixture.app.temporary_credentials();
    let mut person = fixture.service.signed_in("alice", &fixture.app);
    let (_, form) = consent(&mut person, "alice", &temporary);
    let mut stranger = fixture.service.browser();
    let page = stranger.submit(&form, &[("decision", "allow")]);
    assert!(page.redirect_target().is_none() && page.form("password").is_some(), "the sign-in form is shown");
    fixture.app.verifier(&person.submit(&form, &[("decision", "allow")]));
}

/// Other sites can send three form types without a preflight request; we accept only one of them.
#[test]
fn a_form_of_another_type_is_refused() {
    let fixture = fixture();
    let temporary = fixture.app.temporary_credentials();
    let mut person = fixture.service.signed_in("alice", &fixture.app);
    let (_, form) = consent(&mut person, "alice", &temporary);
    let body = format!("oauth_token={}&csrf={}&decision=allow", temporary.key, form.field("csrf").unwrap());
    for media_type in ["text/plain", "multipart/form-data; boundary=x", "application/json", ""] {
        let headers = [("Cookie", person.cookie.as_deref().unwrap()), ("Content-Type", media_type)];
        let answer =
            fixture.service.client.send("POST", "/social/oauth/authorize", &headers, body.as_bytes());
        assert_eq!((answer.status, answer.header("location")), (403, None), "{media_type}");
    }
    fixture.app.verifier(&person.submit(&form, &[("decision", "allow")]));
}

#[test]
fn the_api_accepts_no_cookie() {
    let fixture = fixture();
    let person = fixture.service.signed_in("alice", &fixture.app);
    let cookie = ("Cookie", person.cookie.as_deref().unwrap());
    for (method, target) in [
        ("GET", "/social/200909/whoami"),
        ("GET", "/social/200909/activity/alice/tofrom"),
        ("DELETE", "/social/200909/whoami/token"),
        ("POST", "/social/oauth/request_token"),
        ("POST", "/social/oauth/access_token"),
    ] {
        let answer = fixture.service.client.send(method, target, &[cookie], &[]);
        assert_eq!((answer.status, answer.json()["reason"].as_str()), (401, Some("missing")), "{target}");
    }
}
