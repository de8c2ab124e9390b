//! HTML pages: CSRF protection, sessions, and visibility. Layout and behaviour are tested in a browser
//! (`interop/pages.rs`).

use super::access::example;
use super::support::browser::{Browser, Page};
use super::support::demo::Demo;
use super::support::external_site::ExternalSite;
use super::support::folder::Folder;
use web::{Access, ROUTES};

fn browser(demo: &Demo) -> Browser {
    Browser::new(&demo.client, &demo.client.base)
}

fn at(demo: &Demo, path: &str) -> String {
    format!("{}{path}", demo.client.base)
}

/// A browser with a signed-in account, and the first page after sign-in.
fn signed_in(demo: &Demo, name: &str) -> (Browser, Page) {
    let mut browser = browser(demo);
    let form = browser.visit(&at(demo, "/sign-in")).form("username").unwrap();
    let page = browser.submit(&form, &[("username", name), ("password", demo.password(name))]);
    assert_eq!(page.status(), 200, "{}", page.text());
    (browser, page)
}

#[test]
fn no_form_works_without_its_csrf_field() {
    let folder = Folder::new();
    let demo = Demo::start(folder.path(), &[]);
    let (person, page) = signed_in(&demo, "ops");
    let other = page.form("csrf").unwrap();
    let cookie = person.cookie.clone().unwrap();
    let (mut forms, kind) = (0, ("Content-Type", "application/x-www-form-urlencoded"));
    for route in ROUTES.iter().filter(|route| route.access == Access::Page) {
        let target = example(route.path);
        let send = |body: &str, headers: &[(&str, &str)]| {
            let all: Vec<_> = [&[kind, ("Cookie", cookie.as_str())][..], headers].concat();
            demo.client.send("POST", &target, &all, body.as_bytes()).status
        };
        let proof = format!("csrf={}", other.field("csrf").unwrap());
        // A missing field, an invented one, the field of another form, and another site.
        let mut tries =
            vec![send("", &[]), send("csrf=AAAA", &[]), send(&proof, &[("Origin", "https://evil.example")])];
        if other.action != target {
            tries.push(send(&proof, &[]));
        }
        let refused = tries.iter().all(|status| matches!(status, 400 | 403 | 404 | 405 | 422));
        assert!(refused, "{target}: {tries:?}");
        forms += usize::from(tries.iter().all(|status| *status != 405));
    }
    assert!(forms > 32, "{forms} forms");
    // After all of this nothing has changed: the session and all accounts are still there.
    let mut person = person;
    let accounts = person.visit(&at(&demo, "/operator/accounts")).text();
    assert!(accounts.contains("alice") && !accounts.contains("disabled"), "{accounts}");
}

#[test]
fn a_planted_session_cookie_is_never_adopted() {
    let demo = Demo::shared();
    let mut victim = browser(demo);
    let planted = "__Host-session=AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA";
    let form = victim.visit(&at(demo, "/sign-in")).form("username").unwrap();
    victim.cookie = Some(planted.to_owned());
    let page = victim.submit(&form, &[("username", "bob"), ("password", demo.password("bob"))]);
    assert_eq!(page.status(), 200);
    assert_ne!(victim.cookie.as_deref(), Some(planted));
    let line = page.set_cookies.last().unwrap();
    for part in ["Secure", "HttpOnly", "SameSite=Lax", "Path=/"] {
        assert!(line.contains(part), "{line}");
    }
    let mut attacker = browser(demo);
    attacker.cookie = Some(planted.to_owned());
    assert!(attacker.visit(&at(demo, "/feed")).form("password").is_some());

    // A new sign-in ends the earlier session.
    let before = victim.cookie.clone();
    let page = victim.submit(&form, &[("username", "bob"), ("password", demo.password("bob"))]);
    assert_eq!(page.status(), 200);
    let mut old = browser(demo);
    old.cookie = before;
    assert!(old.visit(&at(demo, "/feed")).form("password").is_some());
}

