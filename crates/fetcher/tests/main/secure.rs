//! Certificates, good ones and bad ones.

use super::support::{ATOM, Setting, sentence};
use fetcher::{Failure, Tls};
use test_server::{Answer, Authority, Certificate, Server};
use tokio::io::AsyncWriteExt;
use tokio::net::TcpListener;

const HOST: &str = "feeds.example";

async fn answer_with(
    authority: Authority,
    certificate: Certificate,
) -> (Server, Result<fetcher::Answer, Failure>) {
    let server = Server::secure(&certificate).await;
    server.on("/feed", Answer::feed(ATOM));
    let mut setting = Setting::new(&[&server]);
    setting.authority = authority;
    let outcome = setting.get(&server.url(HOST, "/feed")).await;
    (server, outcome)
}

#[tokio::test]
async fn a_good_certificate_is_trusted() {
    let authority = Authority::new();
    let certificate = authority.certificate(HOST);
    let (server, outcome) = answer_with(authority, certificate).await;
    assert!(outcome.is_ok(), "{outcome:?}");
    assert_eq!(server.asked()[0].header("host"), Some(&*format!("{HOST}:{}", server.address().port())));
}

#[tokio::test]
async fn bad_certificates_are_told_apart() {
    let authority = Authority::new;
    let (for_another, for_expired, stranger) = (authority(), authority(), authority());
    let cases = [
        (
            for_another.certificate("other.example"),
            for_another,
            Tls::WrongName,
            "The server's certificate is for another host name: check how the address is written.",
        ),
        (
            for_expired.expired(HOST),
            for_expired,
            Tls::Expired,
            "The server's certificate is not valid at this time: who runs the server has to renew it.",
        ),
        (
            stranger.certificate(HOST),
            authority(),
            Tls::Untrusted,
            "The server's certificate is from an authority that is not known: who runs the server has to change it.",
        ),
        (
            Authority::self_signed(HOST),
            authority(),
            Tls::Untrusted,
            "The server's certificate is from an authority that is not known: who runs the server has to change it.",
        ),
    ];
    for (certificate, authority, kind, words) in cases {
        let (server, outcome) = answer_with(authority, certificate).await;
        assert_eq!(outcome.as_ref().unwrap_err(), &Failure::Tls(kind));
        assert_eq!(sentence(outcome), words);
        assert!(server.asked().is_empty(), "nothing is said to a server that is not who it should be");
    }
}

#[tokio::test]
async fn what_does_not_speak_tls_is_not_asked() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    let mut setting = Setting::new(&[]);
    setting.rules.ports = vec![port];
    let answering = async {
        let (mut stream, _) = listener.accept().await.unwrap();
        stream.write_all(b"HTTP/1.1 400 Bad Request\r\n\r\n").await.unwrap();
    };
    let url = format!("https://{HOST}:{port}/feed");
    let (outcome, ()) = tokio::join!(setting.get(&url), answering);
    assert_eq!(sentence(outcome), "No secure connection can be made to this server.");
}

#[test]
fn the_system_has_authorities() {
    let setting = Setting::new(&[]);
    let made = fetcher::Fetcher::new(setting.rules, std::sync::Arc::new(fetcher::SystemResolver));
    assert!(made.is_ok() || made.is_err_and(|missing| missing == fetcher::NotReady::NoAuthorities));
}
