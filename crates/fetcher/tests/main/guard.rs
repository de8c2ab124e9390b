//! Forbidden addresses are refused as the first address, in a redirect, as a hub and behind a name.

use super::support::FetcherEnv;
use fetcher::{FetchError, Fetcher};
use test_server::{CannedResponse, Server};

/// Spellings of hosts.
#[rustfmt::skip]
const LITERALS: &[&str] = &[
    "127.0.0.1", "127.0.0.2", "127.1.1.1", "127.255.255.255", "127.1", "127.0.1", "0x7f.1", "0x7f.0.0.1",
    "0x7f000001", "0X7F000001", "2130706433", "017700000001", "0177.0.0.1", "0177.0x0.0.1", "00000177.1",
    "127.0.0.1.", "１２７.０.０.１", "127。0。0。1", "①②⑦.0.0.1", "%31%32%37.0.0.1", "0", "0.0.0.0", "0.0.0.1",
    "0x0", "localhost", "LOCALHOST", "localhost.", "a.localhost", "feeds.a.localhost.", "ｌｏｃａｌｈｏｓｔ",
    "loc%61lhost", "10.0.0.1", "10.255.255.254", "0xa.1", "167772161", "012.0.0.1", "100.64.0.1",
    "100.127.255.255", "169.254.169.254", "0xa9fea9fe", "2852039166", "169.254.43518", "172.16.0.1",
    "172.31.255.255", "192.0.0.1", "192.0.0.192", "192.0.2.1", "192.88.99.1", "192.168.0.1", "0300.0250.1",
    "198.18.0.1", "198.19.255.255", "198.51.100.7", "203.0.113.7", "224.0.0.1", "239.255.255.255",
    "240.0.0.1", "255.255.255.255", "[::]", "[::1]", "[0:0:0:0:0:0:0:1]", "[0000::0001]",
    "[::ffff:127.0.0.1]", "[::ffff:7f00:1]", "[::ffff:169.254.169.254]", "[::ffff:0:0]", "[::127.0.0.1]",
    "[::7f00:1]", "[64:ff9b::127.0.0.1]", "[64:ff9b::a9fe:a9fe]", "[64:ff9b:1::8.8.8.8]",
    "[64:ff9b:1:7f00:0:100::]", "[2002:7f00:1::]", "[2002:a00:1::1]", "[2002:c0a8:1::1]",
    "[2001:0:7f00:1::f7f7:f7f7]", "[2001:0:808:808::80ff:fffe]", "[2001:0:808:808:0:0:5601:5601]",
    "[2a00:1450:4001::5efe:10.0.0.1]", "[2a00:1450:4001:0:200:5efe:127.0.0.1]", "[fe80::1]", "[febf::1]",
    "[fec0::1]", "[fc00::1]", "[fd00:ec2::254]", "[ff02::1]", "[100::1]", "[2001:db8::1]", "[2001:2::1]",
    "[2001:10::1]", "[3fff::1]", "[5f00::1]", "[4000::1]", "[::ffff:0:127.0.0.1]",
];

/// Addresses that a name resolves to.
#[rustfmt::skip]
const RESOLVED: &[&[&str]] = &[
    &["127.0.0.1"], &["127.0.0.2"], &["127.1.1.1"], &["0.0.0.0"], &["10.0.0.1"], &["100.64.0.1"],
    &["169.254.169.254"], &["172.16.0.1"], &["192.168.0.1"], &["192.0.0.192"], &["198.18.0.1"],
    &["224.0.0.1"], &["255.255.255.255"], &["::"], &["::1"], &["::ffff:127.0.0.1"], &["::127.0.0.1"],
    &["64:ff9b::127.0.0.1"], &["64:ff9b:1::127.0.0.1"], &["2002:7f00:1::"], &["2001:0:7f00:1::f7f7:f7f7"],
    &["2001:0:808:808::80ff:fffe"], &["2a00:1450:4001::5efe:127.0.0.1"], &["fe80::1"], &["fec0::1"],
    &["fd00:ec2::254"], &["ff02::1"], &["2001:db8::1"], &["93.184.216.34", "127.0.0.1"],
    &["127.0.0.1", "93.184.216.34"], &["2606:2800:220:1::1", "93.184.216.34", "::1"],
];

/// A server that redirects, on the only allowed address, and listeners on forbidden addresses.
struct Trap {
    lure: Server,
    traps: Vec<Server>,
    env: FetcherEnv,
    fetcher: Fetcher,
}

