//! From the temporary credentials to the access token, and the reads with it.

use super::super::support::signer::{LOCATIONS, ParameterLocation, encode};
use super::answers::{not_signed_by, refused, reported};
use super::application::{issued, parameter};
use super::service::{BASE, consent, fixture};

const METHODS: [&str; 3] = ["HMAC-SHA1", "HMAC-SHA256", "PLAINTEXT"];

#[test]
fn the_flow_works_with_every_method_in_every_location() {
    let fixture = fixture();
    for (how, location) in METHODS.iter().flat_map(|how| LOCATIONS.map(|location| (*how, location))) {
        let app = super::application::App { how, location, ..fixture.app.clone() };
        let token = app.token_of("alice");
        let answer = app.whoami(&token).send(&fixture.service.client);
        assert_eq!(
            (answer.status, &answer.json()["WhoAmI"]["Account"]),
            (200, &"alice".into()),
            "{how} {location:?}"
        );
    }
}

#[test]
fn both_steps_accept_get_but_not_head() {
    let (fixture, client) = (fixture(), &fixture().service.client);
    for location in [ParameterLocation::Header, ParameterLocation::Query] {
        let app = super::application::App { location, ..fixture.app.clone() };
        let temporary = issued(&app.temporary_request().method("GET").send(client));
        let mut browser = fixture.service.browser();
        let (_, form) = consent(&mut browser, "alice", &temporary);
        let verifier = app.verifier(&browser.submit(&form, &[("decision", "allow")]));
        let last = app.exchange(&temporary, &verifier).method("GET");
        let token = issued(&last.send(client));
        assert_eq!(app.whoami(&token).send(client).status, 200, "{location:?}");
        for mut signed_as_post in [app.temporary_request().sign(), app.exchange(&temporary, &verifier).sign()]
        {
            signed_as_post.method = "GET".to_owned();
            not_signed_by(&signed_as_post.send(client));
        }
    }
    for path in ["/social/oauth/request_token", "/social/oauth/access_token"] {
        let head = client.send("HEAD", path, &[], &[]);
        assert_eq!((head.status, head.header("allow")), (405, Some("GET, POST")), "{path}");
    }
}

#[test]
fn both_steps_answer_with_an_uncacheable_form() {
    let (app, client) = (&fixture().app, &fixture().service.client);
    let first = app.temporary_request().send(client);
    assert!(first.text().ends_with("&oauth_callback_confirmed=true"), "{}", first.text());
    let (temporary, verifier) = app.allowed("alice");
    let last = app.exchange(&temporary, &verifier).send(client);
    let mut parts = vec![temporary.key, temporary.secret];
    for answer in [first, last] {
        assert_eq!(answer.header("content-type"), Some("application/x-www-form-urlencoded"));
        assert_eq!(answer.header("cache-control"), Some("no-store"));
        parts.extend([issued(&answer).key, issued(&answer).secret]);
    }
    parts.sort();
    parts.dedup();
    assert!(parts.len() == 6 && parts.iter().all(|part| part.len() >= 22), "128 bits each: {parts:?}");
    assert!(verifier.len() >= 16, "80 bits or more: {verifier}");
}

#[test]
fn out_of_band_the_page_shows_the_verifier() {
    let (fixture, client) = (fixture(), &fixture().service.client);
    let mut browser = fixture.service.browser();
    let temporary = issued(&fixture.app.temporary_request().set("oauth_callback", "oob").send(client));
    let (_, form) = consent(&mut browser, "alice", &temporary);
    let page = browser.submit(&form, &[("decision", "allow")]);
    assert_eq!((page.status(), page.redirect_target()), (200, None));
    let verifier = page.element("verifier").unwrap();
    issued(&fixture.app.exchange(&temporary, &verifier).send(client));

    let temporary = issued(&fixture.app.temporary_request().set("oauth_callback", "oob").send(client));
    let (_, form) = consent(&mut browser, "alice", &temporary);
    let page = browser.submit(&form, &[("decision", "deny")]);
    assert_eq!((page.status(), page.redirect_target(), page.element("verifier")), (200, None, None));
}

#[test]
fn the_requested_scope_is_shown_and_granted() {
    let (fixture, client) = (fixture(), &fixture().service.client);
    let mut browser = fixture.service.browser();
    for (query, scopes) in [
        (None, "read"),
        (Some("scope=read"), "read"),
        (Some("scope=write"), "read write"),
        (Some("scope=read%20write"), "read write"),
        (Some("scope=write+read"), "read write"),
    ] {
        let request = fixture.app.temporary_request();
        let request = query.into_iter().fold(request, |request, query| request.query(query));
        let temporary = issued(&request.send(client));
        let (page, form) = consent(&mut browser, "alice", &temporary);
        let writes = page.text().contains("create, edit and delete activities on your behalf");
        assert_eq!(writes, scopes == "read write", "{query:?}: {}", page.text());
        let verifier = fixture.app.verifier(&browser.submit(&form, &[("decision", "allow")]));
        let token = issued(&fixture.app.exchange(&temporary, &verifier).send(client));
        let answer = fixture.app.whoami(&token).send(client).json();
        assert_eq!(answer["WhoAmI"]["Scopes"], scopes, "{query:?}");
    }
    for query in ["scope=", "scope=everything", "scope=read,write", "scope=READ", "scope=read&scope=write"] {
        let answer = fixture.app.temporary_request().query(query).send(client);
        refused(&answer, 400, "malformed", "parameter_rejected");
        assert_eq!(reported(&answer, "oauth_parameters_rejected"), "scope", "{query}");
    }
}

