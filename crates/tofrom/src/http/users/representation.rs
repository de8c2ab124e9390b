//! People written down: the fields that an activity says of its user, in three representations.

use crate::json;
use crate::render::document::{self, Fields};
use crate::site::Site;
use infoset::{FastInfosetWriter, Name, Sink, XmlWriter};
use model::{Account, Format};

/// Atom has no form for people.
pub(super) const OFFERS: &[Format] = &[Format::Xml, Format::Json, Format::FastInfoset];

/// The fields of one account, in their order.
#[derive(Default)]
struct Said(Vec<(String, String)>);

impl Fields for Said {
    fn text(&mut self, name: &str, value: &str) {
        self.0.push((name.to_owned(), value.to_owned()));
    }

    // An account has no groups of fields.
    fn group(&mut self, _name: &str) {}
    fn end(&mut self) {}
}

/// What is said of an account.
pub(super) fn fields(site: &Site, account: &Account) -> Row {
    let mut said = Said::default();
    document::user(site, account, &mut said);
    said.0
}

/// The fields of something, in their order.
pub(super) type Row = Vec<(String, String)>;

/// A list of accounts.
pub(super) fn users(site: &Site, accounts: &[Account], format: Format) -> Vec<u8> {
    let users: Vec<_> = accounts.iter().map(|account| fields(site, account)).collect();
    list(("Users", "User"), &users, format)
}

/// A list of things: what it is called, and what each of them is.
pub(super) fn list(names: (&str, &str), rows: &[Row], format: Format) -> Vec<u8> {
    match format {
        Format::Json => objects(names, rows),
        Format::FastInfoset => {
            let mut writer = FastInfosetWriter::new();
            elements(names, rows, &mut writer);
            writer.finish()
        }
        Format::Xml | Format::Atom => {
            let mut writer = XmlWriter::new();
            elements(names, rows, &mut writer);
            writer.finish()
        }
    }
}

fn elements((all, one): (&str, &str), rows: &[Row], sink: &mut impl Sink) {
    sink.open(Name::local(all));
    for row in rows {
        sink.open(Name::local(one));
        row.iter().for_each(|(name, value)| sink.leaf(Name::local(name), value));
        sink.end();
    }
    sink.end();
}

/// By hand, for the fields come in the order of the contract.
fn objects((all, one): (&str, &str), rows: &[Row]) -> Vec<u8> {
    let member = |(name, value): &(String, String)| {
        format!("{}:{}", json::text(name.as_str()), json::text(value.as_str()))
    };
    let object = |row: &Row| {
        let members: Vec<String> = row.iter().map(member).collect();
        format!("{{{}}}", members.join(","))
    };
    let objects: Vec<String> = rows.iter().map(object).collect();
    format!("{{{}:{{{}:[{}]}}}}", json::text(all), json::text(one), objects.join(",")).into_bytes()
}
