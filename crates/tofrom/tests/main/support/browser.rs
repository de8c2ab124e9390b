//! A browser: keeps cookies, fills in forms, follows redirects inside the service and stops at redirects to other
//! sites.

use super::client::{Answer, Client};

/// A browser. Clones are independent: each continues with a copy of the cookies.
#[derive(Clone)]
pub(crate) struct Browser {
    client: Client,
    base: String,
    /// `name=value` of the session's cookie.
    pub(crate) cookie: Option<String>,
    /// The cookie of a familiar device, likewise.
    pub(crate) device: Option<String>,
    /// Origin headers sent with a form: current browsers send both, old ones none.
    pub(crate) origin_headers: Vec<(&'static str, String)>,
}

/// The `Accept` header of browsers.
pub(crate) const ACCEPT: &str = "text/html,application/xhtml+xml,application/xml;q=0.9,image/avif,*/*;q=0.8";

/// The page after all redirects.
pub(crate) struct Page {
    pub(crate) answer: Answer,
    /// Every `Set-Cookie` line on the way.
    pub(crate) set_cookies: Vec<String>,
}

/// A form with its prefilled fields, and the names and values of its buttons.
#[derive(Clone, Debug)]
pub(crate) struct Form {
    pub(crate) action: String,
    pub(crate) fields: Vec<(String, String)>,
    pub(crate) buttons: Vec<(String, String)>,
}

impl Browser {
    /// A new browser for a service with the base address `base`, reached through `client`.
    pub(crate) fn new(client: &Client, base: &str) -> Browser {
        let mut browser = Browser {
            client: client.clone(),
            base: base.to_owned(),
            cookie: None,
            device: None,
            origin_headers: vec![("Sec-Fetch-Site", "same-origin".to_owned())],
        };
        let origin = browser.origin();
        browser.origin_headers.push(("Origin", origin));
        browser
    }

    fn origin(&self) -> String {
        self.base.split('/').take(3).collect::<Vec<_>>().join("/")
    }

    /// Opens an address of the service.
    pub(crate) fn visit(&mut self, address: &str) -> Page {
        self.fetch("GET", address.to_owned(), None)
    }

    /// Sends a form with some fields changed or added; a button adds its own.
    pub(crate) fn submit(&mut self, form: &Form, changes: &[(&str, &str)]) -> Page {
        let mut fields = form.fields.clone();
        fields.retain(|(name, _)| changes.iter().all(|(changed, _)| name != changed));
        fields.extend(changes.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())));
        let body = url::form_urlencoded::Serializer::new(String::new()).extend_pairs(fields).finish();
        self.fetch("POST", format!("{}{}", self.origin(), form.action), Some(&body))
    }

    fn fetch(&mut self, method: &str, mut address: String, body: Option<&str>) -> Page {
        let origin = self.origin();
        let (mut method, mut body, mut set_cookies) = (method, body, Vec::new());
        for _ in 0..5 {
            let target =
                address.strip_prefix(&origin).unwrap_or_else(|| panic!("{address} is not below {origin}"));
            let mut headers: Vec<(&str, &str)> = vec![("Accept", ACCEPT)];
            let cookies: Vec<&str> = self.cookie.iter().chain(&self.device).map(String::as_str).collect();
            let cookies = cookies.join("; ");
            headers.extend((!cookies.is_empty()).then_some(("Cookie", cookies.as_str())));
            if body.is_some() {
                headers.push(("Content-Type", "application/x-www-form-urlencoded"));
                headers.extend(self.origin_headers.iter().map(|(name, value)| (*name, value.as_str())));
            }
            let answer = self.client.send(method, target, &headers, body.unwrap_or_default().as_bytes());
            let lines = answer.all("set-cookie").into_iter().map(str::to_owned);
            set_cookies.extend(lines.inspect(|line| {
                let slot =
                    if line.starts_with("__Host-device=") { &mut self.device } else { &mut self.cookie };
                *slot = cookie_of(line);
            }));
            match answer.header("location") {
                Some(to) if to.starts_with(&self.base) => address = to.to_owned(),
                _ => return Page { answer, set_cookies },
            }
            (method, body) = ("GET", None);
        }
        panic!("redirect loop at {address}");
    }
}

