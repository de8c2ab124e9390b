//! The fetcher: each hop is checked, looked up, vetted, and then asked on a connection of its own.

use crate::answer::{Answer, Content, Get, Posted};
use crate::body::CODINGS;
use crate::exchange::{Reply, Wanted, exchange};
use crate::failure::{Failure, Refusal, Unreachable};
use crate::freshness::{fresh_for, retry_after};
use crate::hosts::{Hosts, Turn};
use crate::resolve::Resolve;
use crate::rules::Rules;
use crate::{address, connect, guard};
use http::header::{
    ACCEPT, ACCEPT_ENCODING, CONNECTION, CONTENT_TYPE, ETAG, HOST, HeaderMap, HeaderName, HeaderValue,
    IF_MODIFIED_SINCE, IF_NONE_MATCH, LAST_MODIFIED, LINK, LOCATION, USER_AGENT,
};
use http::{Method, Request, StatusCode};
use http_body_util::Full;
use hyper::body::Bytes;
use rustls::{ClientConfig, RootCertStore};
use std::sync::Arc;
use std::time::SystemTime;
use tokio::time::{Instant, timeout, timeout_at};
use url::Url;
use url::form_urlencoded::Serializer;

/// The longest header that is handed on, in bytes. A longer validator is as good as none.
const MAX_HEADER: usize = 1_024;
/// How many `Link` headers are handed on.
const MAX_LINKS: usize = 16;

/// Asks other people's servers.
pub struct Fetcher {
    rules: Rules,
    user_agent: HeaderValue,
    resolver: Arc<dyn Resolve>,
    tls: Arc<ClientConfig>,
    hosts: Hosts,
}

/// Why there is no fetcher.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NotReady {
    /// The system has no list of authorities.
    #[error("no certificate authorities are found: install the system's package of them, ca-certificates")]
    NoAuthorities,
    /// The user agent can't be sent.
    #[error("the user agent must be printable ASCII, like Name/1.0 (+https://example.org/contact)")]
    UserAgent,
    /// The TLS library does not take its settings.
    #[error("the TLS library has no version of TLS to speak")]
    Tls,
}

impl Fetcher {
    /// A fetcher that trusts the authorities that the system trusts.
    pub fn new(rules: Rules, resolver: Arc<dyn Resolve>) -> Result<Fetcher, NotReady> {
        let mut roots = RootCertStore::empty();
        roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
        if roots.is_empty() {
            return Err(NotReady::NoAuthorities);
        }
        Fetcher::with_roots(rules, resolver, roots)
    }

    /// A fetcher that trusts those authorities and no others.
    pub fn with_roots(
        rules: Rules,
        resolver: Arc<dyn Resolve>,
        roots: RootCertStore,
    ) -> Result<Fetcher, NotReady> {
        let user_agent = HeaderValue::from_str(&rules.user_agent).map_err(|_| NotReady::UserAgent)?;
        let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
        let mut tls = ClientConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .map_err(|_| NotReady::Tls)?
            .with_root_certificates(roots)
            .with_no_client_auth();
        tls.alpn_protocols = vec![b"http/1.1".to_vec()];
        // A ticket would tell a server that it was the same client who asked before.
        tls.resumption = rustls::client::Resumption::disabled();
        let hosts = Hosts::new(rules.budget);
        Ok(Fetcher { rules, user_agent, resolver, tls: Arc::new(tls), hosts })
    }

    /// Whether an address may be asked, as far as that can be told without looking anything up.
    pub fn check(&self, address: &str) -> Result<Url, Failure> {
        address::read(&self.rules, address)
    }

    /// Fetches what is at an address, unless it is as it was. It waits for its turn at the host first.
    pub async fn get(&self, request: &Get) -> Result<Answer, Failure> {
        let first = address::check(&self.rules, request.url.clone())?;
        let mut turn = self.turn_at(&first).await;
        let work = async {
            let mut trail = Trail::new(first);
            loop {
                let ours = trail.url.origin() == trail.first.origin();
                let reply = self
                    .ask(&trail.url, self.get_request(request, &trail.url, ours)?, Wanted::Content)
                    .await?;
                if !matches!(reply.status.as_u16(), 301 | 302 | 303 | 307 | 308) {
                    let asked = ours && (request.etag.is_some() || request.modified.is_some());
                    return trail.end(reply, asked);
                }
                trail.follow(&self.rules, &reply)?;
                turn = self.next_turn(turn, &trail.url).await;
            }
        };
        timeout(self.rules.total, work).await.map_err(|_| Failure::TooSlow)?
    }

    async fn turn_at(&self, url: &Url) -> Turn {
        self.hosts.enter(url.host_str().unwrap_or_default()).await
    }

    /// The turn at the next host. The one before is given back first, so that nobody waits for each other.
    async fn next_turn(&self, turn: Turn, url: &Url) -> Turn {
        if turn.is_at(url.host_str().unwrap_or_default()) {
            return turn;
        }
        drop(turn);
        self.turn_at(url).await
    }

