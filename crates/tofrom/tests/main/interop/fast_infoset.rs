//! The Java reference implementation reads our Fast Infoset like our XML, and we read its output.

use super::super::support::folder::Folder;
use super::super::support::pages::PageFixture;
use super::super::support::tree;
use super::SET_UP;
use std::path::{Path, PathBuf};
use std::process::Command;

const PAGES: usize = 1_000;

/// The program that the `infoset` crate is tested against; its usage is in the file.
const PROGRAM: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../infoset/tests/java/Interop.java");

/// An XML text and Java's encoding of it, in UTF-8 and in UTF-16.
struct Job {
    xml: Vec<u8>,
    theirs: [PathBuf; 2],
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_reference_implementation_agrees_on_any_page() {
    let jar = std::env::var("FASTINFOSET_JAR").unwrap_or("/usr/share/java/FastInfoset.jar".to_owned());
    assert!(Path::new(&jar).is_file(), "{jar} is missing: {SET_UP}");
    let folder = Folder::new();
    let mut list = String::new();
    let mut jobs = Vec::new();
    let mut add = |ours: Option<&[u8]>, xml: Vec<u8>| {
        let path = |extension: &str| folder.path().join(format!("{}.{extension}", jobs.len()));
        let written = |path: PathBuf, octets: &[u8]| {
            std::fs::write(&path, octets).unwrap();
            path.display().to_string()
        };
        let ours = ours.map_or("-".to_owned(), |octets| written(path("finf"), octets));
        let theirs = [path("utf8"), path("utf16")];
        let [utf8, utf16] = theirs.each_ref().map(|path| path.display().to_string());
        list.push_str(&format!("{ours}\t{}\t{utf8}\t{utf16}\n", written(path("xml"), &xml)));
        jobs.push(Job { xml, theirs });
    };
    let mut activities = 0;
    for seed in 6_000..6_040 {
        let mut fixture = PageFixture::new(seed, 30).await;
        for number in 0..PAGES / 40 {
            let shown = fixture.any_page().await;
            activities += shown.items.len();
            add(Some(&shown.fast_infoset), shown.xml);
            if number % 5 == 0 {
                // Only Atom has namespaces and attributes, and we do not encode it as Fast Infoset.
                add(None, shown.atom);
            }
        }
    }
    assert!(activities > 2 * PAGES, "too few activities on the pages: {activities}");
    let file = folder.path().join("jobs");
    std::fs::write(&file, list).unwrap();

    let java = Command::new("java").args(["-cp", &jar, PROGRAM]).arg(&file).output();
    let java = java.unwrap_or_else(|error| panic!("java failed to start ({error}): {SET_UP}"));
    let (output, errors) = (String::from_utf8_lossy(&java.stdout), String::from_utf8_lossy(&java.stderr));
    assert!(java.status.success(), "{output}{errors}\nIf that is not about a page: {SET_UP}");
    assert_eq!(output.trim(), format!("{} fine", jobs.len()));
    for job in &jobs {
        let expected = tree::of_xml(&job.xml);
        for path in &job.theirs {
            assert_eq!(tree::of_fast_infoset(&std::fs::read(path).unwrap()), expected, "{}", path.display());
        }
    }
}
