//! The accounts of the demo.

/// One account.
pub(super) struct Person {
    pub(super) name: &'static str,
    pub(super) given_name: &'static str,
    pub(super) family_name: &'static str,
    pub(super) public: bool,
    pub(super) operator: bool,
    /// The number of activities.
    pub(super) activities: usize,
    /// Followed accounts, all public.
    pub(super) follows: &'static [&'static str],
}

/// All accounts. The operator comes last: its account is created when all other data is complete, so its existence means
/// that nothing is missing.
pub(super) const PEOPLE: &[Person] = &[
    Person {
        name: "alice",
        given_name: "Alice",
        family_name: "Adair",
        public: false,
        operator: false,
        activities: 310,
        follows: &["bob", "erin"],
    },
    Person {
        name: "bob",
        given_name: "Bob",
        family_name: "Bergström",
        public: true,
        operator: false,
        activities: 150,
        follows: &["carol", "erin"],
    },
    Person {
        name: "carol",
        given_name: "Carol",
        family_name: "Chevalier",
        public: true,
        operator: false,
        activities: 80,
        follows: &["bob"],
    },
    Person {
        name: "dave",
        given_name: "Dave",
        family_name: "O'Dowd",
        public: false,
        operator: false,
        activities: 40,
        follows: &["bob", "carol", "erin"],
    },
    Person {
        name: "erin",
        given_name: "Erin",
        family_name: "Ek",
        public: true,
        operator: false,
        activities: 110,
        follows: &["bob", "frank"],
    },
    Person {
        name: "frank",
        given_name: "Frank",
        family_name: "Fujimoto",
        public: true,
        operator: false,
        activities: 30,
        follows: &[],
    },
    Person {
        name: "ops",
        given_name: "Olivia",
        family_name: "Park",
        public: false,
        operator: true,
        activities: 0,
        follows: &[],
    },
];
