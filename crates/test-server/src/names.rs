//! Host names that lead where a test wants.

use async_trait::async_trait;
use fetcher::Resolve;
use std::collections::HashMap;
use std::io;
use std::net::IpAddr;
use std::sync::Mutex;

/// Host names that lead where a test wants, and elsewhere the next time.
#[derive(Default)]
pub struct Names {
    answers: Mutex<HashMap<String, Vec<Vec<IpAddr>>>>,
    asked: Mutex<Vec<String>>,
}

impl Names {
    /// No names at all.
    pub fn new() -> Names {
        Names::default()
    }

    /// From now on that name leads to those addresses.
    pub fn lead(&self, host: &str, addresses: &[&str]) {
        self.lead_in_turn(host, &[addresses]);
    }

    /// From now on that name leads to the first of these, the next time to the second, and so on; the last one stays.
    pub fn lead_in_turn(&self, host: &str, turns: &[&[&str]]) {
        let parsed = |turn: &&[&str]| turn.iter().map(|address| address.parse().unwrap()).collect();
        self.answers.lock().unwrap().insert(host.to_owned(), turns.iter().map(parsed).collect());
    }

    /// The names that were looked up so far.
    pub fn asked(&self) -> Vec<String> {
        self.asked.lock().unwrap().clone()
    }
}

#[async_trait]
impl Resolve for Names {
    async fn resolve(&self, host: &str) -> io::Result<Vec<IpAddr>> {
        self.asked.lock().unwrap().push(host.to_owned());
        match self.answers.lock().unwrap().get_mut(host) {
            None => Err(io::Error::other("no such host")),
            Some(turns) if turns.len() > 1 => Ok(turns.remove(0)),
            Some(turns) => Ok(turns.first().cloned().unwrap_or_default()),
        }
    }
}
