//! Key rotation: a new secret key is put before the old one. Data sealed by the old key still opens; new data is sealed
//! by the new key.

use super::super::support::folder::Folder;
use super::application::App;
use super::service::Service;

const OLD: &str = "0000000000000000000000000000000000000000000000000000000000000001";
const NEW: &str = "0000000000000000000000000000000000000000000000000000000000000002";

fn start(folder: Folder, keys: &[&str]) -> Service {
    Service::start(folder, &format!("secret_keys = {keys:?}"), "info")
}

#[test]
fn a_rotated_key_opens_old_data_and_seals_new_data() {
    let service = start(Folder::new(), &[OLD]);
    service.add_account("alice", &[]);
    let old_app = App::register(&service, "Old", "http://localhost/cb", &[]);
    let old_token = old_app.token_of("alice");
    let (allowed, verifier) = old_app.allowed("alice");
    let old_pair = old_app.pair.clone();
    let (folder, _) = service.stop();

    let service = start(folder, &[NEW, OLD]);
    let client = &service.client;
    let new_app = App::register(&service, "New", "http://localhost/cb", &[]);
    let old_app = App { pair: old_pair.clone(), ..new_app.clone() };
    assert_eq!(old_app.whoami(&old_token).send(client).status, 200, "an old token");
    let exchanged = old_app.exchange(&allowed, &verifier).send(client);
    assert_eq!(exchanged.status, 200, "temporary credentials from before the rotation");
    let (new_of_old, new_of_new) = (old_app.token_of("alice"), new_app.token_of("alice"));
    assert_eq!(old_app.whoami(&new_of_old).send(client).status, 200);
    assert_eq!(new_app.whoami(&new_of_new).send(client).status, 200);
    let new_pair = new_app.pair.clone();
    let (folder, log) = service.stop();
    assert!(!log.contains(OLD) && !log.contains(NEW) && !log.contains("\"ERROR\""), "{log}");

    // Without the old key, new data opens and old data does not.
    let service = start(folder, &[NEW]);
    let client = &service.client;
    let app = |pair: &super::super::support::signer::Pair| App {
        service: &service,
        pair: pair.clone(),
        callback: "http://localhost/cb".to_owned(),
        how: "HMAC-SHA1",
        location: super::super::support::signer::ParameterLocation::Header,
        rsa_key: None,
    };
    assert_eq!(app(&new_pair).whoami(&new_of_new).send(client).status, 200);
    let lost = app(&old_pair).whoami(&old_token).send(client);
    assert_eq!(lost.status, 500, "it is a server error: {}", lost.text());
    let (_, log) = service.stop();
    assert!(log.contains("secret_keys"), "the log names the setting: {log}");
}
