//! Settings from the file and the environment, and the errors for invalid ones.

use super::*;
use store::cql::Speculation;
use store::links::{Hidden, Login, NatsLogin};

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

fn error_of(file: &str, environment: &[(&str, &str)]) -> String {
    gather(file, environment).and_then(|raw| raw.resolve()).unwrap_err().to_string()
}

const COMPLETE: &str = r#"
base_url = "https://feeds.example.org/"
listen = "127.0.0.1:443"
retention = "90d"
cors_origins = ["https://app.example.org"]
max_start = 5

[tls]
certificate = "cert.pem"
private_key = "/etc/key.pem"
"#;

fn files(https: &Https) -> &TlsFiles {
    match &https.certificate {
        CertificateSource::Files(files) => files,
        CertificateSource::Acme(_) => panic!("no files"),
    }
}

#[test]
fn a_certificate_by_acme_needs_a_contact_and_a_host_name() {
    let settings = |base_url: &str, more: &str| {
        gather(&format!("base_url = {base_url:?}\n{more}"), &[]).unwrap().resolve().map(|config| config.https)
    };
    let acme =
        settings("https://feeds.example.org", "[tls.acme]\ncontact = \"ops@example.org\"").unwrap().unwrap();
    let CertificateSource::Acme(acme) = acme.certificate else { panic!("no ACME") };
    assert_eq!((acme.host.as_str(), acme.directory.as_str()), ("feeds.example.org", DEFAULT_ACME_DIRECTORY));
    assert!(acme.folder.ends_with("acme"));
    for (base_url, more, complaint) in [
        (
            "https://feeds.example.org",
            "[tls.acme]\ndirectory = \"https://authority.example\"",
            "tls.acme.contact",
        ),
        ("https://feeds.example.org", "[tls.acme]\ncontact = \"ops\"", "e-mail"),
        ("https://192.0.2.1", "[tls.acme]\ncontact = \"ops@example.org\"", "host name"),
        ("https://[2001:db8::1]", "[tls.acme]\ncontact = \"ops@example.org\"", "host name"),
        (
            "https://feeds.example.org",
            "[tls]\ncertificate = \"c\"\nprivate_key = \"k\"\nacme.contact = \"ops@example.org\"",
            "only one",
        ),
        (
            "https://feeds.example.org",
            "[tls.acme]\ncontact = \"ops@example.org\"\ndirectory = \"http://authority.example\"",
            "https://",
        ),
    ] {
        let error = settings(base_url, more).unwrap_err().to_string();
        assert!(error.contains(complaint), "{error}");
    }
}

#[test]
fn a_complete_file_is_read() {
    let config = gather(COMPLETE, &[]).unwrap().resolve().unwrap();
    assert_eq!(config.base_url.as_str(), "https://feeds.example.org");
    let https = config.https.unwrap();
    assert_eq!(https.listen, "127.0.0.1:443".parse().unwrap());
    assert_eq!(
        files(&https).certificate,
        std::env::temp_dir().join("cert.pem"),
        "relative to the file's folder"
    );
    assert_eq!(files(&https).private_key, PathBuf::from("/etc/key.pem"));
    assert_eq!(config.admin_listen, Some(DEFAULT_ADMIN_LISTEN));
    assert_eq!(config.storage.retention, Some(Duration::from_secs(90 * 24 * 60 * 60)));
    assert_eq!((config.max_start, config.max_count, config.max_connections), (5, 1_000, 20_000));
    assert!(!config.storage.named);
}

#[test]
fn the_environment_overrides_the_file() {
    let environment = [
        ("TOFROM_LISTEN", "0.0.0.0:8443"),
        ("TOFROM_TLS__CERTIFICATE", "other.pem"),
        ("TOFROM_REQUIRE_CONSUMER_KEY", "true"),
        ("TOFROM_REGISTRATION", "open"),
        ("TOFROM_PROXY__LISTEN", "127.0.0.1:8080"),
        ("TOFROM_PROXY__TRUSTED", "127.0.0.1, 10.0.0.0/8"),
        ("TOFROM_SECRET_KEYS", "12345,67890"),
        ("TOFROM_MAX_START", ""),
        ("TOFROM_LOG", "debug"),
        ("HOME", "/root"),
    ];
    let config = gather(COMPLETE, &environment).unwrap().resolve().unwrap();
    let https = config.https.unwrap();
    assert_eq!(https.listen, DEFAULT_LISTEN);
    assert_eq!(files(&https).certificate, PathBuf::from("other.pem"), "relative to the working folder");
    assert!(config.require_consumer_key);
    assert!(config.open_registration);
    assert!(config.proxy.unwrap().trusted.contains("10.1.1.1".parse().unwrap()));
    assert_eq!(config.storage.secret_keys, ["12345", "67890"]);
    assert_eq!(config.max_start, 5, "an empty variable is ignored");
}

