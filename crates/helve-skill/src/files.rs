//! The files of a skill, held to their bounds while they are collected.

use std::collections::BTreeMap;

use helve_types::Notice;

use crate::{DEPTH_MAX, FILE_BYTES_MAX, FILES_MAX, PATH_CHARS_MAX, SKILL_FILE, SkillError, TOTAL_BYTES_MAX};

/// What programs leave in folders, which is no part of a skill.
const LEFT_OUT: [&str; 6] = ["__MACOSX", ".DS_Store", "Thumbs.db", ".git", "__pycache__", "node_modules"];

/// Files by their paths.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SkillFiles {
    files: BTreeMap<String, Vec<u8>>,
    total: usize,
}

impl SkillFiles {
    /// Takes a file in. What lies about in folders and is no part of a skill is left out.
    pub fn add(&mut self, path: &str, bytes: Vec<u8>) -> Result<(), SkillError> {
        let path = check_path(path)?;
        if is_left_out(path) {
            return Ok(());
        }
        if bytes.len() > FILE_BYTES_MAX {
            return Err(SkillError::new(path, Notice::definition_larger_than(FILE_BYTES_MAX as u64)));
        }
        if self.files.len() == FILES_MAX {
            return Err(SkillError::new("files", Notice::definition_files_too_many(FILES_MAX as u64)));
        }
        self.total += bytes.len();
        if self.total > TOTAL_BYTES_MAX {
            return Err(SkillError::new("files", Notice::definition_larger_than(TOTAL_BYTES_MAX as u64)));
        }
        if self.is_in_the_way(path) {
            return Err(SkillError::new(path, Notice::definition_path_twice(path)));
        }
        self.files.insert(path.to_owned(), bytes);
        Ok(())
    }

    /// Whether the path is taken, is a folder of another file's, or would lie in a file.
    fn is_in_the_way(&self, path: &str) -> bool {
        let below = format!("{path}/");
        let is_folder =
            self.files.range(below.clone()..).next().is_some_and(|(next, _)| next.starts_with(&below));
        let mut parents = path.match_indices('/').map(|(at, _)| &path[..at]);
        self.files.contains_key(path) || is_folder || parents.any(|parent| self.files.contains_key(parent))
    }

    /// The files as the skill names them: an archive often has them in one folder.
    pub fn into_files(self) -> BTreeMap<String, Vec<u8>> {
        if self.files.contains_key(SKILL_FILE) {
            return self.files;
        }
        let folder = |path: &str| path.split_once('/').map(|(folder, _)| format!("{folder}/"));
        let Some(folder) = self.files.keys().next().and_then(|path| folder(path)) else { return self.files };
        if !self.files.keys().all(|path| path.starts_with(&folder)) {
            return self.files;
        }
        self.files.into_iter().map(|(path, bytes)| (path[folder.len()..].to_owned(), bytes)).collect()
    }
}

fn is_left_out(path: &str) -> bool {
    path.split('/').any(|part| LEFT_OUT.contains(&part) || part.starts_with("._"))
}

/// The path, if it leads to a file inside of the skill on every system.
pub(crate) fn check_path(given: &str) -> Result<&str, SkillError> {
    let path = given.strip_prefix("./").unwrap_or(given);
    let parts: Vec<&str> = path.split('/').collect();
    let is_plain = |part: &&str| {
        !part.is_empty()
            && !matches!(*part, "." | "..")
            && part.trim() == *part
            && !part.ends_with('.')
            && !part.chars().any(is_unsafe_char)
    };
    let fits =
        path.chars().count() <= PATH_CHARS_MAX && parts.len() <= DEPTH_MAX + 1 && parts.iter().all(is_plain);
    match fits {
        true => Ok(path),
        false => {
            let shown: String = given.chars().take(PATH_CHARS_MAX).collect();
            let problem = Notice::definition_path_unfit(&shown, PATH_CHARS_MAX as u64, DEPTH_MAX as u64);
            Err(SkillError::new("files", problem))
        }
    }
}

/// Controls, what separates folders or means a drive elsewhere, and marks that turn the direction of writing.
fn is_unsafe_char(c: char) -> bool {
    c.is_control()
        || matches!(c, '\\' | ':' | '*' | '?' | '"' | '<' | '>' | '|')
        || matches!(c, '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{2069}' | '\u{feff}')
}

#[cfg(test)]
mod tests {
    use super::*;

    fn add_all(paths: &[&str]) -> Result<Vec<String>, String> {
        let mut files = SkillFiles::default();
        for path in paths {
            files.add(path, b"x".to_vec()).map_err(|error| error.problem.code)?;
        }
        Ok(files.into_files().into_keys().collect())
    }

    #[test]
    fn only_paths_inside_of_the_skill_are_taken() {
        for path in ["a.md", "./a.md", "参考/表格.md", "a/b/c/d/e/f/g/h/i.md", ".hidden"] {
            assert!(add_all(&[path]).is_ok(), "{path}");
        }
        let long = "x".repeat(PATH_CHARS_MAX + 1);
        for path in [
            "",
            "/etc/passwd",
            "../x",
            "a/../../x",
            "a//b",
            "a/./b",
            "a\\..\\b",
            "C:/x",
            "a\nb",
            "a/ b",
            "a.",
            "a/",
            "\u{202e}gnp.exe",
            "a/b/c/d/e/f/g/h/i/j.md",
            long.as_str(),
        ] {
            assert_eq!(add_all(&[path]), Err("definition_path_unfit".into()), "{path}");
        }
    }

    #[test]
    fn no_path_stands_twice_or_is_both_file_and_folder() {
        for paths in [["a", "a"], ["a", "a/b"], ["a/b", "a"], ["a", "./a"]] {
            assert_eq!(add_all(&paths), Err("definition_path_twice".into()), "{paths:?}");
        }
        assert_eq!(add_all(&["a/b", "a.md", "a-b"]).unwrap().len(), 3);
    }

    #[test]
    fn files_are_counted_and_measured() {
        let paths: Vec<String> = (0..=FILES_MAX).map(|n| format!("{n}")).collect();
        let paths: Vec<&str> = paths.iter().map(String::as_str).collect();
        assert_eq!(add_all(&paths[..FILES_MAX]).unwrap().len(), FILES_MAX);
        assert_eq!(add_all(&paths), Err("definition_files_too_many".into()));

        let mut files = SkillFiles::default();
        let code = |result: Result<(), SkillError>| result.map_err(|error| error.problem.code);
        let too_large = || Err("definition_larger_than".to_owned());
        assert_eq!(code(files.add("big", vec![0; FILE_BYTES_MAX + 1])), too_large());
        for n in 0..TOTAL_BYTES_MAX / FILE_BYTES_MAX {
            assert_eq!(code(files.add(&format!("{n}"), vec![0; FILE_BYTES_MAX])), Ok(()));
        }
        assert_eq!(code(files.add("more", vec![0])), too_large());
    }

    #[test]
    fn one_folder_around_everything_is_no_part_of_the_paths() {
        assert_eq!(add_all(&["forms/SKILL.md", "forms/a/b.md"]).unwrap(), ["SKILL.md", "a/b.md"]);
        assert_eq!(add_all(&["SKILL.md", "forms/b.md"]).unwrap(), ["SKILL.md", "forms/b.md"]);
        assert_eq!(add_all(&["a/SKILL.md", "b/SKILL.md"]).unwrap(), ["a/SKILL.md", "b/SKILL.md"]);
        assert_eq!(add_all(&["forms/SKILL.md", "__MACOSX/forms/._SKILL.md"]).unwrap(), ["SKILL.md"]);
    }
}