    /// Sends a form. Redirects that keep the method are followed; of any other answer the status is told.
    pub async fn post_form(&self, url: &Url, form: &[(&str, &str)]) -> Result<Posted, Failure> {
        let form: Bytes = Serializer::new(String::new()).extend_pairs(form).finish().into();
        let first = address::check(&self.rules, url.clone())?;
        let mut turn = self.turn_at(&first).await;
        let work = async {
            let mut trail = Trail::new(first);
            loop {
                let mut sent = self.request(Method::POST, &trail.url, form.clone())?;
                let kind = HeaderValue::from_static("application/x-www-form-urlencoded");
                sent.headers_mut().insert(CONTENT_TYPE, kind);
                let reply = self.ask(&trail.url, sent, Wanted::Excerpt).await?;
                if !matches!(reply.status.as_u16(), 307 | 308) {
                    let body = String::from_utf8_lossy(&reply.body).into_owned();
                    return Ok(Posted { status: reply.status.as_u16(), body });
                }
                trail.follow(&self.rules, &reply)?;
                turn = self.next_turn(turn, &trail.url).await;
            }
        };
        timeout(self.rules.total, work).await.map_err(|_| Failure::TooSlow)?
    }

    /// One hop.
    async fn ask(&self, url: &Url, request: Request<Full<Bytes>>, wanted: Wanted) -> Result<Reply, Failure> {
        let deadline = Instant::now() + self.rules.connect;
        let connecting = async {
            let addresses = guard::vet(&self.rules, &*self.resolver, url).await?;
            connect::secured(connect::tcp(&addresses, deadline).await?, url, &self.tls).await
        };
        let stream = timeout_at(deadline, connecting).await;
        let stream = stream.map_err(|_| Failure::Unreachable(Unreachable::NoConnection))??;
        exchange(stream, request, wanted, &self.rules).await
    }

    /// What is known is told only to the origin that told it.
    fn get_request(&self, get: &Get, url: &Url, ours: bool) -> Result<Request<Full<Bytes>>, Failure> {
        let mut request = self.request(Method::GET, url, Bytes::new())?;
        let headers = request.headers_mut();
        let known = |validator: &Option<String>| validator.clone().filter(|_| ours);
        for (name, value) in [
            (ACCEPT, Some(get.accept.to_owned())),
            (ACCEPT_ENCODING, Some(CODINGS.to_owned())),
            (IF_NONE_MATCH, known(&get.etag)),
            (IF_MODIFIED_SINCE, known(&get.modified)),
        ] {
            if let Some(value) = value.and_then(|value| HeaderValue::try_from(value).ok()) {
                headers.insert(name, value);
            }
        }
        Ok(request)
    }

    fn request(&self, method: Method, url: &Url, body: Bytes) -> Result<Request<Full<Bytes>>, Failure> {
        let refused = || Failure::Refused(Refusal::NoAddress);
        let host = match (url.host_str().ok_or_else(refused)?, url.port()) {
            (host, Some(port)) => format!("{host}:{port}"),
            (host, None) => host.to_owned(),
        };
        let path = match url.query() {
            Some(query) => format!("{}?{query}", url.path()),
            None => url.path().to_owned(),
        };
        Request::builder()
            .method(method)
            .uri(path)
            .header(HOST, host)
            .header(USER_AGENT, &self.user_agent)
            .header(CONNECTION, "close")
            .body(Full::new(body))
            .map_err(|_| refused())
    }
}

/// The way that redirects have led so far.
struct Trail {
    first: Url,
    url: Url,
    seen: Vec<Url>,
    /// All hops so far were permanent.
    permanent: bool,
    moved: Option<Url>,
}

impl Trail {
    fn new(first: Url) -> Trail {
        Trail { url: first.clone(), first, seen: Vec::new(), permanent: true, moved: None }
    }

    fn follow(&mut self, rules: &Rules, reply: &Reply) -> Result<(), Failure> {
        let location =
            reply.headers.get(LOCATION).ok_or(Failure::Garbled("it leads elsewhere and says not where"))?;
        let to = address::join(rules, &self.url, location.as_bytes())?;
        self.seen.push(std::mem::replace(&mut self.url, to));
        // Nothing is remembered on the way, so an address that comes again would come for ever.
        if self.seen.len() > rules.max_redirects || self.seen.contains(&self.url) {
            return Err(Failure::RedirectLoop);
        }
        self.permanent &= matches!(reply.status.as_u16(), 301 | 308);
        if self.permanent {
            self.moved = Some(self.url.clone());
        }
        Ok(())
    }

    /// What the last answer means. `asked`: it was told what is known.
    fn end(self, reply: Reply, asked: bool) -> Result<Answer, Failure> {
        let Reply { status, headers, body } = reply;
        let now = SystemTime::now();
        let content = match status {
            StatusCode::NOT_MODIFIED if asked => Content::Unchanged,
            StatusCode::OK => Content::Fresh {
                body,
                content_type: text(&headers, CONTENT_TYPE),
                etag: text(&headers, ETAG),
                modified: text(&headers, LAST_MODIFIED),
                links: headers.get_all(LINK).iter().filter_map(readable).take(MAX_LINKS).collect(),
            },
            StatusCode::GONE => return Err(Failure::Gone),
            StatusCode::NOT_FOUND => return Err(Failure::NotFound),
            StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN => {
                return Err(Failure::NeedsSignIn(status.as_u16()));
            }
            StatusCode::TOO_MANY_REQUESTS | StatusCode::SERVICE_UNAVAILABLE => {
                return Err(Failure::Busy { retry_after: retry_after(&headers, now) });
            }
            other => return Err(Failure::Status(other.as_u16())),
        };
        let fresh_for = fresh_for(&headers, now);
        Ok(Answer { url: self.url, moved: self.moved, content, fresh_for, hops: self.seen.len() })
    }
}

fn text(headers: &HeaderMap, name: HeaderName) -> Option<String> {
    headers.get(name).and_then(readable)
}

fn readable(value: &HeaderValue) -> Option<String> {
    value.to_str().ok().filter(|text| text.len() <= MAX_HEADER).map(str::to_owned)
}
