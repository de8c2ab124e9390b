//! The fetcher. Every hop is checked, resolved, vetted, and requested on a new connection.

use crate::body::CODINGS;
use crate::error::{FetchError, Refusal, Unreachable};
use crate::exchange::{BodyMode, Reply, exchange};
use crate::freshness::{fresh_for, retry_after};
use crate::host_limiter::{HostLimiter, HostPermit};
use crate::message::{Content, FetchRequest, FetchResponse, PostResponse};
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

/// The longest header value that is returned, in bytes. Longer ones are left out.
const MAX_HEADER: usize = 1_024;
/// The most `Link` headers that are returned.
const MAX_LINKS: usize = 16;

/// Sends requests to servers of third parties.
pub struct Fetcher {
    rules: Rules,
    user_agent: HeaderValue,
    resolver: Arc<dyn Resolve>,
    tls: Arc<ClientConfig>,
    hosts: HostLimiter,
}

/// The fetcher could not be created.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum FetcherError {
    /// The system has no certificate authorities.
    #[error("no certificate authorities found: install the package ca-certificates")]
    NoAuthorities,
    /// The user agent is not a valid header.
    #[error("the user agent must be printable ASCII, like Name/1.0 (+https://example.org/contact)")]
    UserAgent,
    /// The TLS library rejects its configuration.
    #[error("the TLS library supports no TLS version")]
    Tls,
}

impl Fetcher {
    /// A fetcher that trusts the system's certificate authorities.
    pub fn new(rules: Rules, resolver: Arc<dyn Resolve>) -> Result<Fetcher, FetcherError> {
        let mut roots = RootCertStore::empty();
        roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
        if roots.is_empty() {
            return Err(FetcherError::NoAuthorities);
        }
        Fetcher::with_roots(rules, resolver, roots)
    }

    /// A fetcher that trusts only these certificate authorities.
    pub fn with_roots(
        rules: Rules,
        resolver: Arc<dyn Resolve>,
        roots: RootCertStore,
    ) -> Result<Fetcher, FetcherError> {
        let user_agent = HeaderValue::from_str(&rules.user_agent).map_err(|_| FetcherError::UserAgent)?;
        let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
        let mut tls = ClientConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .map_err(|_| FetcherError::Tls)?
            .with_root_certificates(roots)
            .with_no_client_auth();
        tls.alpn_protocols = vec![b"http/1.1".to_vec()];
        // A session ticket would let a server recognise the client.
        tls.resumption = rustls::client::Resumption::disabled();
        let hosts = HostLimiter::with_connections(rules.budget, rules.connections);
        Ok(Fetcher { rules, user_agent, resolver, tls: Arc::new(tls), hosts })
    }

    /// Checks an address without a DNS lookup.
    pub fn check(&self, address: &str) -> Result<Url, FetchError> {
        address::read(&self.rules, address)
    }

    /// Fetches an address, or reports that the known version has not changed. Waits for a permit of the host
    /// first.
    pub async fn get(&self, request: &FetchRequest) -> Result<FetchResponse, FetchError> {
        let first = address::check(&self.rules, request.url.clone())?;
        let mut permit = self.permit_for(&first).await;
        let work = async {
            let mut chain = RedirectChain::new(first);
            loop {
                let same_origin = chain.url.origin() == chain.first.origin();
                let reply = self
                    .send(&chain.url, self.get_request(request, &chain.url, same_origin)?, BodyMode::Content)
                    .await?;
                if !matches!(reply.status.as_u16(), 301 | 302 | 303 | 307 | 308) {
                    let conditional = same_origin && (request.etag.is_some() || request.modified.is_some());
                    return chain.end(reply, conditional);
                }
                chain.follow(&self.rules, &reply)?;
                permit = self.next_permit(permit, &chain.url).await;
            }
        };
        timeout(self.rules.total, work).await.map_err(|_| FetchError::TooSlow)?
    }

    async fn permit_for(&self, url: &Url) -> HostPermit {
        self.hosts.enter(url.host_str().unwrap_or_default()).await
    }

    /// A permit for the next host. The previous one is released first to avoid deadlocks.
    async fn next_permit(&self, permit: HostPermit, url: &Url) -> HostPermit {
        if permit.is_for(url.host_str().unwrap_or_default()) {
            return permit;
        }
        drop(permit);
        self.permit_for(url).await
    }

    /// Sends a form. Redirects that keep the method are followed; the status of any other response is returned.
    pub async fn post_form(&self, url: &Url, form: &[(&str, &str)]) -> Result<PostResponse, FetchError> {
        let form: Bytes = Serializer::new(String::new()).extend_pairs(form).finish().into();
        let first = address::check(&self.rules, url.clone())?;
        let mut permit = self.permit_for(&first).await;
        let work = async {
            let mut chain = RedirectChain::new(first);
            loop {
                let mut request = self.request(Method::POST, &chain.url, form.clone())?;
                let kind = HeaderValue::from_static("application/x-www-form-urlencoded");
                request.headers_mut().insert(CONTENT_TYPE, kind);
                let reply = self.send(&chain.url, request, BodyMode::Excerpt).await?;
                if !matches!(reply.status.as_u16(), 307 | 308) {
                    let body = String::from_utf8_lossy(&reply.body).into_owned();
                    return Ok(PostResponse { status: reply.status.as_u16(), body });
                }
                chain.follow(&self.rules, &reply)?;
                permit = self.next_permit(permit, &chain.url).await;
            }
        };
        timeout(self.rules.total, work).await.map_err(|_| FetchError::TooSlow)?
    }

