//! One party starts a flow and another finishes it: the hole of OAuth 1.0, and session fixation.

use super::super::answers::refused;
use super::super::application::{issued, parameter};
use super::super::service::{authorize, consent, password_of, stage};

#[test]
fn a_flow_needs_the_verifier_of_the_account_that_consented() {
    let (stage, client) = (stage(), &stage().service.client);
    // The attacker starts the flow and sends the link to the victim.
    let temporary = stage.app.asked();
    let mut person = stage.service.browser();
    let (_, form) = consent(&mut person, "alice", &temporary);
    let verifier = stage.app.verifier(&person.submit(&form, &[("decision", "allow")]));
    // Nothing that the attacker knows works as a verifier.
    for guess in [temporary.key.as_str(), &temporary.secret, "guess", "null", "0"] {
        let answer = stage.app.exchange(&temporary, guess).send(client);
        refused(&answer, 401, "verifier-invalid", "verifier_invalid");
    }
    let old_style = stage.app.exchange(&temporary, "").without("oauth_verifier").send(client);
    refused(&old_style, 400, "malformed", "parameter_absent");
    refused(&stage.app.whoami(&temporary).send(client), 401, "token-rejected", "token_rejected");
    let page = stage.service.browser().visit(&authorize(&temporary));
    assert!(!page.html().contains(&verifier), "the page is not shown again");
    issued(&stage.app.exchange(&temporary, &verifier).send(client));
}

#[test]
fn a_callback_parameter_of_the_page_is_ignored() {
    let stage = stage();
    let mut person = stage.service.signed_in("alice", &stage.app);
    let evil = "http%3A%2F%2F127.0.0.1%3A6666%2Fevil";
    for decision in ["allow", "deny"] {
        let temporary = stage.app.asked();
        let page = person.visit(&format!("{}&oauth_callback={evil}", authorize(&temporary)));
        let form = page.form("decision").unwrap();
        assert_eq!(form.field("oauth_callback"), None);
        let page =
            person.submit(&form, &[("decision", decision), ("oauth_callback", "http://127.0.0.1:6666/evil")]);
        let to = page.leads_to().unwrap();
        assert!(to.starts_with(&format!("{}?oauth_token=", stage.app.callback)), "{to}");
        assert!(!to.contains("evil"), "{to}");
    }
}

#[test]
fn a_cookie_from_before_sign_in_is_invalid_after_it() {
    let stage = stage();
    let temporary = stage.app.asked();
    // A cookie that the attacker made up, and one of the attacker's own session.
    let attacker = stage.service.signed_in("bob", &stage.app);
    for planted in ["__Host-session=planted-by-somebody".to_owned(), attacker.cookie.clone().unwrap()] {
        let mut person = stage.service.browser();
        person.cookie = Some(planted.clone());
        let page = person.visit(&authorize(&temporary));
        // In the attacker's session the victim sees the attacker's name and switches accounts.
        let page = match page.form("switch") {
            Some(form) => {
                assert!(page.text().contains("Signed in as bob"));
                person.clone().submit(&form, &[("switch", "1")])
            }
            None => page,
        };
        let form = page.form("password").unwrap();
        let page = person.submit(&form, &[("username", "alice"), ("password", &password_of("alice"))]);
        assert!(page.text().contains("Signed in as alice"), "{}", page.text());
        assert_ne!(person.cookie.as_ref(), Some(&planted), "the session is a new one");
        let mut attacker = stage.service.browser();
        attacker.cookie = Some(planted);
        assert!(attacker.visit(&authorize(&temporary)).form("password").is_some(), "the planted one is dead");
    }
}

/// Signing in over an existing session, without `switch` before it.
#[test]
fn signing_in_ends_the_previous_session() {
    let stage = stage();
    let temporary = stage.app.asked();
    let form = stage.service.browser().visit(&authorize(&temporary)).form("password").unwrap();
    let mut person = stage.service.signed_in("bob", &stage.app);
    let before = person.clone();
    let page = person.submit(&form, &[("username", "alice"), ("password", &password_of("alice"))]);
    assert!(page.text().contains("Signed in as alice"));
    assert!(before.clone().visit(&authorize(&temporary)).form("password").is_some());
    assert_ne!(before.cookie, person.cookie);

    // A wrong password changes nothing.
    let kept = person.cookie.clone();
    person.submit(&form, &[("username", "alice"), ("password", "wrong")]);
    assert_eq!(person.cookie, kept);
    let (_, form) = consent(&mut person, "alice", &temporary);
    let to = person.submit(&form, &[("decision", "deny")]);
    assert!(parameter(to.leads_to().unwrap(), "oauth_problem").is_some());
}