#[test]
fn unknown_settings_are_errors() {
    let text = error_of("bse_url = 'x'", &[]);
    assert!(text.starts_with("unknown setting bse_url in ") && text.ends_with(": did you mean base_url?"));
    assert!(error_of("[tls]\ncertficate = 'x'", &[]).ends_with("did you mean tls.certificate?"));
    assert!(error_of("base_url.host = 'x'", &[]).contains("unknown setting base_url.host"));
    let text = error_of("", &[("TOFROM_MAX_CONECTIONS", "1")]);
    assert_eq!(
        text,
        "unknown setting max_conections in TOFROM_MAX_CONECTIONS: did you mean max_connections?"
    );
    assert!(error_of("x = 1", &[]).contains("expected one of base_url, listen"));
}

#[test]
fn invalid_values_are_errors_that_name_the_expected_form() {
    for (file, environment, expected) in [
        ("", None, "base_url is not set"),
        (COMPLETE, Some(("TOFROM_BASE_URL", "http://x")), "does not begin with https://"),
        (COMPLETE, Some(("TOFROM_LISTEN", "8443")), "0.0.0.0:8443"),
        (COMPLETE, Some(("TOFROM_STORE", "cql")), "cql.nodes is not set"),
        (
            COMPLETE,
            Some(("TOFROM_STORE", "postgres")),
            "invalid value \"postgres\" for store: expected \"sqlite\" or \"cql\"",
        ),
        (COMPLETE, Some(("TOFROM_CQL__NODES", "10.0.0.1:9042")), "store is not set"),
        (COMPLETE, Some(("TOFROM_RETENTION", "90 days")), "like 90d, or forever"),
        (COMPLETE, Some(("TOFROM_CORS_ORIGINS", "https://a.example/")), "without a path or trailing slash"),
        (COMPLETE, Some(("TOFROM_PROXY__LISTEN", "127.0.0.1:80")), "proxy.trusted is not set"),
        (COMPLETE, Some(("TOFROM_PROXY__TRUSTED", "10.0.0.1")), "proxy.listen is not set"),
        (COMPLETE, Some(("TOFROM_MAX_COUNT", "199")), "a number from 200 to 10000"),
        (COMPLETE, Some(("TOFROM_MAX_CONNECTIONS", "0")), "0 would refuse every connection"),
        (COMPLETE, Some(("TOFROM_MAX_CONNECTIONS", "many")), "max_connections"),
        ("base_url = 'https://x.example'", None, "tls.certificate is not set: HTTPS needs it"),
        ("base_url = 'https://x.example'\nlisten = '0.0.0.0:1'", None, "listen speaks HTTPS only"),
        ("base_url = 'https://x.example'\ntls.certificate = 'x'", None, "tls.private_key is not set"),
        ("base_url =", None, ".toml"),
    ] {
        let text = error_of(file, environment.as_slice());
        assert!(text.contains(expected), "{text:?} does not contain {expected:?}");
    }
    assert!(RawConfig::gather(Some("nowhere.toml".as_ref()), std::iter::empty()).is_err());
}

const CLUSTER: &str = r#"
base_url = "https://feeds.example.org"
store = "cql"
secret_keys = ["12345"]
insecure_cluster_links = true
proxy = { listen = "127.0.0.1:8080", trusted = ["127.0.0.1"] }

[cql]
nodes = ["10.0.0.1:9042", "db.example.org:9042", "[fd00::1]:9042"]

[nats]
servers = ["nats://10.0.0.1:4222", "tls://me:secret@10.0.0.2:4222", "10.0.0.3:4222"]
monitor = ["http://10.0.0.1:8222/"]
"#;

