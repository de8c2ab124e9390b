//! The same over HTTP/2, through curl.

use super::support::demo::Demo;
use std::process::Command;

fn curl(demo: &Demo, arguments: &[&str]) -> String {
    let output = Command::new("curl")
        .args(["-sS", "--http2", "--max-time", "30", "--cacert", demo.ready["ca_cert"].as_str().unwrap()])
        .args(arguments)
        .arg(format!("{}/200909/activity/alice/tofrom", demo.client.base))
        .output()
        .expect("curl is needed; scripts/setup installs it");
    assert!(output.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

#[test]
fn a_page_is_served_over_http2() {
    let demo = Demo::shared();
    let key = format!("ServicePSK: {}", demo.key("alice"));
    let answer = curl(demo, &["-i", "-G", "-d", "count=2", "-H", &key, "-H", "Accept: application/json"]);
    assert!(answer.starts_with("HTTP/2 200"), "{answer}");
    assert_eq!(answer.matches("ActivityIdentifier").count(), 2);
    let by_form = curl(demo, &["-X", "GET", "-d", "count=2", "-H", &key, "-H", "Accept: application/json"]);
    assert!(answer.ends_with(&by_form));
}

/// An answer sent before the request's body arrives must still reach the client.
#[test]
fn an_early_answer_is_not_lost() {
    let demo = Demo::shared();
    let key = format!("ServicePSK: {}", demo.key("alice"));
    for _ in 0..15 {
        assert!(curl(demo, &["-d", "count=4", "-H", &key]).contains("-G"));
        assert!(curl(demo, &["-X", "GET", "-d", "count=4"]).contains("missing"));
    }
}

#[test]
fn a_304_has_no_content_length() {
    let demo = Demo::shared();
    let key = format!("ServicePSK: {}", demo.key("alice"));
    let answer = curl(demo, &["-i", "-H", &key, "-H", "If-None-Match: *"]);
    assert!(answer.starts_with("HTTP/2 304"), "{answer}");
    assert!(!answer.contains("content-length"), "{answer}");
}
