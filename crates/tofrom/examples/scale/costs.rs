//! Measured costs for the arithmetic, in a file that a run writes.

use std::collections::HashMap;
use std::fmt::Write;
use std::path::Path;

/// Costs in statements, which are the same on any machine.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Costs {
    /// Statements of a worker for each activity, besides the rows that it pushes.
    pub(crate) statements_an_activity: f64,
    /// Additional statements of a page with pulled actors; up to a hundred accounts are read together.
    pub(crate) statements_of_pulling: f64,
    /// Statements for each follower of an account that switches to pull, once.
    pub(crate) statements_a_choice: f64,
    /// Statements for each edge that becomes dormant, once.
    pub(crate) statements_a_sleep: f64,
    /// Statements of a catch-up for each followee, besides one for each activity that it checks and the rows that it
    /// pushes.
    pub(crate) statements_a_followee: f64,
}

impl Costs {
    fn named(&self) -> [(&'static str, f64); 5] {
        [
            ("statements_an_activity", self.statements_an_activity),
            ("statements_of_pulling", self.statements_of_pulling),
            ("statements_a_choice", self.statements_a_choice),
            ("statements_a_sleep", self.statements_a_sleep),
            ("statements_a_followee", self.statements_a_followee),
        ]
    }

    pub(crate) fn write(&self, file: &Path) {
        let mut text = String::from("cost,value\n");
        for (name, value) in self.named() {
            writeln!(text, "{name},{value:.3}").unwrap();
        }
        std::fs::write(file, text).unwrap();
    }

    pub(crate) fn read(file: &Path) -> Costs {
        let text = std::fs::read_to_string(file).expect("expected a file written by a run");
        let lines = text.lines().skip(1).filter_map(|line| line.split_once(','));
        let known: HashMap<&str, f64> = lines.map(|(name, value)| (name, value.parse().unwrap())).collect();
        Costs {
            statements_an_activity: known["statements_an_activity"],
            statements_of_pulling: known["statements_of_pulling"],
            statements_a_choice: known["statements_a_choice"],
            statements_a_sleep: known["statements_a_sleep"],
            statements_a_followee: known["statements_a_followee"],
        }
    }
}
