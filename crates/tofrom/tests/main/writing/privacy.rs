//! Privacy between people: who may address an account, blocks, mutes, removed followers, filters on edges.

use super::fixture::{JSON, activity, becomes, fixture, fresh, item, refusal, with};
use serde_json::{Value, json};

/// A new account.
struct Person {
    name: String,
    key: String,
}

impl Person {
    fn new(prefix: &str, public: bool) -> Person {
        let (name, key) = fixture().new_account(prefix, public);
        Person { name, key }
    }

    fn send(
        &self,
        method: &str,
        target: &str,
        body: Option<&Value>,
    ) -> super::super::support::client::Answer {
        let body = body.map(Value::to_string).unwrap_or_default();
        fixture().by_key(method, target, &self.key, JSON, body.as_bytes())
    }

    /// A request below the account's own address.
    fn own(&self, method: &str, rest: &str) -> u16 {
        self.send(method, &format!("/200909/user/{}{rest}", self.name), None).status
    }

    fn follow(&self, other: &Person, filter: Option<&Value>) -> u16 {
        self.send("PUT", &format!("/200909/user/{}/following/{}", self.name, other.name), filter).status
    }

    /// Writes an activity that addresses these people.
    fn write(&self, service: &str, title: &str, to: &[&Person]) {
        let to: Vec<&str> = to.iter().map(|person| person.name.as_str()).collect();
        let body = with(activity(title), json!({ "To": to }));
        let answer = self.send("PUT", &item(&self.name, service, title), Some(&body));
        assert_eq!(answer.status, 201, "{}", answer.text());
    }

    fn titles(&self, collection: &str) -> Vec<String> {
        let target = format!("/200909/activity/{}/{collection}?count=200", self.name);
        let page = self.send("GET", &target, None);
        let mut titles: Vec<String> =
            page.activities().iter().map(|one| one["Title"].as_str().unwrap().to_owned()).collect();
        titles.sort();
        titles
    }

    fn names(&self, list: &str) -> Vec<String> {
        let page = self.send("GET", &format!("/200909/user/{}/{list}", self.name), None);
        assert_eq!(page.status, 200, "{}", page.text());
        let users = page.json()["Users"]["User"].as_array().unwrap().clone();
        users.iter().map(|user| user["UserIdentifier"].as_str().unwrap().to_owned()).collect()
    }

    fn set_addressable(&self, by: &str) -> u16 {
        let body = json!({ "AddressableBy": by });
        self.send("PUT", &format!("/200909/user/{}", self.name), Some(&body)).status
    }
}

/// Waits until everything that the actor did before is delivered.
fn deliver(actor: &Person) {
    let last = Person::new("last", false);
    actor.write(&fresh("last"), "last", &[&last]);
    becomes(vec!["last".to_owned()], || last.titles("to"));
}

#[test]
fn an_account_decides_who_may_address_it_when_the_activity_is_accepted() {
    let (me, friend, stranger) =
        (Person::new("shy", false), Person::new("friend", true), Person::new("stranger", true));
    let shown = |who: &Person| {
        let page = who.send("GET", &format!("/200909/user/{}", friend.name), None);
        page.json()["User"]["AddressableBy"].as_str().map(str::to_owned)
    };
    assert_eq!((shown(&friend), shown(&stranger)), (Some("everyone".to_owned()), None));
    assert_eq!(me.set_addressable("friends"), 422);
    assert_eq!((me.set_addressable("following"), me.follow(&friend, None)), (200, 204));
    let service = fresh("address");
    stranger.write(&service, "refused", &[&me]);
    friend.write(&service, "taken", &[&me]);
    becomes(vec!["taken".to_owned()], || me.titles("to"));
    deliver(&stranger);
    assert_eq!(me.titles("to"), ["taken"]);

    // A later change moves nothing, and neither does a new version of an activity that was judged.
    assert_eq!(me.set_addressable("everyone"), 200);
    let again = |title: &str| with(activity(title), json!({ "To": [me.name] }));
    let edited = stranger.send("PUT", &item(&stranger.name, &service, "refused"), Some(&again("edited")));
    assert_eq!(edited.status, 200);
    deliver(&stranger);
    assert_eq!(me.titles("to"), ["taken"]);
    assert_eq!(me.set_addressable("nobody"), 200);
    let edited = friend.send("PUT", &item(&friend.name, &service, "taken"), Some(&again("still")));
    assert_eq!(edited.status, 200);
    becomes(vec!["still".to_owned()], || me.titles("to"));
}

