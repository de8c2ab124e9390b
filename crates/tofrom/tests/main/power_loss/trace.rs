//! What a process did to its files, and the files as a power failure may leave them.

use super::super::support::chance::Chance;
use std::collections::HashMap;
use std::ops::Range;
use std::path::{Path, PathBuf};

/// A disk writes a sector whole or not at all.
const SECTOR: usize = 512;

/// The length of the fixed part of a record (`recorder.c`).
const HEADER: usize = 24;

enum Change {
    Write { offset: usize, data: Range<usize> },
    Truncate { length: usize },
}

enum Action {
    File(Change),
    Create,
    Sync { began: usize },
    Unlink,
    Rename { to: PathBuf },
}

struct Record {
    at: usize,
    path: PathBuf,
    action: Action,
}

/// The records of a recorder, in their order.
pub(super) struct Trace {
    bytes: Vec<u8>,
    records: Vec<Record>,
}

/// A file, under any name.
#[derive(Default)]
struct Inode<'a> {
    /// With the place of their records.
    changes: Vec<(usize, &'a Change)>,
    /// This many of them are on the disk for certain.
    durable: usize,
}

/// A change of a directory.
enum Entry<'a> {
    Add(&'a Path, usize),
    Remove(&'a Path),
    Move(&'a Path, &'a Path),
}

impl Trace {
    pub(super) fn read(file: &Path) -> Trace {
        let bytes = std::fs::read(file).unwrap();
        let number = |at: usize, length: usize| {
            let mut number = [0; 8];
            number[..length].copy_from_slice(&bytes[at..at + length]);
            usize::try_from(u64::from_le_bytes(number)).unwrap()
        };
        let text = |range: Range<usize>| PathBuf::from(std::str::from_utf8(&bytes[range]).unwrap());
        let (mut records, mut at) = (Vec::new(), 0);
        while at < bytes.len() {
            let (offset, data_length) = (number(at + 8, 8), number(at + 16, 8));
            let path_end = at + HEADER + number(at + 4, 4);
            let data = path_end..path_end + data_length;
            let action = match bytes[at] {
                1 => Action::File(Change::Write { offset, data: data.clone() }),
                2 => Action::File(Change::Truncate { length: offset }),
                3 => Action::Create,
                4 => Action::Sync { began: offset },
                5 => Action::Unlink,
                6 => Action::Rename { to: text(data.clone()) },
                kind => panic!("record of kind {kind} at {at}"),
            };
            records.push(Record { at, path: text(at + HEADER..path_end), action });
            at = data.end;
        }
        Trace { bytes, records }
    }

    pub(super) fn len(&self) -> usize {
        self.bytes.len()
    }

    /// How often a file whose name ends so was synced.
    pub(super) fn syncs(&self, suffix: &str) -> usize {
        let of_file = |record: &&Record| record.path.to_str().unwrap().ends_with(suffix);
        let syncs = self.records.iter().filter(|record| matches!(record.action, Action::Sync { .. }));
        syncs.filter(of_file).count()
    }

    /// Writes the files of `from` to `to` as they may be if the power fails when the trace has this length.
    ///
    /// What was synced is there. Of later writes some are there, some are lost, and of some a part is there, in any order.
    /// Directories keep the order of their changes, as journals do, and lose the last ones.
    pub(super) fn files_after(&self, end: usize, chance: &mut Chance, from: &Path, to: &Path) {
        let mut inodes: Vec<Inode<'_>> = Vec::new();
        let mut names: HashMap<&Path, usize> = HashMap::new();
        let mut entries: Vec<(usize, Entry<'_>)> = Vec::new();
        let mut durable_entries = 0;
        for Record { at, path, action } in self.records.iter().take_while(|record| record.at < end) {
            let path = path.as_path();
            let mut inode = || {
                *names.entry(path).or_insert_with(|| {
                    inodes.push(Inode::default());
                    entries.push((*at, Entry::Add(path, inodes.len() - 1)));
                    inodes.len() - 1
                })
            };
            match action {
                Action::File(change) => {
                    let number = inode();
                    inodes[number].changes.push((*at, change));
                }
                Action::Create => drop(inode()),
                Action::Sync { began } => {
                    let before = |at: usize| at < *began;
                    if path.is_dir() {
                        let synced = entries.iter().take_while(|(at, _)| before(*at)).count();
                        durable_entries = durable_entries.max(synced);
                    } else if let Some(number) = names.get(path) {
                        let file = &mut inodes[*number];
                        file.durable = file.changes.iter().take_while(|(at, _)| before(*at)).count();
                        let added = entries.iter().position(
                            |(at, entry)| matches!(entry, Entry::Add(_, added) if added == number && before(*at)),
                        );
                        durable_entries = durable_entries.max(added.map_or(0, |index| index + 1));
                    }
                }
                Action::Unlink => {
                    names.remove(path);
                    entries.push((*at, Entry::Remove(path)));
                }
                Action::Rename { to } => {
                    if let Some(inode) = names.remove(path) {
                        names.insert(to, inode);
                    }
                    entries.push((*at, Entry::Move(path, to)));
                }
            }
        }
        let lost = chance.below(entries.len() - durable_entries + 1);
        let mut left: HashMap<&Path, usize> = HashMap::new();
        for (_, entry) in &entries[..entries.len() - lost] {
            match entry {
                Entry::Add(path, inode) => drop(left.insert(path, *inode)),
                Entry::Remove(path) => drop(left.remove(path)),
                Entry::Move(path, to) => {
                    if let Some(inode) = left.remove(path) {
                        left.insert(to, inode);
                    }
                }
            }
        }
        for (path, inode) in left {
            let file = to.join(path.strip_prefix(from).unwrap());
            std::fs::create_dir_all(file.parent().unwrap()).unwrap();
            std::fs::write(file, self.content_after(&inodes[inode], chance)).unwrap();
        }
    }

    fn content_after(&self, inode: &Inode<'_>, chance: &mut Chance) -> Vec<u8> {
        let mut content = Vec::new();
        // Often all or none of what was not synced: both are likely.
        let (all, none) = (chance.one_in(4), chance.one_in(3));
        for (number, (_, change)) in inode.changes.iter().enumerate() {
            let whole = number < inode.durable || all || (!none && chance.one_in(2));
            match change {
                Change::Truncate { length } if whole => content.resize(*length, 0),
                Change::Write { offset, data } if whole => {
                    put(&mut content, *offset, &self.bytes[data.clone()])
                }
                Change::Write { offset, data } if !none && chance.one_in(2) => {
                    // Torn: some sectors, at their places on the disk.
                    let mut at = 0;
                    while at < data.len() {
                        let next = data.len().min(at + SECTOR - (offset + at) % SECTOR);
                        if chance.one_in(2) {
                            put(&mut content, offset + at, &self.bytes[data.start + at..data.start + next]);
                        }
                        at = next;
                    }
                }
                Change::Truncate { .. } | Change::Write { .. } => {}
            }
        }
        content
    }
}

fn put(content: &mut Vec<u8>, offset: usize, data: &[u8]) {
    if content.len() < offset + data.len() {
        content.resize(offset + data.len(), 0);
    }
    content[offset..offset + data.len()].copy_from_slice(data);
}
