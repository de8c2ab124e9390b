//! The services that publish feeds: where a person's feed is, and what its items mean.
//!
//! A service is a file in `catalogue/` and a line in `catalogue/list.rs`. Any other feed is named after its
//! host, and its items are converted by general rules.

mod activity;
mod list;
mod pattern;
mod recognise;
mod service;

pub use activity::{Activity, activity, source};
pub use recognise::{Recognised, recognise};
pub use service::Service;

use std::sync::LazyLock;

/// All services, ordered by name.
pub fn services() -> &'static [Service] {
    static SERVICES: LazyLock<Vec<Service>> = LazyLock::new(|| {
        // A test parses every file, so no file is skipped here.
        let mut services: Vec<_> =
            list::FILES.iter().filter_map(|(_, text)| Service::parse(text).ok()).collect();
        services.sort_by_key(|service| service.name.to_lowercase());
        services
    });
    &SERVICES
}

/// Finds a service by its name, ignoring case.
pub fn by_name(name: &str) -> Option<&'static Service> {
    let name = name.trim().to_lowercase();
    services().iter().find(|service| service.name.to_lowercase() == name)
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::ServiceName;
    use std::collections::HashSet;

    #[test]
    fn the_list_matches_the_folder_and_every_file_parses() {
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/catalogue");
        let mut files: Vec<String> = std::fs::read_dir(folder)
            .unwrap()
            .map(|file| file.unwrap().file_name().into_string().unwrap())
            .collect();
        files.sort();
        let listed: Vec<&str> = list::FILES.iter().map(|(name, _)| *name).collect();
        assert_eq!(files, listed);
        for (name, text) in list::FILES {
            let service = Service::parse(text).unwrap_or_else(|error| panic!("{name}: {error}"));
            assert!(ServiceName::parse(&service.name).is_some(), "{name}");
            assert!(!service.title.is_empty() && !service.asks.is_empty(), "{name}");
        }
        assert!(services().len() >= 24);
        let names: HashSet<_> = services().iter().map(|service| service.name.to_lowercase()).collect();
        assert_eq!(names.len(), services().len(), "duplicate service name");
    }

    #[test]
    fn a_name_is_found_in_any_case() {
        assert_eq!(by_name(" github ").map(|service| service.name.as_str()), Some("GitHub"));
        assert!(by_name("nowhere").is_none());
    }
}
