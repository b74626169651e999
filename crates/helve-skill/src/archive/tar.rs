//! tar: plain files of the formats ustar, pax and GNU.

use helve_types::Notice;

use super::{broken, unsupported, wrong};
use crate::{ENTRIES_MAX, FILE_BYTES_MAX, SkillError, SkillFiles};

const BLOCK: usize = 512;
const NAME: std::ops::Range<usize> = 0..100;
const SIZE: std::ops::Range<usize> = 124..136;
const CHECK_SUM: std::ops::Range<usize> = 148..156;
const KIND: usize = 156;
const MAGIC: std::ops::Range<usize> = 257..262;
const PREFIX: std::ops::Range<usize> = 345..500;
/// The longest text about an entry: a path of pax or GNU.
const HEAD_BYTES_MAX: usize = 8 << 10;

pub(super) fn read_tar(tar: &[u8]) -> Result<SkillFiles, SkillError> {
    let mut files = SkillFiles::default();
    let (mut at, mut entries) = (0, 0);
    // What an entry says about the one after it.
    let mut long_name: Option<String> = None;
    while let Some(header) = tar.get(at..at + BLOCK) {
        if header.iter().all(|byte| *byte == 0) {
            return Ok(files);
        }
        if !has_check_sum(header) {
            return Err(broken());
        }
        entries += 1;
        if entries > ENTRIES_MAX {
            return Err(wrong(Notice::definition_files_too_many(ENTRIES_MAX as u64)));
        }
        let size = read_octal(&header[SIZE]).ok_or_else(unsupported)?;
        let start = at + BLOCK;
        let data = start.checked_add(size).and_then(|end| tar.get(start..end)).ok_or_else(broken)?;
        at = start + size.div_ceil(BLOCK) * BLOCK;
        match header[KIND] {
            b'0' | 0 | b'7' => {
                let name = long_name.take().map_or_else(|| read_name(header), Ok)?;
                if size > FILE_BYTES_MAX {
                    let problem = Notice::definition_larger_than(FILE_BYTES_MAX as u64);
                    return Err(SkillError::new(name, problem));
                }
                files.add(&name, data.to_vec())?;
            }
            b'5' => long_name = None,
            b'L' => long_name = Some(read_text(data.get(..HEAD_BYTES_MAX.min(size)).unwrap_or_default())?),
            b'x' => long_name = read_pax_path(data)?.or(long_name),
            // What holds for all entries is no path.
            b'g' => {}
            _ => {
                let name = long_name.take().map_or_else(|| read_name(header), Ok)?;
                return Err(SkillError::new(&name, Notice::definition_not_a_plain_file(&name)));
            }
        }
    }
    // Without its end it was cut off.
    Err(broken())
}

fn read_name(header: &[u8]) -> Result<String, SkillError> {
    let name = read_text(&header[NAME])?;
    let prefix = match &header[MAGIC] {
        b"ustar" if header[MAGIC.end] == 0 => read_text(&header[PREFIX])?,
        _ => String::new(),
    };
    Ok(if prefix.is_empty() { name } else { format!("{prefix}/{name}") })
}

/// A text up to its first zero.
fn read_text(field: &[u8]) -> Result<String, SkillError> {
    let end = field.iter().position(|byte| *byte == 0).unwrap_or(field.len());
    std::str::from_utf8(&field[..end]).map(str::to_owned).map_err(|_| broken())
}

/// The path that a pax header gives the next entry: records `LENGTH KEY=VALUE\n`.
fn read_pax_path(data: &[u8]) -> Result<Option<String>, SkillError> {
    if data.len() > HEAD_BYTES_MAX {
        return Err(unsupported());
    }
    let (mut rest, mut path) = (std::str::from_utf8(data).map_err(|_| broken())?, None);
    while !rest.is_empty() {
        let (length, _) = rest.split_once(' ').ok_or_else(broken)?;
        let whole = length.parse().ok().filter(|whole| *whole > length.len() + 1);
        let record = whole.and_then(|whole| rest.get(..whole)).ok_or_else(broken)?;
        let (key, value) =
            record[length.len() + 1..].trim_end_matches('\n').split_once('=').ok_or_else(broken)?;
        match key {
            "path" => path = Some(value.to_owned()),
            // A size that does not fit in the header is larger than any file may be.
            "size" | "linkpath" => return Err(unsupported()),
            _ => {}
        }
        rest = &rest[record.len()..];
    }
    Ok(path)
}

fn read_octal(field: &[u8]) -> Option<usize> {
    let text = std::str::from_utf8(field).ok()?.trim_matches(['\0', ' ']);
    if text.is_empty() { Some(0) } else { usize::from_str_radix(text, 8).ok() }
}

