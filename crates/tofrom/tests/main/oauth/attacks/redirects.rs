//! Open redirects.

use super::super::answers::{refused, reported};
use super::super::application::App;
use super::super::service::{BASE, authorize, fixture};

/// Applications registered at `https://app.example.org` or on loopback may use none of these.
const ELSEWHERE: [&str; 47] = [
    "https://evil.example/cb",
    "http://evil.example/cb",
    "http://127.0.0.1.evil.example/",
    "http://127.0.0.1@evil.example/",
    "http://localhost:80@evil.example/",
    "http://user@127.0.0.1/",
    "http://evil.example/?http://127.0.0.1/",
    "http://evil.example#http://127.0.0.1/",
    "http://127.0.0.1/#",
    "http://127.0.0.1/cb#oauth",
    "http://127.0.0.2/cb",
    "http://0.0.0.0/",
    "http://localhost.evil.example/",
    "http://localhost\\@evil.example/",
    "http://evil.example\\@127.0.0.1/",
    "http:\\\\127.0.0.1\\cb",
    "https://127.0.0.1/cb",
    "ftp://127.0.0.1/cb",
    "https://app.example.org.evil.example/",
    "https://evil.example/app.example.org",
    "https://app.example.org@evil.example/",
    "https://app.example.org:8443/back",
    "https://app.example.org:80/back",
    "http://app.example.org/back",
    "http://app.example.org:443/back",
    "https://user:word@app.example.org/back",
    "https://sub.app.example.org/back",
    "https://example.org/back",
    "https://app.example.org%2eevil.example/",
    "https://app.example.org%00.evil.example/",
    "https://app.example.org\u{2024}evil.example/",
    "https://\u{ff41}pp.example.org/",
    "https://app.example.org/\u{e9}",
    "https://app.example.org/a b",
    "\u{20}https://app.example.org/back",
    "\thttps://app.example.org/back",
    "https://app.exam\tple.org/back",
    "//app.example.org/back",
    "/back",
    "back",
    "app.example.org",
    "OOB",
    "oob ",
    "javascript:alert(1)",
    "javascript://127.0.0.1/%0aalert(1)",
    "data:text/html,hello",
    "file:///back",
];

#[test]
fn an_unregistered_callback_is_400_and_names_the_parameter() {
    let (fixture, client) = (fixture(), &fixture().service.client);
    for callback in ELSEWHERE {
        for app in [&fixture.app, &fixture.other] {
            let answer = app.temporary_request().set("oauth_callback", callback).send(client);
            refused(&answer, 400, "malformed", "parameter_rejected");
            assert_eq!(reported(&answer, "oauth_parameters_rejected"), "oauth_callback", "{callback}");
            assert!(!answer.text().contains("evil"), "{callback}: {}", answer.text());
        }
    }
}

/// An address without the two slashes is relative if its scheme equals that of the redirecting page: a browser would
/// stay here instead of returning to the application.
#[test]
fn a_callback_that_browsers_resolve_to_this_site_is_400() {
    let fixture = fixture();
    for callback in ["https:app.example.org/back", "https:/app.example.org/back", "https:///app.example.org/"]
    {
        let answer =
            fixture.other.temporary_request().set("oauth_callback", callback).send(&fixture.service.client);
        refused(&answer, 400, "malformed", "parameter_rejected");
    }
}

/// An application registered for `oob` can use only `oob`.
#[test]
fn an_application_registered_for_oob_has_no_callback() {
    let fixture = fixture();
    let app = App::register(fixture.service, "Terminal", "oob", &[]);
    for callback in ["http://127.0.0.1/cb", "https://app.example.org/back", "oob:", BASE] {
        let answer = app.temporary_request().set("oauth_callback", callback).send(&fixture.service.client);
        refused(&answer, 400, "malformed", "parameter_rejected");
    }
    assert_eq!(app.temporary_request().send(&fixture.service.client).status, 200);
}

#[test]
fn the_page_redirects_only_after_a_decision() {
    let fixture = fixture();
    let mut browser = fixture.service.browser();
    for more in [
        "&oauth_callback=https%3A%2F%2Fevil.example",
        "&next=//evil.example",
        "&return_to=http://evil.example",
    ] {
        let page = browser.visit(&format!("{}{more}", authorize(&fixture.app.temporary_credentials())));
        assert!(page.redirect_target().is_none() && !page.html().contains("evil"), "{}", page.html());
    }
}
