//! Archives: zip and tar.gz are read, zip is written.
//!
//! What an archive says about itself is believed only where it was checked: each length before anything is read, each
//! text after it was unpacked. Nothing is written to the disk.

mod gzip;
mod tar;
mod zip;

use helve_types::Notice;

use crate::{ARCHIVE_BYTES_MAX, RATIO_MAX, SkillError, SkillFiles, TOTAL_BYTES_MAX};

pub use self::zip::write_zip;

/// An archive may expand to so much whatever its size.
const FREE_BYTES: usize = 1 << 20;

/// The files of an archive.
pub fn read_archive(bytes: &[u8]) -> Result<SkillFiles, SkillError> {
    if bytes.len() > ARCHIVE_BYTES_MAX {
        return Err(wrong(Notice::definition_larger_than(ARCHIVE_BYTES_MAX as u64)));
    }
    match bytes {
        [b'P', b'K', 3, 4, ..] | [b'P', b'K', 5, 6, ..] => zip::read_zip(bytes),
        [0x1f, 0x8b, ..] => tar::read_tar(&gzip::unpack_gzip(bytes)?),
        _ => Err(wrong(Notice::definition_archive_unknown())),
    }
}

/// How many bytes an archive of this size may expand to.
fn expanded_max(archive_bytes: usize) -> usize {
    TOTAL_BYTES_MAX.min(FREE_BYTES.max(archive_bytes.saturating_mul(RATIO_MAX)))
}

/// Why an archive expands to more than it may.
fn expands_too_far(archive_bytes: usize) -> SkillError {
    match expanded_max(archive_bytes) {
        TOTAL_BYTES_MAX => wrong(Notice::definition_larger_than(TOTAL_BYTES_MAX as u64)),
        _ => wrong(Notice::definition_archive_expands(RATIO_MAX as u64)),
    }
}

fn wrong(problem: Notice) -> SkillError {
    SkillError::new("archive", problem)
}

fn broken() -> SkillError {
    wrong(Notice::definition_archive_broken())
}

fn unsupported() -> SkillError {
    wrong(Notice::definition_archive_unsupported())
}

/// The check sum of zip and gzip.
fn crc32(bytes: &[u8]) -> u32 {
    !bytes.iter().fold(!0, |crc, byte| (crc >> 8) ^ CRC_OF_BYTE[usize::from(crc.to_le_bytes()[0] ^ byte)])
}

const CRC_OF_BYTE: [u32; 256] = {
    let mut table = [0; 256];
    let mut byte = 0;
    while byte < 256 {
        let (mut crc, mut bit) = (byte as u32, 0);
        while bit < 8 {
            crc = if crc & 1 == 1 { (crc >> 1) ^ 0xedb8_8320 } else { crc >> 1 };
            bit += 1;
        }
        table[byte] = crc;
        byte += 1;
    }
    table
};

/// A little-endian number, if the bytes are there.
fn read_u16(bytes: &[u8], at: usize) -> Option<u16> {
    let found = bytes.get(at..at.checked_add(2)?)?;
    Some(u16::from_le_bytes(found.try_into().ok()?))
}

fn read_u32(bytes: &[u8], at: usize) -> Option<u32> {
    let found = bytes.get(at..at.checked_add(4)?)?;
    Some(u32::from_le_bytes(found.try_into().ok()?))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    pub(super) fn code<T>(result: Result<T, SkillError>) -> String {
        result.err().map(|error| error.problem.code).unwrap_or_else(|| "ok".into())
    }

    #[test]
    fn the_check_sum_is_that_of_the_formats() {
        assert_eq!(crc32(b"123456789"), 0xcbf4_3926);
    }

    #[test]
    fn what_is_no_archive_is_refused() {
        for bytes in [&b""[..], b"PK", b"SKILL", b"\x1f\x8b", b"PK\x05\x06", b"PK\x03\x04"] {
            assert_ne!(code(read_archive(bytes)), "ok", "{bytes:?}");
        }
        assert_eq!(code(read_archive(&vec![0; ARCHIVE_BYTES_MAX + 1])), "definition_larger_than");
        assert_eq!(code(read_archive(b"Rar!")), "definition_archive_unknown");
    }

    #[test]
    fn an_archive_expands_by_a_bounded_factor_to_a_bounded_size() {
        assert_eq!(expanded_max(10), FREE_BYTES);
        assert_eq!(expanded_max(20_000), 2_000_000);
        assert_eq!(expanded_max(ARCHIVE_BYTES_MAX), TOTAL_BYTES_MAX);
    }

    proptest::proptest! {
        #[test]
        fn damaged_archives_are_refused_or_read_and_never_panic(
            at in 0_usize..400, byte in proptest::num::u8::ANY, cut in 0_usize..400
        ) {
            let files = BTreeMap::from([("SKILL.md".to_owned(), b"text text text".to_vec()), ("a/b".to_owned(), vec![0; 50])]);
            for whole in [write_zip(&files), tar::tests::tar_gz(&[("SKILL.md", b"text"), ("a/b", b"more")])] {
                let mut damaged = whole.clone();
                if let Some(place) = damaged.get_mut(at) {
                    *place = byte;
                }
                _ = read_archive(&damaged);
                damaged.truncate(cut);
                _ = read_archive(&damaged);
            }
        }
    }
}