#[test]
fn loopback_callbacks_may_use_any_port_and_others_must_match() {
    let fixture = fixture();
    for (app, callback) in [
        (&fixture.app, "http://127.0.0.1/cb"),
        (&fixture.app, "http://127.0.0.1:4180/else/where?a=b"),
        (&fixture.app, "http://localhost:1/"),
        (&fixture.app, "http://[::1]:65535/cb"),
        (&fixture.other, "https://app.example.org/back"),
        (&fixture.other, "https://APP.example.org:443/elsewhere?state=1&x"),
    ] {
        let answer = app.temporary_request().set("oauth_callback", callback).send(&fixture.service.client);
        assert_eq!(answer.status, 200, "{callback}: {}", answer.text());
    }
}

#[test]
fn the_callback_keeps_its_own_query() {
    let fixture = fixture();
    let mut browser = fixture.service.browser();
    for decision in ["allow", "deny"] {
        let callback = "http://localhost:4180/cb?state=a%20b&x=%E2%9C%93&x=2&empty=&bare";
        let temporary = issued(
            &fixture.app.temporary_request().set("oauth_callback", callback).send(&fixture.service.client),
        );
        let (_, form) = consent(&mut browser, "alice", &temporary);
        let page = browser.submit(&form, &[("decision", decision)]);
        let to = page.redirect_target().unwrap();
        assert!(to.starts_with(&format!("{callback}&oauth_token={}&oauth_", encode(&temporary.key))), "{to}");
    }
}

#[test]
fn a_denial_ends_the_flow() {
    let (fixture, client) = (fixture(), &fixture().service.client);
    let mut browser = fixture.service.browser();
    let temporary = fixture.app.temporary_credentials();
    let (_, form) = consent(&mut browser, "alice", &temporary);
    let page = browser.submit(&form, &[("decision", "deny")]);
    let to = page.redirect_target().unwrap();
    assert_eq!(parameter(to, "oauth_problem").as_deref(), Some("user_refused"), "{to}");
    assert_eq!(parameter(to, "oauth_token"), Some(temporary.key.clone()));
    assert_eq!(parameter(to, "oauth_verifier"), None);
    let answer = fixture.app.exchange(&temporary, "guess").send(client);
    refused(&answer, 401, "user-refused", "user_refused");
    let page = browser.submit(&form, &[("decision", "allow")]);
    assert_eq!((page.status(), page.redirect_target()), (404, None), "the denial is final");
}

#[test]
fn callback_and_verifier_may_be_outside_the_header() {
    let (app, client) = (&fixture().app, &fixture().service.client);
    let callback = format!("oauth_callback={}", encode("http://127.0.0.1/cb"));
    let request = || app.draft("POST", "/oauth/request_token");
    issued(&request().query(&callback).send(client));
    issued(&request().form(&callback).send(client));
    let twice = request().set("oauth_callback", "http://127.0.0.1/cb").form(&callback).send(client);
    refused(&twice, 400, "malformed", "parameter_rejected");
    for as_form in [true, false] {
        let (temporary, verifier) = app.allowed("alice");
        let verifier = format!("oauth_verifier={}", encode(&verifier));
        let exchange = app.draft("POST", "/oauth/access_token").token(&temporary);
        let exchange = if as_form { exchange.form(&verifier) } else { exchange.query(&verifier) };
        issued(&exchange.send(client));
    }
}

#[test]
fn a_token_acts_as_its_account() {
    let (fixture, client) = (fixture(), &fixture().service.client);
    let bob = fixture.app.token_of("bob");
    let answer = fixture.app.whoami(&bob).send(client).json();
    let expected = serde_json::json!({ "WhoAmI": {
        "Account": "bob", "Method": "oauth", "Scopes": "read", "Consumer": fixture.app.pair.key
    } });
    assert_eq!(answer, expected);
    let xml = fixture.app.draft("GET", "/200909/whoami").token(&bob).send(client);
    let document = roxmltree::Document::parse(xml.text()).unwrap();
    assert_eq!(document.root_element().tag_name().name(), "WhoAmI");
    assert!(xml.text().contains(&fixture.app.pair.key) && xml.text().contains("oauth"), "{}", xml.text());

    let read = |token, owner: &str| {
        fixture.app.draft("GET", &format!("/200909/activity/{owner}/tofrom")).token(token).send(client).status
    };
    assert_eq!([read(&fixture.token, "alice"), read(&fixture.token, "bob")], [200, 200]);
    assert_eq!(
        [read(&bob, "alice"), read(&bob, "nobody")],
        [404, 404],
        "a private account looks like an absent one"
    );

    let named = |key: &str| fixture.app.whoami(&bob).header("ServiceConsumerKey", key).send(client).status;
    assert_eq!([named(&fixture.app.pair.key), named(&fixture.other.pair.key)], [200, 400]);
}

#[test]
fn links_carry_no_protocol_parameters() {
    let fixture = fixture();
    for (how, accept) in [("HMAC-SHA1", "application/atom+xml"), ("PLAINTEXT", "application/json")] {
        for location in [ParameterLocation::Query, ParameterLocation::Form] {
            let read =
                fixture.app.draft("GET", "/200909/activity/alice/tofrom?count=2").token(&fixture.token);
            let answer = read
                .signature_method(how)
                .location(location)
                .header("Accept", accept)
                .send(&fixture.service.client);
            assert_eq!(answer.status, 200, "{}", answer.text());
            let next = answer.link("next").unwrap();
            assert!(next.starts_with(BASE) && next.contains("count=2"), "{next}");
            assert!(!super::answers::all_text(&answer).contains("oauth_"), "{how} {location:?}");
        }
    }
}
