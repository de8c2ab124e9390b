//! Pushes one activity, and follows the account's collection live until it is stopped. curl speaks HTTPS.
//!
//! ```sh
//! cargo run --example live -- https://127.0.0.1:8443 ca.pem alice tfk_…
//! ```
//!
//! After a lost connection it reconnects with the id of the last event, and continues without a gap or a repeat.

use std::env;
use std::error::Error;
use std::io::{BufRead, BufReader, Read, Write, stdout};
use std::process::{Child, Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use serde_json::{Value, json};

/// curl's exit code for an HTTP error.
const REFUSED: i32 = 22;

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = env::args().skip(1).collect();
    let [base, authority, account, key] = arguments.as_slice() else {
        return Err("expected BASE CA ACCOUNT KEY".into());
    };
    let service = Service { authority, key };
    let mut out = stdout();

    // The current position of the collection. The stream contains everything after it, however late it is opened.
    let collection = format!("{base}/200909/activity/{account}/tofrom?count=0");
    let head = service.head(&["--request", "GET", &collection])?;
    let links = field(&head, "link").ok_or("no Link header")?;
    let updates =
        links.split('<').find(|link| link.contains("rel=\"updates\"")).ok_or("no link to updates")?;
    let updates = updates.split('>').next().unwrap_or_default();

    let now = SystemTime::now().duration_since(UNIX_EPOCH)?.as_nanos();
    let address = format!("{base}/200909/activity/{account}/from/Examples/{now}");
    let title = format!("{account} says hello from Rust");
    let activity = json!({"Category": "NotePosted", "Title": title, "Note": {"Title": "Hello"}}).to_string();
    let kind = "Content-Type: application/json";
    let head = service.head(&["--request", "PUT", "--header", kind, "--data-raw", &activity, &address])?;
    writeln!(out, "pushed {}", field(&head, "location").ok_or("no Location header")?)?;

    let mut last = String::new();
    let mut pause = Duration::from_secs(1);
    loop {
        let resume = format!("Last-Event-ID: {last}");
        let stream = ["--no-buffer", "--header", "Accept: text/event-stream", "--header", &resume, updates];
        // curl retries a 429 or 503 after the time that `Retry-After` gives.
        let mut curl = service.start(&[&["--retry", "10"], &stream[..]].concat())?;
        let lines = BufReader::new(curl.stdout.take().ok_or("no output of curl")?).lines();
        let (mut event, mut id, mut data) = (String::new(), None, None);
        for line in lines {
            let line = line?;
            match line.split_once(": ") {
                Some(("event", value)) => event = value.to_owned(),
                Some(("id", value)) => id = Some(value.to_owned()),
                Some(("data", value)) => data = Some(value.to_owned()),
                Some(("retry", value)) => pause = Duration::from_millis(value.parse()?),
                // An empty line ends an event. An incomplete event is sent again.
                None if line.is_empty() => {
                    if let Some(data) = data.take() {
                        writeln!(out, "{event} {}", event_text(&serde_json::from_str(&data)?))?;
                    }
                    // Only now: the id is kept after its event was processed.
                    last = id.take().unwrap_or(last);
                }
                _ => {}
            }
        }
        if curl.wait()?.code() == Some(REFUSED) {
            return Err("the service refused the request".into());
        }
        sleep(pause);
    }
}

/// The text of an event: an activity, or a reset, after which the collection must be read again.
fn event_text(data: &Value) -> String {
    let fields = ["ActivityIdentifier", "Title", "Url"];
    let said: Vec<&str> = fields.iter().filter_map(|name| data.get(name)?.as_str()).collect();
    said.join(" ")
}

/// The value of a header.
fn field<'a>(head: &'a str, header: &str) -> Option<&'a str> {
    let mut fields = head.lines().filter_map(|line| line.split_once(": "));
    fields.find(|(name, _)| name.eq_ignore_ascii_case(header)).map(|(_, value)| value.trim())
}

struct Service<'a> {
    authority: &'a str,
    key: &'a str,
}

impl Service<'_> {
    /// Starts curl. The key goes to its standard input: other users of this machine can see its arguments.
    fn start(&self, arguments: &[&str]) -> Result<Child, Box<dyn Error>> {
        let mut curl = Command::new("curl")
            .args(["--silent", "--show-error", "--fail", "--cacert", self.authority, "--header", "@-"])
            .args(arguments)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()?;
        writeln!(curl.stdin.take().ok_or("no input of curl")?, "ServicePSK: {}", self.key)?;
        Ok(curl)
    }

    /// The headers of an answer.
    fn head(&self, arguments: &[&str]) -> Result<String, Box<dyn Error>> {
        let mut curl = self.start(&[&["--dump-header", "-", "--output", "/dev/null"], arguments].concat())?;
        let mut head = String::new();
        curl.stdout.take().ok_or("no output of curl")?.read_to_string(&mut head)?;
        if curl.wait()?.success() { Ok(head) } else { Err("the request failed".into()) }
    }
}