#[test]
fn the_settings_of_a_cluster_are_read() {
    let storage = gather(CLUSTER, &[]).unwrap().resolve().unwrap().storage;
    assert!(!format!("{storage:?}").contains("secret"), "{storage:?}");
    let Cluster { nodes, servers, vouched } = storage.cluster.unwrap();
    assert_eq!(nodes.nodes, ["10.0.0.1:9042", "db.example.org:9042", "[fd00::1]:9042"]);
    assert_eq!((nodes.datacenter.as_str(), nodes.keyspace.as_str()), ("datacenter1", "tofrom"));
    assert_eq!((servers.servers.len(), servers.monitor.len(), servers.stream.as_str()), (3, 1, "tofrom"));
    assert_eq!((servers.ack_wait, vouched), (Duration::from_secs(5), false));
    assert_eq!((nodes.replication, nodes.speculation), (3, Speculation::Percentile(99)));
    assert_eq!((servers.replicas, servers.max_bytes), (3, 1 << 30));
    assert!(nodes.login.is_none() && nodes.tls.is_none() && servers.login.is_none() && servers.tls.is_none());

    let environment = [
        ("TOFROM_CQL__REPLICATION", "5"),
        ("TOFROM_CQL__SPECULATIVE_RETRY", "250ms"),
        ("TOFROM_NATS__REPLICAS", "5"),
        ("TOFROM_NATS__MAX_BYTES", "10GiB"),
        ("TOFROM_CQL__NODES", "10.0.0.9:9042, 10.0.0.8:9042"),
        ("TOFROM_CQL__DATACENTER", "north"),
        ("TOFROM_CQL__KEYSPACE", "Feeds_2"),
        ("TOFROM_NATS__ACK_WAIT", "1m"),
        ("TOFROM_VOUCH_FOR_DURABILITY", "true"),
    ];
    let cluster = gather(CLUSTER, &environment).unwrap().storage().unwrap().cluster.unwrap();
    assert_eq!(cluster.nodes.nodes, ["10.0.0.9:9042", "10.0.0.8:9042"]);
    assert_eq!((cluster.nodes.datacenter.as_str(), cluster.nodes.keyspace.as_str()), ("north", "feeds_2"));
    assert_eq!((cluster.servers.stream.as_str(), cluster.servers.ack_wait.as_secs()), ("feeds_2", 60));
    assert!(cluster.vouched);
    let speculation = cluster.nodes.speculation;
    assert_eq!((cluster.nodes.replication, speculation), (5, Speculation::After(Duration::from_millis(250))));
    assert_eq!((cluster.servers.replicas, cluster.servers.max_bytes), (5, 10 << 30));
    let retry = |text| {
        let environment = [("TOFROM_CQL__SPECULATIVE_RETRY", text)];
        gather(CLUSTER, &environment).unwrap().storage().unwrap().cluster.unwrap().nodes.speculation
    };
    assert_eq!((retry("none"), retry("95p")), (Speculation::Off, Speculation::Percentile(95)));
    assert_eq!(retry("1s"), Speculation::After(Duration::from_secs(1)));
}

#[test]
fn a_worker_needs_no_address_and_no_certificate() {
    let worker =
        "store = 'cql'\nsecret_keys = ['1']\ncql.nodes = ['localhost:1']\nnats.servers = ['[::1]:2']";
    assert!(error_of(worker, &[]).contains("base_url is not set"));
    assert_eq!(gather(worker, &[]).unwrap().resolve_worker().unwrap().admin_listen, DEFAULT_ADMIN_LISTEN);
}

