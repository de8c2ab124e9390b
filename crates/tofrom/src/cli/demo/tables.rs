//! Tables of the demo data: services, the activities that people do there, and their objects.

/// A service, such as Flickr.
pub(super) struct Site {
    pub(super) name: &'static str,
    pub(super) website: Option<&'static str>,
    /// The name of its icon among the demo's pictures.
    pub(super) icon: Option<&'static str>,
    pub(super) habits: &'static [Habit],
}

/// A kind of activity on a service.
pub(super) struct Habit {
    pub(super) kind: &'static str,
    pub(super) verb: &'static str,
    /// Frequency relative to the other habits.
    pub(super) weight: usize,
    /// The title: `{who}` stands for the given name, `{what}` for the object's title.
    pub(super) sentence: &'static str,
    pub(super) things: &'static [Thing],
    /// Address prefix of the objects; a number follows. An object with a `url` uses that instead.
    pub(super) place: &'static str,
    /// Height and width of the thumbnail.
    pub(super) picture: Option<(u32, u32)>,
}

/// An object of activities.
pub(super) struct Thing {
    pub(super) title: &'static str,
    pub(super) description: Option<&'static str>,
    pub(super) url: Option<&'static str>,
}

const fn thing(title: &'static str, description: &'static str) -> Thing {
    Thing { title, description: Some(description), url: None }
}

const fn plain(title: &'static str) -> Thing {
    Thing { title, description: None, url: None }
}

const fn page(title: &'static str, url: &'static str, description: &'static str) -> Thing {
    Thing { title, description: Some(description), url: Some(url) }
}

const fn bare_page(title: &'static str, url: &'static str) -> Thing {
    Thing { title, description: None, url: Some(url) }
}

const SQUARE: Option<(u32, u32)> = Some((75, 75));
const WIDE: Option<(u32, u32)> = Some((90, 120));
const COVER: Option<(u32, u32)> = Some((160, 106));