#[test]
fn a_block_ends_follows_and_hides_in_both_directions() {
    let (me, pest, other) = (Person::new("me", true), Person::new("pest", true), Person::new("other", true));
    let service = fresh("block");
    assert_eq!((pest.follow(&me, None), me.follow(&pest, None), other.follow(&me, None)), (204, 204, 204));
    me.write(&service, "mine", &[]);
    me.write(&service, "for you", &[&pest]);
    pest.write(&service, "to you", &[&me]);
    becomes(vec!["for you".to_owned(), "mine".to_owned()], || pest.titles("to"));
    becomes(vec!["to you".to_owned()], || me.titles("to"));

    let path = format!("/blocked/{}", pest.name);
    assert_eq!((me.own("PUT", &path), me.own("PUT", &path)), (204, 204));
    assert_eq!(me.names("blocked"), [pest.name.as_str()]);
    assert_eq!((me.titles("to"), pest.titles("to")), (vec![], vec!["for you".to_owned()]), "at once");
    assert_eq!((me.names("followers"), pest.names("following")), (vec![other.name.clone()], vec![]));
    let read = |who: &Person| who.send("GET", &format!("/200909/activity/{}/from", me.name), None);
    let unknown = pest.send("GET", "/200909/activity/missing-at-all/from", None);
    assert_eq!((read(&pest).status, read(&pest).json()), (404, unknown.json()));
    assert_eq!((read(&other).status, pest.follow(&me, None), me.follow(&pest, None)), (200, 404, 422));
    // In the collection of another account the account looks private too.
    let through = |who: &Person| {
        let page = who.send("GET", &format!("/200909/activity/{}/to", other.name), None);
        page.activities().len()
    };
    becomes(2, || through(&other));
    assert_eq!(through(&pest), 1, "what addresses the reader");
    let followers = pest.send("GET", &format!("/200909/user/{}/following", other.name), None);
    assert!(!followers.text().contains(&me.name), "{}", followers.text());

    pest.write(&service, "meanwhile", &[&me]);
    deliver(&pest);
    assert_eq!(me.titles("to"), [""; 0]);
    assert_eq!((me.own("DELETE", &path), me.own("DELETE", &path)), (204, 204));
    assert_eq!(me.titles("to"), ["to you"], "and not what was addressed meanwhile");
    assert_eq!((read(&pest).status, me.names("followers")), (200, vec![other.name.clone()]), "no follow");
    assert_eq!((pest.follow(&me, None), me.own("PUT", &format!("/blocked/{}", me.name))), (204, 422));
}

#[test]
fn muted_activities_leave_the_collection_and_come_back() {
    let (me, loud, calm) = (Person::new("me", false), Person::new("loud", true), Person::new("calm", true));
    let service = fresh("mute");
    assert_eq!((me.follow(&loud, None), me.follow(&calm, None)), (204, 204));
    loud.write(&service, "loud", &[]);
    loud.write(&service, "loud to me", &[&me]);
    calm.write(&service, "calm", &[]);
    let all = || ["calm", "loud", "loud to me"].map(str::to_owned).to_vec();
    becomes(all(), || me.titles("to"));
    let path = format!("/muted/{}", loud.name);
    assert_eq!(me.own("PUT", &path), 204);
    assert_eq!((me.titles("to"), me.titles("tofrom")), (vec!["calm".to_owned()], vec!["calm".to_owned()]));
    assert_eq!(me.names("muted"), [loud.name.as_str()]);
    assert_eq!(me.names("following").len(), 2);
    assert_eq!(me.own("DELETE", &path), 204);
    assert_eq!(me.titles("to"), all());
    let private = Person::new("hidden", false);
    for name in [private.name.as_str(), "missing-at-all"] {
        for list in ["blocked", "muted"] {
            assert_eq!(me.own("PUT", &format!("/{list}/{name}")), 204, "whether it exists or not");
        }
    }
    let xml = fixture().by_key(
        "GET",
        &format!("/200909/user/{}/muted?format=xml&count=1", me.name),
        &me.key,
        JSON,
        &[],
    );
    assert!(xml.text().contains("<Users><User><UserIdentifier>"), "{}", xml.text());
    assert!(xml.link("next").is_some());
}

