//! Interoperability with the reference implementation in both directions.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use infoset::{Element, Node};

use crate::documents::{element, local, no_limits, samples, to_fast_infoset, to_tree, to_xml};

const HELP: &str = "this test needs Java 17 or newer and FastInfoset.jar: on Debian install openjdk-17-jdk-headless \
                    and libfastinfoset-java, elsewhere set FASTINFOSET_JAR to the path of the jar";

/// The files of one document in the temporary folder.
struct Job {
    tree: Element,
    /// Absent if the XML text is not from our writer.
    ours: Option<PathBuf>,
    xml: PathBuf,
    theirs: [PathBuf; 2],
}

impl Job {
    fn new(folder: &Path, name: &str, tree: Element, xml: &[u8]) -> Self {
        let path = |extension: &str| folder.join(format!("{name}.{extension}"));
        let job =
            Self { tree, ours: None, xml: path("xml"), theirs: [path("utf8.finf"), path("utf16.finf")] };
        fs::write(&job.xml, xml).unwrap();
        job
    }

    fn ours(folder: &Path, name: &str, tree: Element, index_limit: usize) -> Self {
        let ours = folder.join(format!("{name}.finf"));
        fs::write(&ours, to_fast_infoset(&tree, index_limit)).unwrap();
        let xml = to_xml(&tree);
        Self { ours: Some(ours), ..Self::new(folder, name, tree, &xml) }
    }

    fn line(&self) -> String {
        let ours = self.ours.as_deref().unwrap_or(Path::new("-"));
        let [utf8, utf16] = &self.theirs;
        [ours, &self.xml, utf8, utf16].map(|path| path.to_str().unwrap()).join("\t")
    }
}

#[test]
fn the_reference_implementation_agrees() {
    let jar = std::env::var("FASTINFOSET_JAR").unwrap_or("/usr/share/java/FastInfoset.jar".into());
    assert!(Path::new(&jar).is_file(), "{jar} is missing: {HELP}");
    let count = std::env::var("INFOSET_DOCUMENTS").map_or(25, |count| count.parse().unwrap());

    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("java-{}", std::process::id()));
    fs::create_dir_all(&folder).unwrap();
    let limits = [64, 0, 32, usize::MAX];
    let random = samples(count).into_iter().enumerate();
    let mut jobs: Vec<_> =
        random.map(|(n, tree)| Job::ours(&folder, &n.to_string(), tree, limits[n % limits.len()])).collect();
    // The longest index forms take half a minute to reach, so they are tested only on request.
    let many = if count >= 1000 { 526_400 } else { 9_000 };
    jobs.push(Job::ours(&folder, "many", many_names_and_texts(many), 64));
    jobs.push(not_ours(&folder));
    let list = folder.join("jobs");
    fs::write(&list, jobs.iter().map(|job| job.line() + "\n").collect::<String>()).unwrap();

    let program = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/java/Interop.java");
    let java = Command::new("java").arg("-cp").arg(&jar).arg(&program).arg(&list).output();
    let java = java.unwrap_or_else(|error| panic!("java does not start ({error}): {HELP}"));
    let stdout = String::from_utf8_lossy(&java.stdout);
    let stderr = String::from_utf8_lossy(&java.stderr);
    assert!(java.status.success(), "{stdout}{stderr}\nIf that is not about a document: {HELP}");
    assert_eq!(stdout.trim(), format!("{} fine", jobs.len()));

    for job in &jobs {
        for path in &job.theirs {
            let tree = to_tree(&fs::read(path).unwrap(), &no_limits()).unwrap();
            assert!(in_order(tree) == in_order(job.tree.clone()), "{} differs", path.display());
        }
    }
    fs::remove_dir_all(&folder).unwrap();
}

/// The order of attributes and declarations has no meaning, and Java may change it.
fn in_order(mut tree: Element) -> Element {
    tree.namespaces.sort();
    tree.attributes.sort_by(|(a, _), (b, _)| (&a.namespace, &a.local).cmp(&(&b.namespace, &b.local)));
    for child in &mut tree.children {
        if let Node::Element(element) = child {
            *element = in_order(std::mem::take(element));
        }
    }
    tree
}

/// The last index form begins at 526,368 element names and 263,184 texts.
fn many_names_and_texts(count: usize) -> Element {
    let item = |n: usize| {
        let text = if n.is_multiple_of(2) { vec![Node::Text(n.to_string())] } else { Vec::new() };
        let mut item = element(&format!("e{n}"), text);
        if n < 9_000 {
            item.attributes.push((local(&format!("a{n}")), n.to_string()));
        }
        Node::Element(item)
    };
    let repeated = (0..40).chain(2_000..2_100).chain(8_200..8_300).chain(count - 100..count);
    element("r", (0..count).chain(repeated).map(item).collect())
}

/// A document with features that our writer does not use.
fn not_ours(folder: &Path) -> Job {
    let xml = "<?xml version='1.0'?><?go now?><!-- before --><r>a<![CDATA[<b>&]]>c<!-- in --><?go on?>d\
               <e a='&#13;&#10;&#9;x'/></r><!-- after -->";
    let mut inner = element("e", Vec::new());
    inner.attributes.push((local("a"), "\r\n\tx".into()));
    let tree = element("r", vec![Node::Text("a<b>&cd".into()), Node::Element(inner)]);
    Job::new(folder, "not-ours", tree, xml.as_bytes())
}