/// All services.
pub(super) const SITES: &[Site] = &[
    Site {
        name: "Flickr",
        website: Some("https://www.flickr.com/"),
        icon: Some("flickr"),
        habits: &[
            Habit {
                kind: "photo",
                verb: "post",
                weight: 10,
                sentence: "{who} posted a photo: {what}",
                things: PHOTOS,
                place: "https://www.flickr.com/photos/tofrom-demo/",
                picture: SQUARE,
            },
            Habit {
                kind: "photo",
                verb: "like",
                weight: 6,
                sentence: "{who} liked the photo “{what}”",
                things: PHOTOS,
                place: "https://www.flickr.com/photos/tofrom-demo/",
                picture: SQUARE,
            },
            Habit {
                kind: "photo-album",
                verb: "create",
                weight: 2,
                sentence: "{who} put together an album: {what}",
                things: ALBUMS,
                place: "https://www.flickr.com/photos/tofrom-demo/albums/",
                picture: SQUARE,
            },
        ],
    },
    Site {
        name: "Twitter",
        website: Some("https://twitter.com/"),
        icon: Some("twitter"),
        habits: &[
            Habit {
                kind: "note",
                verb: "post",
                weight: 12,
                sentence: "{what}",
                things: NOTES,
                place: "https://twitter.com/tofrom_demo/status/",
                picture: None,
            },
            Habit {
                kind: "note",
                verb: "share",
                weight: 5,
                sentence: "{who} passed on: {what}",
                things: NOTES,
                place: "https://twitter.com/tofrom_demo/status/",
                picture: None,
            },
            Habit {
                kind: "note",
                verb: "like",
                weight: 5,
                sentence: "{who} liked: {what}",
                things: NOTES,
                place: "https://twitter.com/tofrom_demo/status/",
                picture: None,
            },
            Habit {
                kind: "status",
                verb: "update",
                weight: 2,
                sentence: "{who} is {what}",
                things: MOODS,
                place: "https://twitter.com/tofrom_demo/status/",
                picture: None,
            },
        ],
    },
    Site {
        name: "Delicious",
        website: Some("https://delicious.com/"),
        icon: Some("delicious"),
        habits: &[
            Habit {
                kind: "bookmark",
                verb: "share",
                weight: 10,
                sentence: "{who} shared a bookmark: {what}",
                things: PAGES,
                place: "https://delicious.com/url/",
                picture: None,
            },
            Habit {
                kind: "bookmark",
                verb: "like",
                weight: 4,
                sentence: "{who} liked {what}",
                things: PAGES,
                place: "https://delicious.com/url/",
                picture: WIDE,
            },
            Habit {
                kind: "bookmark",
                verb: "save",
                weight: 3,
                sentence: "{who} saved {what} for later",
                things: PAGES,
                place: "https://delicious.com/url/",
                picture: None,
            },
        ],
    },
    Site {
        name: "Last.fm",
        website: Some("https://www.last.fm/"),
        icon: Some("lastfm"),
        habits: &[
            Habit {
                kind: "song",
                verb: "play",
                weight: 14,
                sentence: "{who} played {what}",
                things: SONGS,
                place: "https://www.last.fm/music/+track/",
                picture: SQUARE,
            },
            Habit {
                kind: "song",
                verb: "like",
                weight: 4,
                sentence: "{who} loves {what}",
                things: SONGS,
                place: "https://www.last.fm/music/+track/",
                picture: SQUARE,
            },
        ],
    },
    Site {
        name: "YouTube",
        website: Some("https://www.youtube.com/"),
        icon: Some("youtube"),
        habits: &[
            Habit {
                kind: "video",
                verb: "like",
                weight: 6,
                sentence: "{who} liked a video: {what}",
                things: VIDEOS,
                place: "https://www.youtube.com/watch?v=demo",
                picture: WIDE,
            },
            Habit {
                kind: "video",
                verb: "share",
                weight: 3,
                sentence: "{who} shared a video: {what}",
                things: VIDEOS,
                place: "https://www.youtube.com/watch?v=demo",
                picture: WIDE,
            },
            Habit {
                kind: "video",
                verb: "play",
                weight: 3,
                sentence: "{who} watched {what}",
                things: VIDEOS,
                place: "https://www.youtube.com/watch?v=demo",
                picture: WIDE,
            },
        ],
    },
    Site {
        name: "Vimeo",
        website: Some("https://vimeo.com/"),
        icon: Some("vimeo"),
        habits: &[
            Habit {
                kind: "video",
                verb: "post",
                weight: 3,
                sentence: "{who} posted a video: {what}",
                things: VIDEOS,
                place: "https://vimeo.com/",
                picture: WIDE,
            },
            Habit {
                kind: "video",
                verb: "like",
                weight: 2,
                sentence: "{who} liked {what}",
                things: VIDEOS,
                place: "https://vimeo.com/",
                picture: WIDE,
            },
        ],
    },
    Site {
        name: "Goodreads",
        website: Some("https://www.goodreads.com/"),
        icon: Some("goodreads"),
        habits: &[
            Habit {
                kind: "book",
                verb: "read",
                weight: 5,
                sentence: "{who} finished reading {what}",
                things: BOOKS,
                place: "https://www.goodreads.com/book/show/",
                picture: COVER,
            },
            Habit {
                kind: "book",
                verb: "like",
                weight: 2,
                sentence: "{who} gave five stars to {what}",
                things: BOOKS,
                place: "https://www.goodreads.com/book/show/",
                picture: COVER,
            },
            Habit {
                kind: "book",
                verb: "share",
                weight: 2,
                sentence: "{who} recommends {what}",
                things: BOOKS,
                place: "https://www.goodreads.com/book/show/",
                picture: None,
            },
        ],
    },
    Site {
        name: "Tumblr",
        website: Some("https://www.tumblr.com/"),
        icon: Some("tumblr"),
        habits: &[
            Habit {
                kind: "article",
                verb: "post",
                weight: 4,
                sentence: "{who} wrote: {what}",
                things: ARTICLES,
                place: "https://tofrom-demo.tumblr.com/post/",
                picture: None,
            },
            Habit {
                kind: "photo",
                verb: "share",
                weight: 3,
                sentence: "{who} reblogged {what}",
                things: PHOTOS,
                place: "https://tofrom-demo.tumblr.com/post/",
                picture: SQUARE,
            },
        ],
    },
    Site {
        name: "GitHub",
        website: Some("https://github.com/"),
        icon: Some("github"),
        habits: &[
            Habit {
                kind: "issue",
                verb: "open",
                weight: 2,
                sentence: "{who} opened an issue: {what}",
                things: ISSUES,
                place: "https://github.com/tofrom-demo/teapot/issues/",
                picture: None,
            },
            Habit {
                kind: "issue",
                verb: "close",
                weight: 2,
                sentence: "{who} closed “{what}”",
                things: ISSUES,
                place: "https://github.com/tofrom-demo/teapot/issues/",
                picture: None,
            },
        ],
    },
    Site {
        name: "Foursquare",
        website: Some("https://foursquare.com/"),
        icon: None,
        habits: &[Habit {
            kind: "place",
            verb: "checkin",
            weight: 3,
            sentence: "{who} was at {what}",
            things: PLACES,
            place: "https://foursquare.com/v/",
            picture: None,
        }],
    },
    Site {
        name: "Oma's Küche & Café",
        website: None,
        icon: None,
        habits: &[Habit {
            kind: "article",
            verb: "post",
            weight: 2,
            sentence: "{who} cooked: {what}",
            things: RECIPES,
            place: "https://kitchen.example.org/rezept/",
            picture: None,
        }],
    },
];

