//! People written down: the fields that an activity says of its user, in three representations.

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
pub(super) fn fields(site: &Site, account: &Account) -> Vec<(String, String)> {
    let mut said = Said::default();
    document::user(site, account, &mut said);
    said.0
}

/// A list of accounts.
pub(super) fn users(site: &Site, accounts: &[Account], format: Format) -> Vec<u8> {
    let users: Vec<_> = accounts.iter().map(|account| fields(site, account)).collect();
    match format {
        Format::Json => json(&users),
        Format::FastInfoset => {
            let mut writer = FastInfosetWriter::new();
            elements(&users, &mut writer);
            writer.finish()
        }
        Format::Xml | Format::Atom => {
            let mut writer = XmlWriter::new();
            elements(&users, &mut writer);
            writer.finish()
        }
    }
}

fn elements(users: &[Vec<(String, String)>], sink: &mut impl Sink) {
    sink.open(Name::local("Users"));
    for user in users {
        sink.open(Name::local("User"));
        user.iter().for_each(|(name, value)| sink.leaf(Name::local(name), value));
        sink.end();
    }
    sink.end();
}

/// By hand, for the fields come in the order of the contract.
fn json(users: &[Vec<(String, String)>]) -> Vec<u8> {
    let text = |text: &str| serde_json::Value::from(text).to_string();
    let member = |(name, value): &(String, String)| format!("{}:{}", text(name), text(value));
    let object = |user: &Vec<(String, String)>| {
        let members: Vec<String> = user.iter().map(member).collect();
        format!("{{{}}}", members.join(","))
    };
    let objects: Vec<String> = users.iter().map(object).collect();
    format!("{{\"Users\":{{\"User\":[{}]}}}}", objects.join(",")).into_bytes()
}
