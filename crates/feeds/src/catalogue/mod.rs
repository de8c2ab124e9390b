//! The services that publish feeds: where the feed of a person lies, and what its items are.
//!
//! A service is a file in `catalogue/`, and a line in `catalogue/list.rs`. What is not there is any feed: it is called
//! after the host that it comes from, and its items are what they say they are.

mod activity;
mod list;
mod pattern;
mod recognise;
mod service;

pub use activity::{Activity, activity, source};
pub use recognise::{Recognised, recognise};
pub use service::Service;

use std::sync::LazyLock;

/// All services, in the order of their names.
pub fn services() -> &'static [Service] {
    static SERVICES: LazyLock<Vec<Service>> = LazyLock::new(|| {
        // A test reads every file, so none is left out here.
        let mut services: Vec<_> =
            list::FILES.iter().filter_map(|(_, text)| Service::parse(text).ok()).collect();
        services.sort_by_key(|service| service.name.to_lowercase());
        services
    });
    &SERVICES
}

/// The service of that name, in any case.
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
    fn the_list_is_the_folder_and_every_file_is_a_service() {
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/catalogue");
        let mut files: Vec<String> = std::fs::read_dir(folder)
            .unwrap()
            .map(|file| file.unwrap().file_name().into_string().unwrap())
            .collect();
        files.sort();
        let listed: Vec<&str> = list::FILES.iter().map(|(name, _)| *name).collect();
        assert_eq!(files, listed);
        for (name, text) in list::FILES {
            let service = Service::parse(text).unwrap_or_else(|wrong| panic!("{name}: {wrong}"));
            assert!(ServiceName::parse(&service.name).is_some(), "{name}");
            assert!(!service.title.is_empty() && !service.asks.is_empty(), "{name}");
        }
        assert!(services().len() >= 24);
        let names: HashSet<_> = services().iter().map(|service| service.name.to_lowercase()).collect();
        assert_eq!(names.len(), services().len(), "a name is there twice");
    }

    #[test]
    fn a_name_is_found_in_any_case() {
        assert_eq!(by_name(" github ").map(|service| service.name.as_str()), Some("GitHub"));
        assert!(by_name("nowhere").is_none());
    }
}
