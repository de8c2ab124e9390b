//! The HTML pages in Debian's Chromium, driven by playwright: see `tests/clients/pages_flow.js`; and their markup in
//! the W3C validator.
//!
//! `PAGES_CONFIG` names the settings file of a cluster, where the same flow runs; without it the demo is on one machine.
//! `PAGE_PICTURES` names a folder for screenshots. `scripts/pictures` takes those of the documentation.

use super::super::support::demo::Demo;
use super::super::support::external_site::ExternalSite;
use super::super::support::folder::Folder;
use super::oauth_clients::{cached, client_of, lines};
use serde_json::{Value, json};
use std::path::{Path, PathBuf};
use std::process::Command;

const PEOPLE: [&str; 5] = ["alice", "bob", "carol", "frank", "ops"];

#[test]
fn the_pages_work_in_a_browser() {
    let folder = Folder::new();
    // A separate demo, because the flow changes accounts; and a separate server for its sources.
    let site = ExternalSite::open();
    let demo = site.demo();
    site.belongs_to(&demo, "frank");
    let (home, markup) = (folder.path().join("home"), folder.path().join("markup"));
    let pictures = std::env::var_os("PAGE_PICTURES").map(PathBuf::from);
    let pictures = pictures.unwrap_or_else(|| folder.path().join("pictures"));
    for made in [&home, &markup, &pictures] {
        std::fs::create_dir_all(made).unwrap();
    }
    let mut flow = client_of(&demo, "pages_flow.js");
    let printed = lines(flow.arg(&home).arg(&pictures).arg(&markup), &parameters(&demo, &site));
    let expected = [
        "every page",
        "a key",
        "an application",
        "a hook",
        "a second factor",
        "a profile",
        "an account, from its beginning to its end",
        "first steps",
        "posting",
        "search",
        "sources",
        "live",
        "unread",
        "hostile words",
        "by keyboard",
        "without script",
        "on a phone",
        "days",
        "shortcuts",
        "files",
    ];
    assert_eq!(printed, expected.map(str::to_owned).into());
    assert_valid(&markup);
}

/// The addresses and passwords that the browser needs.
fn parameters(demo: &Demo, site: &ExternalSite) -> Value {
    let passwords: Value =
        PEOPLE.iter().map(|name| ((*name).to_owned(), json!(demo.password(name)))).collect();
    json!({
        "base": demo.ready["base_url"],
        "ca": demo.ready["ca_cert"],
        "passwords": passwords,
        "write_key": demo.key("alice"),
        "cluster": std::env::var_os("PAGES_CONFIG").is_some(),
        "elsewhere": { "page": site.page(), "feed": site.feed(), "photo": site.photo() },
    })
}

#[test]
#[ignore = "takes the pictures of the documentation, for scripts/pictures"]
fn the_pages_are_pictured() {
    let folder = Folder::new();
    let site = ExternalSite::open();
    let demo = site.demo();
    site.belongs_to(&demo, "frank");
    let home = folder.path().join("home");
    std::fs::create_dir_all(&home).unwrap();
    let pictures = PathBuf::from(std::env::var_os("PAGE_PICTURES").expect("PAGE_PICTURES"));
    let mut taken = client_of(&demo, "page_pictures.js");
    let names = lines(taken.arg(&home).arg(&pictures), &parameters(&demo, &site));
    for name in names {
        assert!(pictures.join(format!("{name}.png")).exists(), "{name}");
    }
}

/// Runs the W3C validator on all pages in that folder.
fn assert_valid(markup: &Path) {
    let validator = cached("clients/node_modules/vnu-jar/build/dist/vnu.jar");
    let run =
        Command::new("java").arg("-jar").arg(validator).arg("--errors-only").arg(markup).output().unwrap();
    assert!(run.status.success(), "{}", String::from_utf8_lossy(&run.stderr));
}
