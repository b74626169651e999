//! Files that a call made, on their way from the tool's output to the record.
//!
//! Each becomes an attachment, which is what people and programs see, and bytes that are kept beside the record. What is
//! more than the bounds allow is left out, and the model is told.

use helve_store::KeptFile;
use helve_types::{Attachment, CallId, OutputFile, RunId};

const FILES_MAX: usize = 8;
const FILE_BYTES_MAX: usize = 10 << 20;
const NAME_CHARS_MAX: usize = 120;
const ID_HEX_CHARS: usize = 32;

/// The files that are kept, each with its attachment, and what there is to say of the others.
pub(crate) fn keep_files(
    files: Vec<OutputFile>,
    call: &CallId,
    run: RunId,
) -> (Vec<(KeptFile, Attachment)>, Vec<String>) {
    let mut kept = vec![];
    let mut remarks = vec![];
    let mut too_many = 0_usize;
    for file in files {
        let (name, size) = (sanitize_file_name(&file.name), file.bytes.len());
        if kept.len() == FILES_MAX {
            too_many += 1;
        } else if size > FILE_BYTES_MAX {
            remarks.push(format!(
                "the file `{name}` was not kept: it has {size} bytes, and {FILE_BYTES_MAX} are the most"
            ));
        } else {
            kept.push(keep_file(file, name, call, run));
        }
    }
    if too_many > 0 {
        remarks.push(format!("{too_many} more files were not kept: {FILES_MAX} are the most for one call"));
    }
    (kept, remarks)
}

fn keep_file(file: OutputFile, name: String, call: &CallId, run: RunId) -> (KeptFile, Attachment) {
    let mut id = blake3::hash(&file.bytes).to_hex().to_string();
    id.truncate(ID_HEX_CHARS);
    let attachment = Attachment {
        media_type: file.media_type.clone(),
        name: name.clone(),
        url: format!("/api/runs/{run}/files/{id}"),
        bytes: Some(file.bytes.len() as u64),
    };
    let bytes = file.bytes.into();
    (KeptFile { id, call: call.clone(), name, media_type: file.media_type, bytes }, attachment)
}

/// A name that is one line, no path, and not endless: tools take it from strangers.
fn sanitize_file_name(name: &str) -> String {
    let last = name.rsplit(['/', '\\']).next().unwrap_or_default();
    let kept: String = last.chars().filter(|c| !is_unsafe_char(*c)).take(NAME_CHARS_MAX).collect();
    let kept = kept.trim().trim_start_matches('.');
    if kept.is_empty() { "file".into() } else { kept.to_owned() }
}

/// Controls, and marks that turn the direction of writing so that `gpj.exe` reads as `exe.jpg`.
fn is_unsafe_char(c: char) -> bool {
    c.is_control()
        || matches!(c, '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{2069}' | '\u{feff}')
}

#[cfg(test)]
mod tests {
    use helve_types::World;

    use super::*;

    fn file(name: &str, bytes: Vec<u8>) -> OutputFile {
        OutputFile { name: name.into(), media_type: "image/png".into(), bytes }
    }

    fn check(files: Vec<OutputFile>) -> (Vec<(KeptFile, Attachment)>, Vec<String>) {
        let run = World::deterministic().run_id();
        keep_files(files, &CallId::new(run, 1, 0), run)
    }

    #[test]
    fn a_file_becomes_an_attachment_at_an_address_made_from_its_bytes() {
        let (kept, remarks) = check(vec![file("cat.png", b"abc".to_vec())]);
        let [(file, attachment)] = &kept[..] else { panic!("{kept:?}") };
        // The first half of BLAKE3 of `abc`, as its test vectors have it.
        assert_eq!(file.id, "6437b3ac38465133ffb63b75273a8db5");
        assert_eq!(
            attachment.url,
            format!("/api/runs/{}/files/{}", World::deterministic().run_id(), file.id)
        );
        assert_eq!((attachment.name.as_str(), attachment.bytes), ("cat.png", Some(3)));
        assert!(remarks.is_empty());
    }

    #[test]
    fn what_is_too_large_or_too_much_is_left_out_and_told() {
        let (kept, remarks) =
            check(vec![file("ok", vec![0; FILE_BYTES_MAX]), file("big", vec![0; FILE_BYTES_MAX + 1])]);
        assert_eq!(kept.len(), 1);
        assert_eq!(
            remarks,
            ["the file `big` was not kept: it has 10485761 bytes, and 10485760 are the most"]
        );
        let (kept, remarks) = check((0..10).map(|n| file("x", vec![n])).collect());
        assert_eq!(kept.len(), 8);
        assert_eq!(remarks, ["2 more files were not kept: 8 are the most for one call"]);
    }

    #[test]
    fn a_name_is_one_plain_line() {
        for (name, expected) in [
            ("cat.png", "cat.png"),
            ("../../etc/passwd", "passwd"),
            ("C:\\temp\\a b.txt", "a b.txt"),
            ("猫\n\u{202e}gnp.png", "猫gnp.png"),
            (".htaccess", "htaccess"),
            ("", "file"),
            ("..", "file"),
            ("a/", "file"),
        ] {
            assert_eq!(sanitize_file_name(name), expected, "{name:?}");
        }
        assert_eq!(sanitize_file_name(&"长".repeat(500)).chars().count(), NAME_CHARS_MAX);
    }
}