#[test]
fn a_wrong_password_is_reported_and_open_redirects_are_refused() {
    let demo = Demo::shared();
    let mut person = browser(demo);
    let form = person.visit(&at(demo, "/settings/keys?x=1")).form("username").unwrap();
    let page = person.submit(&form, &[("username", "bob"), ("password", "not bob's")]);
    assert_eq!(page.status(), 403);
    assert!(page.text().contains("Incorrect username or password"));
    assert_eq!(person.cookie, None);
    let page = person.submit(&form, &[("username", "bob"), ("password", demo.password("bob"))]);
    assert!(page.text().contains("Active keys"), "back to the requested page");
    let mut person = browser(demo);
    let site = [("then", "https://evil.example/"), ("username", "bob"), ("password", demo.password("bob"))];
    let page = person.submit(&form, &site);
    assert_eq!((page.status(), page.redirect_target()), (200, None));
}

#[test]
fn a_page_shows_exactly_what_the_api_does() {
    let demo = Demo::shared();
    let (mut bob, _) = signed_in(demo, "bob");
    // Alice is private, and ops is hidden from other accounts.
    for hidden in
        ["/user/alice", "/user/dave", "/user/missing", "/operator", "/operator/accounts", "/activity/x"]
    {
        assert_eq!(bob.visit(&at(demo, hidden)).status(), 404, "{hidden}");
    }
    let own = demo.read("alice", "alice", "from", "count=200");
    let (reaching, own) = (demo.read("bob", "bob", "tofrom", "count=200").ids(), own.ids());
    for id in own.iter().take(20) {
        let expected_status = if reaching.contains(id) { 200 } else { 404 };
        assert_eq!(bob.visit(&at(demo, &format!("/activity/{id}"))).status(), expected_status, "{id}");
    }
    let (mut alice, feed) = signed_in(demo, "alice");
    let shown = demo.alice("");
    for id in shown.ids() {
        assert!(feed.html().contains(&format!("id=\"a-{id}\"")), "{id}");
    }
    for filter in ["type=photo", "verb=liked&orderby=pubDate", "service=flickr&count=5"] {
        let page = alice.visit(&at(demo, &format!("/feed?{filter}")));
        let ids = demo.alice(filter).ids();
        assert_eq!(page.html().matches(" id=\"a-").count(), ids.len(), "{filter}");
        assert!(ids.iter().all(|id| page.html().contains(&format!("id=\"a-{id}\""))), "{filter}");
        for format in ["json", "xml", "atom", "fastinfoset"] {
            let target = format!("/feed/raw?{filter}&format={format}");
            let cookie = alice.cookie.clone().unwrap();
            let raw = demo.client.get(&target, &[("Cookie", &cookie)]);
            let api = demo.client.get(
                &format!("/200909/activity/alice/tofrom?{filter}&format={format}"),
                &[("ServicePSK", demo.key("alice"))],
            );
            assert_eq!((raw.status, raw.header("content-type")), (200, api.header("content-type")));
            assert_eq!(raw.header("etag"), api.header("etag"), "{target}");
        }
    }
    // A cookie is valid for pages only.
    let cookie = alice.cookie.clone().unwrap();
    assert_eq!(demo.client.get("/200909/whoami", &[("Cookie", &cookie)]).status, 401);
}

#[test]
fn pages_show_each_activity_once() {
    let demo = Demo::shared();
    let (mut alice, mut page) = signed_in(demo, "alice");
    let mut seen = Vec::new();
    loop {
        let ids = page.html().split(" id=\"a-").skip(1);
        seen.extend(ids.map(|rest| rest.split('"').next().unwrap().to_owned()));
        let Some((before, _)) = page.html().split_once("\" rel=\"next\">Older") else { break };
        let link = before.rsplit("href=\"").next().unwrap().replace("&#38;", "&");
        page = alice.visit(&at(demo, &link));
        assert_eq!(page.status(), 200);
    }
    let mut all = Vec::new();
    let mut answer = demo.alice("count=200");
    loop {
        all.extend(answer.ids());
        let Some(next) = answer.link("next") else { break };
        answer =
            demo.client.follow(&next, &[("ServicePSK", demo.key("alice")), ("Accept", "application/json")]);
    }
    let (mut seen_sorted, mut all_sorted) = (seen.clone(), all);
    seen_sorted.sort_unstable();
    all_sorted.sort_unstable();
    assert_eq!(seen_sorted, all_sorted);
}

