//! Unusual but valid requests, and their meaning.

use oauth1::{Malformed, Request, encode};

use crate::support::{Draft, LOCATIONS, ParameterLocation, SECRETS, Sent};

/// The signed parameters except protocol parameters, encoded, in order.
fn normalised(sent: &Sent) -> String {
    let base_string = sent.read().unwrap().base_string();
    let parameters = base_string.rsplit('&').next().unwrap().replace("%26", "&").replace("%3D", "=");
    let pairs: Vec<&str> = parameters.split('&').filter(|pair| !pair.starts_with("oauth_")).collect();
    // Encoded once more than the normalised parameters.
    pairs.join("&").replace("%25", "%")
}

#[test]
fn unusual_queries_and_forms_are_read() {
    let cases = [
        ("x=b&x=a&x=B&x=&x=10&x=9", "x=&x=10&x=9&x=B&x=a&x=b"),
        ("e=&f&g=", "e=&f=&g="),
        ("&&a=1&&b=2&", "a=1&b=2"),
        ("=&=1", "=&=1"),
        ("s=~*'()!", "s=~%2A%27%28%29%21"),
        ("s=%7E%2A%27%28%29%21", "s=~%2A%27%28%29%21"),
        ("%C3%A9=%E2%9C%93&%E2%9C%93=", "%C3%A9=%E2%9C%93&%E2%9C%93="),
        ("é=✓", "%C3%A9=%E2%9C%93"),
        ("u=%c3%a9%2f%3a", "u=%C3%A9%2F%3A"),
        ("p=a+b&q=a%2Bb&r=a%20b&s=+&a+b=1", "a%20b=1&p=a%20b&q=a%2Bb&r=a%20b&s=%20"),
        (
            "receivedsince=2009-09-01T00:00:00.000+00:00",
            "receivedsince=2009-09-01T00%3A00%3A00.000%2000%3A00",
        ),
        ("p=100%25&q=%2525&r=%253D", "p=100%25&q=%2525&r=%253D"),
        ("p=100%&q=%zz&r=%4&%=%%41", "%25=%25A&p=100%25&q=%25zz&r=%254"),
        ("q=a=b&r=%3D%26&s==", "q=a%3Db&r=%3D%26&s=%3D"),
        ("r=:/?@$,;&t=1;2", "r=%3A%2F%3F%40%24%2C%3B&t=1%3B2"),
        ("raw=%FF%00%80", "raw=%FF%00%80"),
        ("realm=x&Realm=y", "Realm=y&realm=x"),
        ("OAUTH_TOKEN=x&oauth=y&xoauth_token=z", "OAUTH_TOKEN=x&oauth=y&xoauth_token=z"),
    ];
    for (text, expected) in cases {
        for location in LOCATIONS {
            let in_query = Draft::new(location).query(text).signed();
            assert_eq!(normalised(&in_query), expected, "{in_query:?}");
            assert!(in_query.verifies(&SECRETS), "{in_query:?}");
            let in_form = Draft::new(location).form(text).signed();
            assert_eq!(normalised(&in_form), expected, "{in_form:?}");
            assert_eq!(in_form.read().unwrap().has_bare_plus(), text.contains('+'));
        }
        let (first, rest) = text.split_at(text.find('&').unwrap_or(text.len()));
        let in_both = Draft::new(ParameterLocation::Header).query(first).form(rest).signed();
        assert_eq!(normalised(&in_both), expected, "{in_both:?}");
    }
}

