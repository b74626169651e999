//! Archives in the tar format of POSIX, as far as Helve writes and reads them: a list of files, and nothing else.
//!
//! What is read must be byte for byte what would be written: a header that was changed anywhere is refused, and so are
//! links, folders, devices and paths that lead out of the folder that an archive is unpacked into.

use std::path::{Component, Path};

/// Headers and files begin at a multiple of this.
pub const TAR_BLOCK: usize = 512;
/// An archive ends with so many blocks of zeros.
pub const TAR_END_BLOCKS: usize = 2;

const NAME_BYTES: usize = 100;
const PREFIX_BYTES: usize = 155;
/// The greatest size that eleven octal digits can say.
const OCTAL_MAX: u64 = 0o777_7777_7777;

const NAME: usize = 0;
const MODE: usize = 100;
const OWNER: usize = 108;
const GROUP: usize = 116;
const SIZE: usize = 124;
const MODIFIED: usize = 136;
const CHECKSUM: usize = 148;
const KIND: usize = 156;
const MAGIC: usize = 257;
const PREFIX: usize = 345;

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum TarError {
    #[error("`{0}` is not a path that an archive may have: it leads out of the folder, or is too long")]
    Path(String),

    #[error("`{0}` is a link, a folder or a device; only files may be in this archive")]
    Kind(String),

    #[error("the header of a file is damaged")]
    Header,
}

/// A file in an archive.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TarEntry {
    /// With `/` between its parts.
    pub path: String,
    pub bytes: u64,
    pub mode: u32,
    /// Seconds since 1970.
    pub modified: u64,
}

impl TarEntry {
    pub fn encode_header(&self) -> Result<[u8; TAR_BLOCK], TarError> {
        let mut block = [0; TAR_BLOCK];
        check_path(&self.path)?;
        let (prefix, name) = split_path(&self.path).ok_or_else(|| TarError::Path(self.path.clone()))?;
        put(&mut block, NAME, name.as_bytes());
        put(&mut block, PREFIX, prefix.as_bytes());
        put(&mut block, MODE, format!("{:07o}\0", self.mode & 0o777).as_bytes());
        put(&mut block, OWNER, b"0000000\0");
        put(&mut block, GROUP, b"0000000\0");
        if self.bytes <= OCTAL_MAX {
            put(&mut block, SIZE, format!("{:011o}\0", self.bytes).as_bytes());
        } else {
            // As GNU tar and bsdtar write what is larger.
            block[SIZE] = 0x80;
            put(&mut block, SIZE + 4, &self.bytes.to_be_bytes());
        }
        put(&mut block, MODIFIED, format!("{:011o}\0", self.modified.min(OCTAL_MAX)).as_bytes());
        block[KIND] = b'0';
        put(&mut block, MAGIC, b"ustar\x0000");
        seal(&mut block);
        Ok(block)
    }

    /// Reads a header; none of a block of zeros, with which an archive ends.
    pub fn decode_header(block: &[u8; TAR_BLOCK]) -> Result<Option<Self>, TarError> {
        if block.iter().all(|byte| *byte == 0) {
            return Ok(None);
        }
        if read_octal(&block[CHECKSUM..CHECKSUM + 7]) != Some(u64::from(checksum(block))) {
            return Err(TarError::Header);
        }
        let name = read_text(&block[NAME..NAME + NAME_BYTES])?;
        let prefix = read_text(&block[PREFIX..PREFIX + PREFIX_BYTES])?;
        let path = if prefix.is_empty() { name } else { format!("{prefix}/{name}") };
        if !matches!(block[KIND], b'0' | 0) {
            return Err(TarError::Kind(path));
        }
        check_path(&path)?;
        let size = &block[SIZE..SIZE + 12];
        let bytes = match size[0] {
            0x80 => size[4..].iter().fold(0, |sum, byte| sum << 8 | u64::from(*byte)),
            _ => read_octal(&size[..11]).ok_or(TarError::Header)?,
        };
        let mode = read_octal(&block[MODE..MODE + 7]).ok_or(TarError::Header)?;
        let mode = u32::try_from(mode).map_err(|_| TarError::Header)?;
        let modified = read_octal(&block[MODIFIED..MODIFIED + 11]).ok_or(TarError::Header)?;
        let entry = Self { path, bytes, mode, modified };
        if entry.encode_header()? != *block {
            return Err(TarError::Header);
        }
        Ok(Some(entry))
    }

    /// How many zeros follow the file.
    pub fn padding(&self) -> usize {
        padding_of(self.bytes)
    }
}

fn padding_of(bytes: u64) -> usize {
    let over = usize::try_from(bytes % TAR_BLOCK as u64).unwrap_or_default();
    if over == 0 { 0 } else { TAR_BLOCK - over }
}

