//! TLS certificates.

use super::support::{ATOM, FetcherEnv, sentence};
use fetcher::{FetchError, TlsError};
use test_server::{Authority, CannedResponse, Certificate, Server};
use tokio::io::AsyncWriteExt;
use tokio::net::TcpListener;

const HOST: &str = "feeds.example";

async fn answer_with(
    authority: Authority,
    certificate: Certificate,
) -> (Server, Result<fetcher::FetchResponse, FetchError>) {
    let server = Server::secure(&certificate).await;
    server.on("/feed", CannedResponse::feed(ATOM));
    let mut env = FetcherEnv::new(&[&server]);
    env.authority = authority;
    let outcome = env.get(&server.url(HOST, "/feed")).await;
    (server, outcome)
}

#[tokio::test]
async fn a_good_certificate_is_trusted() {
    let authority = Authority::new();
    let certificate = authority.certificate(HOST);
    let (server, outcome) = answer_with(authority, certificate).await;
    assert!(outcome.is_ok(), "{outcome:?}");
    assert_eq!(server.requests()[0].header("host"), Some(&*format!("{HOST}:{}", server.address().port())));
}

#[tokio::test]
async fn bad_certificates_have_distinct_errors() {
    let authority = Authority::new;
    let (for_another, for_expired, stranger) = (authority(), authority(), authority());
    let cases = [
        (
            for_another.certificate("other.example"),
            for_another,
            TlsError::WrongName,
            "The server's certificate is for another host name: check the spelling.",
        ),
        (
            for_expired.expired(HOST),
            for_expired,
            TlsError::Expired,
            "The server's certificate has expired or is not yet valid: its operator has to renew it.",
        ),
        (
            stranger.certificate(HOST),
            authority(),
            TlsError::Untrusted,
            "The server's certificate is from an unknown authority: its operator has to replace it.",
        ),
        (
            Authority::self_signed(HOST),
            authority(),
            TlsError::Untrusted,
            "The server's certificate is from an unknown authority: its operator has to replace it.",
        ),
    ];
    for (certificate, authority, kind, words) in cases {
        let (server, outcome) = answer_with(authority, certificate).await;
        assert_eq!(outcome.as_ref().unwrap_err(), &FetchError::Tls(kind));
        assert_eq!(sentence(outcome), words);
        assert!(server.requests().is_empty(), "no request is sent to an unauthenticated server");
    }
}

#[tokio::test]
async fn a_server_without_tls_is_rejected() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    let mut env = FetcherEnv::new(&[]);
    env.rules.ports = vec![port];
    let answering = async {
        let (mut stream, _) = listener.accept().await.unwrap();
        stream.write_all(b"HTTP/1.1 400 Bad Request\r\n\r\n").await.unwrap();
    };
    let url = format!("https://{HOST}:{port}/feed");
    let (outcome, ()) = tokio::join!(env.get(&url), answering);
    assert_eq!(sentence(outcome), "No secure connection can be made to this server.");
}

#[test]
fn the_system_has_authorities() {
    let env = FetcherEnv::new(&[]);
    let made = fetcher::Fetcher::new(env.rules, std::sync::Arc::new(fetcher::SystemResolver));
    assert!(made.is_ok() || made.is_err_and(|missing| missing == fetcher::FetcherError::NoAuthorities));
}
