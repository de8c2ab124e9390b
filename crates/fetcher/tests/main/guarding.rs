//! Nothing leads to where it must not: not as the first address, not by a redirect, not as a hub, not by its name.

use super::support::Setting;
use fetcher::{Failure, Fetcher};
use test_server::{Answer, Server};

/// Hosts as somebody may write them.
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

/// What a name may lead to.
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

/// A server that leads elsewhere, at the only address that is allowed, and listeners where nobody may come.
struct Trap {
    lure: Server,
    traps: Vec<Server>,
    setting: Setting,
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
                // Not every machine has version 6.
                if std::net::TcpListener::bind(&address).is_ok() {
                    traps.push(Server::at(&address).await);
                }
            }
            // Another test may have the port at one of the addresses.
            if traps.len() >= 4 {
                break (lure, traps);
            }
        };
        let mut setting = Setting::new(&[&lure]);
        setting.rules.allowed = vec!["127.0.0.9".parse().unwrap()];
        setting.names.lead("lure.example", &["127.0.0.9"]);
        let fetcher = setting.fetcher();
        Trap { lure, traps, setting, fetcher }
    }

    fn url(&self, host: &str) -> String {
        format!("http://{host}:{}/", self.lure.address().port())
    }

    /// Every way to an address ends in a refusal.
    async fn refuses(&self, host: &str) {
        let url = self.url(host);
        if let Ok(parsed) = url.parse() {
            let outcome = self.fetcher.get(&fetcher::Get::feed(parsed)).await.map(|answer| answer.url);
            assert!(matches!(outcome, Err(Failure::Refused(_))), "{url}: {outcome:?}");
            let outcome = self.fetcher.post_form(&url.parse().unwrap(), &[("hub.mode", "subscribe")]).await;
            assert!(matches!(outcome, Err(Failure::Refused(_))), "{url} as a hub: {outcome:?}");
        }
        self.lure.on("/to", Answer::redirect(307, &url));
        let lure = self.lure.url("lure.example", "/to");
        let outcome = self.fetcher.get(&super::support::get(&lure)).await.map(|answer| answer.url);
        assert!(matches!(outcome, Err(Failure::Refused(_))), "a redirect to {url}: {outcome:?}");
        let outcome = self.fetcher.post_form(&lure.parse().unwrap(), &[]).await;
        assert!(matches!(outcome, Err(Failure::Refused(_))), "a hub that leads to {url}: {outcome:?}");
    }

    fn caught(&self) -> usize {
        self.traps.iter().map(Server::connections).sum()
    }
}

#[tokio::test]
async fn no_way_of_writing_an_address_gets_through() {
    let trap = Trap::new().await;
    for host in LITERALS {
        let outcome = trap.fetcher.check(&trap.url(host));
        assert!(matches!(outcome, Err(Failure::Refused(_))), "{host}: {outcome:?}");
        trap.refuses(host).await;
    }
    assert_eq!(trap.caught(), 0);
    assert_eq!(trap.lure.asked().len(), 2 * LITERALS.len(), "only the redirects themselves were asked for");
    assert!(
        trap.setting.names.asked().iter().all(|name| name == "lure.example"),
        "nothing else was looked up"
    );
}

#[tokio::test]
async fn no_name_leads_there() {
    let trap = Trap::new().await;
    for addresses in RESOLVED {
        trap.setting.names.lead("evil.example", addresses);
        trap.refuses("evil.example").await;
        let outcome = trap.fetcher.get(&super::support::get(&trap.url("evil.example"))).await;
        let unknown = trap.fetcher.get(&super::support::get(&trap.url("unknown.example"))).await;
        assert_eq!(
            outcome.unwrap_err().to_string(),
            unknown.unwrap_err().to_string(),
            "nobody learns which names there are inside"
        );
    }
    assert_eq!(trap.caught(), 0);
}

#[tokio::test]
async fn a_name_that_leads_elsewhere_the_next_time_gains_nothing() {
    let trap = Trap::new().await;
    trap.setting.names.lead_in_turn("evil.example", &[&["127.0.0.9"], &["127.0.0.1"]]);
    trap.lure.on("/feed", Answer::feed("<feed/>"));
    // One look-up for one connection: there is no second one that could lead elsewhere.
    let url = trap.lure.url("evil.example", "/feed");
    assert!(trap.fetcher.get(&super::support::get(&url)).await.is_ok());
    assert_eq!(trap.setting.names.asked(), ["evil.example"]);
    // A redirect to the same name is looked up again, and what it is now counts.
    trap.setting.names.lead_in_turn("evil.example", &[&["127.0.0.9"], &["127.0.0.1"]]);
    trap.lure.on("/to", Answer::redirect(302, "/feed"));
    let outcome = trap.fetcher.get(&super::support::get(&trap.lure.url("evil.example", "/to"))).await;
    assert!(matches!(outcome, Err(Failure::Refused(_))));
    assert_eq!(trap.caught(), 0);
}

#[tokio::test]
async fn what_the_operator_allows_is_that_and_no_more() {
    let trap = Trap::new().await;
    trap.lure.on("/feed", Answer::feed("<feed/>"));
    for host in ["127.0.0.9", "[::ffff:127.0.0.9]", "lure.example", "LURE.example."] {
        assert!(trap.fetcher.check(&trap.url(host)).is_ok(), "{host}");
    }
    assert!(trap.fetcher.get(&super::support::get(&trap.lure.url("127.0.0.9", "/feed"))).await.is_ok());
    for host in ["127.0.0.8", "127.0.0.10", "[::7f00:9]", "[64:ff9b::127.0.0.9]"] {
        assert!(trap.fetcher.check(&trap.url(host)).is_err(), "{host}");
    }
}

#[tokio::test]
async fn the_service_does_not_ask_itself() {
    let mut trap = Trap::new().await;
    trap.setting.rules.own_hosts = vec!["tofrom.example".to_owned(), "127.0.0.9".to_owned()];
    trap.fetcher = trap.setting.fetcher();
    trap.setting.names.lead("tofrom.example", &["127.0.0.9"]);
    for host in ["tofrom.example", "127.0.0.9", "lure.example"] {
        let outcome = trap.fetcher.get(&super::support::get(&trap.url(host))).await;
        assert_eq!(outcome.unwrap_err(), Failure::Refused(fetcher::Refusal::Own), "{host}");
    }
    assert_eq!(trap.lure.connections(), 0);
}

#[test]
fn an_address_is_held_to_its_rules_before_anything_is_looked_up() {
    let mut setting = Setting::new(&[]);
    setting.rules.ports = vec![80, 443];
    setting.rules.allowed.clear();
    let fetcher = setting.fetcher();
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
    let no_address = "This is not the address of a page: write one like https://example.org/feed.";
    let scheme = "Only addresses that begin with https:// or http:// are read.";
    let too_long = "The address is too long: at most 2,048 characters are read.";
    let credentials = "The address has a user name or a password in it: give one without.";
    let port = "The address has a port that is not asked, or leads to one: give one without a port.";
    let private =
        "The address is not one of the public internet, or leads to none: give one that everybody can reach.";
    let own = "The address is one of this service itself, or leads to one: give the address of another.";
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
        (
            "http://localhost/",
            "No public server is found for the host name in this address: check how it is written.",
        ),
        ("https://tofrom.example/", own),
        ("https://TOFROM.example./", own),
    ] {
        assert_eq!(fetcher.check(address).unwrap_err().to_string(), words, "{address}");
    }
    assert!(setting.names.asked().is_empty());
}
