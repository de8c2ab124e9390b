//! RSA-SHA1 with the key that the application registered.

use super::super::support::signer::Pair;
use super::answers::{not_signed_by, refused};
use super::application::App;
use super::service::{Service, fixture};
use std::path::PathBuf;
use std::process::Command;

/// A private key file and its public key file.
fn keys(service: &Service, name: &str) -> [PathBuf; 2] {
    let [private, public] = ["private", "public"].map(|half| service.file(&format!("{name}-{half}.pem")));
    let openssl = |arguments: &[&str]| {
        let run = Command::new("openssl").args(arguments).output().unwrap();
        assert!(run.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&run.stderr));
    };
    let [from, to] = [&private, &public].map(|file| file.to_str().unwrap());
    openssl(&["genrsa", "-out", from, "2048"]);
    openssl(&["rsa", "-in", from, "-pubout", "-out", to]);
    [private, public]
}

#[test]
fn only_the_registered_key_signs() {
    let (service, client) = (fixture().service, &fixture().service.client);
    let [[private, public], [stranger, _]] = [keys(service, "own"), keys(service, "stranger")];
    let registered = ["--rsa-key", public.to_str().unwrap()];
    let app = App::register(service, "Key holder", "http://localhost/cb", &registered);
    let holder = App { rsa_key: Some(private.clone()), ..app.clone() };
    let token = holder.token_of("alice");
    let answer = holder.whoami(&token).query("a=%2B&a=&b=+").send(client);
    assert_eq!((answer.status, &answer.json()["WhoAmI"]["Account"]), (200, &"alice".into()));

    not_signed_by(&App { rsa_key: Some(stranger), ..app.clone() }.temporary_request().send(client));
    let keyless = App { rsa_key: Some(private), ..fixture().app.clone() }.temporary_request().send(client);
    refused(&keyless, 400, "malformed", "signature_method_rejected");
    // The public key is no secret: neither it nor the empty string works as an HMAC secret.
    let public = std::fs::read_to_string(public).unwrap();
    for how in ["HMAC-SHA1", "HMAC-SHA256", "PLAINTEXT"] {
        for secret in ["", public.as_str(), public.trim()] {
            let pair = Pair::new(&app.pair.key, secret);
            not_signed_by(&App { how, pair, ..app.clone() }.temporary_request().send(client));
        }
    }
    let mut sent = holder.whoami(&token).query("a=1").sign();
    sent.target = sent.target.replace("a=1", "a=2");
    not_signed_by(&sent.send(client));
}
