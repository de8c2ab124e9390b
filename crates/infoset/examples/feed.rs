//! Writes one feed as `feed.xml` and `feed.finf` into the given folder, and prints the sizes.
//!
//! ```sh
//! cargo run --example feed -- /tmp && gzip -9 --keep --force /tmp/feed.xml /tmp/feed.finf
//! ```

// A command-line program prints to the terminal.
#![allow(clippy::print_stdout)]

use std::path::PathBuf;

use infoset::{Attribute, FastInfosetWriter, Name, Namespace, Sink, XmlWriter};

const ATOM: &str = "http://www.w3.org/2005/Atom";
const ACTIVITY: &str = "http://activitystrea.ms/spec/1.0/";
const VERB: Name<'_> = Name::qualified("activity", ACTIVITY, "verb");
const OBJECT: Name<'_> = Name::qualified("activity", ACTIVITY, "object");
const OBJECT_TYPE: Name<'_> = Name::qualified("activity", ACTIVITY, "object-type");

const fn atom(local: &str) -> Name<'_> {
    Name::qualified("", ATOM, local)
}

/// Works with any sink.
fn feed(sink: &mut impl Sink) {
    let namespaces = [Namespace::new("", ATOM), Namespace::new("activity", ACTIVITY)];
    sink.start(atom("feed"), &namespaces, &[]);
    sink.leaf(atom("title"), "Activities");
    for n in 0..50 {
        entry(sink, n);
    }
    sink.end();
}

fn entry(sink: &mut impl Sink, n: u32) {
    let person = ["Ana", "Bo", "Chen", "Dov"].into_iter().cycle().nth(n as usize).unwrap_or_default();
    sink.open(atom("entry"));
    sink.leaf(atom("id"), &format!("tag:example.org,2024:activity/{n}"));
    sink.leaf(atom("title"), &format!("{person} posted note {n}"));
    sink.leaf(atom("published"), &format!("2024-05-01T12:{n:02}:00Z"));
    sink.open(atom("author"));
    sink.leaf(atom("name"), person);
    sink.leaf(atom("uri"), &format!("https://example.org/people/{}", person.to_lowercase()));
    sink.end();
    sink.leaf(VERB, "http://activitystrea.ms/schema/1.0/post");
    sink.open(OBJECT);
    sink.leaf(OBJECT_TYPE, "http://activitystrea.ms/schema/1.0/note");
    sink.leaf(atom("content"), &format!("Note {n}: fish & chips"));
    let rel = Attribute::new(Name::local("rel"), "alternate");
    let kind = Attribute::new(Name::local("type"), "text/html");
    let address = format!("https://example.org/notes/{n}");
    sink.start(atom("link"), &[], &[rel, kind, Attribute::new(Name::local("href"), &address)]);
    sink.end();
    sink.end();
    sink.end();
}

fn main() -> std::io::Result<()> {
    let folder = PathBuf::from(std::env::args().nth(1).unwrap_or(".".into()));
    let mut xml = XmlWriter::new();
    feed(&mut xml);
    let mut finf = FastInfosetWriter::new();
    feed(&mut finf);
    for (name, octets) in [("feed.xml", xml.finish()), ("feed.finf", finf.finish())] {
        println!("{name}: {} octets", octets.len());
        std::fs::write(folder.join(name), octets)?;
    }
    Ok(())
}
