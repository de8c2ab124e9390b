//! The developer pages: the description at `/openapi.json`, the page at `/docs`, and the form that tries a read.

use super::support::browser::{Browser, Page};
use super::support::client::Answer;
use super::support::demo::Demo;
use feeds::catalogue::{Service, services};
use model::{Kind, Verb, category};
use serde_json::Value;
use std::collections::BTreeSet;
use web::KINDS;
use web::openapi::operations;

const METHODS: [&str; 8] = ["GET", "HEAD", "POST", "PUT", "DELETE", "PATCH", "OPTIONS", "TRACE"];

fn description() -> Value {
    let answer = Demo::shared().client.get("/openapi.json", &[]);
    assert_eq!((answer.status, answer.header("content-type")), (200, Some("application/json")));
    answer.json()
}

/// An address for the path, of an account that does not exist, so that no request has an effect.
fn example(path: &str) -> String {
    path.replace("{user}", "no-such-account")
        .replace("{service}", "Flickr")
        .replace("{source}", "1")
        .replace("{activity}", "018bcfe5-6800-7000-8000-000000000000")
        .replace("{other}", "bob")
        .replace("{name}", "blog")
        .replace("{kind}", "parameter")
}

#[test]
fn the_description_is_cacheable_and_compressed() {
    let demo = Demo::shared();
    let plain = demo.client.get("/openapi.json", &[]);
    assert_eq!(plain.header("cache-control"), Some("public, max-age=3600"));
    assert_eq!(plain.json()["openapi"], "3.1.0");
    assert_eq!(plain.json()["servers"][0]["url"], demo.client.base.as_str());
    let coded = demo.client.get("/openapi.json", &[("Accept-Encoding", "gzip")]);
    assert_eq!(coded.header("content-encoding"), Some("gzip"));
    assert!(coded.body.len() * 4 < plain.body.len());
}

#[test]
fn every_address_accepts_exactly_the_described_methods() {
    let demo = Demo::shared();
    let key = [("ServicePSK", demo.key("ops"))];
    for (path, item) in description()["paths"].as_object().unwrap() {
        let described: BTreeSet<String> =
            item.as_object().unwrap().keys().map(|name| name.to_uppercase()).collect();
        for method in METHODS {
            let answer = demo.client.send(method, &example(path), &key, &[]);
            assert_eq!(
                answer.status != 405,
                described.contains(method),
                "{method} {path}: {}",
                answer.status
            );
            if answer.status == 405 {
                let allowed = answer.header("allow").unwrap().split(", ").map(str::to_owned);
                assert_eq!(allowed.collect::<BTreeSet<_>>(), described, "{path}");
            }
        }
    }
}

/// Everything but identifiers and times is equal.
#[test]
fn the_examples_are_data_of_the_demo() {
    let demo = Demo::shared();
    let description = description();
    let example = |path: &str| {
        let response = &description["paths"][path]["get"]["responses"]["200"];
        response["content"]["application/json"]["example"].clone()
    };
    let comparable = |activity: &Value| {
        let mut activity = activity.clone();
        for name in ["ActivityUrl", "ActivityIdentifier", "ReceivedDate"] {
            activity.as_object_mut().unwrap().remove(name).unwrap();
        }
        activity
    };
    let page = demo.alice("count=1000").json();
    let page: Vec<Value> =
        page["Activities"]["Activity"].as_array().unwrap().iter().map(comparable).collect();
    for activity in example("/200909/activity/{user}/tofrom")["Activities"]["Activity"].as_array().unwrap() {
        assert!(page.contains(&comparable(activity)), "{activity}");
    }
    let key = [("ServicePSK", demo.key("alice")), ("Accept", "application/json")];
    for path in ["/200909/user/{user}", "/200909/whoami"] {
        assert_eq!(example(path), demo.client.get(&path.replace("{user}", "alice"), &key).json(), "{path}");
    }
    let problem = demo.alice("count=many").json();
    assert_eq!(description["components"]["schemas"]["Problem"]["examples"][0], problem);
}

#[test]
fn every_problem_type_leads_to_its_page() {
    let demo = Demo::shared();
    let description = description();
    for kind in KINDS {
        let response = &description["components"]["responses"][kind.slug];
        let schema = &response["content"]["application/problem+json"]["schema"];
        let address = schema["properties"]["type"]["const"].as_str().unwrap();
        assert_eq!(demo.client.follow(address, &[]).status, 200, "{address}");
    }
    for absent in ["nothing", "%FF", "%2F"] {
        let answer = demo.client.get(&format!("/docs/problems/{absent}"), &[]);
        assert_eq!(
            (answer.status, answer.header("content-type")),
            (404, Some("application/problem+json")),
            "{absent}"
        );
    }
}

fn signed_in(name: &str) -> Browser {
    let demo = Demo::shared();
    let mut browser = Browser::new(&demo.client, &demo.client.base);
    let form = browser.visit(&format!("{}/sign-in", demo.client.base)).form("password").unwrap();
    browser.submit(&form, &[("username", name), ("password", demo.password(name))]);
    browser
}

fn visit(browser: &mut Browser, target: &str) -> Page {
    browser.visit(&format!("{}{target}", Demo::shared().client.base))
}

