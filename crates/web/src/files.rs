//! Files that pages embed: `GET /assets/{asset}`; `GET /user/{name}/avatar/{size}.png`, the public picture of an
//! account; and `GET /media/{width}/{mac}/{address}`, a picture of another site through the media proxy. And files that
//! browsers look for: the icon, the manifest of the application, and the rules for crawlers.
//!
//! A private account and an unknown name both get a picture that is generated from the name. The body, the headers and
//! the cost of the response do not reveal which of the two it is.

use crate::media::Media;
use crate::pictures;
use crate::problem::Problem;
use crate::respond::{Caching, Representation};
use crate::service::Service;
use crate::site::Site;
use crate::views::assets::{Asset, FAVICON, HOME_ICONS};
use axum::extract::{Path, State};
use axum::response::Response;
use axum::routing::{MethodRouter, get};
use http::{HeaderMap, HeaderName, HeaderValue};
use model::{AccountName, PICTURE_SIZES, Uid};
use serde_json::json;
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

pub(crate) fn favicon_methods() -> MethodRouter<Service> {
    get(favicon).fallback(|| async { Problem::method_not_allowed("GET, HEAD") })
}

pub(crate) fn robots_methods() -> MethodRouter<Service> {
    get(robots).fallback(|| async { Problem::method_not_allowed("GET, HEAD") })
}

pub(crate) fn manifest_methods() -> MethodRouter<Service> {
    get(manifest).fallback(|| async { Problem::method_not_allowed("GET, HEAD") })
}

async fn favicon(headers: HeaderMap) -> Result<Response, Problem> {
    let representation = Representation::new("image/x-icon", Caching::Hour);
    representation.inert().digested(&headers, FAVICON).respond(|| FAVICON.to_vec())
}

/// Nothing but the documentation is public.
async fn robots(State(site): State<Site>, headers: HeaderMap) -> Result<Response, Problem> {
    let prefix = site.prefix();
    let text = format!("User-agent: *\nAllow: {prefix}/docs\nDisallow: {prefix}/\n").into_bytes();
    let representation = Representation::new("text/plain; charset=utf-8", Caching::Hour);
    representation.inert().digested(&headers, &text).respond(|| text)
}

/// Makes the pages installable as an application.
async fn manifest(State(site): State<Site>, headers: HeaderMap) -> Result<Response, Problem> {
    let icons: Vec<_> = HOME_ICONS
        .iter()
        .map(|(pixels, asset)| {
            let sizes = format!("{pixels}x{pixels}");
            json!({ "src": asset.path(&site), "sizes": sizes, "type": "image/png", "purpose": "any maskable" })
        })
        .collect();
    let text = json!({
        "name": "tofrom",
        "short_name": "tofrom",
        "description": "Everything that happens to and from you",
        "start_url": format!("{}/feed", site.prefix()),
        "scope": format!("{}/", site.prefix()),
        "display": "standalone",
        "background_color": "#f3f1eb",
        "theme_color": "#1d6b5a",
        "icons": icons,
    });
    let text = text.to_string().into_bytes();
    let representation = Representation::new("application/manifest+json", Caching::Hour);
    representation.inert().digested(&headers, &text).respond(|| text)
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
    let representation = Representation::new(asset.media_type(), Caching::Immutable).inert();
    let is_compressed = asset.media_type() == "image/png";
    let representation = if is_compressed { representation } else { representation.encoded(&headers) };
    representation.respond(|| asset.content().to_vec())
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
