//! zip: stored and deflated files of one archive without ZIP64 and without a password.

use std::collections::BTreeMap;

use helve_types::Notice;
use miniz_oxide::inflate::decompress_to_vec_with_limit;

use super::{broken, crc32, expanded_max, expands_too_far, read_u16, read_u32, unsupported, wrong};
use crate::{ENTRIES_MAX, FILE_BYTES_MAX, SkillError, SkillFiles};

const END: u32 = 0x0605_4b50;
const END_BYTES: usize = 22;
const CENTRAL: u32 = 0x0201_4b50;
const CENTRAL_BYTES: usize = 46;
const LOCAL: u32 = 0x0403_4b50;
const LOCAL_BYTES: usize = 30;
/// The longest comment behind the end.
const COMMENT_BYTES_MAX: usize = 0xffff;

const STORED: u16 = 0;
const DEFLATED: u16 = 8;
const ENCRYPTED: u16 = 1;
const UNIX: u16 = 3;
const KIND_MASK: u32 = 0o170_000;
const KIND_PLAIN: u32 = 0o100_000;
const KIND_FOLDER: u32 = 0o040_000;
const UTF8: u16 = 1 << 11;
/// 1 January 1980, the first day there is.
const FIRST_DAY: u16 = 0x21;

/// What the directory says about a file.
struct Entry<'a> {
    name: &'a str,
    method: u16,
    crc: u32,
    packed: usize,
    size: usize,
    place: usize,
    mode: u32,
    /// Where the next one is.
    next: usize,
}

pub(super) fn read_zip(zip: &[u8]) -> Result<SkillFiles, SkillError> {
    let end = find_end(zip).ok_or_else(broken)?;
    let number = |at| read_u16(zip, end + at).map(usize::from).ok_or_else(broken);
    let (disk, directory_disk, here, count) = (number(4)?, number(6)?, number(8)?, number(10)?);
    if disk != 0 || directory_disk != 0 || here != count || count == 0xffff {
        return Err(unsupported());
    }
    if count > ENTRIES_MAX {
        return Err(wrong(Notice::definition_files_too_many(ENTRIES_MAX as u64)));
    }
    let mut at = read_u32(zip, end + 16).ok_or_else(broken)? as usize;
    let mut files = SkillFiles::default();
    let mut left = expanded_max(zip.len());
    for _ in 0..count {
        let entry = read_entry(zip, at)?;
        at = entry.next;
        let kind = entry.mode & KIND_MASK;
        if entry.name.ends_with('/') || kind == KIND_FOLDER {
            continue;
        }
        if !matches!(kind, 0 | KIND_PLAIN) {
            return Err(SkillError::new(entry.name, Notice::definition_not_a_plain_file(entry.name)));
        }
        if entry.size > FILE_BYTES_MAX {
            let problem = Notice::definition_larger_than(FILE_BYTES_MAX as u64);
            return Err(SkillError::new(entry.name, problem));
        }
        left = left.checked_sub(entry.size).ok_or_else(|| expands_too_far(zip.len()))?;
        files.add(entry.name, unpack(zip, &entry)?)?;
    }
    Ok(files)
}

/// The end of the directory, which a comment may follow.
fn find_end(zip: &[u8]) -> Option<usize> {
    let last = zip.len().checked_sub(END_BYTES)?;
    let first = last.saturating_sub(COMMENT_BYTES_MAX);
    let is_end = |at: &usize| {
        let comment = read_u16(zip, at + END_BYTES - 2).map(usize::from);
        read_u32(zip, *at) == Some(END)
            && comment.is_some_and(|comment| at + END_BYTES + comment == zip.len())
    };
    (first..=last).rev().find(is_end)
}