/// Everything on the page passes its policy, no anchor occurs twice, no link is broken.
fn check_page(answer: &Answer) {
    let page = answer.text();
    assert_eq!(answer.header("cache-control"), Some("no-store"), "it depends on the session");
    for inline in ["<style", " style=", " onclick", "javascript:"] {
        assert!(!page.contains(inline), "{inline}");
    }
    for script in page.split("<script").skip(1) {
        assert!(script.starts_with(" src=\"/assets/") && script.contains("></script>"), "{script:.80}");
    }
    let ids: Vec<&str> = page.split(" id=\"").skip(1).map(|rest| rest.split('"').next().unwrap()).collect();
    let once: BTreeSet<&str> = ids.iter().copied().collect();
    assert_eq!(once.len(), ids.len(), "{ids:?}");
    for anchor in page.split("href=\"#").skip(1).map(|rest| rest.split('"').next().unwrap()) {
        assert!(once.contains(anchor), "no element with the id {anchor}");
    }
}

#[test]
fn the_page_documents_every_operation_and_problem() {
    let demo = Demo::shared();
    let stranger = demo.client.get("/docs", &[]);
    let person = visit(&mut signed_in("alice"), "/docs").answer;
    for answer in [&stranger, &person] {
        assert_eq!(answer.status, 200);
        check_page(answer);
        for operation in operations() {
            assert!(answer.text().contains(&format!("<h3 id=\"{}\">", operation.id)), "{}", operation.id);
            assert!(answer.text().contains(&format!("id=\"curl-{}\"", operation.id)), "{}", operation.id);
            assert!(answer.text().contains(operation.path), "{}", operation.path);
        }
        for kind in KINDS {
            assert!(
                answer.text().contains(&format!("href=\"/docs/problems/{}\"", kind.slug)),
                "{}",
                kind.slug
            );
        }
        assert!(answer.text().contains("href=\"/openapi.json\""));
    }
    assert!(stranger.text().contains("href=\"/sign-in?then=/docs\"") && !stranger.text().contains("<form"));
    assert!(
        person.text().contains("action=\"/docs/try\"") && person.text().contains("aria-current=\"page\">API")
    );
}

#[test]
fn a_read_can_be_tried_on_the_page() {
    let demo = Demo::shared();
    let mut alice = signed_in("alice");
    let page = visit(&mut alice, "/docs/try?collection=from&type=photo&verb=&count=1&format=json");
    assert_eq!(page.status(), 200);
    check_page(&page.answer);
    let target = "/200909/activity/alice/from?type=photo&count=1&format=json";
    let authority = demo.ready["ca_cert"].as_str().unwrap();
    let curl =
        format!("curl --cacert '{authority}' -i -H \"ServicePSK: $KEY\" \"{}{target}\"", demo.client.base);
    assert_eq!(page.element("curl").as_deref(), Some(curl.as_str()));
    assert!(page.text().contains(&format!("GET {target} HTTP/1.1\nHost: ")));
    assert_eq!(page.element("status").as_deref(), Some("200 OK"));
    let shown: Value = serde_json::from_str(&page.element("body").unwrap()).unwrap();
    let read = demo.read("alice", "alice", "from", "type=photo&count=1");
    assert_eq!(shown, read.json(), "the same as a program gets");
    assert!(page.element("body").unwrap().lines().count() > 10, "and legible");
    let shown_headers: Vec<(&str, bool)> = ["etag", "link", "content-type"]
        .map(|name| (name, page.html().contains(&format!("<code>{name}</code>"))))
        .into();
    assert!(shown_headers.iter().all(|(_, there)| *there), "{shown_headers:?}");
}

#[test]
fn the_page_shows_the_answer_that_a_program_would_get() {
    let mut alice = signed_in("alice");
    let mut tried = |query: &str| {
        let page = visit(&mut alice, &format!("/docs/try?{query}"));
        assert_eq!(page.status(), 200, "{query}");
        check_page(&page.answer);
        (page.element("status").unwrap(), page.element("body").unwrap())
    };
    let (status, body) = tried("count=many&format=xml");
    assert_eq!(status, "400 Bad Request");
    assert_eq!(serde_json::from_str::<Value>(&body).unwrap()["parameter"], "count");
    assert!(tried("format=atom&count=1").1.contains("\n  <entry "));
    assert!(tried("count=1").1.contains("\n  <Activity>\n"), "XML by default");
    let (_, octets) = tried("format=fastinfoset&count=200");
    assert!(octets.starts_with("00000000  e0 00 00 01 ") && octets.lines().count() == 32, "{octets}");
    let (_, long) = tried("format=json&count=200");
    assert!(long.len() < 128 << 10, "64 KiB and their indents: {}", long.len());
    let (status, _) = tried("service=%22%3E%3Cscript%3E&collection=nonsense");
    assert_eq!(status, "200 OK");
    let stranger = Demo::shared().client.get("/docs/try?count=1", &[]);
    assert_eq!(stranger.status, 303);
    assert!(stranger.header("location").unwrap().ends_with("/sign-in?then=%2Fdocs%2Ftry%3Fcount%3D1"));
}

#[test]
fn the_manual_has_a_line_for_every_service() {
    let manual = include_str!("../../../../docs/sources.md");
    let (_, table) = manual.split_once("| service | what to give |").unwrap();
    let described: Vec<&str> = table.lines().skip(2).take_while(|line| line.starts_with('|')).collect();
    let line = |service: &Service| {
        let (kind, verb) = (Kind::parse(&service.kind).unwrap(), Verb::parse(&service.verb).unwrap());
        format!("| {} | {} | `{}` |", service.title, service.asks, category(&kind, &verb))
    };
    assert_eq!(described, services().iter().map(line).collect::<Vec<_>>());
}