#[test]
fn a_source_is_previewed_connected_paused_and_removed() {
    let site = ExternalSite::open();
    let demo = site.demo();
    site.belongs_to(&demo, "bob");
    let (mut bob, _) = signed_in(&demo, "bob");
    let list = |bob: &mut Browser| bob.visit(&at(&demo, "/settings/sources"));
    let form_to = |page: &Page, action: &str| {
        page.forms().into_iter().find(|form| form.action == action).unwrap_or_else(|| panic!("{action}"))
    };
    let preview_form = form_to(&list(&mut bob), "/settings/sources/preview");
    // A refusal gives its reason, and keeps the typed text.
    for (typed, why) in [
        ("nonsense", "This is not the address of a page or a feed"),
        ("http://127.0.0.3/x", "public"),
        ("ftp://example.org/", "http"),
    ] {
        let page = bob.submit(&preview_form, &[("address", typed)]);
        assert_eq!(page.status(), 422, "{typed}: {}", page.text());
        assert!(page.text().contains(why), "{typed}: {}", page.element("complaint").unwrap());
        assert_eq!(form_to(&page, "/settings/sources/preview").field("address"), Some(typed));
    }
    let page = bob.submit(&preview_form, &[("service", "GitHub"), ("person", "a/b")]);
    assert_eq!(page.status(), 422);
    assert!(page.text().contains("GitHub needs your name on GitHub."), "{}", page.text());

    let page = bob.submit(&preview_form, &[("address", &site.page())]);
    assert_eq!(page.status(), 200, "{}", page.text());
    assert!(page.text().contains("Low tide") && page.text().contains("And 3 more."), "{}", page.text());
    let connect = form_to(&page, "/settings/sources");
    let page = bob.submit(&connect, &[("name", "No Name")]);
    assert_eq!(page.status(), 422);
    assert!(page.text().contains("1 to 64 of a-z"), "{}", page.text());
    let page = bob.submit(&connect, &[("name", "tide")]);
    assert_eq!(page.status(), 200, "{}", page.text());
    for said in ["Connected.", "Low tide", "✓ verified", "tide"] {
        assert!(page.text().contains(said), "{said}: {}", page.text());
    }
    let feed = bob.visit(&at(&demo, "/user/bob"));
    assert!(feed.text().contains("Day 13 at the sea"));
    assert!(feed.html().contains(&format!("<a href=\"{}\" rel=\"me nofollow\">", site.page())));
    // Adding it again changes nothing, and adding it under another name is refused.
    let page = bob.submit(&preview_form, &[("address", &site.feed())]);
    assert!(page.text().contains("already connected"), "{}", page.text());

    let act = |bob: &mut Browser, button: &str, fields: &[(&str, &str)]| {
        let form = form_to(&list(bob), &format!("/settings/sources/tide/{button}"));
        let page = bob.submit(&form, fields);
        assert_eq!(page.status(), 200, "{button}: {}", page.text());
        page.text()
    };
    assert!(act(&mut bob, "check", &[]).contains("nothing new"));
    assert!(act(&mut bob, "pause", &[]).contains("‖ paused"));
    assert!(act(&mut bob, "resume", &[]).contains("Resumed."));
    assert!(act(&mut bob, "remove", &[("brought", "delete")]).contains("No connected sources."));
    assert!(!bob.visit(&at(&demo, "/user/bob")).text().contains("at the sea"));
    for action in ["check", "pause", "resume", "remove"] {
        let form = form_to(&list(&mut bob), "/settings/sources/preview");
        // The CSRF field of one form is invalid for another.
        let form =
            super::support::browser::Form { action: format!("/settings/sources/tide/{action}"), ..form };
        assert_eq!(bob.submit(&form, &[]).status(), 403, "{action}");
    }
}

