//! Files that pages embed: `GET /assets/{asset}`; `GET /user/{name}/avatar/{size}.png`, the public picture of an
//! account; and `GET /media/{width}/{mac}/{address}`, a picture of another site through the media proxy.
//!
//! A private account and an unknown name both get a picture that is generated from the name. The body, the headers and
//! the cost of the response do not reveal which of the two it is.

use crate::media::Media;
use crate::pictures;
use crate::problem::Problem;
use crate::respond::{Caching, Representation};
use crate::service::Service;
use crate::views::assets::Asset;
use axum::extract::{Path, State};
use axum::response::Response;
use axum::routing::{MethodRouter, get};
use http::{HeaderMap, HeaderName, HeaderValue};
use model::{AccountName, PICTURE_SIZES, Uid};
use std::sync::Arc;
use store::Store;

/// Pages of other sites cannot embed the pictures of our proxy.
const CROSS_ORIGIN_RESOURCE_POLICY: HeaderName = HeaderName::from_static("cross-origin-resource-policy");

/// A number that no account has.
const NO_ACCOUNT: Uid = Uid(0);

pub(crate) fn asset_methods() -> MethodRouter<Service> {
    get(asset).fallback(|| async { Problem::method_not_allowed("GET, HEAD") })
}

pub(crate) fn avatar_methods() -> MethodRouter<Service> {
    get(avatar).fallback(|| async { Problem::method_not_allowed("GET, HEAD") })
}

pub(crate) fn media_methods() -> MethodRouter<Service> {
    get(media).fallback(|| async { Problem::method_not_allowed("GET, HEAD") })
}

async fn media(
    State(media): State<Media>,
    Path((width, mac, address)): Path<(String, String, String)>,
    headers: HeaderMap,
) -> Result<Response, Problem> {
    let picture = media.picture(&width, &mac, &address).await?;
    let representation = Representation::new(picture.media_type.as_str(), Caching::Week);
    let for_our_pages = (CROSS_ORIGIN_RESOURCE_POLICY, HeaderValue::from_static("same-origin"));
    let representation = representation.inert().header(for_our_pages).digested(&headers, &picture.bytes);
    representation.respond(|| picture.bytes.to_vec())
}

async fn asset(Path(name): Path<String>, headers: HeaderMap) -> Result<Response, Problem> {
    let asset = Asset::find(&name).ok_or_else(Problem::not_found)?;
    // The name changes with the content.
    let representation = Representation::new(asset.media_type(), Caching::Immutable);
    representation.inert().encoded(&headers).respond(|| asset.content().into())
}

async fn avatar(
    State(store): State<Arc<dyn Store>>,
    Path((name, file)): Path<(String, String)>,
    headers: HeaderMap,
) -> Result<Response, Problem> {
    let name = AccountName::parse(&name).map_err(|_| Problem::not_found())?;
    let size = size_of(&file).ok_or_else(Problem::not_found)?;
    let png = match uploaded_picture(store.as_ref(), &name, size).await? {
        Some(png) => png,
        // Drawing takes some milliseconds the first time.
        None => tokio::task::spawn_blocking(move || pictures::drawn(name.as_str(), size))
            .await
            .map_err(|_| Problem::busy())?,
    };
    let representation = Representation::new("image/png", Caching::Minutes);
    representation.inert().digested(&headers, &png).respond(|| png)
}

/// `80.png`, `120.png` or `200.png`.
fn size_of(file: &str) -> Option<u32> {
    let size = file.strip_suffix(".png")?;
    PICTURE_SIZES.into_iter().find(|known| known.to_string() == size)
}

/// The uploaded picture of a public account. The store lookups are the same for unknown names.
async fn uploaded_picture(
    store: &dyn Store,
    name: &AccountName,
    size: u32,
) -> Result<Option<Vec<u8>>, Problem> {
    let account = store.account_by_name(name).await?;
    let shown = account.filter(|account| account.public && account.may_act());
    let picture = store.picture(shown.map_or(NO_ACCOUNT, |account| account.uid)).await?;
    Ok(picture.and_then(|picture| picture.sized(size).map(<[u8]>::to_vec)))
}
