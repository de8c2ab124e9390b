//! The second factor and the fresh sign-in, on pages.

use super::interop::oauth_clients::cached;
use super::oauth::service::{BASE, Service, password_of};
use super::support::browser::{Browser, Page};
use super::support::folder::Folder;
use std::process::Command;
use std::time::{SystemTime, UNIX_EPOCH};

fn at(path: &str) -> String {
    format!("{BASE}{path}")
}

fn start(settings: &str) -> Service {
    let service = Service::start(Folder::new(), settings, "info");
    service.add_account("alice", &[]);
    service.add_account("ops", &["--operator"]);
    service
}

/// The page after the password.
fn give_password(browser: &mut Browser, name: &str) -> Page {
    let form = browser.visit(&at("/sign-in")).form("username").unwrap();
    browser.submit(&form, &[("username", name), ("password", &password_of(name))])
}

fn signed_in(service: &Service, name: &str) -> Browser {
    let mut browser = service.browser();
    let page = give_password(&mut browser, name);
    assert_eq!(page.status(), 200, "{}", page.text());
    browser
}

/// Submits the form of a page that posts to `path`.
fn submit(browser: &mut Browser, page: &str, path: &str, fields: &[(&str, &str)]) -> Page {
    let page = browser.visit(&at(page));
    let form = page.forms().into_iter().find(|form| form.action.ends_with(path));
    browser.submit(&form.unwrap_or_else(|| panic!("no form {path}: {}", page.text())), fields)
}

fn seconds() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs()
}

/// The code of Debian's oathtool.
fn oathtool(secret: &str, at: u64) -> String {
    let now = format!("@{at}");
    let run = Command::new("oathtool").args(["--totp", "--base32", "--now", &now, secret]).output();
    let run = run.expect("run scripts/setup, which installs oathtool");
    assert!(run.status.success(), "{}", String::from_utf8_lossy(&run.stderr));
    String::from_utf8(run.stdout).unwrap().trim().to_owned()
}

/// The code of PyPI's pyotp.
fn pyotp(secret: &str, at: u64) -> String {
    let script = format!("import pyotp; print(pyotp.TOTP({secret:?}).at({at}))");
    let run = Command::new(cached("python/bin/python")).args(["-c", &script]).output().unwrap();
    assert!(run.status.success(), "{}", String::from_utf8_lossy(&run.stderr));
    String::from_utf8(run.stdout).unwrap().trim().to_owned()
}

/// Sets up the second factor; returns its secret and the recovery codes.
fn set_up(browser: &mut Browser) -> (String, Vec<String>) {
    let page = submit(browser, "/settings/security", "/settings/second-factor", &[]);
    let secret: String = page.element("secret").unwrap().split_whitespace().collect();
    assert!(page.html().contains("<svg") && !page.html().contains("otpauth:"), "{}", page.html());
    let form = page.form("setup").unwrap();
    let wrong = browser.submit(&form, &[("code", "000000")]);
    assert_eq!(wrong.status(), 403);
    assert_eq!(wrong.element("secret").unwrap().split_whitespace().collect::<String>(), secret);
    // The step before this one is accepted too, so two more codes are left for the sign-ins of a test.
    let done = browser.submit(&form, &[("code", &oathtool(&secret, seconds() - 30))]);
    assert_eq!(done.status(), 200, "{}", done.text());
    let codes = done.html().split("class=\"recovery\"").skip(1);
    let codes = codes.map(|rest| rest.split(['>', '<']).nth(1).unwrap().to_owned()).collect();
    (secret, codes)
}

#[test]
fn signing_in_needs_a_code_of_oathtool_or_pyotp() {
    let service = start("");
    let (secret, recovery) = set_up(&mut signed_in(&service, "alice"));
    assert_eq!(recovery.len(), 10);
    assert_eq!(oathtool(&secret, 1_111_111_109), pyotp(&secret, 1_111_111_109));

    let codes: [fn(&str, u64) -> String; 2] = [oathtool, pyotp];
    for (ahead, code_of) in [0, 30].into_iter().zip(codes) {
        let mut browser = service.browser();
        let page = give_password(&mut browser, "alice");
        assert!(browser.cookie.is_none() && page.status() == 200, "{}", page.text());
        let form = page.form("pending").unwrap();
        let refused = browser.submit(&form, &[("code", "000000")]);
        assert_eq!((refused.status(), browser.cookie.is_some()), (403, false));
        let code = code_of(&secret, seconds() + ahead);
        let done = browser.submit(&form, &[("code", &code)]);
        assert!(done.status() == 200 && browser.cookie.is_some(), "{}", done.text());
        let again = service.browser().submit(&form, &[("code", &code)]);
        assert_eq!(again.status(), 403, "a code counts once");
    }
    let mut browser = service.browser();
    let form = give_password(&mut browser, "alice").form("pending").unwrap();
    assert_eq!(browser.submit(&form, &[("code", &recovery[0])]).status(), 200);
    assert_eq!(service.browser().submit(&form, &[("code", &recovery[0])]).status(), 403);
    let security = browser.visit(&at("/settings/security")).text();
    assert!(security.contains("9 of 10 recovery codes"), "{security}");
    assert!(security.contains("second-factor-added") && security.contains("sign-in-refused"), "{security}");

    let file = std::fs::read(service.file("tofrom.db")).unwrap();
    for text in [secret.as_str(), &recovery[1], &recovery[1].replace('-', "")] {
        assert!(!file.windows(text.len()).any(|window| window == text.as_bytes()), "{text} is in the store");
    }
    service.run(&["account", "set", "alice", "--second-factor-reset"], "");
    assert!(give_password(&mut service.browser(), "alice").form("pending").is_none());
}

