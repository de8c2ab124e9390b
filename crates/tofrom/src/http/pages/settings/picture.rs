//! The profile picture.

use super::super::super::{Problem, Service};
use super::super::upload::Upload;
use crate::pages::settings::ProfilePage;
use crate::pages::{Policy, html};
use crate::pictures;
use axum::extract::{Request, State};
use axum::response::{IntoResponse, Response};
use http::StatusCode;
use model::{Picture, Version};
use std::sync::Arc;

pub(super) async fn change(
    State(service): State<Arc<Service>>,
    request: Request,
) -> Result<Response, Response> {
    let upload = Upload::receive(&service, request, "picture", pictures::MAX_BYTES).await?;
    service.change_picture(upload).await.map_err(IntoResponse::into_response)
}

impl Service {
    async fn change_picture(&self, upload: Upload) -> Result<Response, Problem> {
        let uid = upload.person.account.uid;
        let before = self.store.picture(uid).await?;
        let version = Version::next(self.clock.now(), before.map(|picture| picture.version));
        let picture = if upload.fields.iter().any(|field| field == "remove") {
            Picture::none(version)
        } else {
            match pictures::convert(upload.file.to_vec()).await {
                Ok(sizes) => Picture { version, sizes },
                Err(why) => {
                    let page = ProfilePage {
                        site: &self.site,
                        frame: self.settings_frame(&upload.person, &upload.uri),
                        account: &upload.person.account,
                        complaint: Some(&why.to_string()),
                    };
                    return Ok(html(StatusCode::UNPROCESSABLE_ENTITY, &page, Policy::SAME_ORIGIN));
                }
            }
        };
        self.store.put_picture(uid, &picture).await?;
        Ok(self.go("/settings?done=picture"))
    }
}
