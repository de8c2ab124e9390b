//! Text that would be a header or markup must stay text.

use super::super::super::support::signer::Pair;
use super::super::answers::{all_text, refused};
use super::super::application::{App, issued};
use super::super::service::{authorize, consent, fixture, password_of};

#[test]
fn a_line_break_in_a_callback_adds_no_header() {
    let (fixture, client) = (fixture(), &fixture().service.client);
    for callback in [
        "http://127.0.0.1/cb?a=1\r\nX-Injected: yes",
        "http://127.0.0.1/cb\nX-Injected: yes",
        "http://127.0.0.1/\r\n\r\n<script>",
        "http://127.0.0.1/\u{85}X-Injected: yes",
        "http://127.0.0.1/\0",
    ] {
        let answer = fixture.app.temporary_request().set("oauth_callback", callback).send(client);
        refused(&answer, 400, "malformed", "parameter_rejected");
        assert_eq!(answer.header("x-injected"), None);
    }
    // An encoded line break is part of the address, and stays encoded.
    let callback = "http://127.0.0.1/cb?a=%0d%0aX-Injected:%20yes&b=%22%3e%3cscript%3e";
    let temporary = issued(&fixture.app.temporary_request().set("oauth_callback", callback).send(client));
    let mut browser = fixture.service.browser();
    let (page, form) = consent(&mut browser, "alice", &temporary);
    assert!(!page.html().contains("<script"));
    let page = browser.submit(&form, &[("decision", "allow")]);
    assert!(page.redirect_target().unwrap().starts_with(callback));
    assert_eq!(page.answer.header("x-injected"), None);
}

/// The policy is a header too: a callback may add exactly one source to it.
#[test]
fn a_callback_adds_one_source_to_the_policy() {
    let fixture = fixture();
    let mut browser = fixture.service.signed_in("alice", &fixture.app);
    for (callback, source) in [
        ("http://127.0.0.1/;script-src%20*", "http://127.0.0.1"),
        ("http://localhost:4180/,x?;sandbox", "http://localhost:4180"),
        ("http://[::1]:4180/'unsafe-inline'", "http:"),
    ] {
        let temporary = issued(
            &fixture.app.temporary_request().set("oauth_callback", callback).send(&fixture.service.client),
        );
        let (page, _) = consent(&mut browser, "alice", &temporary);
        let policy = page.answer.header("content-security-policy").unwrap();
        assert!(policy.contains(&format!("form-action 'self' {source};")), "{policy}");
        assert!(
            !policy.contains("script") && !policy.contains("sandbox") && !policy.contains(','),
            "{policy}"
        );
    }
}

#[test]
fn names_are_escaped_on_pages() {
    let fixture = fixture();
    let name = "<script>alert(1)</script>\"'><img src=x onerror=alert(1)>&amp;";
    let app = App::register(fixture.service, name, "http://localhost/cb", &[]);
    let oob = App { callback: "oob".to_owned(), ..app.clone() };
    fixture.service.add_account("grace", &["--given-name", "<b>Grace</b>", "--family-name", "\"><script>"]);
    let mut browser = fixture.service.browser();
    let mut pages = vec![browser.visit(&authorize(&app.temporary_credentials()))];
    let form = pages[0].form("password").unwrap();
    pages.push(browser.submit(&form, &[("username", "\"><script>alert(1)</script>"), ("password", "x")]));
    let (page, form) = consent(&mut browser, "grace", &oob.temporary_credentials());
    assert!(page.text().contains("<b>Grace</b> \"><script>"), "{}", page.text());
    pages.push(page);
    pages.push(browser.submit(&form, &[("decision", "allow")]));
    let (_, form) = consent(&mut browser, "grace", &oob.temporary_credentials());
    pages.push(browser.submit(&form, &[("decision", "deny")]));
    for page in &pages {
        assert!(page.text().contains(name), "{}", page.text());
        for markup in ["<script", "<img src=x", "<b>Grace"] {
            assert!(!page.html().contains(markup), "{markup} in {}", page.html());
        }
    }
    let form_again = pages[1].form("password").unwrap();
    assert_eq!(form_again.field("username"), Some("\"><script>alert(1)</script>"));
}

/// Answers repeat parts of a request: names of parameters, and paths.
#[test]
fn names_and_paths_are_escaped_in_answers() {
    let (fixture, client) = (fixture(), &fixture().service.client);
    let wrong = Pair::new(&fixture.token.key, "wrong");
    let odd = "%3Cscript%3E=1&%22%0D%0AX-Injected%3A+yes=2&x%FF=3";
    let answer = fixture.app.whoami(&wrong).query(odd).send(client);
    super::super::answers::not_signed_by(&answer);
    assert_eq!(answer.header("x-injected"), None);
    assert!(!all_text(&answer).contains("<script"), "{}", answer.text());
    assert!(
        answer.json()["parameters"]
            .as_str()
            .unwrap()
            .starts_with("%22%0D%0AX-Injected%3A%20yes %3Cscript%3E ")
    );
    // The challenge contains the name of an invalid parameter.
    let mut sent = fixture.app.whoami(&fixture.token).sign();
    sent.header("Authorization").push_str(", y%22%0d%0aX-Injected%3a=\"%zz\"");
    let answer = sent.send(client);
    refused(&answer, 400, "malformed", "parameter_rejected");
    assert_eq!((answer.header("x-injected"), answer.all("www-authenticate").len()), (None, 1));
    let challenge = answer.header("www-authenticate").unwrap();
    assert_eq!(challenge.matches('"').count() % 2, 0, "{challenge}");
}

#[test]
fn an_invalid_cookie_is_only_looked_up() {
    let fixture = fixture();
    let long = format!("__Host-session={}", "x".repeat(20_000));
    for cookie in ["__Host-session=", "__Host-session=' OR 1=1 --", "__Host-session=\u{e9}", "; ; =", &long] {
        let mut browser = fixture.service.browser();
        browser.cookie = Some(cookie.to_owned());
        let page = browser.visit(&authorize(&fixture.app.temporary_credentials()));
        assert!(page.form("password").is_some(), "{} {}", page.status(), page.text());
        let form = page.form("password").unwrap();
        let page = browser.submit(&form, &[("username", "alice"), ("password", &password_of("alice"))]);
        assert!(page.form("decision").is_some());
    }
}
