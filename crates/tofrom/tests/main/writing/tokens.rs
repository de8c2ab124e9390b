//! What an application may do with an account's token.

use super::super::support::browser::Browser;
use super::super::support::client::Answer;
use super::super::support::signer::{Draft, Pair, decoded};
use super::fixture::{JSON, activity, fixture, fresh, item, refusal};

fn consumer() -> Pair {
    let consumer_key = &fixture().demo.ready["consumer"];
    Pair::new(consumer_key["key"].as_str().unwrap(), consumer_key["secret"].as_str().unwrap())
}

fn draft(method: &str, target: &str) -> Draft {
    Draft::new(&fixture().demo.client.base, method, target, &consumer())
}

fn issued(answer: &Answer) -> Pair {
    assert_eq!(answer.status, 200, "{}", answer.text());
    let pairs = decoded(answer.text());
    let field = |name: &str| {
        let found = pairs.iter().find(|(known, _)| known == name.as_bytes()).unwrap();
        String::from_utf8(found.1.clone()).unwrap()
    };
    Pair { key: field("oauth_token"), secret: field("oauth_token_secret") }
}

/// A token of an account of the demo.
fn token(name: &str, scope: &str) -> Pair {
    token_of(name, fixture().demo.password(name), scope)
}

fn token_of(name: &str, password: &str, scope: &str) -> Pair {
    let client = &fixture().demo.client;
    let request = draft("POST", "/oauth/request_token").set("oauth_callback", "oob");
    let temporary = issued(&request.query(&format!("scope={scope}")).send(client));
    let mut browser = Browser::new(client, &client.base);
    let page = browser.visit(&format!("{}/oauth/authorize?oauth_token={}", client.base, temporary.key));
    let form = page.form("password").unwrap();
    let page = browser.submit(&form, &[("username", name), ("password", password)]);
    let page = browser.submit(&page.form("decision").unwrap(), &[("decision", "allow")]);
    let verifier = page.element("verifier").unwrap();
    let exchange = draft("POST", "/oauth/access_token").token(&temporary).set("oauth_verifier", &verifier);
    issued(&exchange.send(client))
}

#[test]
fn a_token_writes_with_its_scope_and_cannot_remove_the_account() {
    let (fixture, service) = (fixture(), fresh("lent"));
    let client = &fixture.demo.client;
    let target = item("erin", &service, "a/b");
    let put = |token: &Pair| {
        let body = activity("x").to_string();
        draft("PUT", &target).token(token).body(JSON, body.as_bytes()).send(client)
    };
    let (reads, writes) = (token("erin", "read"), token("erin", "write"));
    assert_eq!(refusal(&put(&reads), "reason"), (403, "scope".to_owned()));
    assert_eq!(put(&writes).status, 201);
    assert_eq!(fixture.titles("erin", "erin", "from", &service), ["x"]);
    let follow = draft("PUT", "/200909/user/erin/following/carol").token(&writes).send(client);
    assert_eq!(follow.status, 204);
    let remove = draft("DELETE", "/200909/user/erin").token(&writes).send(client);
    assert_eq!(refusal(&remove, "reason"), (403, "token-lent".to_owned()));
    assert_eq!(fixture.request("GET", "/200909/user/erin", "erin").status, 200);
}

#[test]
fn a_token_of_an_operator_has_no_operator_rights() {
    let (fixture, service) = (fixture(), fresh("lent"));
    let writes = token("ops", "write");
    for (user, status) in [("alice", 404), ("bob", 403), ("ops", 201)] {
        let body = activity("x").to_string();
        let put = draft("PUT", &item(user, &service, "1")).token(&writes).body(JSON, body.as_bytes());
        assert_eq!(put.send(&fixture.demo.client).status, status, "{user}");
    }
}

#[test]
fn tokens_end_with_the_account() {
    let (fixture, name) = (fixture(), fresh("lender"));
    let password = "its-very-own-word";
    fixture.run_with_input(&["account", "add", &name, "--password-stdin"], &format!("{password}\n"));
    let token = token_of(&name, password, "write");
    let whoami = || draft("GET", "/200909/whoami").token(&token).send(&fixture.demo.client);
    assert_eq!(whoami().status, 200);
    let target = format!("/200909/user/{name}");
    let basic = fixture.demo.basic(&name, password);
    let request =
        |method: &str| fixture.demo.client.send(method, &target, &[("Authorization", &basic)], &[]).status;
    assert_eq!((request("GET"), request("DELETE")), (200, 204));
    assert_eq!((whoami().status, request("GET")), (401, 401), "immediately");
}
