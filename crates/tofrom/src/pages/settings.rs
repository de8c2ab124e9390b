//! What a person decides about the account.

use super::frame::Frame;
use super::moment::Moment;
use crate::site::Site;
use askama::Template;
use model::{AccessToken, Account, Application, Key, Millis, Scopes, Session};

/// Names, the picture, and who may read.
#[derive(Template)]
#[template(path = "settings/profile.html")]
pub struct ProfilePage<'a> {
    /// The public face.
    pub site: &'a Site,
    /// What stands around it.
    pub frame: Frame<'a>,
    /// Whose.
    pub account: &'a Account,
    /// What can't be.
    pub complaint: Option<&'a str>,
}

/// Application keys.
#[derive(Template)]
#[template(path = "settings/keys.html")]
pub struct KeysPage<'a> {
    /// The public face.
    pub site: &'a Site,
    /// What stands around it.
    pub frame: Frame<'a>,
    /// The one that was just made.
    pub made: Option<NewKey<'a>>,
    /// What can't be.
    pub complaint: Option<&'a str>,
    /// Those that work, the newest first.
    pub keys: Vec<KeyView>,
}

impl KeysPage<'_> {
    /// A request with the new key, ready to be run.
    fn curl(&self, made: &NewKey<'_>) -> String {
        let (base, name) = (self.site.base(), self.frame.name());
        format!("curl -H \"ServicePSK: {}\" {base}/200909/activity/{name}/tofrom", made.text)
    }
}

/// A key that was just made: it is shown once.
pub struct NewKey<'a> {
    /// What its owner calls it.
    pub name: &'a str,
    /// The key.
    pub text: &'a str,
}

/// A key as it is listed.
pub struct KeyView {
    /// Its public name.
    pub id: String,
    /// What its owner calls it.
    pub name: String,
    /// What it may be used for.
    pub scopes: &'static str,
    /// When it was made.
    pub created: Moment,
    /// When it ends.
    pub expires: Option<Moment>,
    /// About when it was last used.
    pub used: Option<Moment>,
}

impl KeyView {
    /// A key, told now.
    pub fn of(key: &Key, now: Millis) -> KeyView {
        let told = |at: Millis| Moment::told(at, now);
        KeyView {
            id: key.id.to_string(),
            name: key.name.clone(),
            scopes: words(key.scopes),
            created: told(key.created),
            expires: key.expires.map(told),
            used: key.used.map(told),
        }
    }

    fn revoke_path(&self) -> String {
        format!("/settings/keys/{}/revoke", self.id)
    }
}

/// Applications that may use the account, and the person's own.
#[derive(Template)]
#[template(path = "settings/applications.html")]
pub struct ApplicationsPage<'a> {
    /// The public face.
    pub site: &'a Site,
    /// What stands around it.
    pub frame: Frame<'a>,
    /// A secret that was just made.
    pub made: Option<NewSecret<'a>>,
    /// What can't be.
    pub complaint: Option<&'a str>,
    /// What was allowed, the latest first.
    pub granted: Vec<GrantView>,
    /// The person's own.
    pub mine: Vec<ApplicationView>,
}

/// An application's secret that was just made: it is shown once.
pub struct NewSecret<'a> {
    /// What the application is called.
    pub name: &'a str,
    /// Its consumer key.
    pub key: &'a str,
    /// The secret.
    pub secret: &'a str,
}

/// Something that was allowed to an application.
pub struct GrantView {
    /// The token's public key.
    pub token: String,
    /// What the application is called.
    pub application: String,
    /// What it may do.
    pub scopes: &'static str,
    /// Since when.
    pub created: Moment,
    /// When it ends.
    pub expires: Option<Moment>,
    /// About when it was last used.
    pub used: Option<Moment>,
}

impl GrantView {
    /// A token, told now.
    pub fn of(token: &AccessToken, application: String, now: Millis) -> GrantView {
        let told = |at: Millis| Moment::told(at, now);
        GrantView {
            token: token.key.clone(),
            application,
            scopes: words(token.scopes),
            created: told(token.created),
            expires: token.expires.map(told),
            used: token.used.map(told),
        }
    }

    fn end_path(&self) -> String {
        format!("/settings/grants/{}/end", self.token)
    }
}

/// An application of the person's own.
pub struct ApplicationView {
    /// Its consumer key.
    pub key: String,
    /// What it is called.
    pub name: String,
    /// Where it gets people back.
    pub callback: String,
    /// Whether it signs with an RSA key too.
    pub rsa: bool,
    /// When it was made.
    pub created: Moment,
}

