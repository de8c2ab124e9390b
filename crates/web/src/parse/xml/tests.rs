//! Well-formed and malformed XML, compared with roxmltree.

use super::super::LIMITS;
use super::*;
use infoset::{Element, Node, TreeBuilder};
use std::time::{Duration, Instant};

fn tree(text: impl AsRef<[u8]>) -> Result<Element, Unreadable> {
    let mut tree = TreeBuilder::new();
    read(text.as_ref(), &LIMITS, &mut tree)?;
    Ok(tree.finish().unwrap())
}

/// The same document parsed by roxmltree.
fn roxmltree_tree(text: &str) -> Result<Element, roxmltree::Error> {
    fn send(node: roxmltree::Node<'_, '_>, tree: &mut TreeBuilder) {
        if let Some(text) = node.text().filter(|_| node.is_text()) {
            tree.text(text);
        } else if node.is_element() {
            let name =
                Name::qualified("", node.tag_name().namespace().unwrap_or_default(), node.tag_name().name());
            let attributes: Vec<_> = node
                .attributes()
                .map(|one| {
                    let name = Name::qualified("", one.namespace().unwrap_or_default(), one.name());
                    Attribute::new(name, one.value())
                })
                .collect();
            tree.start(name, &[], &attributes);
            node.children().for_each(|child| send(child, tree));
            tree.end();
        }
    }
    let document = roxmltree::Document::parse(text)?;
    let mut tree = TreeBuilder::new();
    send(document.root_element(), &mut tree);
    Ok(tree.finish().unwrap())
}

/// Without prefixes and declarations, which do not matter.
fn plain(mut element: Element) -> Element {
    element.namespaces.clear();
    element.name.prefix.clear();
    element.attributes.iter_mut().for_each(|(name, _)| name.prefix.clear());
    for child in &mut element.children {
        if let Node::Element(inner) = child {
            *inner = plain(std::mem::take(inner));
        }
    }
    element
}

const GOOD: [&str; 28] = [
    "<a/>",
    "\u{feff}<a/>",
    "\n <a ></a\t> \r\n",
    "<?xml version=\"1.0\"?><a/>",
    "<?xml version='1.0' encoding='utf-8' standalone='no' ?>\n<a/>",
    "<!-- before --><?a?><?b -?->?><a/><!----><!-- - - -->",
    "<a><!-- x -->one<?pi two?> three<!-- y --></a>",
    "<a>&amp;&lt;&gt;&apos;&quot;&#65;&#x1F600;&#xD;&#10;</a>",
    "<a>one\r\ntwo\rthree\n</a>",
    "<a>\r<![CDATA[\r\n<&amp;]]&gt;]]>\n</a>",
    "<a><![CDATA[]]></a>",
    "<a>]] &gt; ]>> ]]&gt;</a>",
    "<a>'\"></a>",
    "<a b=\"1\" c='2' d = \"3\"\n e\t=\r'4'/>",
    "<a b=\"'&quot;&#9;&#10;&lt;>\" c='\"&apos; \t\r\n\r\n\r x '/>",
    "<a b=''/>",
    "<x:a xmlns:x='urn:x' x:b='1' b='2'><x:c/><d xmlns='urn:d'><e xmlns=''/><f/></d></x:a>",
    "<a xmlns='urn:a&amp;&#98;' b=''><c xmlns:c='urn:c' c:d=''/></a>",
    "<x:a xmlns:x='urn:1'><x:b xmlns:x='urn:2'/><x:c/></x:a>",
    "<a xml:lang='de' xmlns:xml='http://www.w3.org/XML/1998/namespace'/>",
    "<é日本 _-.1='x'><\u{10000}/></é日本>",
    "<a\u{b7}/>",
    "<xml/>",
    "<a xmlnsx='1'/>",
    "<a><b><c>deep</c></b> mixed <b/></a>",
    "<a>\u{85}\u{2028}\u{7f}\u{fffd}\u{10ffff}</a>",
    "<a>1 > 0</a>",
    "<Activity>\n  <Title>x</Title>\n</Activity>",
];

#[test]
fn well_formed_documents_equal_those_of_roxmltree() {
    for text in GOOD {
        let ours = tree(text).unwrap_or_else(|wrong| panic!("{text}: {wrong}"));
        assert_eq!(plain(ours), roxmltree_tree(text).unwrap(), "{text}");
    }
}

