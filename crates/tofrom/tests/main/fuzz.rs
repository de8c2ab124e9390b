//! Random bytes: more than a hundred thousand mutations of valid inputs, for every parser of external input.
//! `FUZZ_TIMES` multiplies their number. It does not replace a coverage-guided fuzzer (`fuzz/` has the same targets for
//! one), but it runs everywhere and every time.

mod seeds;
mod targets;

use super::delivery::env_number;
use super::support::chance::Chance;
use seeds::Seeds;
use std::fmt::Write;

type Target = fn(&[u8]) -> bool;

/// Runs a target on its seeds and on this many mutations of them. One in `through` must be accepted: if the first check
/// refused all of them, the later ones would not be tested.
fn run(seeds: &Seeds, target: Target, inputs: usize, through: usize) {
    for (number, input) in seeds.inputs.iter().enumerate() {
        try_one(target, input, &format!("seed {number}"));
    }
    let inputs = inputs * env_number("FUZZ_TIMES").map_or(1, |times| usize::try_from(times).unwrap());
    let mut chance = Chance::new(20_090_909);
    let mut got_through = 0;
    for number in 0..inputs {
        let mut data = chance.pick(&seeds.inputs).clone();
        for _ in 0..=chance.below(3) {
            mutate(&mut chance, seeds, &mut data);
        }
        got_through += usize::from(try_one(target, &data, &format!("input {number}")));
    }
    assert!(got_through > inputs / through, "only {got_through} of {inputs} were accepted");
    assert!(got_through < inputs, "nothing was refused");
}

/// A failure names its input.
fn try_one(target: Target, data: &[u8], which: &str) -> bool {
    std::panic::catch_unwind(|| target(data)).unwrap_or_else(|_| {
        let hex = data.iter().fold(String::new(), |mut hex, byte| {
            write!(hex, "{byte:02x}").unwrap();
            hex
        });
        panic!("{which} violates the property: {:?} ({hex})", String::from_utf8_lossy(data))
    })
}

fn mutate(chance: &mut Chance, seeds: &Seeds, data: &mut Vec<u8>) {
    let at = chance.below(data.len());
    let to = at + chance.below((data.len() - at).min(16));
    match chance.below(9) {
        0 if !data.is_empty() => data[at] ^= 1 << chance.below(8),
        1 if !data.is_empty() => data[at] = chance.bytes::<1>()[0],
        2 => data.insert(at, chance.bytes::<1>()[0]),
        3 => drop(data.drain(at..to)),
        4 => data.truncate(to),
        5 => {
            let piece = data[at..to].to_vec();
            let into = chance.below(data.len());
            data.splice(into..into, piece);
        }
        6 => {
            let other = chance.pick(&seeds.inputs);
            let from = chance.below(other.len());
            data.truncate(at);
            data.extend(&other[from..]);
        }
        7 => drop(data.splice(at..at, chance.pick(&seeds.words).iter().copied())),
        _ => drop(data.splice(at..to, chance.pick(&seeds.words).iter().copied())),
    }
}

#[test]
fn queries() {
    run(&seeds::query(), targets::query, 15_000, 10);
}

#[test]
fn accept_lines() {
    run(&seeds::accept(), targets::accept, 10_000, 10);
}

#[test]
fn cursors() {
    run(&seeds::cursor(), targets::cursor, 35_000, 25);
}

#[test]
fn authorization_lines() {
    run(&seeds::authorization(), targets::authorization, 30_000, 10);
}

#[test]
fn fast_infoset_documents() {
    run(&seeds::fast_infoset(), targets::fast_infoset, 20_000, 40);
}

#[test]
fn bodies() {
    run(&seeds::body(), targets::body, 5_000, 20);
}

#[test]
#[ignore = "writes the seeds to where cargo-fuzz looks for them"]
fn seeds_for_cargo_fuzz() {
    let corpus = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus");
    let all = [
        ("query", seeds::query()),
        ("accept", seeds::accept()),
        ("cursor", seeds::cursor()),
        ("authorization", seeds::authorization()),
        ("fast_infoset", seeds::fast_infoset()),
        ("body", seeds::body()),
    ];
    for (target, seeds) in all {
        let folder = corpus.join(target);
        std::fs::create_dir_all(&folder).unwrap();
        for (number, input) in seeds.inputs.iter().enumerate() {
            std::fs::write(folder.join(format!("seed-{number}")), input).unwrap();
        }
        let words = seeds.words.iter().map(|word| {
            let quoted: String = word.iter().map(|byte| format!("\\x{byte:02x}")).collect();
            format!("\"{quoted}\"\n")
        });
        std::fs::write(corpus.join(format!("{target}.dict")), words.collect::<String>()).unwrap();
    }
}