impl Trap {
    async fn new() -> Trap {
        let (lure, traps) = loop {
            let lure = Server::at("127.0.0.9:0").await;
            let port = lure.address().port();
            let mut traps = Vec::new();
            for host in ["127.0.0.1", "127.0.0.2", "127.1.1.1", "127.255.255.254", "[::1]"] {
                let address = format!("{host}:{port}");
                // IPv6 may be missing.
                if std::net::TcpListener::bind(&address).is_ok() {
                    traps.push(Server::at(&address).await);
                }
            }
            // Another test may use the port on one of the addresses.
            if traps.len() >= 4 {
                break (lure, traps);
            }
        };
        let mut env = FetcherEnv::new(&[&lure]);
        env.rules.allowed = vec!["127.0.0.9".parse().unwrap()];
        env.names.set("lure.example", &["127.0.0.9"]);
        let fetcher = env.fetcher();
        Trap { lure, traps, env, fetcher }
    }

    fn url(&self, host: &str) -> String {
        format!("http://{host}:{}/", self.lure.address().port())
    }

    /// Every route to the host is refused.
    async fn assert_refused(&self, host: &str) {
        let url = self.url(host);
        if let Ok(parsed) = url.parse() {
            let outcome =
                self.fetcher.get(&fetcher::FetchRequest::feed(parsed)).await.map(|answer| answer.url);
            assert!(matches!(outcome, Err(FetchError::Refused(_))), "{url}: {outcome:?}");
            let outcome = self.fetcher.post_form(&url.parse().unwrap(), &[("hub.mode", "subscribe")]).await;
            assert!(matches!(outcome, Err(FetchError::Refused(_))), "{url} as a hub: {outcome:?}");
        }
        self.lure.on("/to", CannedResponse::redirect(307, &url));
        let lure = self.lure.url("lure.example", "/to");
        let outcome = self.fetcher.get(&super::support::get(&lure)).await.map(|answer| answer.url);
        assert!(matches!(outcome, Err(FetchError::Refused(_))), "a redirect to {url}: {outcome:?}");
        let outcome = self.fetcher.post_form(&lure.parse().unwrap(), &[]).await;
        assert!(matches!(outcome, Err(FetchError::Refused(_))), "a hub that leads to {url}: {outcome:?}");
    }

    fn connections(&self) -> usize {
        self.traps.iter().map(Server::connections).sum()
    }
}

#[tokio::test]
async fn every_spelling_of_a_private_address_is_refused() {
    let trap = Trap::new().await;
    for host in LITERALS {
        let outcome = trap.fetcher.check(&trap.url(host));
        assert!(matches!(outcome, Err(FetchError::Refused(_))), "{host}: {outcome:?}");
        trap.assert_refused(host).await;
    }
    assert_eq!(trap.connections(), 0);
    assert_eq!(trap.lure.requests().len(), 2 * LITERALS.len(), "only the redirects were requested");
    assert!(trap.env.names.lookups().iter().all(|name| name == "lure.example"), "nothing else was looked up");
}

#[tokio::test]
async fn names_with_private_addresses_are_refused() {
    let trap = Trap::new().await;
    for addresses in RESOLVED {
        trap.env.names.set("evil.example", addresses);
        trap.assert_refused("evil.example").await;
        let outcome = trap.fetcher.get(&super::support::get(&trap.url("evil.example"))).await;
        let unknown = trap.fetcher.get(&super::support::get(&trap.url("unknown.example"))).await;
        assert_eq!(
            outcome.unwrap_err().to_string(),
            unknown.unwrap_err().to_string(),
            "the message does not reveal private names"
        );
    }
    assert_eq!(trap.connections(), 0);
}

#[tokio::test]
async fn dns_rebinding_is_refused() {
    let trap = Trap::new().await;
    trap.env.names.set_in_turn("evil.example", &[&["127.0.0.9"], &["127.0.0.1"]]);
    trap.lure.on("/feed", CannedResponse::feed("<feed/>"));
    // One lookup for one connection: there is no second lookup that could differ.
    let url = trap.lure.url("evil.example", "/feed");
    assert!(trap.fetcher.get(&super::support::get(&url)).await.is_ok());
    assert_eq!(trap.env.names.lookups(), ["evil.example"]);
    // A redirect to the same name is resolved and checked again.
    trap.env.names.set_in_turn("evil.example", &[&["127.0.0.9"], &["127.0.0.1"]]);
    trap.lure.on("/to", CannedResponse::redirect(302, "/feed"));
    let outcome = trap.fetcher.get(&super::support::get(&trap.lure.url("evil.example", "/to"))).await;
    assert!(matches!(outcome, Err(FetchError::Refused(_))));
    assert_eq!(trap.connections(), 0);
}

