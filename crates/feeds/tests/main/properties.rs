//! Properties that hold for random and mutated documents.

use crate::check::check;
use crate::samples::documents;
use feeds::opml::{self, Outline};
use proptest::collection::vec;
use proptest::prelude::*;
use std::sync::LazyLock;
use url::Url;

static SAMPLES: LazyLock<Vec<Vec<u8>>> =
    LazyLock::new(|| documents().into_iter().map(|(_, document)| document).collect());

const PIECES: [&str; 36] = [
    "<rss><channel>",
    "<item>",
    "</item>",
    "<title>",
    "</title>",
    "<link>",
    "<guid>",
    "http://",
    "&",
    ";",
    "&#8217;",
    "<![CDATA[",
    "]]>",
    "<!--",
    "-->",
    "<feed xmlns='http://www.w3.org/2005/Atom'>",
    "<entry>",
    "<id>",
    "</id>",
    "</entry>",
    "</feed>",
    "<html><p class='h-entry'>",
    "<a class='u-url p-name' href='/x'>",
    "<img class=u-photo src=x>",
    "<time class=dt-published>",
    "2026-11-14T22:44:03Z",
    "Sat, 14 Nov 2026",
    "{\"version\":\"https://jsonfeed.org/version/1\"",
    ",\"items\":[{\"id\":1}]}",
    "<opml><body><outline xmlUrl='https://a.b/' text='",
    "'/></body></opml>",
    "<base href='",
    "@a@b.example",
    "github.com/",
    "</channel></rss>",
    "<?xml encoding='utf-16'?>",
];

fn mutated() -> impl Strategy<Value = Vec<u8>> {
    let change = (any::<prop::sample::Index>(), 0..20_usize, any::<prop::sample::Index>(), 0..3_u8);
    (any::<prop::sample::Index>(), vec(change, 1..6)).prop_map(|(which, changes)| {
        let mut document = which.get(&SAMPLES).clone();
        for (position, length, piece, how) in changes {
            let from = position.index(document.len() + 1);
            let to = (from + length).min(document.len());
            match how {
                0 => drop(document.drain(from..to)),
                1 => drop(document.splice(from..to, piece.get(&PIECES).bytes())),
                _ => document.truncate(from.max(20)),
            }
        }
        document
    })
}

fn pieces() -> impl Strategy<Value = Vec<u8>> {
    let piece = prop_oneof![
        4 => prop::sample::select(&PIECES[..]).prop_map(|piece| piece.as_bytes().to_vec()),
        1 => vec(any::<u8>(), 0..6),
    ];
    vec(piece, 0..30).prop_map(|pieces| pieces.concat())
}

fn outline() -> impl Strategy<Value = Outline> {
    let title = prop::option::of("[^\\p{C}\\p{Z}]([^\\p{C}\\p{Z}]| [^\\p{C}\\p{Z}]){0,20}");
    let address = "[a-z]{1,8}(\\?[a-z]=[&'\"<é]{1,3})?"
        .prop_map(|path| Url::parse(&format!("https://example.org/{path}")).unwrap());
    (title, address.clone(), prop::option::of(address)).prop_map(|(title, address, site)| Outline {
        title,
        address,
        site,
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, ..ProptestConfig::default() })]

    #[test]
    fn any_bytes(data in vec(any::<u8>(), 0..400)) {
        check(&data);
    }

    #[test]
    fn pieces_of_documents(data in pieces()) {
        check(&data);
    }

    #[test]
    fn mutated_samples(data in mutated()) {
        check(&data);
    }

    #[test]
    fn any_text(text in ".{0,200}") {
        check(text.as_bytes());
    }

    #[test]
    fn a_written_list_is_read_back(outlines in vec(outline(), 0..8), title in ".{0,20}") {
        let mut seen = std::collections::HashSet::new();
        let outlines: Vec<_> = outlines.into_iter().filter(|outline| seen.insert(outline.address.clone())).collect();
        let written = opml::write(&outlines, &title);
        prop_assert_eq!(opml::read(written.as_bytes()), Ok(outlines), "{}", written);
    }
}

/// Writes the samples and pieces as seeds for `fuzz/`.
#[test]
#[ignore = "writes into fuzz/corpus"]
fn seeds_for_cargo_fuzz() {
    let corpus = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus");
    std::fs::create_dir_all(corpus.join("feed")).unwrap();
    for (name, document) in documents() {
        std::fs::write(corpus.join("feed").join(name), document).unwrap();
    }
    let quoted = |piece: &str| piece.bytes().map(|byte| format!("\\x{byte:02x}")).collect::<String>();
    let words: String = PIECES.iter().map(|piece| format!("\"{}\"\n", quoted(piece))).collect();
    std::fs::write(corpus.join("feed.dict"), words).unwrap();
}
