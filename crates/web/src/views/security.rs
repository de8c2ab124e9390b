//! The security settings: password, second factor, sessions and events of the audit log.

use super::display_time::DisplayTime;
use super::frame::Frame;
use crate::site::Site;
use askama::Template;
use auth::second_factor::Setup;
use model::{AuditRecord, Millis, SecondFactor, Session};
use qrcodegen::{QrCode, QrCodeEcc};
use std::fmt::Write;
use zeroize::Zeroizing;

/// The password and the active sessions.
#[derive(Template)]
#[template(path = "settings/security.html")]
pub struct SecurityPage<'a> {
    /// The public addresses of the server.
    pub site: &'a Site,
    /// Header and navigation.
    pub frame: Frame<'a>,
    /// The error to show, if any.
    pub complaint: Option<&'a str>,
    /// The second factor, if there is one.
    pub factor: Option<SecondFactor>,
    /// Active sessions, newest first.
    pub sessions: Vec<SessionView>,
    /// Recent events of the audit log.
    pub events: Vec<EventView>,
}

/// A new second factor: first its key, then the recovery codes.
#[derive(Template)]
#[template(path = "settings/second_factor.html")]
pub struct SecondFactorPage<'a> {
    /// The public addresses of the server.
    pub site: &'a Site,
    /// Header and navigation.
    pub frame: Frame<'a>,
    /// The error to show, if any.
    pub complaint: Option<&'a str>,
    /// The key to confirm; `None` when it is confirmed.
    pub setup: Option<SetupView<'a>>,
    /// The recovery codes.
    pub codes: &'a [Zeroizing<String>],
}

/// A second factor to confirm.
pub struct SetupView<'a> {
    /// The key for the form.
    pub sealed: &'a str,
    /// The key for typing, in groups.
    pub secret: String,
    /// The dark modules of the QR code, as a path of SVG.
    pub path: String,
    /// Width and height of the QR code with its margin.
    pub size: i32,
}

impl SetupView<'_> {
    /// The margin that scanners need, in modules.
    const MARGIN: i32 = 4;

    /// Draws the QR code.
    pub fn of(setup: &Setup) -> SetupView<'_> {
        let letters: Vec<char> = setup.secret.chars().collect();
        let groups: Vec<String> = letters.chunks(4).map(|group| group.iter().collect()).collect();
        let (mut path, mut size) = (String::new(), 0);
        // Without a QR code the key can still be typed.
        if let Ok(code) = QrCode::encode_text(&setup.address, QrCodeEcc::Medium) {
            size = code.size() + 2 * SetupView::MARGIN;
            for (y, x) in (0..code.size()).flat_map(|y| (0..code.size()).map(move |x| (y, x))) {
                if code.get_module(x, y) {
                    let (x, y) = (x + SetupView::MARGIN, y + SetupView::MARGIN);
                    // Writing to a String can't fail.
                    let _ = write!(path, "M{x} {y}h1v1h-1z");
                }
            }
        }
        SetupView { sealed: &setup.sealed, secret: groups.join(" "), path, size }
    }
}

/// An event of the audit log as listed.
pub struct EventView {
    /// The kind of event.
    pub event: String,
    /// Who did it.
    pub actor: Option<String>,
    /// The account that it happened to.
    pub target: Option<String>,
    /// What it was about.
    pub about: Option<String>,
    /// The network of the client.
    pub network: Option<String>,
    /// How often it happened, if more than once.
    pub count: Option<u64>,
    /// When it happened.
    pub time: DisplayTime,
}

impl EventView {
    /// An event, shown at the time `now`.
    pub fn of(record: &AuditRecord, now: Millis) -> EventView {
        let json = auth::audit::as_json(record);
        let text = |name: &str| json.get(name).and_then(|value| value.as_str()).map(str::to_owned);
        EventView {
            event: record.event.clone(),
            actor: text("actor"),
            target: text("target"),
            about: text("about"),
            network: text("network"),
            count: json.get("count").and_then(serde_json::Value::as_u64).filter(|count| *count > 1),
            time: DisplayTime::new(record.at.time, now),
        }
    }
}

impl EventView {
    /// Everything but the time, in one line.
    pub fn details(&self) -> String {
        let actor = self.actor.as_ref().filter(|actor| Some(*actor) != self.target.as_ref());
        let parts = [
            actor.map(|actor| format!("by {actor}")),
            self.network.as_ref().map(|network| format!("from {network}")),
            self.count.map(|count| format!("{count} times")),
        ];
        parts.into_iter().flatten().collect::<Vec<_>>().join(" · ")
    }
}

/// A session as listed.
pub struct SessionView {
    id: String,
    /// Whether it is the current session.
    pub this: bool,
    /// Browser and system.
    pub device: String,
    /// When it started.
    pub created: DisplayTime,
    /// Approximately when it was last used.
    pub used: DisplayTime,
}

impl SessionView {
    /// A session, shown at the time `now`.
    pub fn of(session: &Session, this: bool, id: String, now: Millis) -> SessionView {
        let time = |at: Millis| DisplayTime::new(at, now);
        let device = device_name(&session.device);
        SessionView { id, this, device, created: time(session.created), used: time(session.used) }
    }

    fn end_path(&self) -> String {
        format!("/settings/sessions/{}/end", self.id)
    }
}

/// `Firefox on Linux`, from a user agent; the start of the user agent if neither browser nor system is known.
fn device_name(agent: &str) -> String {
    // The order matters: each browser's user agent also contains names that follow here.
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
        known.iter().find(|(mark, _)| agent.contains(mark)).map(|(_, word)| *word)
    };
    match (find(&BROWSERS), find(&SYSTEMS)) {
        (Some(browser), Some(system)) => format!("{browser} on {system}"),
        (Some(name), None) | (None, Some(name)) => name.to_owned(),
        (None, None) if agent.is_empty() => "Unknown browser".to_owned(),
        (None, None) => agent.chars().take(40).collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::device_name;

    #[test]
    fn devices_are_named_by_browser_and_system() {
        for (agent, name) in [
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
            ("", "Unknown browser"),
        ] {
            assert_eq!(device_name(agent), name, "{agent}");
        }
    }
}