fn read_entry(zip: &[u8], at: usize) -> Result<Entry<'_>, SkillError> {
    let short = |offset| read_u16(zip, at + offset).ok_or_else(broken);
    let long = |offset| read_u32(zip, at + offset).ok_or_else(broken);
    if long(0)? != CENTRAL {
        return Err(broken());
    }
    let (flags, method) = (short(8)?, short(10)?);
    if flags & ENCRYPTED != 0 || !matches!(method, STORED | DEFLATED) {
        return Err(unsupported());
    }
    let lengths = [short(28)?, short(30)?, short(32)?].map(usize::from);
    let start = at + CENTRAL_BYTES;
    let name = zip.get(start..start + lengths[0]).ok_or_else(broken)?;
    let name = std::str::from_utf8(name).map_err(|_| unsupported())?;
    let mode = if short(4)? >> 8 == UNIX { long(38)? >> 16 } else { 0 };
    let (packed, size, place) = (long(20)?, long(24)?, long(42)?);
    if [packed, size, place].contains(&u32::MAX) {
        return Err(unsupported());
    }
    Ok(Entry {
        name,
        method,
        crc: long(16)?,
        packed: packed as usize,
        size: size as usize,
        place: place as usize,
        mode,
        next: start + lengths.iter().sum::<usize>(),
    })
}

/// The bytes of a file, which are as many as the directory says.
fn unpack(zip: &[u8], entry: &Entry<'_>) -> Result<Vec<u8>, SkillError> {
    let at = entry.place;
    let length = |offset| read_u16(zip, at + offset).map(usize::from).ok_or_else(broken);
    if read_u32(zip, at) != Some(LOCAL) {
        return Err(broken());
    }
    let (name_end, extra) = (at + LOCAL_BYTES + length(26)?, length(28)?);
    // Programs disagree about which of the two names is a file's.
    if zip.get(at + LOCAL_BYTES..name_end) != Some(entry.name.as_bytes()) {
        return Err(broken());
    }
    let start = name_end + extra;
    let packed = zip.get(start..start + entry.packed).ok_or_else(broken)?;
    let bytes = match entry.method {
        STORED => packed.to_vec(),
        _ => decompress_to_vec_with_limit(packed, entry.size).map_err(|_| broken())?,
    };
    if bytes.len() == entry.size && crc32(&bytes) == entry.crc { Ok(bytes) } else { Err(broken()) }
}

/// An archive of these files, not compressed. Equal files make an equal archive.
pub fn write_zip(files: &BTreeMap<String, Vec<u8>>) -> Vec<u8> {
    let (mut zip, mut directory) = (vec![], vec![]);
    for (name, bytes) in files {
        let place = to_u32(zip.len());
        let common = write_common(name, bytes);
        zip.extend(LOCAL.to_le_bytes());
        zip.extend(&common);
        zip.extend(name.as_bytes());
        zip.extend(bytes);
        directory.extend(CENTRAL.to_le_bytes());
        // Made on Unix by version 2.0, a plain file that everybody may read.
        directory.extend((UNIX << 8 | 20).to_le_bytes());
        directory.extend(&common);
        directory.extend([0; 6]);
        directory.extend(((KIND_PLAIN | 0o644) << 16).to_le_bytes());
        directory.extend(place.to_le_bytes());
        directory.extend(name.as_bytes());
    }
    let (place, count) = (to_u32(zip.len()), u16::try_from(files.len()).unwrap_or(u16::MAX));
    zip.extend(&directory);
    zip.extend(END.to_le_bytes());
    zip.extend([0; 4]);
    zip.extend(count.to_le_bytes());
    zip.extend(count.to_le_bytes());
    zip.extend(to_u32(directory.len()).to_le_bytes());
    zip.extend(place.to_le_bytes());
    zip.extend([0; 2]);
    zip
}

/// What the header of a file and its entry in the directory have alike.
fn write_common(name: &str, bytes: &[u8]) -> Vec<u8> {
    let size = to_u32(bytes.len()).to_le_bytes();
    let mut common = vec![];
    common.extend(20_u16.to_le_bytes());
    common.extend(UTF8.to_le_bytes());
    common.extend(STORED.to_le_bytes());
    common.extend(0_u16.to_le_bytes());
    common.extend(FIRST_DAY.to_le_bytes());
    common.extend(crc32(bytes).to_le_bytes());
    common.extend(size);
    common.extend(size);
    common.extend(u16::try_from(name.len()).unwrap_or(u16::MAX).to_le_bytes());
    common.extend(0_u16.to_le_bytes());
    common
}

