//! The first steps of a new account, shown in place of an empty feed.

use feeds::catalogue;
use model::Account;

/// Services offered as buttons.
const SERVICES: [&str; 8] =
    ["Flickr", "YouTube", "Mastodon", "GitHub", "Vimeo", "Tumblr", "Bluesky", "Letterboxd"];

/// The steps, and which of them are done.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FirstSteps {
    /// Whether a source is connected.
    pub connected: bool,
    /// Whether the account has a picture.
    pub pictured: bool,
    /// Whether the account follows someone.
    pub follows: bool,
    /// Some accounts to follow.
    pub people: Vec<Account>,
}

impl FirstSteps {
    /// The number of steps that are done.
    pub fn done(&self) -> usize {
        [self.connected, self.pictured, self.follows].into_iter().filter(|done| *done).count()
    }

    /// The names of the services offered.
    pub fn services(&self) -> [&'static str; 8] {
        SERVICES
    }

    /// The number of services in the catalogue.
    pub fn known_services(&self) -> usize {
        catalogue::services().len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_offered_service_is_in_the_catalogue() {
        for name in SERVICES {
            assert!(catalogue::by_name(name).is_some(), "{name}");
        }
    }

    #[test]
    fn steps_are_counted() {
        assert_eq!(
            FirstSteps { connected: true, pictured: false, follows: true, people: Vec::new() }.done(),
            2
        );
    }
}
