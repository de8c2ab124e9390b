//! Settings from all places, and what is said about wrong ones.

use super::*;

fn gather(file: &str, environment: &[(&str, &str)]) -> Result<RawConfig, ConfigError> {
    use std::sync::atomic::{AtomicUsize, Ordering};
    static NUMBER: AtomicUsize = AtomicUsize::new(0);
    let number = NUMBER.fetch_add(1, Ordering::Relaxed);
    let path = std::env::temp_dir().join(format!("tofrom-config-{}-{number}.toml", std::process::id()));
    std::fs::write(&path, file).unwrap();
    let environment = environment.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
    let gathered = RawConfig::gather(Some(&path), environment);
    std::fs::remove_file(path).unwrap();
    gathered
}

fn complaint(file: &str, environment: &[(&str, &str)]) -> String {
    gather(file, environment).and_then(|raw| raw.resolve()).unwrap_err().to_string()
}

const WHOLE: &str = r#"
base_url = "https://feeds.example.org/"
listen = "127.0.0.1:443"
retention = "90d"
cors_origins = ["https://app.example.org"]
max_start = 5

[tls]
certificate = "cert.pem"
private_key = "/etc/key.pem"
"#;

#[test]
fn a_whole_file() {
    let config = gather(WHOLE, &[]).unwrap().resolve().unwrap();
    assert_eq!(config.base_url.as_str(), "https://feeds.example.org");
    let https = config.https.unwrap();
    assert_eq!(https.listen, "127.0.0.1:443".parse().unwrap());
    assert_eq!(https.files.certificate, std::env::temp_dir().join("cert.pem"), "from the file's folder");
    assert_eq!(https.files.private_key, PathBuf::from("/etc/key.pem"));
    assert_eq!(config.admin_listen, Some(DEFAULT_ADMIN_LISTEN));
    assert_eq!(config.retention, Some(Duration::from_secs(90 * 24 * 60 * 60)));
    assert_eq!((config.max_start, config.max_connections), (5, 20_000));
    assert!(!config.storage.named);
}

#[test]
fn the_environment_counts_more_than_the_file() {
    let environment = [
        ("TOFROM_LISTEN", "0.0.0.0:8443"),
        ("TOFROM_TLS__CERTIFICATE", "other.pem"),
        ("TOFROM_REQUIRE_CONSUMER_KEY", "true"),
        ("TOFROM_PROXY__LISTEN", "127.0.0.1:8080"),
        ("TOFROM_PROXY__TRUSTED", "127.0.0.1, 10.0.0.0/8"),
        ("TOFROM_SECRET_KEYS", "12345,67890"),
        ("TOFROM_MAX_START", ""),
        ("TOFROM_LOG", "debug"),
        ("HOME", "/root"),
    ];
    let config = gather(WHOLE, &environment).unwrap().resolve().unwrap();
    let https = config.https.unwrap();
    assert_eq!(https.listen, DEFAULT_LISTEN);
    assert_eq!(https.files.certificate, PathBuf::from("other.pem"), "from the working folder");
    assert!(config.require_consumer_key);
    assert!(config.proxy.unwrap().trusted.contains("10.1.1.1".parse().unwrap()));
    assert_eq!(config.storage.secret_keys, ["12345", "67890"]);
    assert_eq!(config.max_start, 5, "an empty variable is none");
}

#[test]
fn unknown_settings_are_errors() {
    assert!(complaint("bse_url = 'x'", &[]).ends_with("there is no setting bse_url; is it base_url?"));
    assert!(
        complaint("[tls]\ncertficate = 'x'", &[])
            .ends_with("no setting tls.certficate; is it tls.certificate?")
    );
    assert!(complaint("base_url.host = 'x'", &[]).contains("no setting base_url.host"));
    let text = complaint("", &[("TOFROM_MAX_CONECTIONS", "1")]);
    assert_eq!(text, "TOFROM_MAX_CONECTIONS: there is no setting max_conections; is it max_connections?");
    assert!(complaint("x = 1", &[]).contains("there are base_url, listen"));
}

#[test]
fn wrong_values_are_errors_that_say_what_would_be_right() {
    for (file, environment, said) in [
        ("", None, "base_url: is not set"),
        (WHOLE, Some(("TOFROM_BASE_URL", "http://x")), "does not begin with https://"),
        (WHOLE, Some(("TOFROM_LISTEN", "8443")), "0.0.0.0:8443"),
        (WHOLE, Some(("TOFROM_STORE", "cql")), "cql is not available"),
        (WHOLE, Some(("TOFROM_STORE", "postgres")), "right would be sqlite"),
        (WHOLE, Some(("TOFROM_RETENTION", "90 days")), "like 90d, or forever"),
        (WHOLE, Some(("TOFROM_CORS_ORIGINS", "https://a.example/")), "without a slash"),
        (WHOLE, Some(("TOFROM_PROXY__LISTEN", "127.0.0.1:80")), "proxy.trusted: is empty"),
        (WHOLE, Some(("TOFROM_PROXY__TRUSTED", "10.0.0.1")), "proxy.listen: is not set"),
        (WHOLE, Some(("TOFROM_MAX_CONNECTIONS", "0")), "nobody could connect"),
        (WHOLE, Some(("TOFROM_MAX_CONNECTIONS", "many")), "max_connections"),
        ("base_url = 'https://x.example'", None, "there is no HTTPS"),
        ("base_url = 'https://x.example'\nlisten = '0.0.0.0:1'", None, "speaks HTTPS only"),
        ("base_url = 'https://x.example'\ntls.certificate = 'x'", None, "tls.private_key: is not set"),
        ("base_url =", None, ".toml"),
    ] {
        let text = complaint(file, environment.as_slice());
        assert!(text.contains(said), "{text:?} does not say {said:?}");
    }
    assert!(RawConfig::gather(Some("nowhere.toml".as_ref()), std::iter::empty()).is_err());
}
