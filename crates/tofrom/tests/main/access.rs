//! Authentication, visibility, and what no caller may learn.

use super::support::client::read_answer;
use super::support::demo::Demo;
use std::io::Write;
use web::{Access, ROUTES};

/// An address of each route, with its parameters filled in.
pub(super) fn example(path: &str) -> String {
    path.replace("{user}", "alice")
        .replace("{collection}", "tofrom")
        .replace("{service}", "Flickr")
        .replace("{source}", "1")
        .replace("{activity}", "018bcfe5-6800-7000-8000-000000000000")
        .replace("{other}", "bob")
        .replace("{size}", "80.png")
        .replace("{id}", "018bcfe5-6800-7000-8000-000000000000")
        .replace("{name}", "bob")
        .replace("{ticket}", "tfl_x")
        .replace("{key}", "tfc_x")
        .replace("{token}", "tft_x")
        .replace("{number}", "7")
        .replace("{kind}", "parameter")
        .replace("{subscription}", "00000000000000000000000000000000")
        .replace("{width}", "160")
        .replace("{mac}", "AAAAAAAAAAAAAAAAAAAAAA")
        .replace("{address}", "aHR0cHM6Ly9leGFtcGxlLm9yZy8")
        .replace("{asset}", web::views::assets::STYLE.name())
}

/// A new route requires a credential, or is declared open.
#[test]
fn every_route_without_credentials_is_401_unless_it_is_open() {
    let demo = Demo::shared();
    for route in ROUTES {
        let target = example(route.path);
        assert!(!target.contains('{'), "fill in {}", route.path);
        for method in ["GET", "HEAD", "POST", "PUT", "DELETE", "PATCH", "OPTIONS"] {
            let answer = demo.client.send(method, &target, &[], &[]);
            match route.access {
                Access::Credential => assert_eq!(answer.status, 401, "{method} {target}"),
                // Without a preference the caller counts as a program; a browser is redirected to sign in.
                Access::PageOrCredential => {
                    assert_eq!(answer.status, 401, "{method} {target}");
                    let page = demo.client.send(method, &target, &[("Accept", "text/html")], &[]);
                    let expected_status = if matches!(method, "GET" | "HEAD") { 303 } else { 405 };
                    assert_eq!(
                        (page.status, page.header("www-authenticate")),
                        (expected_status, None),
                        "{method}"
                    );
                }
                // An unknown subscription finds nothing, and its notifications are refused.
                Access::Open if target.starts_with("/websub/") => {
                    let expected_status = if matches!(method, "GET" | "HEAD" | "POST") { 404 } else { 405 };
                    assert_eq!(answer.status, expected_status, "{method} {target}");
                }
                // An address that no page printed.
                Access::Open if target.starts_with("/media/") => {
                    let expected_status = if matches!(method, "GET" | "HEAD") { 404 } else { 405 };
                    assert_eq!(answer.status, expected_status, "{method} {target}");
                }
                Access::Open if matches!(method, "GET" | "HEAD") => {
                    assert_eq!(answer.status, 200, "{method} {target}")
                }
                Access::Application if matches!(method, "GET" | "POST") => {
                    assert_eq!(answer.status, 401, "{method} {target}")
                }
                // A page redirects to sign in, or refuses with a page and without a challenge, which would open the
                // browser's password dialog.
                Access::Page if matches!(method, "GET" | "HEAD" | "POST") => {
                    assert_eq!(answer.header("www-authenticate"), None, "{method} {target}");
                    if answer.status == 303 {
                        let to = answer.header("location").unwrap();
                        let ours = ["/sign-in", "/feed"].map(|path| format!("{}{path}", demo.client.base));
                        assert!(ours.iter().any(|ours| to.starts_with(ours)), "{method} {target}: {to}");
                        continue;
                    }
                    let open = target == "/sign-in" && method != "POST";
                    assert!((400..500).contains(&answer.status) || open, "{method} {target}");
                    assert_eq!(answer.header("content-type"), Some("text/html; charset=utf-8"));
                }
                Access::Open | Access::Application | Access::Page => {
                    assert_eq!(answer.status, 405, "{method} {target}")
                }
            }
        }
    }
    for target in ["/200909", "/200909/", "/200909/nothing", "/200909/activity/alice/tofrom/more"] {
        assert_eq!(demo.client.get(target, &[]).status, 401, "{target}");
        assert_eq!(demo.client.get(target, &[("ServicePSK", demo.key("alice"))]).status, 404, "{target}");
    }
}

#[test]
fn a_401_names_both_challenges_and_the_reason() {
    let demo = Demo::shared();
    let wrong = demo.basic("alice", "wrong");
    for (headers, reason) in [
        (vec![], "missing"),
        (vec![("ServiceConsumerKey", "x")], "missing"),
        (vec![("Authorization", wrong.as_str())], "bad-credentials"),
        (vec![("Authorization", "Basic !!!")], "malformed"),
        (vec![("Authorization", "Bearer x")], "malformed"),
        (vec![("ServicePSK", "tfk_wrong")], "bad-credentials"),
        (vec![("ServicePSK", ""), ("Authorization", "")], "missing"),
        (vec![("ServicePSK", demo.key("alice")), ("ServiceConsumerKey", "no-such")], "unknown-consumer"),
    ] {
        let answer = demo.client.get("/200909/activity/alice/tofrom", &headers);
        assert_eq!((answer.status, answer.json()["reason"].as_str()), (401, Some(reason)), "{headers:?}");
        let challenges = answer.all("www-authenticate");
        assert!(challenges.iter().any(|c| c.starts_with("Basic realm=")), "{challenges:?}");
        assert!(challenges.iter().any(|c| c.starts_with("OAuth")), "{challenges:?}");
    }
}

