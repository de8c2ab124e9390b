//! A resolver whose results a test controls.

use async_trait::async_trait;
use fetcher::Resolve;
use std::collections::HashMap;
use std::io;
use std::net::IpAddr;
use std::sync::Mutex;

/// A resolver whose results a test controls; they may change between lookups.
#[derive(Default)]
pub struct Names {
    answers: Mutex<HashMap<String, Vec<Vec<IpAddr>>>>,
    lookups: Mutex<Vec<String>>,
}

impl Names {
    /// A resolver without names.
    pub fn new() -> Names {
        Names::default()
    }

    /// Resolves this name to these addresses from now on.
    pub fn set(&self, host: &str, addresses: &[&str]) {
        self.set_in_turn(host, &[addresses]);
    }

    /// Resolves this name to the first list, at the next lookup to the second, and so on; the last one is
    /// repeated.
    pub fn set_in_turn(&self, host: &str, turns: &[&[&str]]) {
        let parsed = |turn: &&[&str]| turn.iter().map(|address| address.parse().unwrap()).collect();
        self.answers.lock().unwrap().insert(host.to_owned(), turns.iter().map(parsed).collect());
    }

    /// The names that were resolved so far.
    pub fn lookups(&self) -> Vec<String> {
        self.lookups.lock().unwrap().clone()
    }
}

#[async_trait]
impl Resolve for Names {
    async fn resolve(&self, host: &str) -> io::Result<Vec<IpAddr>> {
        self.lookups.lock().unwrap().push(host.to_owned());
        match self.answers.lock().unwrap().get_mut(host) {
            None => Err(io::Error::other("no such host")),
            Some(turns) if turns.len() > 1 => Ok(turns.remove(0)),
            Some(turns) => Ok(turns.first().cloned().unwrap_or_default()),
        }
    }
}