const PHOTOS: &[Thing] = &[
    thing("Fog on the Öresund bridge", "Six in the morning, the pylons stood on nothing at all."),
    thing("Grandpa's toolbox", "Every screwdriver still has his initials burnt into the handle."),
    plain("First snow & last roses"),
    thing("The cat has opinions", "She sat on the tripod bag for <b>three</b> hours."),
    plain("Market day, Aix-en-Provence"),
    thing("京都の雨", "Kyoto in the rain; the moss garden was closed, the gutter was not."),
    plain("Self-portrait with kettle"),
    thing("\"Do not lean bicycles here\"", "Fourteen bicycles."),
    plain("Tram 28, almost empty"),
    thing("Northern lights from the car park", "ISO 3200, hand-held, 2 s. It was too cold for a second try."),
    plain("Breakfast on platform 9"),
    thing("Ship's cat, Valparaíso", "He boarded in Callao and nobody asked for his ticket."),
];

const ALBUMS: &[Thing] = &[
    thing("Lofoten, 12 days", "Mostly rain, some light, one sea eagle."),
    plain("Doors of Porto"),
    plain("Kites > drones"),
    thing("The allotment, year three", "Before, during and after the slugs."),
];

const NOTES: &[Thing] = &[
    plain("The printer works. I am told not to ask why."),
    plain("Reminder: 2 < 3, also on Mondays"),
    plain("Cycling home with a headwind both ways, again 🚲"),
    plain("Does anybody have a spare ticket for Friday?"),
    plain("I've replaced the batteries in everything that beeps. It still beeps."),
    plain("Tea first, then \"quick question\""),
    plain("¿Quién dejó la ventana abierta?"),
    plain("The bakery at the corner reopens on Saturday. Priorities are being rearranged."),
    plain("Half of the choir has a cold, the other half is alto"),
    plain("Q&A at 5, cake at 6. Choose wisely."),
    plain("Found: one glove, left, stripes. Lost: one glove, left, stripes. Different gloves."),
    plain("Moon over the gasworks right now, go and look"),
    plain("Naïve question: why is it called a waterproof jacket"),
    plain("The 7:14 was the 7:41"),
];

const MOODS: &[Thing] = &[
    plain("out of coffee"),
    plain("back in Göteborg"),
    plain("pretending to understand the tax form"),
    plain("on the slow train, by choice"),
];

