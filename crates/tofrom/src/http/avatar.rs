//! `GET /user/{name}/avatar/{size}.png`: the public picture of an account.
//!
//! A private account and an unknown name both get a picture that is generated from the name. The body, the headers and
//! the cost of the response do not reveal which of the two it is.

use super::{Problem, Service, conditional};
use crate::pictures;
use axum::extract::{Path, State};
use axum::response::{IntoResponse, Response};
use axum::routing::{MethodRouter, get};
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use http::header::{CACHE_CONTROL, CONTENT_SECURITY_POLICY, CONTENT_TYPE, ETAG};
use http::{HeaderMap, StatusCode};
use model::{AccountName, PICTURE_SIZES, Uid};
use std::sync::Arc;

/// A number that no account has.
const NO_ACCOUNT: Uid = Uid(0);

pub(super) fn methods() -> MethodRouter<Arc<Service>> {
    get(avatar).fallback(|| async { Problem::method_not_allowed("GET, HEAD") })
}

async fn avatar(
    State(service): State<Arc<Service>>,
    Path((name, file)): Path<(String, String)>,
    headers: HeaderMap,
) -> Result<Response, Problem> {
    let name = AccountName::parse(&name).map_err(|_| Problem::not_found())?;
    let size = size_of(&file).ok_or_else(Problem::not_found)?;
    let png = match service.picture_of(&name, size).await? {
        Some(png) => png,
        // Drawing takes some milliseconds the first time.
        None => tokio::task::spawn_blocking(move || pictures::drawn(name.as_str(), size))
            .await
            .map_err(|_| Problem::busy())?,
    };
    let digest = aws_lc_rs::digest::digest(&aws_lc_rs::digest::SHA256, &png);
    let short = digest.as_ref().first_chunk::<12>().copied().unwrap_or_default();
    let tag = format!("\"{}\"", URL_SAFE_NO_PAD.encode(short));
    let known = conditional::is_not_modified(&headers, &tag);
    let caching = [(CACHE_CONTROL, "public, max-age=300".to_owned()), (ETAG, tag)];
    if known {
        return Ok((StatusCode::NOT_MODIFIED, caching).into_response());
    }
    let content = [
        (CONTENT_TYPE, "image/png"),
        // It may also be opened as a document.
        (CONTENT_SECURITY_POLICY, "default-src 'none'; frame-ancestors 'none'"),
    ];
    Ok((caching, content, png).into_response())
}

/// `80.png`, `120.png` or `200.png`.
fn size_of(file: &str) -> Option<u32> {
    let size = file.strip_suffix(".png")?;
    PICTURE_SIZES.into_iter().find(|known| known.to_string() == size)
}

impl Service {
    /// The uploaded picture of a public account. The store lookups are the same for unknown names.
    async fn picture_of(&self, name: &AccountName, size: u32) -> Result<Option<Vec<u8>>, Problem> {
        let account = self.store.account_by_name(name).await?;
        let shown = account.filter(|account| account.public && account.may_act());
        let picture = self.store.picture(shown.map_or(NO_ACCOUNT, |account| account.uid)).await?;
        Ok(picture.and_then(|picture| picture.sized(size).map(<[u8]>::to_vec)))
    }
}