#[test]
fn unusual_headers_are_read() {
    let signed = Draft::new(ParameterLocation::Header).query("a=1").signed();
    let header = signed.authorization.clone().unwrap();
    let pairs = header.strip_prefix("OAuth realm=\"Feeds\", ").unwrap();
    let shapes = [
        format!("OAuth {pairs}"),
        format!("oauth {pairs}"),
        format!("OAUTH\t {pairs}"),
        format!("  OAuth   {pairs}  "),
        format!("OAuth {}", pairs.replace(", ", ",")),
        format!("OAuth {}", pairs.replace(", ", "\t,\t")),
        format!("OAuth , {},", pairs.replace(", ", ", ,,")),
        format!("OAuth {}", pairs.rsplit(", ").collect::<Vec<_>>().join(", ")),
        format!("OAuth {pairs}, realm=\"\""),
        format!("OAuth realm=\"a, oauth_nonce=b\", {pairs}"),
        format!("OAuth realm=\"a\\\", oauth_nonce=\\\"b\", {pairs}"),
        format!("OAuth realm=\"100% \\\\\", {pairs}"),
        format!("OAuth REALM=\"büro\", {pairs}"),
        format!("OAuth {}", pairs.replace("oauth_", "oauth%5F")),
        format!("OAuth {}", pairs.replace("nonce", "n%6fnce")),
        format!("OAuth {}", pairs.replace("%3D\"", "=\"").replace("%2F", "/").replace("%2B", "+")),
    ];
    for shape in shapes {
        let sent = Sent { authorization: Some(shape), ..signed.clone() };
        assert!(sent.request().is_signed(), "{sent:?}");
        assert!(sent.verifies(&SECRETS), "{sent:?}");
    }
}

#[test]
fn other_schemes_are_ignored() {
    let in_query = Draft::new(ParameterLocation::Query).signed();
    for authorization in
        ["Basic YTpi", "OAuth2 x", "OAuthoauth_nonce=\"x\"", "Bearer oauth_nonce=\"x\"", "", "OAut"]
    {
        let sent = Sent { authorization: Some(authorization.to_owned()), ..in_query.clone() };
        assert!(sent.verifies(&SECRETS), "{authorization}");
        let alone = Sent { query: String::new(), ..sent };
        assert!(!alone.request().is_signed(), "{authorization}");
    }
}

#[test]
fn signed_requests_are_detected() {
    let is_signed = |query: &str, form: Option<&str>| {
        let form = form.map(str::as_bytes);
        Request { method: "GET", origin: "", path: "", query: query.as_bytes(), authorization: None, form }
            .is_signed()
    };
    for signed in [
        "oauth_token=",
        "a=b&oauth_consumer_key",
        "oauth%5fnonce=1",
        "%6F%61%75%74%68%5F%6E%6F%6E%63%65=1",
        "&&oauth_body_hash=x",
        "%6f%61%75%74%68%5f%73%69%67%6e%61%74%75%72%65%5f%6d%65%74%68%6f%64",
    ] {
        assert!(is_signed(signed, None), "{signed}");
        assert!(is_signed("", Some(signed)), "{signed}");
        assert!(is_signed("a=b", Some(signed)), "{signed}");
    }
    for unsigned in [
        "",
        "a=oauth_token",
        "oauth=1",
        "oauth_callback=oob&oauth_verifier=v",
        "xoauth_token=1",
        "oauth_tokens=1",
        "OAUTH_TOKEN=1",
        "oauth_flavour=sweet",
        "orderby=received&count=1",
        "oauth+token=1",
        "oauth%token=1",
    ] {
        assert!(!is_signed(unsigned, None), "{unsigned}");
        assert!(!is_signed(unsigned, Some(unsigned)), "{unsigned}");
    }
}

#[test]
fn optional_parameters_may_be_omitted() {
    for location in LOCATIONS {
        assert!(Draft::new(location).without("oauth_version").signed().verifies(&SECRETS));
        let no_token = Draft::new(location).without("oauth_token").signed();
        assert_eq!(no_token.read().unwrap().token(), None);
        let empty_token = Draft::new(location).with("oauth_token", "").signed();
        let read = empty_token.read().unwrap();
        assert_eq!((read.token(), read.parameter("oauth_token")), (None, Ok(Some(""))));
        assert!(empty_token.verifies(&SECRETS) && no_token.verifies(&SECRETS));

        let plaintext = Draft::new(location)
            .with("oauth_signature_method", "PLAINTEXT")
            .with("oauth_signature", "consumer%20secret&token%20%26%20secret");
        let bare = plaintext.clone().without("oauth_timestamp").without("oauth_nonce").sent();
        assert!(bare.verifies(&SECRETS));
        let read = bare.read().unwrap();
        assert_eq!((read.timestamp(), read.nonce()), (None, None));
        let empty =
            plaintext.clone().with("oauth_timestamp", "").with("oauth_nonce", "").sent().read().unwrap();
        assert_eq!((empty.timestamp(), empty.nonce()), (None, None));
        let full = plaintext.sent().read().unwrap();
        assert_eq!((full.timestamp(), full.nonce()), (Some(1_700_000_000), Some("nonce")));
    }
}