#[test]
fn feed_lists_are_exported_and_imported() {
    let site = ExternalSite::open();
    let demo = site.demo();
    let (mut bob, page) = signed_in(&demo, "bob");
    let other_csrf = page.form("csrf").unwrap().field("csrf").unwrap().to_owned();
    let page = bob.visit(&at(&demo, "/settings/sources"));
    let forms = page.forms();
    let form = forms.iter().find(|form| form.action == "/settings/sources/opml").unwrap();
    let cookie = bob.cookie.clone().unwrap();
    let send = |proof: &str, list: &str| {
        let part = |name: &str, text: &str| {
            format!("--x\r\nContent-Disposition: form-data; name=\"{name}\"\r\n\r\n{text}\r\n")
        };
        let body = format!("{}{}--x--\r\n", part("csrf", proof), part("list", list));
        let headers = [("Cookie", cookie.as_str()), ("Content-Type", "multipart/form-data; boundary=x")];
        demo.client.send("POST", &form.action, &headers, body.as_bytes())
    };
    let outline = |address: &str| format!("<outline type=\"rss\" text=\"x\" xmlUrl=\"{address}\"/>");
    let many: String = (0..120).map(|number| outline(&format!("{}?{number}", site.feed()))).collect();
    let list = format!("<opml version=\"2.0\"><body>{}{many}</body></opml>", outline("http://10.0.0.1/feed"));
    assert_eq!(send(&other_csrf, &list).status, 403);
    assert_eq!(send(form.field("csrf").unwrap(), "no list").status, 422);
    let answer = send(form.field("csrf").unwrap(), &list);
    assert_eq!(answer.status, 200, "{}", answer.text());
    assert!(answer.text().contains("99 connected, 1 failed"), "{}", answer.text());
    assert!(answer.text().contains("21 skipped: at most 100"), "{}", answer.text());
    let repeated = send(form.field("csrf").unwrap(), &list);
    assert!(repeated.text().contains("0 connected, 99 already connected"), "{}", repeated.text());
    let exported = demo.client.get("/settings/sources/opml", &[("Cookie", &cookie)]);
    assert_eq!(exported.header("content-type"), Some("text/x-opml; charset=utf-8"));
    assert_eq!(exported.header("content-disposition"), Some("attachment; filename=\"bob.opml\""));
    assert_eq!(exported.text().matches("xmlUrl=").count(), 99, "{}", exported.text());
}

/// The form of a page that posts to an address with this end.
fn form_to(page: &Page, end: &str) -> super::support::browser::Form {
    page.forms()
        .into_iter()
        .find(|form| form.action.ends_with(end))
        .unwrap_or_else(|| panic!("no form {end}"))
}

#[test]
fn people_block_mute_and_remove_on_pages() {
    let folder = Folder::new();
    let demo = Demo::start(folder.path(), &[]);
    let (mut person, _) = signed_in(&demo, "bob");
    let carol = at(&demo, "/user/carol");
    let page = person.visit(&carol);
    let muted = person.submit(&form_to(&page, "/user/carol/mute"), &[]);
    assert!(muted.text().contains("Muted."), "{}", muted.text());
    let unmuted = person.submit(&form_to(&muted, "/user/carol/unmute"), &[]);
    assert!(unmuted.text().contains("Unmuted."), "{}", unmuted.text());

    let people = person.visit(&at(&demo, "/settings/people"));
    let people = person.submit(&form_to(&people, "/user/carol/remove-follower"), &[]);
    assert!(people.text().contains("Follower removed."), "{}", people.text());
    let page = person.visit(&carol);
    let blocked = person.submit(&form_to(&page, "/user/carol/block"), &[]);
    assert!(blocked.text().contains("Blocked.") && !blocked.html().contains("/user/carol/follow\""));
    let (mut other, _) = signed_in(&demo, "carol");
    assert_eq!(other.visit(&at(&demo, "/user/bob")).status(), 404);
    let people = person.visit(&at(&demo, "/settings/people"));
    let people = person.submit(&form_to(&people, "/user/carol/unblock"), &[]);
    assert!(people.text().contains("Unblocked."), "{}", people.text());
    assert_eq!(other.visit(&at(&demo, "/user/bob")).status(), 200);

    let profile = person.visit(&at(&demo, "/settings"));
    let choices = [("Public", "true"), ("AddressableBy", "following")];
    let saved = person.submit(&form_to(&profile, "/settings/profile"), &choices);
    assert!(saved.html().contains("value=\"following\" checked"), "{}", saved.text());
}
