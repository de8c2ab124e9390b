//! `ActivityUrl`: one address for people and programs.

use super::support::browser::{ACCEPT, Browser};
use super::support::client::Answer;
use super::support::demo::Demo;
use super::support::tree;
use serde_json::Value;

const FOUR: [&str; 4] =
    ["application/xml", "application/atom+xml", "application/json", "application/fastinfoset"];
const UNKNOWN: &str = "018bcfe5-6800-7000-8000-000000000000";

fn read(demo: &Demo, id: &str, headers: &[(&str, &str)]) -> Answer {
    demo.client.get(&format!("/activity/{id}"), headers)
}

/// The newest activity of an account.
fn newest(demo: &Demo, who: &str) -> Value {
    demo.read(who, who, "from", "count=1").activities().remove(0)
}

fn id_of(activity: &Value) -> &str {
    activity["ActivityIdentifier"].as_str().unwrap()
}

#[test]
fn a_program_gets_the_activity_in_the_requested_representation() {
    let demo = Demo::shared();
    let activity = newest(demo, "alice");
    let (id, key) = (id_of(&activity), ("ServicePSK", demo.key("alice")));
    let basic = demo.basic("alice", demo.password("alice"));
    let mut xml = None;
    for kind in FOUR {
        let answer = read(demo, id, &[key, ("Accept", kind)]);
        assert_eq!((answer.status, answer.header("content-type")), (200, Some(kind)));
        assert_eq!(answer.header("cache-control"), Some("private, no-cache"));
        assert_eq!(answer.header("vary"), Some("Accept, Accept-Encoding, Authorization, ServicePSK"));
        let tag = answer.header("etag").unwrap();
        let known = read(demo, id, &[key, ("Accept", kind), ("If-None-Match", tag)]);
        assert_eq!((known.status, known.header("etag"), known.body.len()), (304, Some(tag), 0));
        for name in ["cache-control", "vary"] {
            assert_eq!(known.header(name), answer.header(name));
        }
        let head = demo.client.send("HEAD", &format!("/activity/{id}"), &[key, ("Accept", kind)], &[]);
        assert_eq!((head.status, head.header("etag"), head.body.len()), (200, Some(tag), 0));
        match kind {
            "application/json" => {
                assert_eq!(answer.json(), activity, "as in the collection, without a wrapper")
            }
            "application/atom+xml" => {
                let root = tree::of_xml(&answer.body).name;
                assert!(root.is("http://www.w3.org/2005/Atom", "entry"), "{root:?}");
            }
            "application/xml" => xml = Some(tree::of_xml(&answer.body)),
            _ => assert_eq!(Some(tree::of_fast_infoset(&answer.body)), xml),
        }
    }
    assert!(xml.is_some_and(|root| root.name.is("", "Activity")));
    // A credential makes it a program's request, even with a browser's `Accept`.
    for headers in [vec![key], vec![("Authorization", basic.as_str())], vec![key, ("Accept", ACCEPT)]] {
        let answer = read(demo, id, &headers);
        assert_eq!((answer.status, answer.header("content-type")), (200, Some(FOUR[0])), "{headers:?}");
    }
    let by_format = read(demo, &format!("{id}?format=json"), &[key, ("Accept", "text/html")]);
    assert_eq!((by_format.status, by_format.json()), (200, activity.clone()));
    for shut_out in ["text/html", "image/png"] {
        let answer = read(demo, id, &[key, ("Accept", shut_out)]);
        assert_eq!(answer.status, 406, "{shut_out}");
        assert!(FOUR.iter().all(|kind| answer.text().contains(kind)), "{}", answer.text());
    }
    assert_eq!(read(demo, &format!("{id}?format=html"), &[key]).status, 400);
    assert_eq!(read(demo, id, &[key, ("Authorization", &basic)]).status, 400, "two credentials");
    let put = demo.client.send("PUT", &format!("/activity/{id}"), &[key], &[]);
    assert_eq!((put.status, put.header("allow")), (405, Some("GET, HEAD")));
}

