//! Accounts and sources in three representations, with the user fields of activities.

use crate::json;
use crate::render::document::{self, Fields};
use crate::site::Site;
use infoset::{FastInfosetWriter, Name, Sink, XmlWriter};
use model::{Account, Format};

/// Atom has no representation of accounts.
pub(super) const OFFERS: &[Format] = &[Format::Xml, Format::Json, Format::FastInfoset];

/// The fields of an account, in order.
#[derive(Default)]
struct FieldList(Vec<(String, String)>);

impl Fields for FieldList {
    fn text(&mut self, name: &str, value: &str) {
        self.0.push((name.to_owned(), value.to_owned()));
    }

    // An account has no groups of fields.
    fn group(&mut self, _name: &str) {}
    fn end(&mut self) {}
}

/// The fields of an account.
pub(super) fn fields(site: &Site, account: &Account) -> Row {
    let mut fields = FieldList::default();
    document::user(site, account, &mut fields);
    fields.0
}

/// The fields of an item, in order.
pub(super) type Row = Vec<(String, String)>;

/// A list of accounts.
pub(super) fn users(site: &Site, accounts: &[Account], format: Format) -> Vec<u8> {
    let users: Vec<_> = accounts.iter().map(|account| fields(site, account)).collect();
    list(("Users", "User"), &users, format)
}

/// A list of items, with the names of the list and of an item.
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

fn elements((all, item): (&str, &str), rows: &[Row], sink: &mut impl Sink) {
    sink.open(Name::local(all));
    for row in rows {
        sink.open(Name::local(item));
        row.iter().for_each(|(name, value)| sink.leaf(Name::local(name), value));
        sink.end();
    }
    sink.end();
}

/// Written by hand, because the fields have the order of the API contract.
fn objects((all, item): (&str, &str), rows: &[Row]) -> Vec<u8> {
    let member = |(name, value): &(String, String)| {
        format!("{}:{}", json::text(name.as_str()), json::text(value.as_str()))
    };
    let object = |row: &Row| {
        let members: Vec<String> = row.iter().map(member).collect();
        format!("{{{}}}", members.join(","))
    };
    let objects: Vec<String> = rows.iter().map(object).collect();
    format!("{{{}:{{{}:[{}]}}}}", json::text(all), json::text(item), objects.join(",")).into_bytes()
}