#[test]
fn an_account_with_it_may_refuse_basic() {
    let service = start("");
    let mut browser = signed_in(&service, "alice");
    set_up(&mut browser);
    let status = || {
        use base64::Engine;
        let pair = format!("alice:{}", password_of("alice"));
        let basic = format!("Basic {}", base64::engine::general_purpose::STANDARD.encode(pair));
        let answer = service
            .client
            .get("/social/200909/whoami", &[("Authorization", &basic), ("Accept", "application/json")]);
        (answer.status, answer.json()["reason"].as_str().map(str::to_owned))
    };
    assert_eq!(status().0, 200);
    let basic = "/settings/second-factor/basic";
    assert_eq!(submit(&mut browser, "/settings/security", basic, &[("refuse", "1")]).status(), 200);
    assert_eq!(status(), (401, Some("bad-credentials".to_owned())));
    submit(&mut browser, "/settings/security", "/settings/second-factor/remove", &[]);
    assert_eq!(status().0, 200);
}

#[test]
fn operator_pages_need_it_if_the_settings_say_so() {
    let service = start("operators_need_second_factor = true");
    let mut browser = signed_in(&service, "ops");
    let page = browser.visit(&at("/operator/accounts"));
    assert!(
        page.text().contains("Operators of this server need two-factor authentication"),
        "{}",
        page.text()
    );
    assert!(page.form("old").is_some(), "the security page");
    set_up(&mut browser);
    assert!(browser.visit(&at("/operator/accounts")).text().contains("alice"));
}

/// The session's sign-in is moved into the past in the store: a test cannot wait 15 minutes.
#[test]
fn dangerous_changes_need_a_fresh_sign_in() {
    let service = start("");
    let mut browser = signed_in(&service, "ops");
    let store = rusqlite::Connection::open(service.file("tofrom.db")).unwrap();
    let age = || store.execute("UPDATE session SET created_ms = created_ms - 900001", []).unwrap();
    let application = [("name", "App"), ("callback", "oob")];
    for (page, path, fields) in [
        ("/settings/keys", "/settings/keys", &[("name", "laptop"), ("scope", "read")][..]),
        ("/settings/applications", "/settings/applications", &application),
        ("/settings/security", "/settings/second-factor", &[]),
        ("/operator/accounts", "/operator/invite", &[]),
        ("/operator/accounts", "/operator/accounts/alice/disable", &[]),
        ("/operator/accounts", "/operator/accounts/alice/reset", &[]),
    ] {
        age();
        let asked = submit(&mut browser, page, path, fields);
        assert!(asked.text().contains("Confirm your password"), "{path}: {}", asked.text());
        let form = asked.form("password").unwrap();
        assert_eq!(form.field("then"), Some(page));
        let before = browser.cookie.clone();
        assert_eq!(browser.submit(&form, &[("password", "wrong")]).status(), 403);
        let back = browser.submit(&form, &[("password", &password_of("ops"))]);
        assert_eq!(back.status(), 200, "{}", back.text());
        assert_ne!(browser.cookie, before, "a new session");
        let done = submit(&mut browser, page, path, fields);
        assert!(matches!(done.status(), 200 | 201), "{path}: {}", done.text());
        assert!(!done.text().contains("Confirm your password"), "{path}");
    }
    let (keys, invitations): (i64, i64) = store
        .query_row(
            "SELECT (SELECT count(*) FROM key), (SELECT count(*) FROM ticket WHERE reset IS NULL)",
            [],
            |row| Ok((row.get(0)?, row.get(1)?)),
        )
        .unwrap();
    assert_eq!((keys, invitations), (1, 1), "a refused form changes nothing");
    // Reading and harmless changes do not need one.
    age();
    assert!(browser.visit(&at("/operator/accounts")).text().contains("alice"));
    assert!(
        !submit(&mut browser, "/settings", "/settings/profile", &[]).text().contains("Confirm your password")
    );
}
