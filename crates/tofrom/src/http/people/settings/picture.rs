//! The picture that stands beside what somebody did.

use super::super::super::{Problem, Service};
use super::super::Person;
use super::super::form::{is_from_here, not_ours};
use crate::auth::session::SignedIn;
use crate::pages::settings::ProfilePage;
use crate::pages::{Policy, html};
use crate::pictures;
use axum::body::Body;
use axum::extract::{FromRequest, FromRequestParts, Multipart, Request, State};
use axum::response::{IntoResponse, Response};
use http::{StatusCode, Uri};
use http_body_util::Limited;
use model::{Picture, Version};
use std::sync::Arc;

/// A form with a picture: what a picture may take, and a little for the rest.
const MAX_FORM: usize = pictures::MOST_BYTES + (64 << 10);

/// A form with a file comes in parts: the proof that it is ours first, then what to do, then the file.
pub(super) async fn change(
    State(service): State<Arc<Service>>,
    request: Request,
) -> Result<Response, Response> {
    let (mut head, sent) = request.into_parts();
    if !is_from_here(&head.headers, &service.site) {
        return Err(not_ours(&service.site));
    }
    let Person(person) = Person::from_request_parts(&mut head, &service).await?;
    let uri = head.uri.clone();
    let limited = Request::from_parts(head, Body::new(Limited::new(sent, MAX_FORM)));
    service.change_picture(&person, &uri, limited).await.map_err(IntoResponse::into_response)
}

fn broken<E>(_: E) -> Problem {
    Problem::body("The form broke off, or is larger than 8 MiB.")
}

impl Service {
    async fn change_picture(
        &self,
        person: &SignedIn,
        uri: &Uri,
        request: Request,
    ) -> Result<Response, Problem> {
        let mut parts = Multipart::from_request(request, self).await.map_err(broken)?;
        let (mut proven, mut remove, mut bytes) = (false, false, None);
        while let Some(part) = parts.next_field().await.map_err(broken)? {
            match part.name() {
                Some("csrf") => proven = person.is_ours(uri.path(), &part.text().await.map_err(broken)?),
                Some("remove") => remove = true,
                // Nothing of somebody else's is read.
                Some("picture") if proven => bytes = Some(part.bytes().await.map_err(broken)?),
                _ => {}
            }
        }
        if !proven {
            return Ok(not_ours(&self.site));
        }
        let uid = person.account.uid;
        let before = self.store.picture(uid).await?;
        let version = Version::next(self.clock.now(), before.map(|picture| picture.version));
        let picture = if remove {
            Picture::none(version)
        } else {
            match pictures::read_in_turn(bytes.unwrap_or_default().to_vec()).await {
                Ok(sizes) => Picture { version, sizes },
                Err(why) => {
                    let page = ProfilePage {
                        site: &self.site,
                        frame: self.settings_frame(person, uri),
                        account: &person.account,
                        complaint: Some(&why.to_string()),
                    };
                    return Ok(html(StatusCode::UNPROCESSABLE_ENTITY, &page, Policy::OURS));
                }
            }
        };
        self.store.put_picture(uid, &picture).await?;
        Ok(self.go("/settings?done=picture"))
    }
}
