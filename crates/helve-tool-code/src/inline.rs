//! A definition inside the script itself: one file is a tool.
//!
//! It is the JSON object after `helve:` in a comment at the beginning of the script, over as many comment lines as it
//! takes. A script without one is none of ours, so that tools can share code.

use helve_tool::DefinitionError;
use helve_types::Notice;

/// What starts a line comment, by the ending of the file.
const COMMENTS: &[(&str, &str)] = &[("py", "#"), ("sh", "#"), ("js", "//"), ("mjs", "//"), ("cjs", "//")];
const MARK: &str = "helve:";
/// The definition begins among the first lines.
const LINES_BEFORE_MAX: usize = 20;
/// And is no longer than this.
const LINES_MAX: usize = 500;

/// Whether a file with this ending can carry its definition.
pub(crate) fn is_script(ending: &str) -> bool {
    COMMENTS.iter().any(|(known, _)| *known == ending)
}

/// The JSON of the definition, if the script carries one.
pub(crate) fn read_definition(ending: &str, script: &str) -> Option<Result<String, DefinitionError>> {
    let (_, comment) = COMMENTS.iter().find(|(known, _)| *known == ending)?;
    let mut lines = script.lines().map(|line| line.trim_start().strip_prefix(comment).map(str::trim));
    let first = lines.by_ref().take(LINES_BEFORE_MAX).flatten().find_map(|line| line.strip_prefix(MARK))?;
    let mut json = first.trim().to_owned();
    let mut lines = lines.take(LINES_MAX);
    loop {
        match serde_json::from_str::<serde_json::Value>(&json) {
            Ok(_) => return Some(Ok(json)),
            // More may follow on the next line of the comment.
            Err(error) if error.is_eof() => match lines.next().flatten() {
                Some(line) => {
                    json.push('\n');
                    json.push_str(line);
                }
                None => {
                    let problem = Notice::definition_script_without_end(MARK, &error.to_string());
                    return Some(Err(DefinitionError::new("definition", problem)));
                }
            },
            Err(error) => {
                let problem = Notice::definition_script_without_json(MARK, &error.to_string());
                return Some(Err(DefinitionError::new("definition", problem)));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_definition_is_read_over_several_lines_and_a_script_without_one_is_no_tool() {
        let script = "#!/usr/bin/env python3\n# Ours.\n# helve: {\"description\": \"x\",\n#   \"effect\": \"read\"}\nprint(1)\n";
        let json = read_definition("py", script).unwrap().unwrap();
        assert_eq!(serde_json::from_str::<serde_json::Value>(&json).unwrap()["effect"], "read");
        assert!(read_definition("js", "// helve: {\"description\": \"x\"}").unwrap().is_ok());
        assert!(read_definition("py", "import json\n").is_none());
        assert!(read_definition("txt", "# helve: {}").is_none());
        let endless = format!("# helve: {{\"description\": [\n{}# 1]}}", "# 1,\n".repeat(LINES_MAX));
        assert!(read_definition("py", &endless).unwrap().is_err());
        assert!(
            read_definition("py", &format!("{}# helve: {{}}", "\n".repeat(30))).is_none(),
            "too far down"
        );
    }

    #[test]
    fn what_is_wrong_with_a_definition_is_told() {
        for (script, words) in [
            ("# helve: {\"description\": \"x\"\nprint(1)", "has no end"),
            ("# helve: {description}", "no JSON object"),
        ] {
            let problem = read_definition("py", script).unwrap().unwrap_err().to_string();
            assert!(problem.contains(words), "{problem}");
        }
    }
}
