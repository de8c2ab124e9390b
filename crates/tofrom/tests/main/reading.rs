//! Reading a collection through the real listener: parameters, paging, representations, HTTP semantics.

use super::support::client::read_answer;
use super::support::demo::Demo;
use std::collections::HashSet;
use std::io::Write;

const FORM: (&str, &str) = ("Content-Type", "application/x-www-form-urlencoded");
const FOUR: [&str; 4] =
    ["application/xml", "application/atom+xml", "application/json", "application/fastinfoset"];

/// All items that the `next` links lead to.
fn walk(demo: &Demo, query: &str) -> Vec<serde_json::Value> {
    let headers = [("ServicePSK", demo.key("alice")), ("Accept", "application/json")];
    let mut page = demo.alice(query);
    let mut all = page.activities();
    while let Some(next) = page.link("next") {
        page = demo.client.follow(&next, &headers);
        all.extend(page.activities());
    }
    all
}

fn id(activity: &serde_json::Value) -> &str {
    activity["ActivityIdentifier"].as_str().unwrap()
}

#[test]
fn a_walk_returns_the_whole_collection_in_order() {
    let demo = Demo::shared();
    let all = walk(demo, "count=200");
    assert!(all.len() >= 300, "alice has {}", all.len());
    let distinct: HashSet<&str> = all.iter().map(id).collect();
    assert_eq!(distinct.len(), all.len());
    let keys: Vec<_> = all.iter().map(|a| (a["ReceivedDate"].as_str().unwrap(), id(a))).collect();
    assert!(keys.is_sorted_by(|a, b| a > b), "newest first, ties by identifier, descending");
    let small: Vec<String> = walk(demo, "count=7").iter().map(|a| id(a).to_owned()).collect();
    assert_eq!(small, all.iter().map(id).collect::<Vec<_>>());
}

#[test]
fn tofrom_is_the_union_of_to_and_from() {
    let demo = Demo::shared();
    let of = |collection: &str| -> HashSet<String> {
        let mut page = demo.read("alice", "alice", collection, "count=200");
        let mut ids: HashSet<String> = page.ids().into_iter().collect();
        while let Some(next) = page.link("next") {
            page = demo
                .client
                .follow(&next, &[("ServicePSK", demo.key("alice")), ("Accept", "application/json")]);
            ids.extend(page.ids());
        }
        ids
    };
    let (to, from, both) = (of("to"), of("from"), of("tofrom"));
    assert!(!to.is_empty() && !from.is_empty());
    assert_eq!(to.union(&from).cloned().collect::<HashSet<_>>(), both);
}

#[test]
fn defaults_and_slices() {
    let demo = Demo::shared();
    let all: Vec<String> = walk(demo, "count=200").iter().map(|a| id(a).to_owned()).collect();
    assert_eq!(demo.alice("").ids(), all[..20]);
    assert_eq!(demo.alice("start=3&count=5").ids(), all[3..8]);
    assert_eq!(demo.alice("count=201").ids(), all[..201]);
    assert_eq!(demo.alice("count=2147483647").ids(), all, "a larger count returns all");
    assert_eq!(demo.alice("count=2147483647").link("next"), None);
    assert_eq!(demo.alice(&format!("start={}", all.len())).ids(), [""; 0]);
    assert_eq!(demo.alice("count=0").ids(), [""; 0]);
    assert_eq!(demo.alice("count=0").link("next"), None);
    assert_eq!(demo.alice("start=2147483647").status, 200, "an offset beyond the end is an empty page");
}

#[test]
fn the_contracts_own_example() {
    let demo = Demo::shared();
    let bookmarks = demo.alice("type=bookmark&count=4").activities();
    assert_eq!(bookmarks.len(), 4);
    assert!(bookmarks.iter().all(|activity| activity["Bookmark"].is_object()));
}

