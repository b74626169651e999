//! What a cut may leave, told in a few words.

use std::collections::BTreeSet;

use super::*;

const MOODS: [Survival; 4] = [Survival::Clean, Survival::Lucky, Survival::InOrder, Survival::Wild];

/// A disk on which this was done. Words: `+n name` creates, `=n at text` writes, `<n length` truncates, `(n s` and `)n s`
/// begin and end a sync, `!n` is one that fails, `*n name` opens, `/ name` makes a directory, `> from to` renames, `- name`
/// unlinks.
fn disk(words: &[&str]) -> Disk {
    let mut disk = Disk::default();
    for word in words {
        let (kind, rest) = word.split_at(1);
        let parts: Vec<&str> = rest.split(' ').collect();
        let number = |at: usize| parts[at].parse::<u64>().unwrap();
        let file = || number(0) as u32;
        let name = |at: usize| parts.get(at).copied().unwrap_or_default().to_owned();
        disk.apply(&match kind {
            "+" => Op::Created { file: file(), name: name(1) },
            "*" => Op::Opened { file: file(), name: name(1) },
            "=" => Op::Wrote { file: file(), at: number(1), bytes: name(2).into_bytes() },
            "<" => Op::Truncated { file: file(), length: number(1) },
            "(" => Op::SyncBegan { file: file(), sync: number(1) },
            ")" => Op::SyncEnded { file: file(), sync: number(1) },
            "!" => Op::SyncFailed { file: file() },
            "/" => Op::MadeDir { name: name(1) },
            ">" => Op::Renamed { from: name(1), to: name(2) },
            "-" => Op::Unlinked { name: name(1) },
            other => panic!("{other}"),
        })
        .unwrap();
    }
    disk
}

/// Everything that a file can be after a cut; none where it is not there.
fn possible(disk: &Disk, name: &str) -> BTreeSet<Option<String>> {
    let mut found = BTreeSet::new();
    for seed in 0..200 {
        for mood in MOODS {
            let image = disk.image_after_cut(mood, &mut Rng::new(seed));
            let content = image.get(name).map(|content| content.clone().unwrap_or_default());
            found.insert(content.map(|bytes| String::from_utf8(bytes).unwrap().replace('\0', "0")));
        }
    }
    found
}

fn check(words: &[&str], name: &str, expected: &[Option<&str>]) {
    let expected: BTreeSet<_> = expected.iter().map(|text| text.map(str::to_owned)).collect();
    assert_eq!(possible(&disk(words), name), expected, "{words:?}");
}

/// A file `x` that is on the disk for certain, opened as 1 in the root, which is 9.
const THERE: [&str; 4] = ["+1 x", "*9 ", "(9 90", ")9 90"];

fn there(words: &[&'static str]) -> Vec<&'static str> {
    [&THERE[..], words].concat()
}

#[test]
fn what_was_synced_is_there_and_what_was_not_may_be() {
    check(&there(&["=1 0 ab", "(1 1", ")1 1"]), "x", &[Some("ab")]);
    check(&there(&["=1 0 ab", "(1 1"]), "x", &[Some("ab"), Some("00"), Some("")]);
    check(&there(&["=1 0 ab", "(1 1", ")1 1", "=1 0 cd"]), "x", &[Some("ab"), Some("cd")]);
}

#[test]
fn a_sync_is_only_for_what_was_written_before_it_began() {
    check(&there(&["=1 0 ab", "(1 1", "=1 0 cd", ")1 1"]), "x", &[Some("ab"), Some("cd")]);
}

#[test]
fn changes_that_were_not_synced_may_come_in_any_choice() {
    check(
        &there(&["=1 0 a", "=1 1 b", "(1 1", ")1 1", "=1 0 c", "=1 1 d"]),
        "x",
        &[Some("ab"), Some("cb"), Some("ad"), Some("cd")],
    );
    check(&there(&["=1 0 ab", "(1 1", ")1 1", "<1 1"]), "x", &[Some("ab"), Some("a")]);
}

#[test]
fn a_large_write_is_torn_at_its_sectors() {
    let disk = disk(&there(&[]));
    let mut torn = disk.clone();
    torn.apply(&Op::Wrote { file: 1, at: 500, bytes: vec![b'a'; 1_024] }).unwrap();
    let found = possible(&torn, "x");
    for content in found.iter().flatten().filter(|content| !content.is_empty()) {
        assert_eq!(content.len(), 1_524);
        for sector in [500..512, 512..1_024, 1_024..1_524] {
            let bytes: BTreeSet<u8> = content.as_bytes()[sector].iter().copied().collect();
            assert_eq!(bytes.len(), 1, "half a sector");
        }
    }
    assert_eq!(found.len(), 1 + 8, "nothing, and all choices of three sectors");
}

#[test]
fn a_file_is_there_only_if_its_directory_was_synced() {
    check(&["+1 x", "=1 0 ab", "(1 1", ")1 1"], "x", &[Some("ab"), None]);
    check(&there(&["- x"]), "x", &[Some(""), None]);
    check(&there(&["- x", "(9 2", ")9 2"]), "x", &[None]);
    let data = ["/ data", "+1 data/x", "*2 data", "(2 1", ")2 1"];
    check(&data, "data/x", &[Some(""), None]);
    check(&[&data[..], &["*9 ", "(9 2", ")9 2"]].concat(), "data/x", &[Some("")]);
}

#[test]
fn a_renamed_file_has_one_of_its_names() {
    let renamed = disk(&there(&["=1 0 ab", "(1 1", ")1 1", "> x y"]));
    for seed in 0..50 {
        for mood in MOODS {
            let image = renamed.image_after_cut(mood, &mut Rng::new(seed));
            assert_eq!(image.values().collect::<Vec<_>>(), [&Some(b"ab".to_vec())]);
        }
    }
}

#[test]
fn after_a_failed_sync_a_later_one_does_not_help_but_writing_again_does() {
    let failed = there(&["=1 0 ab", "!1", "=1 2 cd", "(1 2", ")1 2"]);
    check(&failed, "x", &[Some("00cd"), Some("abcd")]);
    check(&[&failed[..], &["=1 0 ab", "(1 3", ")1 3"]].concat(), "x", &[Some("abcd")]);
}

#[test]
fn a_record_that_is_not_what_happened_is_found_out() {
    let real = |pairs: &[(&str, &str)]| -> Image {
        pairs.iter().map(|(name, text)| ((*name).to_owned(), Some(text.as_bytes().to_vec()))).collect()
    };
    let root = Path::new("/lab");
    let known = || disk(&["+1 x", "=1 0 ab", "+2 y", "=2 0 cd"]);
    known().adopt(root, &real(&[("x", "ab"), ("y", "cd")])).unwrap();
    // One call may have been made and not written down.
    let mut late = known();
    late.adopt(root, &real(&[("x", "ab!"), ("y", "cd")])).unwrap();
    assert_eq!(late.current_image(), real(&[("x", "ab!"), ("y", "cd")]));
    // The record of another process is of other files.
    assert!(known().adopt(root, &real(&[("x", "AB"), ("y", "CD")])).is_err());
    assert!(known().adopt(root, &real(&[])).is_err());
    assert!(known().adopt(root, &real(&[("x", "ab"), ("y", "cd"), ("z", "e")])).is_err());
}
