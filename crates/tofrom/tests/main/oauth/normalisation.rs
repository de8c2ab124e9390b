//! Where clients and servers disagree: encodings, order, and the syntax of the header.

use super::super::support::signer::ParameterLocation;
use super::answers::not_signed_by;
use super::service::fixture;

/// Queries in many encodings.
const ODD: [&str; 15] = [
    "x=b&x=a&x=B&x=&x=10&x=9",
    "e=&f&g=",
    "s=~*'()!",
    "s=%7E%2A%27%28%29%21",
    "%C3%A9=%E2%9C%93&u=%F0%9F%8E%89&%E2%9C%93=",
    "u=%c3%a9%2f%3a",
    "p=a+b&q=a%2Bb&r=a%20b&s=+&a+b=1",
    "receivedsince=2009-09-01T00:00:00.000+00:00",
    "p=100%25&q=%2525&r=%253D",
    "q=a=b&r=%3D%26&s==",
    "r=:/?@$,;&t=1;2&type=bookmark,photo",
    "z=1&a_b=1&aB=1&a-b=1&A=1&%C3%A9=1&a=2&a0=1&a=~&a=-&a=%20&a=1&a%20=1",
    "binary=%FF%00%80",
    "&&a=1&&b=2&",
    "oauth_flavour=sweet+%26+sour&realm=x",
];

#[test]
fn odd_parameters_are_signed_alike_in_every_location() {
    let (fixture, client) = (fixture(), &fixture().service.client);
    for odd in ODD {
        for draft in [
            fixture.app.whoami(&fixture.token).query(odd),
            fixture.app.whoami(&fixture.token).query(odd).location(ParameterLocation::Query),
            fixture.app.whoami(&fixture.token).query("x=b&x=1").form(odd),
        ] {
            let answer = draft.send(client);
            assert_eq!(answer.status, 200, "{odd}: {}", answer.text());
        }
    }
}

#[test]
fn the_order_of_parameters_does_not_matter() {
    let fixture = fixture();
    let mut sent = fixture.app.whoami(&fixture.token).query("a=1&b=2&c=3&a=0").sign();
    sent.target = sent.target.replace("a=1&b=2&c=3&a=0", "c=3&a=0&a=1&b=2");
    assert_eq!(sent.send(&fixture.service.client).status, 200);
}

#[test]
fn many_header_spellings_are_accepted() {
    let (fixture, client) = (fixture(), &fixture().service.client);
    for (scheme, realm, between) in [
        ("oauth ", "realm=\"x\", ", ", "),
        ("OAUTH ", "realm=\"x\",", ","),
        ("OAuth\t", "", "\t,\t"),
        ("OAuth  ", "", " , , "),
        ("OAuth ", "realm=\"a, oauth_nonce=b\", ", ", "),
        ("OAuth ", "Realm=\"a \\\" b\", ", ",  "),
    ] {
        let answer = fixture.app.whoami(&fixture.token).shape(scheme, realm, between).send(client);
        assert_eq!(answer.status, 200, "{scheme:?} {realm:?}: {}", answer.text());
    }
    for draft in [
        fixture.app.whoami(&fixture.token).without("oauth_version"),
        fixture.app.whoami(&fixture.token).set("oauth_flavour", "sweet & sour"),
        fixture.app.temporary_request().set("oauth_token", ""),
    ] {
        assert_eq!(draft.send(client).status, 200);
    }
    let mut sent = fixture.app.whoami(&fixture.token).set("oauth_flavour", "sweet").sign();
    let header = sent.header("Authorization");
    *header = header.replace("sweet", "sour");
    not_signed_by(&sent.send(client));
}

#[test]
fn head_is_signed_as_head_and_a_path_as_sent() {
    let (fixture, client) = (fixture(), &fixture().service.client);
    let head = fixture.app.draft("HEAD", "/200909/whoami").token(&fixture.token);
    assert_eq!(head.clone().send(client).status, 200);
    let mut as_get = head.sign();
    as_get.method = "GET".to_owned();
    not_signed_by(&as_get.send(client));
    for path in ["/200909/activity/ALICE/tofrom", "/200909/activity/%61lice/tofrom"] {
        assert_eq!(fixture.app.draft("GET", path).token(&fixture.token).send(client).status, 200, "{path}");
    }
    let mut rewritten =
        fixture.app.draft("GET", "/200909/activity/%61lice/tofrom").token(&fixture.token).sign();
    rewritten.target = rewritten.target.replace("%61", "a");
    not_signed_by(&rewritten.send(client));
}

#[test]
fn the_signed_address_is_the_configured_one_for_any_host() {
    let (fixture, client) = (fixture(), &fixture().service.client);
    let sent = fixture.app.whoami(&fixture.token).header("Host", "evil.example");
    assert!(matches!(sent.send(client).status, 200 | 400 | 421), "two Host lines may be refused");
    let evil = |origin: &str| {
        super::super::support::signer::Draft::new(origin, "GET", "/social/200909/whoami", &fixture.app.pair)
            .token(&fixture.token)
            .send(client)
    };
    assert_eq!(evil("https://feeds.example").status, 200);
    for origin in ["https://evil.example", "http://feeds.example", &client.base, "https://feeds.example:443"]
    {
        not_signed_by(&evil(origin));
    }
}
