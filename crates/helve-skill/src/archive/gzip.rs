//! gzip around a tar archive: one member.

use miniz_oxide::inflate::{TINFLStatus, decompress_to_vec_with_limit};

use super::{broken, crc32, expanded_max, expands_too_far, read_u16, read_u32, unsupported};
use crate::{ENTRIES_MAX, SkillError};

const HEADER_BYTES: usize = 10;
const TRAILER_BYTES: usize = 8;
const DEFLATE: u8 = 8;
/// What the blocks of a tar archive have besides the files.
const TAR_BYTES_MAX: usize = ENTRIES_MAX * 2_048 + (64 << 10);

const HEADER_CRC: u8 = 2;
const EXTRA: u8 = 4;
const NAME: u8 = 8;
const COMMENT: u8 = 16;

pub(super) fn unpack_gzip(bytes: &[u8]) -> Result<Vec<u8>, SkillError> {
    let start = skip_header(bytes).ok_or_else(broken)?;
    let end = bytes.len().checked_sub(TRAILER_BYTES).filter(|end| *end >= start).ok_or_else(broken)?;
    if bytes.get(2) != Some(&DEFLATE) {
        return Err(unsupported());
    }
    let limit = expanded_max(bytes.len()) + TAR_BYTES_MAX;
    let unpacked =
        decompress_to_vec_with_limit(&bytes[start..end], limit).map_err(|error| match error.status {
            TINFLStatus::HasMoreOutput => expands_too_far(bytes.len()),
            _ => broken(),
        })?;
    let is_whole = read_u32(bytes, end) == Some(crc32(&unpacked))
        && read_u32(bytes, end + 4).map(|size| size as usize) == Some(unpacked.len());
    if is_whole { Ok(unpacked) } else { Err(broken()) }
}

/// Where the deflated data begins.
fn skip_header(bytes: &[u8]) -> Option<usize> {
    let flags = *bytes.get(3)?;
    let mut at = HEADER_BYTES;
    if flags & EXTRA != 0 {
        at += 2 + usize::from(read_u16(bytes, at)?);
    }
    for text in [NAME, COMMENT] {
        if flags & text != 0 {
            at += bytes.get(at..)?.iter().position(|byte| *byte == 0)? + 1;
        }
    }
    if flags & HEADER_CRC != 0 {
        at += 2;
    }
    (at <= bytes.len()).then_some(at)
}