#[test]
fn a_form_body_sent_with_get() {
    let demo = Demo::shared();
    let key = ("ServicePSK", demo.key("alice"));
    let send = |headers: &[(&str, &str)], body: &[u8]| {
        let mut all = vec![key, ("Accept", "application/json")];
        all.extend(headers);
        demo.client.send("GET", "/200909/activity/alice/tofrom?verb=liked", &all, body)
    };
    assert_eq!(send(&[FORM], b"count=3").ids(), demo.alice("verb=liked&count=3").ids());
    assert_eq!(send(&[FORM], b"").ids(), demo.alice("verb=liked").ids());
    assert_eq!(send(&[("Content-Type", "application/json")], b"{}").status, 400);
    assert_eq!(
        send(&[], b"count=3").ids(),
        demo.alice("verb=liked&count=3").ids(),
        "a body without a type is a form"
    );
    assert_eq!(send(&[("Content-Type", "text/plain")], b"").ids(), demo.alice("verb=liked").ids());
    assert_eq!(send(&[], &[b'x'; 9_000]).status, 413);
    assert_eq!(send(&[FORM], &[b'x'; 9_000]).status, 413);
    let post = demo.client.send("POST", "/200909/activity/alice/tofrom", &[key, FORM], b"count=3");
    assert_eq!((post.status, post.header("allow")), (405, Some("GET, HEAD")));
    assert!(post.text().contains("-G"));
}

#[test]
fn refusals_name_the_parameter_and_the_expected_value() {
    let demo = Demo::shared();
    for (query, name, hint) in [
        ("count=x", "count", "whole number"),
        ("start=-1", "start", "whole number"),
        ("count=1&count=1", "count", "once"),
        ("count=1&Count=1", "count", "once"),
        ("orderby=title", "orderby", "pubDate"),
        ("format=html", "format", "fastinfoset"),
        ("receivedsince=yesterday", "receivedsince", "2026"),
        ("publishedbefore=2026-11-14T00:00:00", "publishedbefore", "offset"),
        ("cursor=x", "cursor", "links"),
    ] {
        let answer = demo.alice(query);
        let problem = answer.json();
        assert_eq!((answer.status, problem["parameter"].as_str()), (400, Some(name)), "{query}");
        assert!(problem["detail"].as_str().unwrap().contains(hint), "{query}: {problem}");
    }
}

#[test]
fn parameter_names_are_case_insensitive() {
    let demo = Demo::shared();
    let page = demo.alice("Verb=liked&COUNT=3&orderBy=pubDate&Format=json");
    assert_eq!(page.ids(), demo.alice("verb=liked&count=3&orderby=pubDate").ids());
    let cursor = page.link("next").unwrap().split("cursor=").nth(1).unwrap().to_owned();
    let next = demo.alice(&format!("VERB=liked&Count=3&OrderBy=pubDate&Cursor={cursor}"));
    assert_eq!(next.ids(), demo.alice("verb=liked&count=3&orderby=pubDate&start=3").ids());
    let bound = "2026-01-01T00:00:00Z";
    assert_eq!(
        demo.alice(&format!("receivedSince={bound}&count=5")).ids(),
        demo.alice(&format!("receivedsince={bound}&count=5")).ids()
    );
    let headers = [("ServicePSK", demo.key("carol"))];
    let following = demo.client.get("/200909/user/carol/following?Format=json", &headers);
    assert_eq!(following.header("content-type"), Some("application/json"));
}

#[test]
fn exactly_one_host_header_is_required() {
    let demo = Demo::shared();
    let key = demo.key("alice");
    let request = |version: &str, hosts: &[&str]| {
        let mut lines = format!("GET /200909/whoami {version}\r\nServicePSK: {key}\r\nConnection: close\r\n");
        hosts.iter().for_each(|host| lines.push_str(&format!("Host: {host}\r\n")));
        let mut stream = demo.client.connect();
        stream.write_all(format!("{lines}\r\n").as_bytes()).unwrap();
        read_answer(stream, false)
    };
    assert_eq!(request("HTTP/1.1", &["127.0.0.1"]).status, 200);
    assert_eq!(request("HTTP/1.0", &[]).status, 200);
    for (version, hosts) in [
        ("HTTP/1.1", &[][..]),
        ("HTTP/1.1", &["127.0.0.1", "127.0.0.1"]),
        ("HTTP/1.1", &["127.0.0.1", "elsewhere.example"]),
        ("HTTP/1.0", &["127.0.0.1", "elsewhere.example"]),
    ] {
        let answer = request(version, hosts);
        assert_eq!(answer.status, 400, "{version} {hosts:?}");
        assert!(answer.json()["type"].as_str().unwrap().ends_with("/docs/problems/host"));
    }
}