/// The cookie of a `Set-Cookie` line, unless the line deletes it.
fn cookie_of(line: &str) -> Option<String> {
    let cookie = line.split(';').next().unwrap().to_owned();
    (!line.contains("Max-Age=0")).then_some(cookie)
}

impl Page {
    pub(crate) fn status(&self) -> u16 {
        self.answer.status
    }

    pub(crate) fn html(&self) -> &str {
        self.answer.text()
    }

    /// The visible text.
    pub(crate) fn text(&self) -> String {
        let pieces =
            self.html().split('<').map(|piece| piece.split_once('>').map_or(piece, |(_, text)| text));
        unescaped(&pieces.collect::<String>())
    }

    /// The text of the element with that id.
    pub(crate) fn element(&self, id: &str) -> Option<String> {
        let (_, after) = self.html().split_once(&format!("id=\"{id}\""))?;
        let (_, text) = after.split_once('>')?;
        text.split('<').next().map(unescaped)
    }

    /// The redirect target outside the service.
    pub(crate) fn redirect_target(&self) -> Option<&str> {
        self.answer.header("location").filter(|_| matches!(self.status(), 302 | 303))
    }

    /// The form with a field or button of that name.
    pub(crate) fn form(&self, name: &str) -> Option<Form> {
        let has = |pairs: &[(String, String)]| pairs.iter().any(|(known, _)| known == name);
        self.forms().into_iter().find(|form| has(&form.fields) || has(&form.buttons))
    }

    /// The forms that change something.
    pub(crate) fn forms(&self) -> Vec<Form> {
        let mut forms = Vec::new();
        for piece in self.html().split("<form").skip(1) {
            let inside = piece.split("</form>").next().unwrap();
            let (attributes, inside) = inside.split_once('>').unwrap();
            match attribute(attributes, "method").as_deref() {
                // A search form, or the button that closes a dialog: it changes nothing.
                Some("get" | "dialog") => continue,
                method => assert_eq!(method, Some("post"), "{attributes}"),
            }
            let pairs = |tag: &str| -> Vec<(String, String)> {
                let tags = inside.split(tag).skip(1).map(|rest| rest.split('>').next().unwrap());
                let pair =
                    |tag: &str| Some((attribute(tag, "name")?, attribute(tag, "value").unwrap_or_default()));
                tags.filter_map(pair).collect()
            };
            let (fields, buttons) = (pairs("<input"), pairs("<button"));
            forms.push(Form { action: attribute(attributes, "action").unwrap(), fields, buttons });
        }
        forms
    }
}

impl Form {
    /// The prefilled value of a field.
    pub(crate) fn field(&self, name: &str) -> Option<&str> {
        self.fields.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
    }
}

/// An attribute's value. Pages put values in double quotes, without quotes or angle brackets inside.
fn attribute(tag: &str, name: &str) -> Option<String> {
    let (_, after) = tag.split_once(&format!(" {name}=\""))?;
    after.split('"').next().map(unescaped)
}

fn unescaped(text: &str) -> String {
    let mut pieces = text.split('&');
    let mut out = pieces.next().unwrap().to_owned();
    for piece in pieces {
        let (entity, rest) = piece.split_once(';').unwrap_or_else(|| panic!("a bare & in {text:?}"));
        out.push(match entity {
            "amp" => '&',
            "lt" => '<',
            "gt" => '>',
            "quot" => '"',
            number => {
                let number = number.strip_prefix('#').unwrap_or_else(|| panic!("&{entity}; in {text:?}"));
                char::from_u32(number.parse().unwrap()).unwrap()
            }
        });
        out.push_str(rest);
    }
    out
}
