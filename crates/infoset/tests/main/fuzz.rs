//! Half a million broken documents.
//!
//! Not a replacement for a coverage-guided fuzzer, but it runs everywhere and every time. The inputs are
//! mutated valid documents, so that many of them get far. `INFOSET_FUZZ_INPUTS` sets their number.

use crate::check::check;
use crate::documents::{assert_parses_to, hex, samples, to_fast_infoset, to_xml};

/// Documents with features that our writer does not use.
const HAND_MADE: [&str; 8] = [
    "e0000001007c00727800614031780062fff07c00690080f0916869f041004032f0a0f03c0065fff0",
    "e000000100 7c0065 780061 60 00 12 f0 96 01 00680069 40 00 80 f0 a0 ff f0",
    "e0000001 20 03 9b  00 0070  00 0475726e3a78  01 0065 0061  00 00 31  00 01 6869  00 03 01 01 00  00 00 01 \
     78 cf 81 81 f0 00 00 80 f0 a0 ff",
    "e0000001 20 0c 64  00 02 616263  00 04 75726e3a61  00 00 74  00 04 75726e3a75  00 00 64 e1 80 80  3c0065 ff",
    "e0000001 07 04 7574662d38 01 42 312e31 3c0065 88 06 07 2024a01a31c12b34b56d 8c 01 0aff 8c 06 00 666f6f ff",
    "e000000100 e2 40 63 e1 00 74 40 64  3c0065 90 61 e2 80 90 62 8c 25 3c26 e1 80 ff f0 e2 81 f0",
    "e000000100 78 cf 0070 0075 cf 0071 81 f0 3c0065 7b 81 81 0061 40 31 7b 80 80 81 80 ff f0",
    "3c3f786d6c20656e636f64696e673d2766696e66273f3e e000000100 38 cd 0075 f0 3d 81 0065 38 cc f0 3c 80 f0 00 ff f0",
];

/// Octets with a meaning in many positions.
const SIGNIFICANT: [u8; 20] = [
    0x00, 0x01, 0x38, 0x3C, 0x3D, 0x3F, 0x40, 0x60, 0x78, 0x7B, 0x80, 0x81, 0x8C, 0x91, 0xA0, 0xCD, 0xCF,
    0xE1, 0xF0, 0xFF,
];

struct Random(u64);

impl Random {
    fn below(&mut self, bound: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        usize::try_from((self.0 >> 16) % bound.max(1) as u64).unwrap()
    }

    fn pick<'a, T>(&mut self, from: &'a [T]) -> &'a T {
        &from[self.below(from.len())]
    }
}

fn mutate(random: &mut Random, corpus: &[Vec<u8>], data: &mut Vec<u8>) {
    let at = random.below(data.len());
    match random.below(8) {
        0 => data.truncate(at),
        1 => {
            let donor = random.pick(corpus);
            let from = random.below(donor.len());
            data.truncate(at);
            data.extend(&donor[from..]);
        }
        2 => {
            let to = at + random.below((data.len() - at).min(16));
            let piece = data[at..to].to_vec();
            let into = random.below(data.len());
            data.splice(into..into, piece);
        }
        3 => data.insert(at, *random.pick(&SIGNIFICANT)),
        4 if !data.is_empty() => drop(data.remove(at)),
        5 if !data.is_empty() => data[at] = *random.pick(&SIGNIFICANT),
        6 if !data.is_empty() => data[at] = data[at].wrapping_add(1),
        _ if !data.is_empty() => data[at] ^= 1 << random.below(8),
        _ => {}
    }
}

#[test]
fn mutated_documents_never_panic() {
    let inputs: usize = std::env::var("INFOSET_FUZZ_INPUTS").map_or(50_000, |count| count.parse().unwrap());
    let mut corpus: Vec<Vec<u8>> = HAND_MADE.iter().map(|document| hex(document)).collect();
    for document in &corpus {
        assert!(check(document).is_some(), "hand-made document: {document:02x?}");
    }
    corpus.extend(
        samples(200).iter().map(|tree| to_fast_infoset(tree, 64)).filter(|octets| octets.len() < 400),
    );
    let mut random = Random(0x9E37_79B9_7F4A_7C15);
    let mut accepted = 0;
    for _ in 0..inputs {
        let mut data = random.pick(&corpus).clone();
        for _ in 0..=random.below(3) {
            mutate(&mut random, &corpus, &mut data);
        }
        if let Some(tree) = check(&data) {
            accepted += 1;
            if accepted % 16 == 0 {
                assert_parses_to(&to_xml(&tree), &tree);
            }
        }
    }
    println!("{accepted} of {inputs} mutated documents were accepted");
    assert!(accepted > inputs / 100, "only {accepted} were accepted: the mutations are too destructive");
}
