//! File upload forms, verified to come from a page of this session.

use super::super::{Problem, Service};
use super::Person;
use super::form::{foreign_form, is_same_origin};
use crate::auth::session::SignedIn;
use axum::body::{Body, Bytes};
use axum::extract::{FromRequest, FromRequestParts, Multipart, Request};
use axum::response::{IntoResponse, Response};
use http::Uri;
use http_body_util::Limited;
use std::sync::Arc;

/// Maximum bytes of the form besides the file.
const MAX_OTHER_FIELDS: usize = 64 << 10;

/// A file upload with a valid CSRF token, submitted by a signed-in user.
pub(super) struct Upload {
    /// The user.
    pub(super) person: SignedIn,
    /// The address of the form.
    pub(super) uri: Uri,
    /// The file; empty if none was chosen.
    pub(super) file: Bytes,
    /// The names of the other fields, buttons among them.
    pub(super) fields: Vec<String>,
}

impl Upload {
    /// Receives a multipart form: the CSRF token first, then other fields, then the file in the field `name` with at
    /// most `max` bytes.
    pub(super) async fn receive(
        service: &Arc<Service>,
        request: Request,
        name: &str,
        max: usize,
    ) -> Result<Upload, Response> {
        let (mut head, body) = request.into_parts();
        if !is_same_origin(&head.headers, &service.site) {
            return Err(foreign_form(&service.site));
        }
        let Person(person) = Person::from_request_parts(&mut head, service).await?;
        let uri = head.uri.clone();
        let limited = Request::from_parts(head, Body::new(Limited::new(body, max + MAX_OTHER_FIELDS)));
        let parts = Multipart::from_request(limited, service).await;
        let parts = parts.map_err(|_| broken(max).into_response())?;
        let mut upload = Upload { person, uri, file: Bytes::new(), fields: Vec::new() };
        match upload.read(parts, name).await {
            Ok(true) => Ok(upload),
            Ok(false) => Err(foreign_form(&service.site)),
            Err(_) => Err(broken(max).into_response()),
        }
    }

    /// Reads all parts; returns whether the CSRF token is valid.
    async fn read(
        &mut self,
        mut parts: Multipart,
        name: &str,
    ) -> Result<bool, axum::extract::multipart::MultipartError> {
        let mut verified = false;
        while let Some(part) = parts.next_field().await? {
            match part.name() {
                Some("csrf") => verified = self.person.is_ours(self.uri.path(), &part.text().await?),
                // The file is read only after the token is verified.
                Some(found) if found == name && verified => self.file = part.bytes().await?,
                Some(other) => self.fields.push(other.to_owned()),
                None => {}
            }
        }
        Ok(verified)
    }
}

fn broken(max: usize) -> Problem {
    Problem::body(format!("The upload is incomplete or the file is larger than {} MiB.", max >> 20))
}