const BAD: [(&str, &str); 76] = [
    ("", "starting with <"),
    (" \n", "starting with <"),
    ("{}", "starting with <"),
    ("\u{feff}\u{feff}<a/>", "starting with <"),
    ("x<a/>", "starting with <"),
    ("<!-- -->", "expected a root element"),
    ("<?xml version='1.0'?>", "expected a root element"),
    ("<a/>x", "inside the root"),
    ("<a/>&amp;", "inside the root"),
    ("<a/><![CDATA[]]>", "inside the root"),
    ("<!-- --><![CDATA[x]]><a/>", "inside the root"),
    ("<a/><b/>", "more than one root"),
    ("<a></a></a>", "does not match any open tag"),
    ("<a>", "cut off"),
    ("<a><b></a></b>", "expected `</b>`"),
    ("<a></A>", "expected `</a>`"),
    ("<a></ a>", "expected `</a>`"),
    ("<a></a b=''>", "expected `</a>`"),
    ("<a", "not closed"),
    ("<", "not closed"),
    ("<a b='", "not closed"),
    ("<a b='<'/>", "&lt;"),
    ("<a b='&'/>", "&amp;"),
    ("<a b='&nbsp;'/>", "unknown reference &nbsp;"),
    ("<a b=1/>", "in quotes"),
    ("<a b/>", "in quotes"),
    ("<a b='1'c='2'/>", "must be separated"),
    ("<a b='1' b='2'/>", "given twice"),
    ("<a =''/>", "in quotes"),
    ("<a 1b=''/>", "invalid name"),
    ("<a b:='' />", "invalid name"),
    ("<a :b='' />", "invalid name"),
    ("<a b:c:d='' xmlns:b='u'/>", "invalid name"),
    ("<1a/>", "invalid name"),
    ("< a/>", "a name"),
    ("<a/b/>", "invalid name"),
    ("<a!/>", "invalid name"),
    ("<:a/>", "invalid name"),
    ("<a:/>", "invalid name"),
    ("<x:a/>", "not declared"),
    ("<a x:b=''/>", "not declared"),
    ("<xmlns:a/>", "not declared"),
    ("<x:a xmlns:x=''/>", "can't be declared"),
    ("<a xmlns:x=''/>", "can't be declared"),
    ("<a xmlns:='u'/>", "declares nothing"),
    ("<a xmlns:1='u'/>", "declares nothing"),
    ("<a xmlns:xmlns='u'/>", "can't be declared"),
    ("<a xmlns:xml='u'/>", "can't be declared"),
    ("<a xmlns:x='http://www.w3.org/XML/1998/namespace'/>", "can't be declared"),
    ("<a xmlns='http://www.w3.org/2000/xmlns/'/>", "can't be declared"),
    ("<a x:b='1' y:b='2' xmlns:x='u' xmlns:y='u'/>", "given twice"),
    ("<a><b/>&nbsp;</a>", "unknown reference &nbsp;"),
    ("<a>&#0;</a>", "unknown reference"),
    ("<a>&#1;</a>", "unknown reference"),
    ("<a>&#xFFFE;</a>", "unknown reference"),
    ("<a>&#xD800;</a>", "unknown reference"),
    ("<a>&#x110000;</a>", "unknown reference"),
    ("<a>&#99999999999999999999;</a>", "unknown reference"),
    ("<a>&#X41;</a>", "unknown reference"),
    ("<a>&#+65;</a>", "unknown reference"),
    ("<a>&#;</a>", "unknown reference"),
    ("<a>&;</a>", "unknown reference"),
    ("<a>&amp</a>", "not closed"),
    ("<a>]]></a>", "]]&gt;"),
    ("<a><!-- -- --></a>", "`--`"),
    ("<a><!-- ---></a>", "`--`"),
    ("<a><![cdata[]]></a>", "CDATA"),
    ("<a><![CDATA[</a>", "not closed"),
    ("<a><?xml version='1.0'?></a>", "must come first"),
    (" <?xml version='1.0'?><a/>", "must come first"),
    ("<?XML version='1.0'?><a/>", "processing instruction"),
    ("<??><a/>", "processing instruction"),
    ("<a>\u{1}</a>", "U+0001"),
    ("<!-- \u{fffe} --><a/>", "U+FFFE"),
    ("<a>\n  <b>\n</a>", "(line 3, column 1)"),
    ("<é>&x;</é>", "(line 1, column 4)"),
];

/// roxmltree accepts these, against the specification.
const ACCEPTED_BY_ROXMLTREE: [&str; 8] = [
    "<?XML version='1.0'?><a/>",
    "<a :b='' />",
    "<:a/>",
    "<x:a xmlns:x=''/>",
    "<a xmlns:x=''/>",
    "<a xmlns:xmlns='u'/>",
    "<a>&#xD800;</a>",
    "<a>&#x110000;</a>",
];

