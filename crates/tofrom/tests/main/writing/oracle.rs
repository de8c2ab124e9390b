//! `To` reveals nothing to the sender: two senders send the same sequence of PUTs and batches, one to existing
//! accounts, the other to unknown names, and every answer, entity tag and arrival changes alike.

use super::super::delivery::env_number;
use super::super::support::chance::Chance;
use super::super::support::client::{Answer, Client};
use super::super::support::steal_adjusted_clock;
use super::fixture::{JSON, NDJSON, activity, fixture, fresh, with};
use serde_json::{Value, json};
use std::time::Duration;

/// Number of sequences. `ORACLE_SEQUENCES` overrides it.
const SEQUENCES: u64 = 12;
const STEPS: usize = 8;
const TITLES: [&str; 3] = ["a", "a", "b"];
/// Time limit for a new version to arrive in `updates`.
const ARRIVES: Duration = Duration::from_secs(5);

/// An account with a key that writes.
pub(crate) struct Sender {
    pub(crate) name: String,
    pub(crate) key: String,
}

/// One of two senders, with the names that it sends to.
pub(crate) struct Side<'a> {
    pub(crate) client: &'a Client,
    /// The prefix of every path.
    pub(crate) prefix: &'a str,
    pub(crate) sender: Sender,
    pub(crate) names: Vec<String>,
}

/// What one step revealed, without the parts that differ between any two requests.
#[derive(Debug, PartialEq)]
struct StepResult {
    status: u16,
    headers: Vec<(String, String)>,
    body: String,
    new_tag: bool,
    new_update: bool,
    arrived: usize,
}

/// The content of a step; recipients are numbers, so that both senders send the same with their own names.
struct Step {
    to: Option<Vec<(usize, bool)>>,
    title: &'static str,
    batch: bool,
}

impl Step {
    fn random(chance: &mut Chance, names: usize) -> Step {
        let mut name = || (chance.below(names), chance.one_in(2));
        let several: Vec<_> = (0..4).map(|_| name()).collect();
        let count = chance.below(5);
        let to = (!chance.one_in(4)).then(|| several[..count].to_vec());
        Step { to, title: TITLES[chance.below(TITLES.len())], batch: chance.one_in(3) }
    }
}

impl Side<'_> {
    fn request(&self, method: &str, path: &str, accept: &str, kind: &str, body: &str) -> Answer {
        let headers = [("ServicePSK", self.sender.key.as_str()), ("Accept", accept), ("Content-Type", kind)];
        let headers = if body.is_empty() { &headers[..2] } else { &headers };
        self.client.send(method, &format!("{}/200909{path}", self.prefix), headers, body.as_bytes())
    }

    /// The text with the names of this sender replaced.
    fn plain(&self, text: &str) -> String {
        text.replace(&self.sender.name, "SENDER")
    }

    /// The item's entity tag and `updated`, if it exists.
    fn version_of(&self, item: &str) -> (Option<String>, Option<String>) {
        let entry = self.request("GET", item, "application/atom+xml", "", "");
        let updated = || Some(entry.text().split_once("<updated>")?.1.split('<').next()?.to_owned());
        (entry.header("etag").map(str::to_owned), (entry.status == 200).then(updated).flatten())
    }

    fn run(&self, id: &str, steps: &[Step]) -> Vec<StepResult> {
        let mut shown = Vec::new();
        let (own, item) = (
            format!("/activity/{}/from", self.sender.name),
            format!("/activity/{}/from/Oracle/{id}", self.sender.name),
        );
        for Step { to, title, batch } in steps {
            let before = self.version_of(&item);
            let mark = self.request("GET", &format!("{own}?count=1"), JSON, "", "").link("updates").unwrap();
            let (_, mark) = mark.split_once("/200909").unwrap();
            let spelled = |(number, upper): &(usize, bool)| match upper {
                true => self.names[*number].to_uppercase(),
                false => self.names[*number].clone(),
            };
            let recipients =
                to.as_ref().map(|to| json!({ "To": to.iter().map(spelled).collect::<Vec<_>>() }));
            let body = with(activity(title), recipients.unwrap_or_else(|| json!({})));
            let answer = if *batch {
                let source = json!({ "SourceId": id, "SourceService": { "Name": "Oracle" } });
                self.request("POST", &own, JSON, NDJSON, &with(body, source).to_string())
            } else {
                self.request("PUT", &item, JSON, JSON, &body.to_string())
            };
            assert!(answer.status < 300, "{}", answer.text());
            let after = self.version_of(&item);
            let new_tag = before.0 != after.0;
            let arrivals = || self.request("GET", mark, JSON, "", "").activities().len();
            let arrived =
                steal_adjusted_clock::wait_for(ARRIVES, arrivals, |count| *count >= usize::from(new_tag));
            // The identifier is random.
            let identifier = |text: &str| match text.rsplit_once("/activity/") {
                Some((before, _)) => format!("{before}/activity/ID"),
                None => text.to_owned(),
            };
            let headers =
                answer.headers.iter().filter(|(name, _)| !["date", "x-request-id"].contains(&name.as_str()));
            shown.push(StepResult {
                status: answer.status,
                headers: headers
                    .map(|(name, value)| (name.clone(), identifier(&self.plain(value))))
                    .collect(),
                body: identifier(&self.plain(answer.text())),
                new_tag,
                new_update: before.1 != after.1,
                arrived,
            });
        }
        shown
    }
}

