//! The record that `preload/record.c` makes, read back: what a process did to its files and what it said, in order.

use std::path::Path;

use anyhow::{Context, bail, ensure};

/// One thing that the process did, after it had done it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Op {
    /// A file or directory that was there.
    Opened {
        file: u32,
        name: String,
    },
    Created {
        file: u32,
        name: String,
    },
    Wrote {
        file: u32,
        at: u64,
        bytes: Vec<u8>,
    },
    Truncated {
        file: u32,
        length: u64,
    },
    Renamed {
        from: String,
        to: String,
    },
    Unlinked {
        name: String,
    },
    MadeDir {
        name: String,
    },
    SyncBegan {
        file: u32,
        sync: u64,
    },
    SyncEnded {
        file: u32,
        sync: u64,
    },
    /// The disk refused, on the lab's order.
    SyncFailed {
        file: u32,
    },
    /// Bytes to whoever connected to the process.
    Told {
        connection: u32,
        bytes: Vec<u8>,
    },
    /// Bytes to whomever the process connected to.
    Asked {
        connection: u32,
        bytes: Vec<u8>,
    },
}

/// What one process did.
#[derive(Debug)]
pub(crate) struct Record {
    pub(crate) pid: u32,
    pub(crate) ops: Vec<Op>,
}

const HEAD_BYTES: usize = 24;

impl Record {
    /// Reads a record. Names are told from `root`, the directory above the data directory.
    pub(crate) fn read(path: &Path, root: &Path) -> anyhow::Result<Self> {
        let bytes = std::fs::read(path)
            .with_context(|| format!("there is no record `{}`: was the shim loaded?", path.display()))?;
        Self::parse(&bytes, root)
    }

    fn parse(mut bytes: &[u8], root: &Path) -> anyhow::Result<Self> {
        let (kind, _, _, who) = next_entry(&mut bytes).context("the record is empty")?;
        ensure!(kind == 1, "the record does not begin with its process");
        let pid = std::str::from_utf8(who)?.parse()?;
        let mut ops = vec![];
        // A process that is killed may leave half of its last entry.
        while let Some((kind, file, at, data)) = next_entry(&mut bytes) {
            let name = || relative(data, root);
            ops.push(match kind {
                2 => Op::Opened { file, name: name()? },
                3 => Op::Created { file, name: name()? },
                4 => Op::Wrote { file, at, bytes: data.to_vec() },
                5 => Op::Truncated { file, length: at },
                6 => {
                    let mut names = data.split(|byte| *byte == 0);
                    let (from, to) = (names.next().unwrap_or_default(), names.next().unwrap_or_default());
                    Op::Renamed { from: relative(from, root)?, to: relative(to, root)? }
                }
                7 => Op::Unlinked { name: name()? },
                8 => Op::MadeDir { name: name()? },
                9 => Op::SyncBegan { file, sync: at },
                10 => Op::SyncEnded { file, sync: at },
                11 => Op::SyncFailed { file },
                12 => Op::Told { connection: file, bytes: data.to_vec() },
                13 => Op::Asked { connection: file, bytes: data.to_vec() },
                14 => bail!(
                    "the server used `{}` on its files, which preload/record.c cannot write down yet",
                    String::from_utf8_lossy(data)
                ),
                other => bail!("the record has an entry of kind {other}"),
            });
        }
        Ok(Self { pid, ops })
    }
}

/// Kind, file, position and data of the next whole entry.
fn next_entry<'a>(bytes: &mut &'a [u8]) -> Option<(u32, u32, u64, &'a [u8])> {
    let (head, rest) = bytes.split_at_checked(HEAD_BYTES)?;
    let small = |at: usize| Some(u32::from_le_bytes(head.get(at..at + 4)?.try_into().ok()?));
    let large = |at: usize| Some(u64::from_le_bytes(head.get(at..at + 8)?.try_into().ok()?));
    let (data, rest) = rest.split_at_checked(usize::try_from(large(16)?).ok()?)?;
    *bytes = rest;
    Some((small(0)?, small(4)?, large(8)?, data))
}

fn relative(name: &[u8], root: &Path) -> anyhow::Result<String> {
    let name = std::str::from_utf8(name)?;
    let below = Path::new(name).strip_prefix(root).with_context(|| format!("`{name}` is elsewhere"))?;
    Ok(below.to_str().unwrap_or_default().to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(kind: u32, file: u32, at: u64, data: &[u8]) -> Vec<u8> {
        let mut bytes = [kind.to_le_bytes(), file.to_le_bytes()].concat();
        bytes.extend(at.to_le_bytes());
        bytes.extend((data.len() as u64).to_le_bytes());
        bytes.extend(data);
        bytes
    }

    fn parse(entries: &[Vec<u8>]) -> anyhow::Result<Vec<Op>> {
        let bytes = [&[entry(1, 0, 0, b"77")], entries].concat().concat();
        Record::parse(&bytes, Path::new("/lab")).map(|record| record.ops)
    }

    #[test]
    fn a_record_reads_back_without_its_torn_end() {
        let whole = [entry(3, 1, 0, b"/lab/data/x"), entry(4, 1, 7, b"abc"), entry(9, 1, 1, b"")];
        let mut torn = whole.to_vec();
        torn.push(entry(10, 1, 1, b"")[..20].to_vec());
        let ops = parse(&torn).unwrap();
        assert_eq!(
            ops,
            [
                Op::Created { file: 1, name: "data/x".into() },
                Op::Wrote { file: 1, at: 7, bytes: b"abc".to_vec() },
                Op::SyncBegan { file: 1, sync: 1 },
            ]
        );
    }

    #[test]
    fn a_record_that_cannot_be_trusted_is_refused() {
        for entries in [vec![entry(99, 1, 0, b"")], vec![entry(14, 1, 0, b"fallocate")]] {
            assert!(parse(&entries).is_err());
        }
        assert!(parse(&[entry(2, 1, 0, b"/elsewhere/x")]).is_err());
        assert!(Record::parse(b"", Path::new("/lab")).is_err());
        // The record of an earlier process has another beginning than its first entry.
        assert!(Record::parse(&entry(2, 1, 0, b"/lab/x"), Path::new("/lab")).is_err());
    }
}