impl ApplicationView {
    /// An application, told now.
    pub fn of(application: &Application, now: Millis) -> ApplicationView {
        ApplicationView {
            key: application.key.clone(),
            name: application.name.clone(),
            callback: application.callback.clone(),
            rsa: application.rsa_key.is_some(),
            created: Moment::told(application.created, now),
        }
    }

    fn path(&self, what: &str) -> String {
        format!("/settings/applications/{}/{what}", self.key)
    }
}

/// Whom one follows, and who follows.
#[derive(Template)]
#[template(path = "settings/people.html")]
pub struct PeoplePage<'a> {
    /// The public face.
    pub site: &'a Site,
    /// What stands around it.
    pub frame: Frame<'a>,
    /// What can't be.
    pub complaint: Option<&'a str>,
    /// Whom.
    pub following: Vec<Account>,
    /// Who.
    pub followers: Vec<Account>,
    /// After whom the first list goes on.
    pub more_following: Option<i64>,
    /// After whom the second list goes on.
    pub more_followers: Option<i64>,
}

impl PeoplePage<'_> {
    fn unfollow_path(&self, account: &&Account) -> String {
        format!("/user/{}/unfollow", account.name)
    }
}

/// Taking everything along, and leaving.
#[derive(Template)]
#[template(path = "settings/data.html")]
pub struct DataPage<'a> {
    /// The public face.
    pub site: &'a Site,
    /// What stands around it.
    pub frame: Frame<'a>,
    /// What can't be.
    pub complaint: Option<&'a str>,
}

fn words(scopes: Scopes) -> &'static str {
    if scopes.can_write() { "reads and writes" } else { "reads" }
}

/// The password, and where somebody is signed in.
#[derive(Template)]
#[template(path = "settings/security.html")]
pub struct SecurityPage<'a> {
    /// The public face.
    pub site: &'a Site,
    /// What stands around it.
    pub frame: Frame<'a>,
    /// What can't be.
    pub complaint: Option<&'a str>,
    /// Where, the latest first.
    pub sessions: Vec<SessionView>,
}

/// A session as it is listed.
pub struct SessionView {
    id: String,
    /// Whether the page is shown in it.
    pub this: bool,
    /// What kind of browser it is.
    pub device: String,
    /// When it began.
    pub created: Moment,
    /// About when it was last used.
    pub used: Moment,
}

impl SessionView {
    /// A session, told now.
    pub fn of(session: &Session, this: bool, id: String, now: Millis) -> SessionView {
        let told = |at: Millis| Moment::told(at, now);
        let device = device_words(&session.device);
        SessionView { id, this, device, created: told(session.created), used: told(session.used) }
    }

    fn end_path(&self) -> String {
        format!("/settings/sessions/{}/end", self.id)
    }
}

/// `Firefox on Linux`, out of what a browser calls itself; the beginning of that where it tells neither.
fn device_words(said: &str) -> String {
    // Each claims to be those after it.
    const BROWSERS: [(&str, &str); 5] = [
        ("Edg/", "Edge"),
        ("OPR/", "Opera"),
        ("Firefox/", "Firefox"),
        ("Chrome/", "Chrome"),
        ("Safari/", "Safari"),
    ];
    const SYSTEMS: [(&str, &str); 6] = [
        ("iPhone", "iPhone"),
        ("iPad", "iPad"),
        ("Android", "Android"),
        ("Windows", "Windows"),
        ("Mac OS X", "Mac"),
        ("Linux", "Linux"),
    ];
    let find = |known: &[(&str, &'static str)]| {
        known.iter().find(|(mark, _)| said.contains(mark)).map(|(_, word)| *word)
    };
    match (find(&BROWSERS), find(&SYSTEMS)) {
        (Some(browser), Some(system)) => format!("{browser} on {system}"),
        (Some(one), None) | (None, Some(one)) => one.to_owned(),
        (None, None) if said.is_empty() => "An unknown browser".to_owned(),
        (None, None) => said.chars().take(40).collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::device_words;

    #[test]
    fn devices() {
        for (said, words) in [
            ("Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0", "Firefox on Linux"),
            (
                "Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 Chrome/140.0 Safari/537.36 Edg/140.0",
                "Edge on Windows",
            ),
            (
                "Mozilla/5.0 (iPhone; CPU iPhone OS 18_0 like Mac OS X) AppleWebKit/605 Version/18 Safari/604.1",
                "Safari on iPhone",
            ),
            ("curl/8.14.1", "curl/8.14.1"),
            ("", "An unknown browser"),
        ] {
            assert_eq!(device_words(said), words, "{said}");
        }
    }
}