/// Sends random sequences from both senders.
pub(crate) fn try_all(count: u64, known: &Side<'_>, unknown: &Side<'_>) {
    assert_eq!(known.names.len(), unknown.names.len());
    let first = env_number("ORACLE_SEED").unwrap_or(0);
    for seed in first..first + count {
        let mut chance = Chance::new(seed);
        let steps: Vec<Step> = (0..STEPS).map(|_| Step::random(&mut chance, known.names.len())).collect();
        let id = fresh("sequence");
        let (one, other) = (known.run(&id, &steps), unknown.run(&id, &steps));
        let mut named: Vec<usize> = Vec::new();
        let mut title = "";
        for (number, (step, (one, other))) in steps.iter().zip(one.iter().zip(&other)).enumerate() {
            assert_eq!(one, other, "ORACLE_SEED={seed}: known and unknown names, step {number}");
            let mut to: Vec<usize> = step
                .to
                .as_ref()
                .map_or_else(|| named.clone(), |to| to.iter().map(|(name, _)| *name).collect());
            to.sort_unstable();
            to.dedup();
            let changed = number == 0 || to != named || step.title != title;
            let expected = (changed, changed, usize::from(changed));
            assert_eq!(
                (one.new_tag, one.new_update, one.arrived),
                expected,
                "ORACLE_SEED={seed}: whether step {number} is a new version"
            );
            (named, title) = (to, step.title);
        }
    }
}

#[test]
fn to_reveals_no_account_names() {
    let fixture = fixture();
    let side = |names: Vec<String>| {
        let (name, key) = fixture.new_account("sender", false);
        Side { client: &fixture.demo.client, prefix: "", sender: Sender { name, key }, names }
    };
    let accounts = (0..4).map(|number| fixture.new_account("known", number % 2 == 0).0);
    let known = side(accounts.collect());
    let unknown = side((0..4).map(|_| fresh("missing-")).collect());
    try_all(env_number("ORACLE_SEQUENCES").unwrap_or(SEQUENCES), &known, &unknown);
    // The senders' exports contain the names that they sent, whether they exist or not.
    for side in [&known, &unknown] {
        let names: Vec<&String> = vec![&side.names[0], &side.names[1]];
        let item = format!("/200909/activity/{}/from/Oracle/exported", side.sender.name);
        let body = with(activity("exported"), json!({ "To": names }));
        let sent = fixture.by_key("PUT", &item, &side.sender.key, JSON, body.to_string().as_bytes());
        assert_eq!(sent.status, 201, "{}", sent.text());
        let exported = fixture.run(&["export", &side.sender.name]);
        let last: Value = serde_json::from_str(exported.lines().last().unwrap()).unwrap();
        let mut names = names.clone();
        names.sort_unstable();
        assert_eq!(last["To"], json!(names), "{last}");
    }
}