const PAGES: &[Thing] = &[
    page(
        "RFC 4287: The Atom Syndication Format",
        "https://www.rfc-editor.org/rfc/rfc4287",
        "Short, and every MUST is there for a reason.",
    ),
    page(
        "Sourdough without a schedule",
        "https://bread.example.org/sourdough?hydration=75&mood=calm",
        "Feeds & folds when you feel like it.",
    ),
    bare_page("How to sharpen a kitchen knife", "https://tools.example.com/sharpen"),
    page(
        "Falsehoods programmers believe about time",
        "https://infiniteundo.com/post/25326999628/falsehoods-programmers-believe-about-time",
        "\"There are always 24 hours in a day\" is number one.",
    ),
    bare_page("Old maps of the harbour, 1650-1900", "https://maps.example.org/harbour"),
    page(
        "Knitting patterns for left-handers",
        "https://knit.example.net/links",
        "Left to right > right to left.",
    ),
    page("Activity Streams", "https://activitystrea.ms/", "Who did what with which thing."),
    bare_page("Interrail: 31 days on €300", "https://rail.example.org/31-days"),
    page("The café that isn't there", "https://short.example.org/cafe", "A short story. It's <5 minutes."),
    page("Bird calls of the boreal forest", "https://birds.example.org/boreal", "With spectrograms."),
    bare_page("A field guide to manhole covers", "https://covers.example.com/"),
];

const SONGS: &[Thing] = &[
    thing("Nina Simone - Sinnerman", "Ten minutes, none too many."),
    plain("Sigur Rós - Hoppípolla"),
    plain("Miles Davis - So What"),
    thing("Björk - Jóga", "From the live set in Cambridge."),
    plain("Simon & Garfunkel - The Boxer"),
    plain("Fela Kuti - Zombie"),
    plain("Astor Piazzolla - Libertango"),
    plain("Café Tacvba - Eres"),
    plain("Kraftwerk - Trans-Europe Express"),
    thing("Erik Satie - Gymnopédie No. 1", "For the rain."),
    plain("坂本龍一 - Merry Christmas Mr. Lawrence"),
    plain("Talking Heads - Once in a Lifetime"),
];

const VIDEOS: &[Thing] = &[
    thing("How a mechanical watch works", "Eleven minutes of very small wheels."),
    plain("Kingfisher, 1,000 frames a second"),
    thing("Building a canoe, part 3: the ribs", "Steam, clamps & patience."),
    plain("The Wintergatan marble machine"),
    thing("Lemon tart: \"simple\"", "It is not."),
    plain("Night train to Kiruna, whole journey"),
    plain("Conway's Game of Life in a spreadsheet"),
    thing("Cello suite in a stairwell", "Listen to the echo in bar 12."),
    plain("100 km/h sheep"),
];

const BOOKS: &[Thing] = &[
    thing("The Left Hand of Darkness", "Ursula K. Le Guin, 1969."),
    thing("Moominland Midwinter", "Tove Jansson; still the best book about January."),
    plain("Cien años de soledad"),
    thing("The Design of Everyday Things", "Doors, mostly."),
    plain("Der Zauberberg"),
    plain("Pride & Prejudice"),
    thing("Gödel, Escher, Bach", "Third attempt. Page 300!"),
    plain("The Summer Book"),
    thing("Roadside Picnic", "А. и Б. Стругацкие: Пикник на обочине."),
];

const ARTICLES: &[Thing] = &[
    thing("Why I keep a paper calendar", "It has never asked me to update it."),
    thing("Notes from the repair café", "17 visitors, 14 toasters, 1 theremin."),
    plain("On queues & queueing"),
    thing("A week without maps", "<em>Spoiler:</em> I was early everywhere and lost once."),
    plain("What the allotment taught me about deadlines"),
];

const ISSUES: &[Thing] = &[
    thing("Teapot returns 200", "Expected 418. Steps: 1. brew 2. look"),
    plain("Crash if name contains 'é'"),
    thing("x < y > z is parsed as generics", "let a = x < y > z;"),
    plain("Document the --whistle option"),
    plain("Build fails on a Tuesday"),
];

const PLACES: &[Thing] = &[
    plain("Café Majestic"),
    thing("Malmö Central", "Track 7."),
    plain("The Eagle & Child"),
    plain("Biblioteca Vasconcelos"),
    plain("Gate B12"),
];

const RECIPES: &[Thing] = &[
    thing("Käsespätzle", "More onions than you think."),
    plain("Reibekuchen mit Apfelmus"),
    thing("Zwiebelkuchen", "With the first new wine."),
];