#[test]
fn refusals_are_uncacheable_and_have_no_allow_header() {
    let demo = Demo::shared();
    for method in ["GET", "HEAD", "POST", "PUT", "DELETE", "PATCH"] {
        for target in ["/200909/activity/alice/tofrom", "/200909/user/alice", "/200909/nothing"] {
            let answer = demo.client.send(method, target, &[], &[]);
            let headers = (answer.header("allow"), answer.header("cache-control"));
            assert_eq!((answer.status, headers), (401, (None, Some("no-store"))), "{method} {target}");
        }
    }
    let key = [("ServicePSK", demo.key("bob"))];
    for target in
        ["/200909/activity/alice/tofrom", "/200909/nothing", "/nowhere", "/user/missing/avatar/7.png"]
    {
        let answer = demo.client.get(target, &key);
        assert_eq!((answer.status, answer.header("cache-control")), (404, Some("no-store")), "{target}");
    }
    let refused = demo.client.send("PATCH", "/200909/whoami", &[key[0], key[0]], &[]);
    assert_eq!((refused.status, refused.header("allow")), (400, None), "only a 405 has an Allow header");
}

#[test]
fn cursors_are_bound_to_their_query() {
    let demo = Demo::shared();
    let next = demo.alice("count=5").link("next").unwrap();
    let cursor = next.split("cursor=").nth(1).unwrap();
    assert_eq!(demo.alice(&format!("count=5&cursor={cursor}")).status, 200);
    assert_eq!(demo.alice(&format!("cursor={cursor}")).status, 200, "the count may change during a walk");
    for more in ["verb=liked", "orderby=pubDate", "start=1", "receivedsince=2020-01-01T00:00:00Z"] {
        assert_eq!(demo.alice(&format!("count=5&cursor={cursor}&{more}")).status, 400, "{more}");
    }
    assert_eq!(demo.read("alice", "alice", "from", &format!("cursor={cursor}")).status, 400);
    assert_eq!(demo.read("alice", "bob", "tofrom", &format!("cursor={cursor}")).status, 400);
}

#[test]
fn links_keep_the_known_parameters_only() {
    let demo = Demo::shared();
    let page = demo.alice("verb=liked&count=3&start=2&format=json&colour=red&oauth_flavour=x");
    for rel in ["self", "first", "next", "updates"] {
        let link = page.link(rel).unwrap();
        assert!(link.starts_with(&demo.client.base), "{link}");
        assert!(link.contains("verb=like&format=json&count=3"), "{link}");
        assert!(!link.contains("colour") && !link.contains("oauth"), "{link}");
    }
    assert!(page.link("self").unwrap().ends_with("start=2"));
    assert!(!page.link("next").unwrap().contains("start="));
}

#[test]
fn updates_are_empty_when_nothing_arrived() {
    let demo = Demo::shared();
    let headers = [("ServicePSK", demo.key("alice")), ("Accept", "application/json")];
    let mut page = demo.alice("orderby=pubDate&count=3");
    for _ in 0..3 {
        page = demo.client.follow(&page.link("updates").unwrap(), &headers);
        assert_eq!((page.ids(), page.link("next")), (vec![], None));
    }
}