#[test]
fn malformed_documents_are_rejected_with_the_position() {
    for (text, expected) in BAD {
        let Err(Unreadable::Malformed(message)) = tree(text) else { panic!("{text} was accepted") };
        assert!(message.contains(expected), "{text}: {message}");
        assert_eq!(
            roxmltree_tree(text).is_ok(),
            ACCEPTED_BY_ROXMLTREE.contains(&text),
            "{text} is accepted by roxmltree"
        );
    }
    assert_eq!(tree(b"<a>\xff</a>"), Err(Unreadable::Malformed("invalid UTF-8 at byte 3".to_owned())),);
    assert!(tree(b"<a>\xed\xa0\x80</a>").is_err(), "a surrogate was accepted");
    let long = format!("<a>&{};</a>", "x".repeat(50_000));
    let message = tree(long).unwrap_err().to_string();
    assert!(message.len() < 1_000 && message.contains("(line 1"), "{message}");
}

#[test]
fn only_plain_xml_declarations_are_accepted() {
    for (text, expected) in [
        ("<?xml version='1.0' encoding='ISO-8859-1'?><a/>", "not the encoding ISO-8859-1"),
        ("<?xml version='1.0' encoding='UTF-16'?><a/>", "not the encoding UTF-16"),
        ("<?xml version='1.1'?><a/>", "version 1.0"),
        ("<?xml?><a/>", "version 1.0"),
        ("<?xml encoding='UTF-8'?><a/>", "version 1.0"),
        ("<?xml encoding='UTF-8' version='1.0'?><a/>", "version 1.0"),
        ("<?xml version='1.0' standalone='maybe'?><a/>", "expected only version"),
        ("<?xml version='1.0' standalone='yes' encoding='UTF-8'?><a/>", "expected only version"),
        ("<?xml version='1.0' more='x'?><a/>", "expected only version"),
        ("<?xml version='1.0'encoding='UTF-8'?><a/>", "must be separated"),
        ("<!DOCTYPE a><a/>", "document type"),
        ("<!DOCTYPE a [<!ENTITY b 'c'>]><a>&b;</a>", "document type"),
        ("<!doctype a><a/>", "document type"),
        ("<!DOCTYPE a SYSTEM 'file:///etc/hostname'><a/>", "document type"),
        ("<?xml xmlns:x='u' version='1.0'?><a/>", "expected only version"),
        ("<!DOCTYPE><a/>", "DOCTYPE"),
        ("<!ENTITY b 'c'><a/>", "markup"),
    ] {
        let message = tree(text).unwrap_err().to_string();
        assert!(message.contains(expected), "{text}: {message}");
    }
}

/// Well-formed documents, cut up and combined at random: both parsers accept the result or neither does.
#[test]
fn both_parsers_accept_the_same_texts() {
    const PIECES: [&str; 30] = [
        "<",
        ">",
        "/",
        "=",
        "'",
        "\"",
        "&",
        ";",
        "<!--",
        "-->",
        "--",
        "<![CDATA[",
        "]]>",
        "<?",
        "?>",
        "xml",
        "xmlns",
        ":",
        " ",
        "\r",
        "\n",
        "a",
        "<a>",
        "</a>",
        "&#x20;",
        "&lt;",
        " b='1'",
        " xmlns:x='u'",
        "x:",
        "\u{b7}",
    ];
    let mut random = 0x9e37_79b9_7f4a_7c15_u64;
    let mut below = |end: usize| {
        random ^= random << 13;
        random ^= random >> 7;
        random ^= random << 17;
        usize::try_from(random % u64::try_from(end.max(1)).unwrap()).unwrap()
    };
    let (mut read_by_both, mut refused_by_both) = (0, 0);
    for _ in 0..100_000 {
        let mut text: Vec<char> = GOOD[below(GOOD.len())].chars().collect();
        for _ in 0..=below(3) {
            let at = below(text.len() + 1);
            let to = at + below((text.len() - at).min(4) + 1);
            let piece: Vec<char> = match below(3) {
                0 => Vec::new(),
                1 => PIECES[below(PIECES.len())].chars().collect(),
                _ => text[at..to].to_vec(),
            };
            let into = if below(2) == 0 { at..to } else { at..at };
            text.splice(into, piece);
        }
        let text: String = text.into_iter().collect();
        match (tree(&text), roxmltree_tree(&text)) {
            (Ok(ours), Ok(roxmltree_tree)) => {
                // roxmltree keeps a carriage return that is followed by a reference.
                assert!(plain(ours) == roxmltree_tree || text.contains('\r'), "{text:?}");
                read_by_both += 1;
            }
            (Err(_), Err(_)) => refused_by_both += 1,
            (Ok(_), Err(why)) => panic!("{text:?} was accepted, but is not well-formed: {why}"),
            (Err(why), Ok(_)) => {
                // roxmltree is lenient about declarations and instructions, prefixes without letters or for an empty
                // namespace, and references to characters that do not exist.
                let lenient = ["<?", "</:", "&#x"].iter().any(|part| text.contains(part));
                let prefix = why.to_string().contains("invalid name :")
                    || why.to_string().contains("can't be declared");
                assert!(lenient || prefix, "{text:?} was rejected: {why}");
            }
        }
    }
    assert!(read_by_both > 10_000 && refused_by_both > 10_000, "{read_by_both} {refused_by_both}");
}

