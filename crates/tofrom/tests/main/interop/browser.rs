//! The authorize page in Debian's Chromium, driven by playwright: see `tests/clients/browser_flow.js`.
//!
//! `PAGE_PICTURES` names a folder for screenshots.

use super::super::support::demo::Demo;
use super::super::support::folder::Folder;
use super::oauth_clients::{client, client_parameters, lines, register};
use serde_json::json;
use std::path::PathBuf;

/// Markup, and a word that is wider than a phone.
const LONG_NAME: &str = "Photographs & <b>other</b> things, on \
                         awallwithoutanyspaceinitsnamewhichgoesonandonuntiltheverylastcharacter";

#[test]
fn the_authorize_page_works_in_a_browser() {
    let demo = Demo::shared();
    let mut parameters = client_parameters();
    parameters["application"] = json!("Demo reader");
    parameters["passwords"] = json!({ "alice": demo.password("alice"), "bob": demo.password("bob") });
    parameters["long_consumer"] = register(LONG_NAME, "oob", &[]);
    let folder = Folder::new();
    let pictures = std::env::var_os("PAGE_PICTURES").map(PathBuf::from);
    let pictures = pictures.as_deref().unwrap_or(folder.path());
    std::fs::create_dir_all(pictures).unwrap();
    let printed = lines(client("browser_flow.js").arg(folder.path()).arg(pictures), &parameters);
    let expected = [
        "a wrong password",
        "signed in",
        "another account",
        "denied",
        "allowed",
        "out of band",
        "out of band, denied",
        "by keyboard",
        "nothing complained",
        "nothing to decide",
    ];
    assert_eq!(printed, expected.map(str::to_owned).into());
}