#[test]
fn a_follower_is_removed_and_may_follow_again() {
    let (star, fan) = (Person::new("star", true), Person::new("fan", false));
    let service = fresh("remove");
    star.write(&service, "before", &[]);
    assert_eq!(fan.follow(&star, None), 204);
    becomes(vec!["before".to_owned()], || fan.titles("to"));
    let path = format!("/followers/{}", fan.name);
    assert_eq!((star.own("DELETE", &path), star.own("DELETE", &path)), (204, 204));
    assert_eq!((fan.titles("to"), star.names("followers")), (vec![], vec![]));
    assert_eq!(star.own("DELETE", "/followers/missing-at-all"), 204);
    assert_eq!(fan.send("DELETE", &format!("/200909/user/{}{path}", star.name), None).status, 403);
    assert_eq!(fan.follow(&star, None), 204);
    becomes(vec!["before".to_owned()], || fan.titles("to"));
}

#[test]
fn a_filter_on_an_edge_selects_what_comes_through() {
    let (me, star) = (Person::new("me", false), Person::new("star", true));
    let (alpha, beta) = (fresh("Alpha"), fresh("Beta"));
    for service in [&alpha, &beta] {
        star.write(service, &format!("in {service}"), &[]);
    }
    star.write(&beta, "to me", &[&me]);
    assert_eq!(me.follow(&star, Some(&json!({ "Service": [alpha.to_uppercase()] }))), 204);
    let expected = |titles: &[&str]| titles.iter().map(|title| (*title).to_owned()).collect::<Vec<_>>();
    becomes(expected(&[&format!("in {alpha}"), "to me"]), || me.titles("to"));
    let xml = format!("<Filter><Service>{beta}</Service><Type>bookmark</Type><Verb>share</Verb></Filter>");
    let path = format!("/200909/user/{}/following/{}", me.name, star.name);
    let put = fixture().by_key("PUT", &path, &me.key, "application/xml", xml.as_bytes());
    assert_eq!(put.status, 204, "{}", put.text());
    assert_eq!(me.titles("to"), expected(&[&format!("in {beta}"), "to me"]), "at once");
    assert_eq!(me.follow(&star, Some(&json!({ "Type": "photo" }))), 204);
    assert_eq!(me.titles("to"), ["to me"]);
    assert_eq!(me.follow(&star, None), 204, "without a body there is none");
    assert_eq!(me.titles("to").len(), 3);
    for wrong in [json!({ "Service": [7] }), json!({ "Verb": [""] })] {
        let answer = me.send("PUT", &path, Some(&wrong));
        assert_eq!(refusal(&answer, "field").0, 422, "{}", answer.text());
    }
}

#[test]
fn blocks_and_mutes_by_command() {
    let (me, other) = (Person::new("me", false), fresh("missing"));
    let fixture = fixture();
    for (command, list) in [("block", "blocked"), ("mute", "muted")] {
        fixture.run(&[command, "add", &me.name, &other]);
        assert_eq!(me.names(list), [other.as_str()]);
        assert!(fixture.run(&[command, "list", &me.name]).contains(&other));
        fixture.run(&[command, "remove", &me.name, &other]);
        assert_eq!(me.names(list), [""; 0]);
    }
    fixture.run(&["account", "set", &me.name, "--addressable-by", "nobody"]);
    let addressable_by = || {
        let page = me.send("GET", &format!("/200909/user/{}", me.name), None);
        page.json()["User"]["AddressableBy"].clone()
    };
    becomes(Value::from("nobody"), addressable_by);
}