/// Bodies of the maximum size, made of repetitions: accepted or rejected because of a limit, but quickly.
#[test]
fn hostile_documents_cost_little() {
    let full = |start: &str, piece: &dyn Fn(usize) -> String, end: &str| {
        let mut text = start.to_owned();
        for number in 0.. {
            let piece = piece(number);
            if text.len() + piece.len() + end.len() > domain::ingest::MAX_BODY {
                return text + end;
            }
            text += &piece;
        }
        text
    };
    let laughs: String = ('b'..'z').map(|c| format!("<!ENTITY {c} \"{}\">", "&a;".repeat(10))).collect();
    for (what, text, refused) in [
        ("laughs", format!("<!DOCTYPE a [<!ENTITY a 'ha'>{laughs}]><a>&y;</a>"), Some("document type")),
        ("depth", "<a>".repeat(10_000), Some("32 deep")),
        ("depth, ended", full("", &|_| "<a>".to_owned(), ""), Some("32 deep")),
        ("elements", full("<a>", &|_| "<a/>".to_owned(), "</a>"), Some("too many")),
        ("attributes", full("<a", &|n| format!(" a{n}=''"), "/>"), Some("64 attributes")),
        ("the same attribute", full("<a", &|_| " a=''".to_owned(), "/>"), Some("given twice")),
        ("namespaces", full("<a", &|n| format!(" xmlns:a{n}='u'"), "/>"), Some("64 attributes")),
        (
            "namespaces of many",
            full("<a>", &|n| format!("<a xmlns:a{n}='u' xmlns:b{n}='u' xmlns:c{n}='u'>"), ""),
            Some("64 namespaces"),
        ),
        (
            "a long namespace",
            full(&format!("<a xmlns='{}'>", "u".repeat(9_000)), &|_| "<a/>".to_owned(), "</a>"),
            Some("too many"),
        ),
        ("references", full("<a>", &|_| "&lt;".to_owned(), "</a>"), None),
        ("references in a value", full("<a b='", &|_| "&lt;".to_owned(), "'/>"), None),
        ("a reference without an end", full("<a>&", &|_| "x".to_owned(), "</a>"), Some("not closed")),
        ("ampersands", full("<a>", &|_| "&".to_owned(), "</a>"), Some("not closed")),
        ("comments", full("<a>", &|_| "<!---->".to_owned(), "</a>"), None),
        ("hyphens", full("<a><!-- ", &|_| "- ".to_owned(), "--></a>"), None),
        ("instructions", full("<a>", &|_| "<?a?>".to_owned(), "</a>"), None),
        ("sections", full("<a>", &|_| "<![CDATA[]]>".to_owned(), "</a>"), None),
        ("brackets", full("<a>", &|_| "]".to_owned(), "</a>"), None),
        ("line ends", full("<a b='", &|_| "\r\n".to_owned(), "'/>"), None),
        ("a long name", full("<", &|_| "a".to_owned(), "/>"), None),
        ("quotes", full("<a ", &|_| "\"'".to_owned(), "/>"), Some("")),
        ("less than", full("", &|_| "<".to_owned(), ""), Some("")),
    ] {
        let start = Instant::now();
        let read = tree(&text);
        let took = start.elapsed();
        match (refused, read) {
            (None, read) => assert!(read.is_ok(), "{what}: {read:?}"),
            (Some(_), Ok(_)) => panic!("{what} was accepted"),
            (Some(expected), Err(why)) => assert!(why.to_string().contains(expected), "{what}: {why}"),
        }
        // A hundred times the usual duration, for busy machines.
        assert!(took < Duration::from_secs(5), "{what} took {took:?}");
    }
}