/// The sum of the header's bytes, with blanks in its own place.
fn has_check_sum(header: &[u8]) -> bool {
    let byte = |(at, byte): (usize, &u8)| usize::from(if CHECK_SUM.contains(&at) { b' ' } else { *byte });
    read_octal(&header[CHECK_SUM]) == Some(header.iter().enumerate().map(byte).sum())
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use crate::archive::{crc32, read_archive, tests::code};

    pub(in crate::archive) fn entry(name: &str, kind: u8, data: &[u8]) -> Vec<u8> {
        let mut header = vec![0; BLOCK];
        header[..name.len()].copy_from_slice(name.as_bytes());
        header[SIZE.start..SIZE.end - 1].copy_from_slice(format!("{:011o}", data.len()).as_bytes());
        header[KIND] = kind;
        header[CHECK_SUM].fill(b' ');
        let sum: usize = header.iter().map(|byte| usize::from(*byte)).sum();
        header[CHECK_SUM].copy_from_slice(format!("{sum:06o}\0 ").as_bytes());
        header.extend(data);
        header.resize(header.len().div_ceil(BLOCK) * BLOCK, 0);
        header
    }

    pub(in crate::archive) fn gzip(data: &[u8]) -> Vec<u8> {
        let mut whole = vec![0x1f, 0x8b, 8, NAME_FLAG, 0, 0, 0, 0, 0, 3];
        whole.extend(b"skill.tar\0");
        whole.extend(miniz_oxide::deflate::compress_to_vec(data, 6));
        whole.extend(crc32(data).to_le_bytes());
        whole.extend((data.len() as u32).to_le_bytes());
        whole
    }

    const NAME_FLAG: u8 = 8;

    fn archive(entries: &[Vec<u8>]) -> Vec<u8> {
        gzip(&[entries.concat(), vec![0; 2 * BLOCK]].concat())
    }

    pub(in crate::archive) fn tar_gz(files: &[(&str, &[u8])]) -> Vec<u8> {
        archive(&files.iter().map(|(name, data)| entry(name, b'0', data)).collect::<Vec<_>>())
    }

    #[test]
    fn files_are_read_with_short_and_long_names() {
        let long = format!("forms/{}/a.md", "x".repeat(100));
        let pax = format!("path={long}\n");
        let length = pax.len() + 4;
        let bytes = archive(&[
            entry("forms/", b'5', b""),
            entry("pax_global_header", b'g', b"10 a=bcde\n"),
            entry("./forms/SKILL.md", b'0', b"text"),
            entry("././@LongLink", b'L', format!("forms/gnu/{}.md\0", "y".repeat(100)).as_bytes()),
            entry("cut", b'0', b"gnu"),
            entry("PaxHeaders/a", b'x', format!("{length} {pax}").as_bytes()),
            entry("cut", 0, b"pax"),
        ]);
        let files = read_archive(&bytes).unwrap().into_files();
        let names: Vec<_> = files.keys().map(String::as_str).collect();
        assert_eq!(names, ["SKILL.md", &format!("gnu/{}.md", "y".repeat(100)), &long["forms/".len()..]]);
        assert_eq!(files["SKILL.md"], b"text");
    }

    #[test]
    fn links_devices_and_paths_that_lead_out_are_refused() {
        for kind in [b'1', b'2', b'3', b'4', b'6'] {
            assert_eq!(code(read_archive(&archive(&[entry("a", kind, b"")]))), "definition_not_a_plain_file");
        }
        for name in ["../a", "/etc/passwd", "a/../../b"] {
            assert_eq!(code(read_archive(&tar_gz(&[(name, b"x")]))), "definition_path_unfit", "{name}");
        }
        let pax = entry("p", b'x', b"17 path=../../ab\n");
        assert_eq!(code(read_archive(&archive(&[pax, entry("a", b'0', b"x")]))), "definition_path_unfit");
    }

    #[test]
    fn an_archive_that_is_cut_off_or_changed_is_refused() {
        let whole = tar_gz(&[("SKILL.md", b"text")]);
        assert_eq!(code(read_archive(&whole)), "ok");
        assert_eq!(code(read_archive(&whole[..whole.len() - 1])), "definition_archive_broken");
        let without_end = gzip(&entry("SKILL.md", b'0', b"text"));
        assert_eq!(code(read_archive(&without_end)), "definition_archive_broken");
        let mut header = entry("SKILL.md", b'0', b"text");
        header[0] = b'X';
        assert_eq!(code(read_archive(&archive(&[header]))), "definition_archive_broken");
    }

    #[test]
    fn a_bomb_is_not_unpacked() {
        let bomb = gzip(&vec![0; 16 << 20]);
        assert!(bomb.len() < 100_000);
        assert_eq!(code(read_archive(&bomb)), "definition_archive_expands");
        let folders: Vec<_> = (0..=ENTRIES_MAX).map(|n| entry(&format!("{n}/"), b'5', b"")).collect();
        assert_eq!(code(read_archive(&archive(&folders))), "definition_files_too_many");
        let large = tar_gz(&[("SKILL.md", &vec![7; FILE_BYTES_MAX + 1])]);
        assert_eq!(code(read_archive(&large)), "definition_larger_than");
    }
}