#[test]
fn invalid_settings_of_a_cluster_are_errors() {
    for (environment, expected) in [
        (
            ("TOFROM_CQL__NODES", "10.0.0.1"),
            "invalid value \"10.0.0.1\" for cql.nodes: expected a host and a port",
        ),
        (("TOFROM_CQL__NODES", "http://10.0.0.1:9042"), "a host and a port, like 127.0.0.1:9042"),
        (("TOFROM_CQL__KEYSPACE", "to-from"), "letters, digits and underscores"),
        (("TOFROM_CQL__KEYSPACE", "2feeds"), "starting with a letter"),
        (
            ("TOFROM_NATS__SERVERS", "nats://me:secret@10.0.0.1"),
            "invalid value \"10.0.0.1\" for nats.servers",
        ),
        (("TOFROM_NATS__MONITOR", "ftp://10.0.0.1:8222"), "a host and a port, like http://127.0.0.1:8222"),
        (
            ("TOFROM_NATS__MONITOR", "https://10.0.0.1:8222"),
            "nats.tls.ca is not set: nats.monitor with https",
        ),
        (("TOFROM_NATS__STREAM", "to.from"), "invalid value \"to.from\" for nats.stream"),
        (("TOFROM_NATS__ACK_WAIT", "5"), "invalid value \"5\" for nats.ack_wait"),
        (("TOFROM_CQL__NODS", "a:1"), "did you mean cql.nodes?"),
        (("TOFROM_CQL_PASSWORD", "a"), "did you mean cql.password?"),
        (("TOFROM_CQL__REPLICATION", "0"), "for cql.replication: expected a number of replicas from 1 to 9"),
        (
            ("TOFROM_CQL__SPECULATIVE_RETRY", "100p"),
            "a percentile from 50p to 99p, a time like 500ms, or none",
        ),
        (("TOFROM_CQL__SPECULATIVE_RETRY", "0ms"), "invalid value \"0ms\" for cql.speculative_retry"),
        (("TOFROM_NATS__REPLICAS", "2"), "invalid value \"2\" for nats.replicas: expected 1, 3 or 5"),
        (("TOFROM_NATS__MAX_BYTES", "1GB"), "for nats.max_bytes: expected a whole number above 0 and a unit"),
    ] {
        let text = error_of(CLUSTER, &[environment]);
        assert!(text.contains(expected), "{text:?} does not contain {expected:?}");
    }
    let without = |line: &str| error_of(&CLUSTER.replace(line, ""), &[]);
    assert!(
        without("secret_keys = [\"12345\"]").contains("secret_keys is not set: all servers of a cluster")
    );
    let servers = CLUSTER.lines().find(|line| line.starts_with("servers")).unwrap();
    assert!(without(servers).contains("nats.servers is not set"));
}

/// A folder with an authority, a certificate and secrets.
struct Files(PathBuf);

