//! One party starts a flow and another finishes it: the hole of OAuth 1.0, and session fixation.

use super::super::answers::refused;
use super::super::application::{issued, parameter};
use super::super::service::{authorize, consent, fixture, password_of};

#[test]
fn a_flow_needs_the_verifier_of_the_account_that_consented() {
    let (fixture, client) = (fixture(), &fixture().service.client);
    // The attacker starts the flow and sends the link to the victim.
    let temporary = fixture.app.temporary_credentials();
    let mut person = fixture.service.browser();
    let (_, form) = consent(&mut person, "alice", &temporary);
    let verifier = fixture.app.verifier(&person.submit(&form, &[("decision", "allow")]));
    // Nothing that the attacker knows works as a verifier.
    for guess in [temporary.key.as_str(), &temporary.secret, "guess", "null", "0"] {
        let answer = fixture.app.exchange(&temporary, guess).send(client);
        refused(&answer, 401, "verifier-invalid", "verifier_invalid");
    }
    let old_style = fixture.app.exchange(&temporary, "").without("oauth_verifier").send(client);
    refused(&old_style, 400, "malformed", "parameter_absent");
    refused(&fixture.app.whoami(&temporary).send(client), 401, "token-rejected", "token_rejected");
    let page = fixture.service.browser().visit(&authorize(&temporary));
    assert!(!page.html().contains(&verifier), "the page with the verifier is shown once");
    issued(&fixture.app.exchange(&temporary, &verifier).send(client));
}

#[test]
fn a_callback_parameter_of_the_page_is_ignored() {
    let fixture = fixture();
    let mut person = fixture.service.signed_in("alice", &fixture.app);
    let evil = "http%3A%2F%2F127.0.0.1%3A6666%2Fevil";
    for decision in ["allow", "deny"] {
        let temporary = fixture.app.temporary_credentials();
        let page = person.visit(&format!("{}&oauth_callback={evil}", authorize(&temporary)));
        let form = page.form("decision").unwrap();
        assert_eq!(form.field("oauth_callback"), None);
        let page =
            person.submit(&form, &[("decision", decision), ("oauth_callback", "http://127.0.0.1:6666/evil")]);
        let to = page.redirect_target().unwrap();
        assert!(to.starts_with(&format!("{}?oauth_token=", fixture.app.callback)), "{to}");
        assert!(!to.contains("evil"), "{to}");
    }
}

#[test]
fn a_cookie_from_before_sign_in_is_invalid_after_it() {
    let fixture = fixture();
    let temporary = fixture.app.temporary_credentials();
    // A cookie that the attacker made up, and one of the attacker's own session.
    let attacker = fixture.service.signed_in("bob", &fixture.app);
    for planted in ["__Host-session=planted-by-someone".to_owned(), attacker.cookie.clone().unwrap()] {
        let mut person = fixture.service.browser();
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
        assert_ne!(person.cookie.as_ref(), Some(&planted), "the session is new");
        let mut attacker = fixture.service.browser();
        attacker.cookie = Some(planted);
        assert!(
            attacker.visit(&authorize(&temporary)).form("password").is_some(),
            "the planted session has ended"
        );
    }
}

/// Signing in over an existing session, without `switch` before it.
#[test]
fn signing_in_ends_the_previous_session() {
    let fixture = fixture();
    let temporary = fixture.app.temporary_credentials();
    let form = fixture.service.browser().visit(&authorize(&temporary)).form("password").unwrap();
    let mut person = fixture.service.signed_in("bob", &fixture.app);
    let before = person.clone();
    let page = person.submit(&form, &[("username", "alice"), ("password", &password_of("alice"))]);
    assert!(page.text().contains("Signed in as alice"));
    assert!(before.clone().visit(&authorize(&temporary)).form("password").is_some());
    assert_ne!(before.cookie, person.cookie);

    // A wrong password changes nothing.
    let cookie_before = person.cookie.clone();
    person.submit(&form, &[("username", "alice"), ("password", "wrong")]);
    assert_eq!(person.cookie, cookie_before);
    let (_, form) = consent(&mut person, "alice", &temporary);
    let to = person.submit(&form, &[("decision", "deny")]);
    assert!(parameter(to.redirect_target().unwrap(), "oauth_problem").is_some());
}
