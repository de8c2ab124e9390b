//! OPML export and import.

use super::super::super::{Problem, Service};
use super::super::Person;
use super::super::upload::Upload;
use super::sources::user_message;
use crate::pages::sources::{Imported, SourceForm};
use axum::extract::{Request, State};
use axum::response::{IntoResponse, Response};
use feeds::opml;
use http::StatusCode;
use http::header::{CACHE_CONTROL, CONTENT_DISPOSITION, CONTENT_TYPE};
use std::sync::Arc;

/// Maximum bytes of an OPML file.
const MAX_LIST: usize = 1 << 20;
/// Maximum feeds of one import.
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
    let upload = Upload::receive(&service, request, "list", MAX_LIST).await?;
    service.import_list(upload).await.map_err(IntoResponse::into_response)
}

impl Service {
    async fn import_list(&self, upload: Upload) -> Result<Response, Problem> {
        let (form, person) = (SourceForm::default(), &upload.person);
        let outlines = match opml::read(&upload.file) {
            Ok(outlines) if !outlines.is_empty() => outlines,
            _ => {
                let complaint = "The file is not an OPML list of feeds. Export one from your feed reader.";
                let (status, shown) = (StatusCode::UNPROCESSABLE_ENTITY, (&form, Some(complaint)));
                return self.sources_page_with(person, &upload.uri, status, shown, None).await;
            }
        };
        let mut imported = Imported::default();
        for outline in outlines.iter().take(MAX_OUTLINES) {
            match self.sources.connect_without_fetching(&person.account, outline).await {
                Ok(true) => imported.connected += 1,
                Ok(false) => imported.known += 1,
                Err(why) => imported.refused.push((outline.address.to_string(), user_message(&why))),
            }
        }
        imported.skipped =
            outlines.iter().skip(MAX_OUTLINES).map(|outline| outline.address.to_string()).collect();
        self.sources_page_with(person, &upload.uri, StatusCode::OK, (&form, None), Some(imported)).await
    }
}
