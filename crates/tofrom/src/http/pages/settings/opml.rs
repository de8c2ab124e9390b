//! Lists of feeds, as feed readers exchange them: taken along, and brought.

use super::super::super::{Problem, Service};
use super::super::Person;
use super::super::upload::Upload;
use super::sources::told;
use crate::pages::sources::{Asked, Imported};
use axum::extract::{Request, State};
use axum::response::{IntoResponse, Response};
use feeds::opml;
use http::StatusCode;
use http::header::{CACHE_CONTROL, CONTENT_DISPOSITION, CONTENT_TYPE};
use std::sync::Arc;

/// The longest list that is read, in bytes.
const MAX_LIST: usize = 1 << 20;
/// Feeds of a list that are connected at once.
const MAX_OUTLINES: usize = 100;

pub(super) async fn export(
    State(service): State<Arc<Service>>,
    Person(person): Person,
) -> Result<Response, Problem> {
    let outlines = service.sources.outlines(&person.account).await?;
    let name = &person.account.name;
    let headers = [
        (CONTENT_TYPE, "text/x-opml; charset=utf-8".to_owned()),
        (CONTENT_DISPOSITION, format!("attachment; filename=\"{name}.opml\"")),
        (CACHE_CONTROL, "no-store".to_owned()),
    ];
    Ok((headers, opml::write(&outlines, &format!("Sources of {name}"))).into_response())
}

pub(super) async fn import(
    State(service): State<Arc<Service>>,
    request: Request,
) -> Result<Response, Response> {
    let sent = Upload::receive(&service, request, "list", MAX_LIST).await?;
    service.import_list(sent).await.map_err(IntoResponse::into_response)
}

impl Service {
    async fn import_list(&self, sent: Upload) -> Result<Response, Problem> {
        let (asked, person) = (Asked::default(), &sent.person);
        let outlines = match opml::read(&sent.file) {
            Ok(outlines) if !outlines.is_empty() => outlines,
            _ => {
                let complaint = "That is no list of feeds. Feed readers call what they export OPML.";
                let (status, said) = (StatusCode::UNPROCESSABLE_ENTITY, (&asked, Some(complaint)));
                return self.sources_page_with(person, &sent.uri, status, said, None).await;
            }
        };
        let mut imported = Imported::default();
        for outline in outlines.iter().take(MAX_OUTLINES) {
            match self.sources.connect_without_fetching(&person.account, outline).await {
                Ok(true) => imported.connected += 1,
                Ok(false) => imported.known += 1,
                Err(why) => imported.refused.push((outline.address.to_string(), told(&why))),
            }
        }
        imported.left =
            outlines.iter().skip(MAX_OUTLINES).map(|outline| outline.address.to_string()).collect();
        self.sources_page_with(person, &sent.uri, StatusCode::OK, (&asked, None), Some(imported)).await
    }
}