#[test]
fn without_a_credential_it_is_401_unless_html_is_preferred() {
    let demo = Demo::shared();
    let own = newest(demo, "alice");
    let mut browser = Browser::new(&demo.client, &demo.client.base);
    let form = browser.visit(&format!("{}/sign-in", demo.client.base)).form("username").unwrap();
    browser.submit(&form, &[("username", "alice"), ("password", demo.password("alice"))]);
    let cookie = browser.cookie.clone().unwrap();
    for id in [id_of(&own), UNKNOWN, "x", "%FF"] {
        let accepts = FOUR.iter().copied().chain(["*/*", "image/png", "text/html;q=0.5, application/json"]);
        for accept in accepts {
            // A cookie is no credential for programs.
            let answer = read(demo, id, &[("Accept", accept), ("Cookie", &cookie)]);
            assert_eq!((answer.status, answer.all("www-authenticate").len()), (401, 2), "{id} {accept}");
            assert_eq!(answer.header("vary"), Some("Accept, Accept-Encoding, Authorization, ServicePSK"));
        }
        assert_eq!(read(demo, id, &[]).json()["reason"], "missing");
        let format = read(demo, &format!("{id}?format=xml"), &[("Accept", "text/html"), ("Cookie", &cookie)]);
        assert_eq!(format.status, 401);
        let wrong = read(demo, id, &[("ServicePSK", "tfk_wrong"), ("Accept", ACCEPT), ("Cookie", &cookie)]);
        assert!(wrong.status == 401 && wrong.text().contains("bad-credentials"), "{}", wrong.text());
    }

    let page = browser.visit(&format!("{}/activity/{}", demo.client.base, id_of(&own)));
    assert_eq!((page.status(), page.answer.header("content-type")), (200, Some("text/html; charset=utf-8")));
    let vary = page.answer.header("vary");
    assert_eq!(vary, Some("Accept, Accept-Encoding, Authorization, ServicePSK, Cookie"));
    for id in [UNKNOWN, "x", "%FF"] {
        let page = browser.visit(&format!("{}/activity/{id}", demo.client.base));
        assert_eq!(
            (page.status(), page.answer.header("content-type")),
            (404, Some("text/html; charset=utf-8"))
        );
    }
    for id in [id_of(&own), UNKNOWN] {
        let sent = read(demo, id, &[("Accept", ACCEPT)]);
        assert_eq!(sent.status, 303);
        assert!(sent.header("location").unwrap().starts_with(&format!("{}/sign-in?then=", demo.client.base)));
    }
}

#[test]
fn a_caller_sees_the_same_activities_as_in_a_collection() {
    let demo = Demo::shared();
    let status = |who: &str, id: &str| {
        read(demo, id, &[("ServicePSK", demo.key(who)), ("Accept", "application/json")]).status
    };
    let all = |who: &str, query: &str| demo.read(who, who, query, "count=200").ids();
    let absent = |id: &str| {
        let answer = read(demo, id, &[("ServicePSK", demo.key("bob")), ("Accept", "application/json")]);
        let mut names: Vec<String> = answer.headers.iter().map(|(name, _)| name.clone()).collect();
        names.sort();
        (answer.status, names, answer.json())
    };
    // Alice is private: bob finds only those of her activities that reach him.
    let reaching = all("bob", "tofrom");
    let mut hidden = 0;
    for id in all("alice", "from").iter().take(30) {
        assert_eq!((status("alice", id), status("ops", id)), (200, 200), "{id}");
        if reaching.contains(id) {
            assert_eq!(status("bob", id), 200, "{id}");
        } else {
            assert_eq!(absent(id), absent(UNKNOWN), "{id}");
            hidden += 1;
        }
    }
    assert!(hidden > 0);
    assert_eq!(absent(UNKNOWN).0, 404);
    // Bob is public: another reader finds the activities that his collection shows to all, and those that reach the
    // reader besides.
    let (shown, mine) = (demo.read("ops", "bob", "from", "count=200").ids(), all("carol", "tofrom"));
    let public = demo.read("carol", "bob", "from", "count=200").ids();
    for id in shown.iter().take(60) {
        let expected_status = if public.contains(id) || mine.contains(id) { 200 } else { 404 };
        assert_eq!(status("carol", id), expected_status, "{id}");
    }
}