#[test]
fn unknown_protocol_parameters_are_signed() {
    for location in LOCATIONS {
        let sent = Draft::new(location).and("oauth_flavour", "sweet & sour").signed();
        assert!(sent.verifies(&SECRETS));
        let altered = format!("{sent:?}").replace("sweet", "bitter");
        assert!(altered.contains("bitter"), "{altered}");
        let mut altered = sent.clone();
        for text in [Some(&mut altered.query), altered.authorization.as_mut(), altered.form.as_mut()] {
            text.into_iter().for_each(|text| *text = text.replace("sweet", "bitter"));
        }
        assert!(!altered.verifies(&SECRETS));
        assert_eq!(sent.read().unwrap().parameter("oauth_flavour"), Ok(Some("sweet & sour")));
    }
}

#[test]
fn parameters_are_read_from_any_location() {
    let callback = "http://127.0.0.1:1/?a=1&b=%20";
    let pair = format!("oauth_callback={}&scope=read+write", encode(callback.as_bytes()));
    for location in LOCATIONS {
        let drafts = [
            Draft::new(location).and("oauth_callback", callback).and("scope", "read write"),
            Draft::new(location).query(&pair),
            Draft::new(location).form(&pair),
        ];
        for draft in drafts {
            let sent = draft.signed();
            assert!(sent.verifies(&SECRETS));
            let read = sent.read().unwrap();
            assert_eq!(read.parameter("oauth_callback"), Ok(Some(callback)));
            assert_eq!(read.parameter("scope"), Ok(Some("read write")));
            assert_eq!(read.parameter("oauth_verifier"), Ok(None));
            assert_eq!(read.parameter("oauth_signature"), Ok(None), "it is not signed");
        }
    }
    let odd = Draft::new(ParameterLocation::Header)
        .and("oauth_verifier", "1")
        .query("oauth_verifier=1&raw=%FF&s=%C3%A9&%C3%A9=e&a&a=&b")
        .signed();
    let read = odd.read().unwrap();
    assert_eq!(read.parameter("oauth_verifier"), Err(Malformed::Repeated { name: "oauth_verifier".into() }));
    assert_eq!(read.parameter("a"), Err(Malformed::Repeated { name: "a".into() }));
    assert_eq!(read.parameter("raw"), Err(Malformed::NotUtf8 { name: "raw".into() }));
    assert_eq!(read.parameter("raw").unwrap_err().parameters(), ["raw"]);
    assert_eq!(read.parameter("s"), Ok(Some("é")));
    assert_eq!(read.parameter("é"), Ok(Some("e")));
    assert_eq!(read.parameter("b"), Ok(Some("")));
    assert_eq!(read.parameter(""), Ok(None));
    assert_eq!(read.parameter("realm"), Ok(None));
}

#[test]
fn base_uris_are_normalised() {
    let cases = [
        ("http://example.com", "", "http://example.com/"),
        ("HTTP://EXAMPLE.com:80", "/A", "http://example.com/A"),
        ("https://Example.com:443", "/", "https://example.com/"),
        ("https://example.com:80", "/", "https://example.com:80/"),
        ("http://example.com:443", "/", "http://example.com:443/"),
        ("https://example.com:8443", "/", "https://example.com:8443/"),
        ("https://example.com:4430", "/", "https://example.com:4430/"),
        ("https://example.com:1443", "/", "https://example.com:1443/"),
        ("http://[::1]:80", "/x", "http://[::1]/x"),
        ("http://[2001:DB8::80]", "/x", "http://[2001:db8::80]/x"),
        ("https://example.com/", "/%7ea/%2F;v=1//é", "https://example.com/%7ea/%2F;v=1//é"),
    ];
    for (origin, path, expected) in cases {
        let signed = Draft::new(ParameterLocation::Header).signed();
        let sent =
            Sent { origin: origin.to_owned(), path: path.to_owned(), method: "head".to_owned(), ..signed };
        let read = sent.read().unwrap();
        assert_eq!((read.base_uri(), read.http_method()), (expected, "HEAD"));
        assert!(read.base_string().starts_with(&format!("HEAD&{}&", encode(expected.as_bytes()))));
    }
}