    /// Checks an address, and that its host is allowed now.
    pub async fn check_host(&self, address: &str) -> Result<Url, FetchError> {
        let url = self.check(address)?;
        let lookup = guard::vet(&self.rules, &*self.resolver, &url);
        let vetted = timeout(self.rules.connect, lookup).await;
        vetted.map_err(|_| FetchError::Unreachable(Unreachable::NoSuchHost))??;
        Ok(url)
    }

    /// Sends a document and returns the status. Redirects are not followed. The rate limit of the host does not apply:
    /// the owner of an address has asked for the requests.
    pub async fn post(
        &self,
        url: &Url,
        content_type: &'static str,
        headers: &[(&'static str, String)],
        body: Bytes,
    ) -> Result<u16, FetchError> {
        let url = address::check(&self.rules, url.clone())?;
        let mut request = self.request(Method::POST, &url, body)?;
        request.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static(content_type));
        for (name, value) in headers {
            let value = HeaderValue::from_str(value).map_err(|_| FetchError::Refused(Refusal::NoAddress))?;
            request.headers_mut().insert(HeaderName::from_static(name), value);
        }
        let reply = timeout(self.rules.total, self.send(&url, request, BodyMode::Nothing)).await;
        Ok(reply.map_err(|_| FetchError::TooSlow)??.status.as_u16())
    }

    /// One hop.
    async fn send(
        &self,
        url: &Url,
        request: Request<Full<Bytes>>,
        body_mode: BodyMode,
    ) -> Result<Reply, FetchError> {
        let deadline = Instant::now() + self.rules.connect;
        let connecting = async {
            let addresses = guard::vet(&self.rules, &*self.resolver, url).await?;
            connect::secured(connect::tcp(&addresses, deadline).await?, url, &self.tls).await
        };
        let stream = timeout_at(deadline, connecting).await;
        let stream = stream.map_err(|_| FetchError::Unreachable(Unreachable::NoConnection))??;
        exchange(stream, request, body_mode, &self.rules).await
    }

    /// Validators are sent only to the origin that issued them.
    fn get_request(
        &self,
        get: &FetchRequest,
        url: &Url,
        same_origin: bool,
    ) -> Result<Request<Full<Bytes>>, FetchError> {
        let mut request = self.request(Method::GET, url, Bytes::new())?;
        let headers = request.headers_mut();
        let known = |validator: &Option<String>| validator.clone().filter(|_| same_origin);
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

    fn request(&self, method: Method, url: &Url, body: Bytes) -> Result<Request<Full<Bytes>>, FetchError> {
        let refused = || FetchError::Refused(Refusal::NoAddress);
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

/// The redirects so far.
struct RedirectChain {
    first: Url,
    url: Url,
    seen: Vec<Url>,
    /// Whether all hops so far were permanent.
    permanent: bool,
    moved: Option<Url>,
}

impl RedirectChain {
    fn new(first: Url) -> RedirectChain {
        RedirectChain { url: first.clone(), first, seen: Vec::new(), permanent: true, moved: None }
    }

    fn follow(&mut self, rules: &Rules, reply: &Reply) -> Result<(), FetchError> {
        let location =
            reply.headers.get(LOCATION).ok_or(FetchError::InvalidResponse("its redirect has no Location"))?;
        let to = address::join(rules, &self.url, location.as_bytes())?;
        self.seen.push(std::mem::replace(&mut self.url, to));
        // Requests are stateless, so a repeated address is an endless loop.
        if self.seen.len() > rules.max_redirects || self.seen.contains(&self.url) {
            return Err(FetchError::RedirectLoop);
        }
        self.permanent &= matches!(reply.status.as_u16(), 301 | 308);
        if self.permanent {
            self.moved = Some(self.url.clone());
        }
        Ok(())
    }

    /// Interprets the last response. `conditional`: the request contained a validator.
    fn end(self, reply: Reply, conditional: bool) -> Result<FetchResponse, FetchError> {
        let Reply { status, headers, body } = reply;
        let now = SystemTime::now();
        let content = match status {
            StatusCode::NOT_MODIFIED if conditional => Content::Unchanged,
            StatusCode::OK => Content::Fresh {
                body,
                content_type: text(&headers, CONTENT_TYPE),
                etag: text(&headers, ETAG),
                modified: text(&headers, LAST_MODIFIED),
                links: headers.get_all(LINK).iter().filter_map(readable).take(MAX_LINKS).collect(),
            },
            StatusCode::GONE => return Err(FetchError::Gone),
            StatusCode::NOT_FOUND => return Err(FetchError::NotFound),
            StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN => {
                return Err(FetchError::NeedsSignIn(status.as_u16()));
            }
            StatusCode::TOO_MANY_REQUESTS | StatusCode::SERVICE_UNAVAILABLE => {
                return Err(FetchError::Busy { retry_after: retry_after(&headers, now) });
            }
            other => return Err(FetchError::Status(other.as_u16())),
        };
        let fresh_for = fresh_for(&headers, now);
        Ok(FetchResponse { url: self.url, moved: self.moved, content, fresh_for, hops: self.seen.len() })
    }
}

fn text(headers: &HeaderMap, name: HeaderName) -> Option<String> {
    headers.get(name).and_then(readable)
}

fn readable(value: &HeaderValue) -> Option<String> {
    value.to_str().ok().filter(|text| text.len() <= MAX_HEADER).map(str::to_owned)
}
