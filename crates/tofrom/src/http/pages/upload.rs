//! A form with a file, once it is sure that it was ours.

use super::super::{Problem, Service};
use super::Person;
use super::form::{is_from_here, not_ours};
use crate::auth::session::SignedIn;
use axum::body::{Body, Bytes};
use axum::extract::{FromRequest, FromRequestParts, Multipart, Request};
use axum::response::{IntoResponse, Response};
use http::Uri;
use http_body_util::Limited;
use std::sync::Arc;

/// What the rest of the form may take.
const REST: usize = 64 << 10;

/// A form with a file that a page of this person's session sent to where it goes.
pub(super) struct Upload {
    /// Who.
    pub(super) person: SignedIn,
    /// Where to.
    pub(super) uri: Uri,
    /// The file; nothing where none was chosen.
    pub(super) file: Bytes,
    /// The names of the other fields, buttons among them.
    pub(super) fields: Vec<String>,
}

impl Upload {
    /// Such a form comes in parts: the proof that it is ours first, then what to do, then the file, which is called
    /// `name` and has at most `most` bytes.
    pub(super) async fn receive(
        service: &Arc<Service>,
        request: Request,
        name: &str,
        most: usize,
    ) -> Result<Upload, Response> {
        let (mut head, sent) = request.into_parts();
        if !is_from_here(&head.headers, &service.site) {
            return Err(not_ours(&service.site));
        }
        let Person(person) = Person::from_request_parts(&mut head, service).await?;
        let uri = head.uri.clone();
        let limited = Request::from_parts(head, Body::new(Limited::new(sent, most + REST)));
        let parts = Multipart::from_request(limited, service).await;
        let parts = parts.map_err(|_| broken(most).into_response())?;
        let mut upload = Upload { person, uri, file: Bytes::new(), fields: Vec::new() };
        match upload.read(parts, name).await {
            Ok(true) => Ok(upload),
            Ok(false) => Err(not_ours(&service.site)),
            Err(_) => Err(broken(most).into_response()),
        }
    }

    /// Whether it is ours.
    async fn read(
        &mut self,
        mut parts: Multipart,
        name: &str,
    ) -> Result<bool, axum::extract::multipart::MultipartError> {
        let mut proven = false;
        while let Some(part) = parts.next_field().await? {
            match part.name() {
                Some("csrf") => proven = self.person.is_ours(self.uri.path(), &part.text().await?),
                // Nothing of somebody else's is read.
                Some(found) if found == name && proven => self.file = part.bytes().await?,
                Some(other) => self.fields.push(other.to_owned()),
                None => {}
            }
        }
        Ok(proven)
    }
}

fn broken(most: usize) -> Problem {
    Problem::body(format!("The form broke off, or its file is larger than {} MiB.", most >> 20))
}