#[test]
fn two_credentials_are_400_even_if_both_are_right() {
    let demo = Demo::shared();
    let basic = demo.basic("alice", demo.password("alice"));
    let (key, basic) = (("ServicePSK", demo.key("alice")), ("Authorization", basic.as_str()));
    for headers in [[key, basic], [key, key], [basic, basic]] {
        assert_eq!(demo.client.get("/200909/whoami", &headers).status, 400, "{headers:?}");
    }
}

#[test]
fn an_empty_credential_header_is_no_credential() {
    let demo = Demo::shared();
    let basic = demo.basic("alice", demo.password("alice"));
    let (no_key, no_login, no_consumer) =
        (("ServicePSK", ""), ("Authorization", ""), ("ServiceConsumerKey", ""));
    for headers in [
        [no_key, ("Authorization", basic.as_str()), no_consumer],
        [("ServicePSK", demo.key("alice")), no_login, no_consumer],
        [no_key, ("ServicePSK", demo.key("alice")), no_consumer],
    ] {
        assert_eq!(demo.client.get("/200909/whoami", &headers).status, 200, "{headers:?}");
    }
}

#[test]
fn private_absent_and_invalid_accounts_look_alike() {
    let demo = Demo::shared();
    let answer_for = |name: &str| {
        let answer = demo.read("bob", name, "tofrom", "");
        let mut names: Vec<String> = answer.headers.iter().map(|(name, _)| name.clone()).collect();
        names.sort();
        (answer.status, names, answer.json())
    };
    let absent = answer_for("no-such-account");
    assert_eq!(absent.0, 404);
    for name in ["alice", "-x", "a%20b", "%FF", "a%2Fb", &"a".repeat(65)] {
        assert_eq!(answer_for(name), absent, "{name}");
    }
}

#[test]
fn visibility_depends_on_public_private_and_operator() {
    let demo = Demo::shared();
    assert_eq!(demo.read("carol", "bob", "tofrom", "").status, 200);
    assert_eq!(demo.read("bob", "alice", "tofrom", "").status, 404);
    assert_eq!(demo.read("ops", "alice", "tofrom", "").ids(), demo.alice("").ids());
    let everything = demo.read("bob", "bob", "from", "count=200").ids();
    let strangers = demo.read("alice", "bob", "from", "count=200").ids();
    assert!(strangers.len() < everything.len(), "some of bob's activities are not public");
    assert!(strangers.iter().all(|id| everything.contains(id)));
}

#[test]
fn links_never_follow_the_host_header() {
    let demo = Demo::shared();
    let headers =
        [("ServicePSK", demo.key("alice")), ("Host", "elsewhere.example"), ("Accept", "application/json")];
    let answer = demo.client.get("/200909/activity/alice/tofrom", &headers);
    assert_eq!(answer.status, 200);
    assert!(!format!("{:?}{}", answer.headers, answer.text()).contains("elsewhere"));
}

#[test]
fn header_lines_end_with_cr_and_lf() {
    let demo = Demo::shared();
    let request =
        format!("GET /200909/whoami HTTP/1.1\r\nHost: x\r\nServicePSK: {}\r\n\r\n", demo.key("bob"));
    let mixed = request.replace("\r\nServicePSK", "\nServicePSK");
    for (text, status) in [(request.clone(), 200), (request.replace("\r\n", "\n"), 400), (mixed, 400)] {
        let mut stream = demo.client.connect();
        stream.write_all(text.as_bytes()).unwrap();
        assert_eq!(read_answer(stream, true).status, status, "{text:?}");
    }
}

#[test]
fn a_browser_gets_an_html_404() {
    let demo = Demo::shared();
    let browser = [("Accept", "text/html,application/xhtml+xml,*/*;q=0.8")];
    for target in ["/no/such/page", "/docs/problems/none", "/assets/none"] {
        let page = demo.client.get(target, &browser);
        assert_eq!((page.status, page.header("cache-control")), (404, Some("no-store")), "{target}");
        assert!(page.header("content-type").unwrap().starts_with("text/html"), "{target}");
        assert!(page.text().contains(&format!("href=\"{}/\"", demo.client.base)), "a link to the start page");
        let problem = demo.client.get(target, &[]);
        assert_eq!((problem.status, problem.header("content-type")), (404, Some("application/problem+json")));
    }
    let problem = demo.client.get("/200909/none", &[browser[0], ("ServicePSK", demo.key("bob"))]);
    assert_eq!(
        problem.header("content-type"),
        Some("application/problem+json"),
        "the API returns a problem document"
    );
}