impl Files {
    fn new(name: &str) -> Files {
        let folder = std::env::temp_dir().join(format!("tofrom-links-{name}-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let made = rcgen::generate_simple_self_signed(["localhost".to_owned()]).unwrap();
        let files = Files(folder);
        files.write("ca.pem", &made.cert.pem());
        files.write("client.pem", &made.cert.pem());
        files.write("client.key", &made.signing_key.serialize_pem());
        files.write("password", "pass word\n");
        files.write("empty", "\n");
        files
    }

    fn write(&self, name: &str, content: &str) -> String {
        std::fs::write(self.0.join(name), content).unwrap();
        self.path(name)
    }

    fn path(&self, name: &str) -> String {
        self.0.join(name).to_str().unwrap().to_owned()
    }
}

impl Drop for Files {
    fn drop(&mut self) {
        std::fs::remove_dir_all(&self.0).unwrap();
    }
}

fn cluster_of(environment: &[(&str, &str)]) -> Result<Cluster, ConfigError> {
    Ok(gather(CLUSTER, environment)?.storage()?.cluster.unwrap())
}

#[test]
fn logins_and_certificates_of_a_cluster_are_read() {
    let files = Files::new("read");
    let [ca, certificate, key, password] =
        ["ca.pem", "client.pem", "client.key", "password"].map(|name| files.path(name));
    let seed = "SUANQDPB2RUOE4ETUA26CNX7FUKE5ZZKFCQIIW63OX225F2CO7UEXTM7ZY";
    let environment = [
        ("TOFROM_CQL__USER", "ada"),
        ("TOFROM_CQL__PASSWORD_FILE", password.as_str()),
        ("TOFROM_CQL__TLS__CA", ca.as_str()),
        ("TOFROM_NATS__USER", "bob"),
        ("TOFROM_NATS__PASSWORD", "12345"),
        ("TOFROM_NATS__TLS__CA", ca.as_str()),
        ("TOFROM_NATS__TLS__CERTIFICATE", certificate.as_str()),
        ("TOFROM_NATS__TLS__PRIVATE_KEY", key.as_str()),
        ("TOFROM_NATS__MONITOR", "https://10.0.0.1:8222"),
        ("TOFROM_INSECURE_CLUSTER_LINKS", "false"),
    ];
    let Cluster { nodes, servers, .. } = cluster_of(&environment).unwrap();
    assert!(!format!("{nodes:?} {:?}", servers.login).contains("pass word"), "{nodes:?}");
    let ada = Login { user: "ada".to_owned(), password: Hidden::new("pass word") };
    assert_eq!(nodes.login, Some(ada), "without the line break at the end");
    assert_eq!(nodes.tls.unwrap().client, None);
    let bob = Login { user: "bob".to_owned(), password: Hidden::new("12345") };
    assert_eq!(servers.login, Some(NatsLogin::Password(bob)));
    assert_eq!(servers.tls.unwrap().client, Some((certificate.into(), key.into())));

    let login = |path: &str| cluster_of(&[("TOFROM_NATS__CREDENTIALS", path)]).unwrap().servers.login;
    let file = files.write("seed", &format!("# a comment\n{seed}\n"));
    assert_eq!(login(&file), Some(NatsLogin::NKey(Hidden::new(seed))));
    let content = format!("-----BEGIN NATS USER JWT-----\nx\n-----BEGIN USER NKEY SEED-----\n{seed}\n");
    let file = files.write("creds", &content);
    assert_eq!(login(&file), Some(NatsLogin::Credentials(Hidden::new(content))));
}

#[test]
fn invalid_logins_and_certificates_are_errors() {
    let files = Files::new("errors");
    let other = rcgen::generate_simple_self_signed(["localhost".to_owned()]).unwrap();
    files.write("other.key", &other.signing_key.serialize_pem());
    let path = |name: &str| files.path(name);
    for (environment, expected) in [
        (vec![("CQL__USER", "ada".to_owned())], "cql.password is not set: cql.user needs it"),
        (vec![("CQL__PASSWORD", "secret".to_owned())], "cql.user is not set: cql.password needs it"),
        (
            vec![("CQL__PASSWORD", "secret".to_owned()), ("CQL__PASSWORD_FILE", path("password"))],
            "for cql.password_file: expected no cql.password beside it",
        ),
        (
            vec![("CQL__USER", "ada".to_owned()), ("CQL__PASSWORD_FILE", path("nowhere"))],
            "invalid file for cql.password_file: cannot read",
        ),
        (vec![("CQL__USER", "ada".to_owned()), ("CQL__PASSWORD_FILE", path("empty"))], "empty is empty"),
        (vec![("CQL__TLS__CA", path("nowhere"))], "nowhere: No such file"),
        (vec![("CQL__TLS__CA", path("password"))], "password: it has no certificate in PEM"),
        (
            vec![("CQL__TLS__CA", path("ca.pem")), ("CQL__TLS__CERTIFICATE", path("client.pem"))],
            "cql.tls.private_key is not set: cql.tls.certificate needs it",
        ),
        (
            vec![("NATS__TLS__CA", path("ca.pem")), ("NATS__TLS__PRIVATE_KEY", path("client.key"))],
            "nats.tls.certificate is not set: nats.tls.private_key needs it",
        ),
        (
            vec![
                ("NATS__TLS__CERTIFICATE", path("client.pem")),
                ("NATS__TLS__PRIVATE_KEY", path("client.key")),
            ],
            "nats.tls.ca is not set: nats.tls.certificate needs it",
        ),
        (
            vec![
                ("NATS__TLS__CA", path("ca.pem")),
                ("NATS__TLS__CERTIFICATE", path("client.pem")),
                ("NATS__TLS__PRIVATE_KEY", path("other.key")),
            ],
            "invalid file for nats.tls: cannot use the file",
        ),
        (
            vec![("NATS__CREDENTIALS", path("password"))],
            "password: it has neither a user's JWT nor the seed of a user's NKey",
        ),
        (vec![("NATS__CREDENTIALS", path("nowhere"))], "invalid file for nats.credentials: cannot read"),
        (
            vec![
                ("NATS__CREDENTIALS", path("password")),
                ("NATS__USER", "bob".to_owned()),
                ("NATS__PASSWORD", "secret".to_owned()),
            ],
            "for nats.credentials: expected no nats.user beside it",
        ),
    ] {
        let environment: Vec<_> =
            environment.into_iter().map(|(name, value)| (format!("TOFROM_{name}"), value)).collect();
        let environment: Vec<_> =
            environment.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
        let text = cluster_of(&environment).err().unwrap().to_string();
        assert!(text.contains(expected), "{text:?} does not contain {expected:?}");
        assert!(!text.contains("secret") && !text.contains("pass word"), "{text:?} has a secret");
    }
}

#[test]
fn plaintext_to_other_machines_is_refused() {
    let files = Files::new("plaintext");
    let ca = files.path("ca.pem");
    let ca = ca.as_str();
    let refused = |environment: &[(&str, &str)]| {
        let all = [&[("TOFROM_INSECURE_CLUSTER_LINKS", "false")][..], environment].concat();
        cluster_of(&all).err().map(|error| error.to_string()).unwrap_or_default()
    };
    let text = refused(&[]);
    assert!(
        text.starts_with("cql.nodes has 10.0.0.1:9042, which is not on this machine, without TLS"),
        "{text}"
    );
    assert!(
        text.contains("Set cql.tls.ca; or") && text.contains("set insecure_cluster_links = true"),
        "{text}"
    );
    let text = refused(&[
        ("TOFROM_CQL__TLS__CA", ca),
        ("TOFROM_NATS__SERVERS", "nats://me:secret@nats.example:4222"),
    ]);
    assert!(text.starts_with("nats.servers has nats.example:4222") && !text.contains("secret"), "{text}");
    let cql = ("TOFROM_CQL__NODES", "localhost:9042");
    let text = refused(&[cql, ("TOFROM_NATS__SERVERS", "tls://10.0.0.1:4222")]);
    assert!(text.starts_with("nats.monitor has 10.0.0.1:8222") && text.contains("leave it out"), "{text}");
    let local = ("TOFROM_NATS__MONITOR", "http://127.0.0.1:8222");
    assert_eq!(refused(&[cql, local, ("TOFROM_NATS__SERVERS", "tls://10.0.0.1:4222")]), "");
    assert_eq!(refused(&[cql, local, ("TOFROM_NATS__TLS__CA", ca)]), "");
}

/// The documentation refers to this file.
#[test]
fn the_example_file_of_a_cluster_is_valid() {
    let file = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/cluster.toml");
    let storage = RawConfig::gather(Some(&file), std::iter::empty()).unwrap().storage().unwrap();
    assert_eq!(storage.cluster.unwrap().nodes.nodes.len(), 3);
    assert!(storage.secret_keys.is_empty(), "the demo creates its own keys");
}

#[test]
fn traces_need_a_collector() {
    let tracing = |text: &str| gather(&format!("[tracing]\n{text}"), &[]).unwrap().tracing();
    assert_eq!(gather("", &[]).unwrap().tracing().unwrap(), None);
    let found = tracing("otlp_endpoint = \"http://127.0.0.1:4318\"").unwrap().unwrap();
    assert_eq!((found.endpoint.as_str(), found.sample_ratio), ("http://127.0.0.1:4318/v1/traces", 1.0));
    let found =
        tracing("otlp_endpoint = \"https://otlp.example.org/a/\"\nsample_ratio = 0.25").unwrap().unwrap();
    assert_eq!((found.endpoint.as_str(), found.sample_ratio), ("https://otlp.example.org/a/v1/traces", 0.25));
    for (text, complaint) in [
        ("sample_ratio = 1", "tracing.otlp_endpoint is not set"),
        ("otlp_endpoint = \"127.0.0.1:4318\"", "like http://127.0.0.1:4318"),
        ("otlp_endpoint = \"grpc://127.0.0.1:4317\"", "like http://127.0.0.1:4318"),
        ("otlp_endpoint = \"http://x/?key=1\"", "without a user and a query"),
        ("otlp_endpoint = \"http://x\"\nsample_ratio = 1.5", "a number from 0 to 1"),
        ("otlp_endpoint = \"http://x\"\nsample_ratio = \"nan\"", "a number from 0 to 1"),
        ("otlp_endpoint = \"http://x\"\nsample_ratio = \"10%\"", "a number from 0 to 1"),
    ] {
        let error = tracing(text).unwrap_err().to_string();
        assert!(error.contains(complaint), "{error}");
    }
    let error = tracing("otlp_endpoint = \"http://user:pass-word@x\"").unwrap_err().to_string();
    assert!(!error.contains("pass-word"), "{error}");
}
