//! Icons of services: simple shapes and letters in colours close to the brand, drawn for this program. A service without
//! an icon has a neutral one.

use super::assets::Asset;
use crate::site::Site;
use std::collections::HashMap;
use std::sync::LazyLock;

/// Name of the file, the service's names in lower case, ground colour, and the drawing.
type Icon = (&'static str, &'static [&'static str], &'static str, Drawing);

enum Drawing {
    Letter(char),
    Shapes(&'static str),
}
use Drawing::{Letter, Shapes};

/// A hairline around white icons.
const EDGE: &str =
    "<rect x='.5' y='.5' width='23' height='23' rx='5.5' fill='none' stroke='#000' stroke-opacity='.16'/>";

const ICONS: &[Icon] = &[
    ("arxiv", &["arxiv"], "#b31b1b", Letter('x')),
    ("blogger", &["blogger"], "#d8610a", Letter('B')),
    (
        "bluesky",
        &["bluesky"],
        "#0a6ae0",
        Shapes(
            "<path d='M12 11.2C10.8 8.800 8.200 6.400 6.200 5.600 4.900 5.100 4.300 6 4.500 7.400c.2 1.700.7 3.500 1.300 4.300.7.9 1.900 1.200 3.200 1-2.200.4-3.700 1.500-2.200 3.600 1.900 2.600 4.100.9 5.200-2 1.100 2.900 3.300 4.600 5.200 2 1.500-2.100 0-3.200-2.200-3.600 1.300.2 2.500-.1 3.200-1 .6-.8 1.100-2.600 1.300-4.300.2-1.400-.4-2.300-1.700-1.800-2 .8-4.600 3.200-5.800 5.600z' fill='#fff'/>",
        ),
    ),
    (
        "codeberg",
        &["codeberg"],
        "#2178bd",
        Shapes("<path d='M12 5l6.500 12H14l-2-7-2 7H5.500z' fill='#fff'/>"),
    ),
    (
        "delicious",
        &["delicious"],
        "#fff",
        Shapes(
            "<path d='M12 3h9v9h-9z' fill='#3274d1'/><path d='M3 12h9v9H3z' fill='#1a1a1a'/><path d='M12 12h9v9h-9z' fill='#c9cdd2'/>",
        ),
    ),
    ("dev", &["dev"], "#111", Letter('D')),
    ("deviantart", &["deviantart"], "#058a40", Letter('d')),
    (
        "flickr",
        &["flickr"],
        "#fff",
        Shapes(
            "<circle cx='7.800' cy='12' r='4.500' fill='#0063dc'/><circle cx='16.200' cy='12' r='4.500' fill='#ff0084'/>",
        ),
    ),
    (
        "foursquare",
        &["foursquare", "swarm"],
        "#d9487a",
        Shapes(
            "<path d='M12 4.500a5.500 5.500 0 0 1 5.500 5.500c0 4-5.500 9.500-5.500 9.500S6.500 14 6.500 10A5.500 5.500 0 0 1 12 4.500z' fill='#fff'/><circle cx='12' cy='10' r='2.200' fill='#d9487a'/>",
        ),
    ),
    (
        "github",
        &["github", "github releases"],
        "#24292f",
        Shapes(
            "<g fill='none' stroke='#fff' stroke-width='1.800'><circle cx='7.800' cy='6.800' r='2'/><circle cx='7.800' cy='17.200' r='2'/><circle cx='16.200' cy='9.400' r='2'/><path d='M7.800 8.800v6.400M16.200 11.400c0 3-4 2.400-7.400 4'/></g>",
        ),
    ),
    (
        "gitlab",
        &["gitlab"],
        "#d9541e",
        Shapes("<path d='M5 12l2-6.500 2.200 5h5.600l2.200-5 2 6.500-7 7z' fill='#fff'/>"),
    ),
    ("goodreads", &["goodreads"], "#6b4f2a", Letter('g')),
    ("hackernews", &["hacker news"], "#e0560c", Letter('Y')),
    (
        "hashnode",
        &["hashnode"],
        "#2962ff",
        Shapes("<circle cx='12' cy='12' r='4.700' fill='none' stroke='#fff' stroke-width='3.600'/>"),
    ),
    (
        "lastfm",
        &["last.fm", "lastfm"],
        "#c3000d",
        Shapes(
            "<path d='M5 14.2c0-2.400 1.700-4.200 4-4.200 4.400 0 3.600 6.200 7 6.200 1.300 0 2-.7 2-1.600 0-2.200-4.400-1.200-4.400-4 0-1.500 1.200-2.600 2.900-2.600 1.500 0 2.400.6 2.900 1.800M11 15.400c-.6.8-1.500 1.200-2.400 1.200-2 0-3.600-1-3.600-2.800' fill='none' stroke='#fff' stroke-width='1.900' stroke-linecap='round'/>",
        ),
    ),
    (
        "lemmy",
        &["lemmy"],
        "#1f2a37",
        Shapes(
            "<circle cx='7' cy='7.500' r='2.500' fill='#fff'/><circle cx='17' cy='7.500' r='2.500' fill='#fff'/><circle cx='12' cy='13' r='5.500' fill='#fff'/><circle cx='10' cy='12.500' r='1' fill='#1f2a37'/><circle cx='14' cy='12.500' r='1' fill='#1f2a37'/>",
        ),
    ),
    (
        "letterboxd",
        &["letterboxd"],
        "#1b2228",
        Shapes(
            "<circle cx='6.600' cy='12' r='3.600' fill='#ff8000'/><circle cx='12' cy='12' r='3.600' fill='#00c030'/><circle cx='17.400' cy='12' r='3.600' fill='#40bcf4'/>",
        ),
    ),
    ("lobsters", &["lobsters"], "#ac130d", Letter('L')),
    ("mastodon", &["mastodon"], "#563acc", Letter('m')),
    (
        "medium",
        &["medium"],
        "#12100e",
        Shapes(
            "<circle cx='7.500' cy='12' r='4' fill='#fff'/><ellipse cx='14.500' cy='12' rx='2' ry='3.800' fill='#fff'/><ellipse cx='19' cy='12' rx='.8' ry='3.400' fill='#fff'/>",
        ),
    ),
    ("microblog", &["micro.blog"], "#c87500", Letter('µ')),
    (
        "openstreetmap",
        &["openstreetmap"],
        "#5b8c47",
        Shapes(
            "<path d='M4 7l5-2 6 2 5-2v12l-5 2-6-2-5 2z' fill='#fff'/><path d='M9 5v12M15 7v12' stroke='#5b8c47' stroke-width='1.400'/>",
        ),
    ),
    (
        "peertube",
        &["peertube"],
        "#f1680d",
        Shapes(
            "<path d='M7 4.500l7 3.750L7 12z' fill='#211f20'/><path d='M7 12l7 3.750-7 3.750z' fill='#737373'/><path d='M14 8.250L21 12l-7 3.750z' fill='#fff'/>",
        ),
    ),
    (
        "pinboard",
        &["pinboard"],
        "#1a44c2",
        Shapes(
            "<path d='M14.500 4.500l5 5-3 .6-2.700 2.700.2 3.200-2.300 2.300-2.900-2.900L5 19l3.600-3.800-2.900-2.900L8 10l3.200.2 2.700-2.700z' fill='#fff'/>",
        ),
    ),
    ("pinterest", &["pinterest"], "#bd081c", Letter('p')),
    (
        "pixelfed",
        &["pixelfed"],
        "#3a3f9e",
        Shapes(
            "<circle cx='12' cy='12' r='7.500' fill='#fff'/><path d='M9.800 16.500V8h3.400a2.900 2.900 0 0 1 0 5.800h-1.600z' fill='#3a3f9e'/>",
        ),
    ),
    ("reddit", &["reddit"], "#d93a00", Letter('r')),
    (
        "soundcloud",
        &["soundcloud"],
        "#e3611a",
        Shapes(
            "<path d='M5 13v3M8 11v5M11 9v7M14 10v6M17 12v4' stroke='#fff' stroke-width='1.700' stroke-linecap='round'/>",
        ),
    ),
    (
        "stackoverflow",
        &["stack overflow"],
        "#d96c14",
        Shapes(
            "<path d='M6 14v4h10v-4M8 15.500h6M8.200 12.500l5.900 1M9.400 9.200l5.400 2.400M11.600 6l4.600 3.700' fill='none' stroke='#fff' stroke-width='1.800'/>",
        ),
    ),
    (
        "substack",
        &["substack"],
        "#e0581b",
        Shapes("<path d='M6 5h12v2H6zM6 8.500h12v2H6zM6 12h12v7.500L12 16l-6 3.500z' fill='#fff'/>"),
    ),
    (
        "tumblr",
        &["tumblr"],
        "#2c4762",
        Shapes(
            "<path d='M13 5v4h4v3h-4v4c0 1.600 1.600 1.800 3.600.8v3c-4 1.400-7 .2-7-3.200V12H7.400V9.400C9.400 8.800 10 7 10.200 5z' fill='#fff'/>",
        ),
    ),
    ("twitter", &["twitter", "x"], "#1878b8", Letter('t')),
    (
        "vimeo",
        &["vimeo"],
        "#149ac6",
        Shapes(
            "<path d='M5.500 9.500l2.600-2.200c1.400-.6 2 .6 2.400 3 .4 2.600.8 5 1.500 5s2.600-3 2.800-4.600c.1-1.200-.8-1.400-1.800-.9.6-2 2-3.300 3.600-3.200 1.600.1 2.200 1.300 2 3-.5 3.600-4.400 8.900-6.700 8.900-2.200 0-2.800-3.200-3.300-5.600-.4-1.800-.6-2.800-1.100-2.800l-1.200.8z' fill='#fff'/>",
        ),
    ),
    ("wikipedia", &["wikipedia"], "#3b3f45", Letter('W')),
    (
        "wordpress",
        &["wordpress"],
        "#21759b",
        Shapes(
            "<circle cx='12' cy='12' r='8' fill='none' stroke='#fff' stroke-width='1.300'/><path d='M7 9l2.800 7.500L12 10.500l2.200 6L17 9' fill='none' stroke='#fff' stroke-width='1.700'/>",
        ),
    ),
    ("writeas", &["write.as"], "#4a4a4a", Letter('w')),
    ("youtube", &["youtube"], "#e3211c", Shapes("<path d='M9.500 7.600l8 4.400-8 4.400z' fill='#fff'/>")),
];

/// The icon of all other services: a globe.
const NEUTRAL: Icon = (
    "service",
    &[],
    "#697168",
    Shapes(
        "<g fill='none' stroke='#fff' stroke-width='1.500'><circle cx='12' cy='12' r='7'/><ellipse cx='12' cy='12' rx='3' ry='7'/><path d='M5 12h14'/></g>",
    ),
);

static ASSETS: LazyLock<Vec<Asset>> = LazyLock::new(|| ICONS.iter().chain([&NEUTRAL]).map(asset).collect());

fn asset((file, _, ground, drawing): &Icon) -> Asset {
    let edge = if *ground == "#fff" { EDGE } else { "" };
    let drawing = match drawing {
        Letter(letter) => format!(
            "<text x='12' y='17' text-anchor='middle' font-family='system-ui,Noto Sans,Arial,sans-serif' font-size='14.500' font-weight='700' fill='#fff'>{letter}</text>"
        ),
        Shapes(shapes) => (*shapes).to_owned(),
    };
    let svg = format!(
        "<svg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 24 24'><rect width='24' height='24' rx='6' fill='{ground}'/>{drawing}{edge}</svg>"
    );
    Asset::new(file, "svg", "image/svg+xml", svg.into_bytes())
}

/// All icons as assets.
pub(super) fn assets() -> &'static [Asset] {
    &ASSETS
}

/// The icons by the names of their services, in lower case.
static BY_NAME: LazyLock<HashMap<&str, &Asset>> = LazyLock::new(|| {
    let named = ICONS.iter().zip(assets());
    named.flat_map(|((_, names, ..), asset)| names.iter().map(move |name| (*name, asset))).collect()
});

/// The path of the icon of the service with this name.
pub(super) fn path(service: &str, site: &Site) -> String {
    let known = BY_NAME.get(service.to_lowercase().as_str()).copied();
    known.or_else(|| assets().last()).map_or_else(String::new, |asset| asset.path(site))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_service_of_the_catalogue_has_an_icon() {
        let site = Site::new("https://feed.example/social", "feed.example", model::CursorKeys::default());
        let neutral = path("Oma's Küche", &site);
        assert!(neutral.starts_with("/social/assets/service-"), "{neutral}");
        for service in feeds::catalogue::services() {
            assert_ne!(path(&service.name, &site), neutral, "{}", service.name);
        }
        assert_eq!(path("LAST.FM", &site), path("Last.fm", &site));
    }

    #[test]
    fn icons_are_small_and_well_formed() {
        for asset in assets() {
            let text = std::str::from_utf8(asset.content()).unwrap();
            assert!(text.len() < 900, "{}: {} bytes", asset.name(), text.len());
            assert_eq!(text.matches('<').count(), text.matches('>').count(), "{text}");
            assert_eq!(text.matches('\'').count() % 2, 0, "{text}");
        }
    }
}
