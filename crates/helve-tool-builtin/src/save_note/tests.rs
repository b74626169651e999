//! Notes in a directory of their own.

use expect_test::expect;
use proptest::prelude::*;
use serde_json::Value;
use tempfile::TempDir;

use super::*;
use crate::testing::{call, context};

struct Lab {
    dir: TempDir,
    tool: Arc<dyn Tool>,
}

impl Lab {
    fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        let settings = Settings { notes_dir: dir.path().join("data/notes"), ..Settings::for_tests() };
        Self { tool: tool(&settings).0, dir }
    }

    fn notes(&self) -> PathBuf {
        self.dir.path().join("data/notes")
    }

    async fn save(&self, user: &str, arguments: Value) -> Result<ToolOutput, ToolError> {
        call(&*self.tool, arguments, &context(user)).await
    }

    fn files(&self) -> Vec<String> {
        let entries = std::fs::read_dir(self.notes()).unwrap();
        let mut names: Vec<String> =
            entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }
}

#[tokio::test]
async fn notes_are_appended_with_their_date_and_counted() {
    let lab = Lab::new();
    let first = lab.save("mei", json!({"text": "Buy milk.", "title": " Shopping\nlist "})).await.unwrap();
    assert_eq!(first.text, "Saved as note 1.");
    assert_eq!(first.title.as_deref(), Some("Saved note 1"));
    assert_eq!(first.data, Some(json!({"notes": 1})));
    let told = format!("{first:?}");
    assert!(!told.contains("mei.md") && !told.contains(&*lab.dir.path().to_string_lossy()), "{told}");
    let second =
        lab.save("mei", json!({"text": "下周三开会。\r\n## not a note\n\u{1b}[31mred"})).await.unwrap();
    assert_eq!(second.title.as_deref(), Some("Saved note 2"));
    let third = lab.save("mei", json!({"text": "x"})).await.unwrap();
    assert_eq!(third.title.as_deref(), Some("Saved note 3"));
    expect![[r#"
        ## 2023-11-14 22:13:20 UTC — Shopping list

        Buy milk.

        ## 2023-11-14 22:13:20 UTC

        下周三开会。
        \## not a note
        [31mred

        ## 2023-11-14 22:13:20 UTC

        x

    "#]]
    .assert_eq(&std::fs::read_to_string(lab.notes().join("mei.md")).unwrap());
}

#[cfg(unix)]
#[tokio::test]
async fn only_the_server_can_read_notes() {
    use std::os::unix::fs::PermissionsExt;
    let lab = Lab::new();
    lab.save("mei", json!({"text": "secret"})).await.unwrap();
    let mode = |path: &Path| std::fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode(&lab.notes()), 0o700);
    assert_eq!(mode(&lab.notes().join("mei.md")), 0o600);
}

#[tokio::test]
async fn hostile_names_stay_in_the_directory_and_apart() {
    let lab = Lab::new();
    let names = [
        "..",
        ".",
        "../../etc/cron.d/x",
        "/etc/passwd",
        "a/b",
        "a_b",
        "a\\b",
        "C:\\x",
        "mei",
        "Mei",
        "mei.md",
        "%6dei",
        "mei\0",
        "-rf",
        "梅",
        "~root",
        "$(reboot)",
        "con",
        " ",
        "\u{202e}mei",
        "mei/",
        "é",
        "e\u{301}",
    ];
    for name in names {
        let saved = lab.save(name, json!({"text": "x"})).await.unwrap();
        assert_eq!(saved.title.as_deref(), Some("Saved note 1"), "{name:?} shares a file");
    }
    assert_eq!(lab.files().len(), names.len());
    let outside: Vec<_> = std::fs::read_dir(lab.dir.path()).unwrap().collect();
    assert_eq!(outside.len(), 1);
    assert!(lab.files().contains(&"%2e%2e%2f%2e%2e%2fetc%2fcron%2ed%2fx.md".to_owned()));
}

#[tokio::test]
async fn a_name_that_makes_no_file_is_declined() {
    let lab = Lab::new();
    for name in [String::new(), "X".repeat(128)] {
        let error = lab.save(&name, json!({"text": "x"})).await.unwrap_err().without_notice();
        assert!(matches!(error, ToolError::Declined(_)), "{error:?}");
    }
    assert!(!lab.notes().exists());
}

#[tokio::test]
async fn many_at_once_are_all_kept() {
    let lab = Lab::new();
    let saves = (0..20).map(|n| {
        let tool = lab.tool.clone();
        tokio::spawn(async move { call(&*tool, json!({"text": format!("note {n}")}), &context("mei")).await })
    });
    let mut counts = vec![];
    for save in saves.collect::<Vec<_>>() {
        counts.push(save.await.unwrap().unwrap().data.unwrap()["notes"].as_u64().unwrap());
    }
    counts.sort_unstable();
    assert_eq!(counts, (1..=20).collect::<Vec<_>>());
}

#[tokio::test]
async fn a_note_that_is_empty_or_too_long_is_declined() {
    let lab = Lab::new();
    for arguments in [
        json!({"text": " \n\u{7} "}),
        json!({"text": "字".repeat(4_001)}),
        json!({"text": "x", "title": "t".repeat(201)}),
        json!({"text": "x", "user": "root"}),
    ] {
        let error = lab.save("mei", arguments).await.unwrap_err().without_notice();
        assert!(matches!(error, ToolError::Declined(_)), "{error:?}");
    }
    assert!(!lab.notes().exists());
    lab.save("mei", json!({"text": "字".repeat(4_000)})).await.unwrap();
}

#[tokio::test]
async fn what_cannot_be_written_is_declined() {
    let lab = Lab::new();
    std::fs::write(lab.dir.path().join("data"), "a file where a directory should be").unwrap();
    let error = lab.save("mei", json!({"text": "x"})).await.unwrap_err().without_notice();
    let ToolError::Declined(message) = error else { panic!("{error:?}") };
    assert!(message.starts_with("the note was not saved: "), "{message}");
}

#[tokio::test]
async fn full_notes_take_no_more() {
    let lab = Lab::new();
    lab.save("mei", json!({"text": "x"})).await.unwrap();
    let file = std::fs::OpenOptions::new().append(true).open(lab.notes().join("mei.md")).unwrap();
    file.set_len(FILE_BYTES_MAX).unwrap();
    let error = lab.save("mei", json!({"text": "x"})).await.unwrap_err().without_notice();
    assert_eq!(error, ToolError::Declined("the note was not saved: the user's notes are full".into()));
}

proptest! {
    #[test]
    fn two_users_never_share_a_file(a in any::<String>(), b in any::<String>()) {
        let (name, other) = (file_name(&UserId(a.clone())), file_name(&UserId(b.clone())));
        if let (Ok(name), Ok(other)) = (name, other) {
            prop_assert_eq!(a == b, name.to_lowercase() == other.to_lowercase());
            prop_assert_eq!(Path::new(&name).components().count(), 1);
            prop_assert!(!name.starts_with('.') && !name.contains(['/', '\\', '\0']));
        }
    }
}