/// Each part is a plain name: the path cannot lead anywhere but below the folder.
fn check_path(path: &str) -> Result<(), TarError> {
    let is_plain = !path.is_empty()
        && !path.contains(['\0', '\\'])
        && !path.split('/').any(|part| part.is_empty() || part == ".")
        && Path::new(path).components().all(|part| matches!(part, Component::Normal(_)));
    if is_plain { Ok(()) } else { Err(TarError::Path(path.to_owned())) }
}

/// What stands before and what in the field of the name.
fn split_path(path: &str) -> Option<(&str, &str)> {
    if path.len() <= NAME_BYTES {
        return Some(("", path));
    }
    let at = |(at, _): (usize, &str)| {
        let (prefix, name) = (&path[..at], &path[at + 1..]);
        (prefix.len() <= PREFIX_BYTES && name.len() <= NAME_BYTES).then_some((prefix, name))
    };
    path.match_indices('/').find_map(at)
}

fn put(block: &mut [u8; TAR_BLOCK], at: usize, bytes: &[u8]) {
    block[at..at + bytes.len()].copy_from_slice(bytes);
}

/// Writes the checksum, once all else is there.
fn seal(block: &mut [u8; TAR_BLOCK]) {
    let sum = format!("{:06o}\0 ", checksum(block));
    put(block, CHECKSUM, sum.as_bytes());
}

/// The sum of all bytes, with blanks where the sum itself stands.
fn checksum(block: &[u8; TAR_BLOCK]) -> u32 {
    let byte = |(at, byte): (usize, &u8)| match at {
        CHECKSUM..KIND => u32::from(b' '),
        _ => u32::from(*byte),
    };
    block.iter().enumerate().map(byte).sum()
}

fn read_octal(field: &[u8]) -> Option<u64> {
    let digits = std::str::from_utf8(field).ok()?.trim_end_matches(['\0', ' ']);
    u64::from_str_radix(digits, 8).ok()
}

fn read_text(field: &[u8]) -> Result<String, TarError> {
    let end = field.iter().position(|byte| *byte == 0).unwrap_or(field.len());
    String::from_utf8(field[..end].to_vec()).map_err(|_| TarError::Header)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(path: &str, bytes: u64) -> TarEntry {
        TarEntry { path: path.into(), bytes, mode: 0o600, modified: 1_795_000_000 }
    }

    #[test]
    fn a_header_is_read_as_it_was_written() {
        let long = format!("{}/{}", "d".repeat(150), "n".repeat(100));
        for entry in [
            entry("helve.db", 0),
            entry("notes/小美/1.md", 513),
            entry(&long, OCTAL_MAX),
            entry("large", OCTAL_MAX + 1),
        ] {
            let block = entry.encode_header().unwrap();
            assert_eq!(TarEntry::decode_header(&block).unwrap(), Some(entry));
        }
        assert_eq!(TarEntry::decode_header(&[0; TAR_BLOCK]).unwrap(), None);
        assert_eq!([0, 1, 512, 513].map(padding_of), [0, 511, 0, 511]);
    }

    #[test]
    fn every_flipped_bit_of_a_header_is_noticed() {
        let written = entry("tools/weather/run.py", 12_345);
        let block = written.encode_header().unwrap();
        for bit in 0..TAR_BLOCK * 8 {
            let mut damaged = block;
            damaged[bit / 8] ^= 1 << (bit % 8);
            assert!(TarEntry::decode_header(&damaged).is_err(), "bit {bit}");
        }
    }

    #[test]
    fn paths_that_lead_out_and_entries_that_are_no_files_are_refused() {
        let too_long = "n".repeat(101);
        for path in ["", "/etc/passwd", "../x", "a/../../x", "a//b", "./a", "a/", "a\\b", too_long.as_str()] {
            assert!(matches!(entry(path, 1).encode_header(), Err(TarError::Path(_))), "{path}");
            let mut block = entry("a", 1).encode_header().unwrap();
            block[..NAME_BYTES].fill(0);
            put(&mut block, NAME, &path.as_bytes()[..path.len().min(NAME_BYTES)]);
            seal(&mut block);
            if path.len() <= NAME_BYTES {
                assert!(matches!(TarEntry::decode_header(&block), Err(TarError::Path(_))), "{path}");
            }
        }
        for kind in [b'1', b'2', b'3', b'5', b'x', b'L'] {
            let mut block = entry("a", 0).encode_header().unwrap();
            block[KIND] = kind;
            seal(&mut block);
            assert!(matches!(TarEntry::decode_header(&block), Err(TarError::Kind(_))), "{kind}");
        }
    }
}