#[test]
fn negotiation() {
    let demo = Demo::shared();
    let request = |query: &str, accept: Option<&str>| {
        let mut headers = vec![("ServicePSK", demo.key("alice"))];
        headers.extend(accept.map(|accept| ("Accept", accept)));
        demo.client.get(&format!("/200909/activity/alice/tofrom{query}"), &headers)
    };
    assert_eq!(request("", None).header("content-type"), Some("application/xml"));
    for kind in FOUR {
        assert_eq!(request("", Some(kind)).header("content-type"), Some(kind));
    }
    assert_eq!(
        request("?format=atom", Some("application/json")).header("content-type"),
        Some("application/atom+xml")
    );
    assert_eq!(
        request("", Some("application/atom+xml;type=feed;charset=utf-8")).header("content-type"),
        Some("application/atom+xml")
    );
    assert_eq!(
        request("", Some("application/xml;q=0.9, application/json;q=abc")).header("content-type"),
        Some("application/json")
    );
    assert_eq!(
        request("?format=json", Some("text/html")).status,
        200,
        "the parameter takes precedence over the header"
    );
    let refused = request("", Some("text/html"));
    assert_eq!(refused.status, 406);
    assert!(FOUR.iter().all(|kind| refused.text().contains(kind)));
}

#[test]
fn problems_come_in_the_preferred_representation() {
    let demo = Demo::shared();
    let request = |accept: &str| {
        let headers = [("ServicePSK", demo.key("alice")), ("Accept", accept)];
        demo.client.get("/200909/activity/alice/tofrom?count=x", &headers)
    };
    for (accept, kind) in [
        ("*/*", "application/problem+json"),
        ("application/json", "application/problem+json"),
        ("application/xml", "application/problem+xml"),
        ("application/atom+xml", "application/problem+xml"),
        ("application/fastinfoset", "application/problem+xml"),
    ] {
        assert_eq!(request(accept).header("content-type"), Some(kind), "{accept}");
    }
    let kind = request("*/*").json()["type"].as_str().unwrap().to_owned();
    let page = demo.client.follow(&kind, &[]);
    assert_eq!(
        (page.status, page.header("content-type")),
        (200, Some("text/html; charset=utf-8")),
        "{kind} links to its page"
    );
    assert!(page.text().contains("Invalid parameter"));
}

#[test]
fn validators() {
    let demo = Demo::shared();
    let request = |target: &str, headers: &[(&str, &str)]| {
        let mut all = vec![("ServicePSK", demo.key("alice"))];
        all.extend(headers);
        demo.client.get(target, &all)
    };
    let target = "/200909/activity/alice/tofrom?count=3";
    let mut tags = HashSet::new();
    for accept in FOUR {
        for coding in ["identity", "gzip", "br", "zstd"] {
            let request_headers = [("Accept", accept), ("Accept-Encoding", coding)];
            let answer = request(target, &request_headers);
            let tag = answer.header("etag").unwrap().to_owned();
            assert!(tag.starts_with("W/\""));
            let revalidated =
                request(target, &[request_headers[0], request_headers[1], ("If-None-Match", &tag)]);
            assert_eq!(
                (revalidated.status, revalidated.body.len(), revalidated.header("etag")),
                (304, 0, Some(tag.as_str()))
            );
            assert!(revalidated.link("updates").is_some() && revalidated.header("vary").is_some());
            assert!(tags.insert(tag), "entity tags differ by representation and coding");
        }
    }
    assert_eq!(request(target, &[("If-None-Match", "\"other\"")]).status, 200);
    assert_eq!(demo.client.get(target, &[("If-None-Match", "*")]).status, 401, "authentication comes first");
}

#[test]
fn all_content_codings_decode_to_the_same_bytes() {
    let demo = Demo::shared();
    let request = |coding: &str| {
        let headers =
            [("ServicePSK", demo.key("alice")), ("Accept", "application/json"), ("Accept-Encoding", coding)];
        demo.client.get("/200909/activity/alice/tofrom?count=50&start=5", &headers)
    };
    let plain = request("identity");
    assert_eq!(plain.header("content-encoding"), None);
    let activities = |body: &[u8]| serde_json::from_slice::<serde_json::Value>(body).unwrap();
    for coding in ["gzip", "br", "zstd"] {
        let coded = request(coding);
        assert_eq!(coded.header("content-encoding"), Some(coding));
        assert!(
            coded.body.len() * 3 < plain.body.len(),
            "{coding}: {} of {}",
            coded.body.len(),
            plain.body.len()
        );
        let mut decoded = Vec::new();
        match coding {
            "gzip" => {
                std::io::copy(&mut flate2::read::GzDecoder::new(&coded.body[..]), &mut decoded).unwrap();
            }
            "br" => brotli::BrotliDecompress(&mut &coded.body[..], &mut decoded).unwrap(),
            _ => decoded = zstd::stream::decode_all(&coded.body[..]).unwrap(),
        }
        assert_eq!(activities(&decoded), plain.json());
    }
    let small = demo.client.get(
        "/200909/activity/alice/tofrom?count=0",
        &[("ServicePSK", demo.key("alice")), ("Accept-Encoding", "gzip")],
    );
    assert_eq!(small.header("content-encoding"), None);
}