/// Skills are far smaller than 4 GiB.
fn to_u32(length: usize) -> u32 {
    u32::try_from(length).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::archive::{read_archive, tests::code};

    fn files(list: &[(&str, &[u8])]) -> BTreeMap<String, Vec<u8>> {
        list.iter().map(|(name, bytes)| ((*name).to_owned(), bytes.to_vec())).collect()
    }

    /// One deflated file, as other programs write it.
    fn deflated(name: &str, bytes: &[u8], said_size: usize) -> Vec<u8> {
        let packed = miniz_oxide::deflate::compress_to_vec(bytes, 6);
        let mut zip = write_zip(&files(&[(name, &packed)]));
        let central = LOCAL_BYTES + name.len() + packed.len();
        for (at, method, crc, size) in [(0, 8, 14, 22), (central, 10, 16, 24)] {
            zip[at + method] = 8;
            zip[at + crc..at + crc + 4].copy_from_slice(&crc32(bytes).to_le_bytes());
            zip[at + size..at + size + 4].copy_from_slice(&to_u32(said_size).to_le_bytes());
        }
        zip
    }

    #[test]
    fn what_is_written_reads_back_the_same() {
        let all = files(&[
            ("SKILL.md", b"text"),
            ("参考/表.md", "表".as_bytes()),
            ("logo.png", b"\x89PNG\0"),
            ("empty", b""),
        ]);
        assert_eq!(read_archive(&write_zip(&all)).unwrap().into_files(), all);
        assert_eq!(read_archive(&write_zip(&BTreeMap::new())).unwrap().into_files(), BTreeMap::new());
    }

    #[test]
    fn a_deflated_file_is_read_and_one_that_lies_about_its_size_is_not() {
        let text = b"again and again and again and again";
        let zip = deflated("SKILL.md", text, text.len());
        assert_eq!(read_archive(&zip).unwrap().into_files()["SKILL.md"], text);
        for size in [text.len() - 1, text.len() + 1, 0] {
            assert_eq!(code(read_archive(&deflated("SKILL.md", text, size))), "definition_archive_broken");
        }
        let bomb = vec![0; 16 << 20];
        assert_eq!(code(read_archive(&deflated("a", &bomb, bomb.len()))), "definition_larger_than");
        assert_eq!(code(read_archive(&deflated("a", &bomb, 1_000))), "definition_archive_broken");
    }

    #[test]
    fn many_files_that_share_their_bytes_do_not_expand_past_the_bound() {
        let mebibyte = vec![7; FILE_BYTES_MAX];
        let one = deflated("a", &mebibyte, mebibyte.len());
        let packed = one.len() - END_BYTES - CENTRAL_BYTES - 1;
        let entry = one[packed..one.len() - END_BYTES].to_vec();
        let mut zip = one[..packed].to_vec();
        for _ in 0..3 {
            zip.extend(&entry);
        }
        let mut end = one[one.len() - END_BYTES..].to_vec();
        end[8] = 3;
        end[10] = 3;
        zip.extend(end);
        assert_eq!(code(read_archive(&zip)), "definition_archive_expands");
    }

    #[test]
    fn links_passwords_and_strange_methods_are_refused() {
        let plain = write_zip(&files(&[("a", b"x")]));
        let central = LOCAL_BYTES + 2;
        let changed = |at: usize, byte: u8| {
            let mut zip = plain.clone();
            zip[at] = byte;
            code(read_archive(&zip))
        };
        assert_eq!(changed(central + 41, 0o120_000_u32.to_le_bytes()[1]), "definition_not_a_plain_file");
        assert_eq!(changed(central + 8, 1), "definition_archive_unsupported");
        assert_eq!(changed(central + 10, 14), "definition_archive_unsupported");
        // Another name in the file's own header.
        assert_eq!(changed(LOCAL_BYTES, b'b'), "definition_archive_broken");
        for name in ["../a", "/a", "a\\..\\b", "a/../../b"] {
            assert_eq!(
                code(read_archive(&write_zip(&files(&[(name, b"x")])))),
                "definition_path_unfit",
                "{name}"
            );
        }
        let many: BTreeMap<_, _> = (0..=ENTRIES_MAX).map(|n| (format!("{n}"), vec![])).collect();
        assert_eq!(code(read_archive(&write_zip(&many))), "definition_files_too_many");
    }
}