#[tokio::test]
async fn only_the_allowed_networks_are_allowed() {
    let trap = Trap::new().await;
    trap.lure.on("/feed", CannedResponse::feed("<feed/>"));
    for host in ["127.0.0.9", "[::ffff:127.0.0.9]", "lure.example", "LURE.example."] {
        assert!(trap.fetcher.check(&trap.url(host)).is_ok(), "{host}");
    }
    assert!(trap.fetcher.get(&super::support::get(&trap.lure.url("127.0.0.9", "/feed"))).await.is_ok());
    for host in ["127.0.0.8", "127.0.0.10", "[::7f00:9]", "[64:ff9b::127.0.0.9]"] {
        assert!(trap.fetcher.check(&trap.url(host)).is_err(), "{host}");
    }
}

#[tokio::test]
async fn requests_to_the_service_are_refused() {
    let mut trap = Trap::new().await;
    trap.env.rules.own_hosts = vec!["tofrom.example".to_owned(), "127.0.0.9".to_owned()];
    trap.fetcher = trap.env.fetcher();
    trap.env.names.set("tofrom.example", &["127.0.0.9"]);
    for host in ["tofrom.example", "127.0.0.9", "lure.example"] {
        let outcome = trap.fetcher.get(&super::support::get(&trap.url(host))).await;
        assert_eq!(outcome.unwrap_err(), FetchError::Refused(fetcher::Refusal::Own), "{host}");
    }
    assert_eq!(trap.lure.connections(), 0);
}

#[test]
fn addresses_are_checked_before_the_lookup() {
    let mut env = FetcherEnv::new(&[]);
    env.rules.ports = vec![80, 443];
    env.rules.allowed.clear();
    let fetcher = env.fetcher();
    for address in [
        "https://example.org/feed",
        "http://example.org:80/",
        "https://8.8.8.8/",
        "https://[2606:4700::1111]/",
        "HTTPS://EXAMPLE.org:443/a?b",
        "https://münchen.example/",
        "https://example.org/#part",
    ] {
        assert!(fetcher.check(address).is_ok(), "{address}");
    }
    assert_eq!(fetcher.check("https://example.org./a#b").unwrap().as_str(), "https://example.org/a");
    let long = format!("https://example.org/{}", "x".repeat(2_048));
    let long_once_encoded = format!("https://example.org/{}", "ü".repeat(1_000));
    let no_address = "This is not a web address: expected one like https://example.org/feed.";
    let scheme = "Unsupported address: expected one that begins with https:// or http://.";
    let too_long = "The address is too long: expected at most 2,048 characters.";
    let credentials = "The address contains a user name or a password: enter one without.";
    let port = "The address has, or redirects to, a port that is not allowed: enter one without a port.";
    let private = "The address is, or redirects to, a private one: enter a public address.";
    let own_address = "The address is, or redirects to, this server: enter the address of another one.";
    for (address, words) in [
        ("", no_address),
        ("example.org/feed", no_address),
        ("http://", no_address),
        ("http://[fe80::1%25eth0]/", no_address),
        ("http://1.2.3.4.5/", no_address),
        ("http://./", no_address),
        ("file:///etc/passwd", scheme),
        ("gopher://example.org/", scheme),
        ("javascript:alert(1)", scheme),
        (&long, too_long),
        (&long_once_encoded, too_long),
        ("https://user@example.org/", credentials),
        ("https://user:word@example.org/", credentials),
        ("https://example.org:22/", port),
        ("https://example.org:0/", port),
        ("http://127.0.0.1:80/", private),
        ("http://localhost/", "No public server was found for the host name: check the spelling."),
        ("https://tofrom.example/", own_address),
        ("https://TOFROM.example./", own_address),
    ] {
        assert_eq!(fetcher.check(address).unwrap_err().to_string(), words, "{address}");
    }
    assert!(env.names.lookups().is_empty());
}

#[tokio::test]
async fn an_address_of_the_operator_may_be_anywhere() {
    let mut env = FetcherEnv::new(&[]);
    env.rules.is_for_operator = true;
    let fetcher = env.fetcher();
    for address in
        ["http://localhost:4318/", "http://[::1]:1/", "https://10.0.0.1/", "http://169.254.1.1:99/"]
    {
        assert!(fetcher.check(address).is_ok(), "{address}");
    }
    for address in ["ftp://localhost/", "http://user@localhost/", "localhost:4318"] {
        assert!(fetcher.check(address).is_err(), "{address}");
    }
    let server = Server::at("127.0.0.1:0").await;
    server.on("/spans", CannedResponse::feed(""));
    let url = server.url("127.0.0.1", "/spans").parse().unwrap();
    let headers = [("x-test", "1".to_owned())];
    assert_eq!(fetcher.post(&url, "application/x-protobuf", &headers, "spans".into()).await.unwrap(), 200);
    let request = server.requests().pop().unwrap();
    assert_eq!(request.header("content-type"), Some("application/x-protobuf"));
    assert_eq!((request.header("x-test"), request.body.as_slice()), (Some("1"), &b"spans"[..]));
}