#[test]
fn head_is_get_without_a_body() {
    let demo = Demo::shared();
    let headers = [("ServicePSK", demo.key("alice")), ("Accept", "application/json")];
    let get = demo.client.get("/200909/activity/alice/tofrom", &headers);
    let head = demo.client.send("HEAD", "/200909/activity/alice/tofrom", &headers, &[]);
    assert_eq!((head.status, head.body.len()), (200, 0));
    for name in ["content-type", "content-length", "etag", "vary", "cache-control"] {
        assert_eq!(head.header(name), get.header(name), "{name}");
    }
}

#[test]
fn every_answer_has_the_common_headers() {
    let demo = Demo::shared();
    let mut ids = HashSet::new();
    for (method, target, key) in [
        ("GET", "/200909/activity/alice/tofrom", true),
        ("GET", "/200909/activity/alice/tofrom", false),
        ("GET", "/200909/activity/missing/tofrom", true),
        ("PATCH", "/200909/activity/alice/tofrom", true),
        ("GET", "/nowhere", false),
        ("GET", "/docs/categories", false),
    ] {
        let headers = if key { vec![("ServicePSK", demo.key("alice"))] } else { vec![] };
        let answer = demo.client.send(method, target, &headers, &[]);
        assert_eq!(answer.header("x-content-type-options"), Some("nosniff"), "{target}");
        assert_eq!(answer.header("vary"), Some("Accept, Accept-Encoding"), "{target}");
        assert!(answer.header("strict-transport-security").is_some(), "{target}");
        assert!(ids.insert(answer.header("x-request-id").unwrap().to_owned()));
    }
}

#[test]
fn too_long_requests_are_refused() {
    let demo = Demo::shared();
    let long = format!("/200909/activity/alice/tofrom?x={}", "y".repeat(9_000));
    assert_eq!(demo.client.get(&long, &[("ServicePSK", demo.key("alice"))]).status, 414);
    let wide = "y".repeat(40_000);
    let answer = demo.client.get("/200909/whoami", &[("ServicePSK", demo.key("alice")), ("X-Wide", &wide)]);
    assert_eq!(answer.status, 431);
}

#[test]
fn whoami() {
    let demo = Demo::shared();
    let consumer = demo.ready["consumer"]["key"].as_str().unwrap();
    let headers =
        [("ServicePSK", demo.key("bob")), ("Accept", "application/json"), ("ServiceConsumerKey", consumer)];
    let answer = demo.client.get("/200909/whoami", &headers).json();
    assert_eq!(answer["WhoAmI"]["Account"], "bob");
    assert_eq!(answer["WhoAmI"]["Method"], "psk");
    assert_eq!(answer["WhoAmI"]["Consumer"], consumer);
    let basic = demo.basic("bob", demo.password("bob"));
    let answer = demo
        .client
        .get("/200909/whoami", &[("Authorization", &basic), ("Accept", "application/json")])
        .json();
    assert_eq!(answer["WhoAmI"]["Method"], "basic");
    assert_eq!(answer["WhoAmI"]["Scopes"], "read write");
    assert!(answer["WhoAmI"].get("Consumer").is_none());
    let xml = demo.client.get("/200909/whoami", &[("ServicePSK", demo.key("bob"))]);
    assert!(xml.text().contains("<WhoAmI><Account>bob</Account>"), "{}", xml.text());
    let atom = [("ServicePSK", demo.key("bob")), ("Accept", "application/atom+xml")];
    assert_eq!(demo.client.get("/200909/whoami", &atom).status, 406);
}
