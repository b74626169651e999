//! `read_skill_file`: gives the model a text file of a skill that its run has.
//!
//! The file is what the run was started with, by its hash. A script is a text like any other; what is no text is refused.

use std::sync::Arc;
use std::time::Duration;

use helve_tool::{
    CallContext, Guards, READ_SKILL_FILE, Request, Skill, Tool, ToolError, ToolFuture, cut_piece, schema_of,
};
use helve_types::{Effect, Example, Notice, OnUnknown, SkillFile, ToolOutput, ToolSpec};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;

use crate::load_skill::{find_skill, labels_of_skill};

/// Less than what is cut, so that a piece is never cut again.
const BYTES_MAX: usize = 32_000;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Arguments {
    /// The name of the skill.
    #[schemars(length(min = 1, max = 64))]
    skill: String,
    /// The path of the file in the skill, such as `references/forms.md`.
    #[schemars(length(min = 1, max = 200))]
    path: String,
    /// The byte to begin at; 0 if left out.
    // Some models write every number with a point.
    #[schemars(with = "Option<u64>")]
    offset: Option<f64>,
}

struct ReadSkillFile {
    spec: ToolSpec,
}

pub(crate) fn tool() -> (Arc<dyn Tool>, Guards) {
    (Arc::new(ReadSkillFile { spec: spec() }), guards())
}

impl Tool for ReadSkillFile {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn call<'a>(&'a self, request: Request<'a>, cx: &'a CallContext) -> ToolFuture<'a> {
        Box::pin(async move {
            let arguments: Arguments = request.parse()?;
            let skill = find_skill(cx.toolbox.skills(), &arguments.skill)?;
            let file = find_file(skill, &arguments.path)?;
            let bytes = skill.read_file(file).await.map_err(|error| ToolError::NotSent(error.to_string()))?;
            let text = std::str::from_utf8(&bytes).map_err(|_| no_text(file))?;
            read_piece(skill, file, text, arguments.offset.unwrap_or(0.0))
        })
    }
}

fn find_file<'a>(skill: &'a Skill, path: &str) -> Result<&'a SkillFile, ToolError> {
    let path = path.trim().trim_start_matches("./");
    let file = skill.definition.file(path).ok_or_else(|| {
        let files = skill.definition.files.iter().filter(|file| file.text);
        let known: Vec<_> = files.map(|file| format!("`{}`", file.path)).collect();
        let name = &skill.definition.name;
        let text =
            format!("the skill `{name}` has no file `{path}`; its text files are: {}", known.join(", "));
        ToolError::Declined(text).with_notice(Notice::no_such_skill_file(name, path))
    })?;
    if file.text { Ok(file) } else { Err(no_text(file)) }
}

fn no_text(file: &SkillFile) -> ToolError {
    let path = &file.path;
    let text = format!("`{path}` is no text ({} bytes) and cannot be read; go on without it", file.bytes);
    ToolError::Declined(text).with_notice(Notice::skill_file_no_text(path))
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "what is out of range is its end"
)]
fn read_piece(skill: &Skill, file: &SkillFile, text: &str, offset: f64) -> Result<ToolOutput, ToolError> {
    let offset = offset as usize;
    if offset > 0 && offset >= text.len() {
        let told = format!("the file ends at byte {}; give an `offset` before that", text.len());
        return Err(ToolError::Declined(told).with_notice(Notice::output_not_readable()));
    }
    let piece = cut_piece(text, offset, BYTES_MAX);
    let is_whole = piece.start == 0 && piece.end == text.len();
    let next = match piece.end < text.len() {
        true => format!("; read on with offset {}", piece.end),
        false => ": the end".to_owned(),
    };
    let gap = if piece.text.ends_with('\n') { "" } else { "\n" };
    let shown = match is_whole {
        true => piece.text.to_owned(),
        false => {
            format!("{}{gap}[bytes {} to {} of {}{next}]", piece.text, piece.start, piece.end, text.len())
        }
    };
    let headline = Notice::skill_file_read(&skill.definition.name, &file.path);
    let title = format!("{}: {}", skill.definition.name, file.path);
    let data = json!({"skill": skill.definition.name, "version": skill.version, "path": file.path});
    let output = ToolOutput::text(shown).with_headline(title, headline).with_data(data);
    Ok(ToolOutput { labels: Some(labels_of_skill(skill, READ_SKILL_FILE)), ..output })
}

fn spec() -> ToolSpec {
    ToolSpec {
        title: Some("Read a file of a skill".into()),
        tags: vec!["skill".into()],
        examples: examples(),
        on_unknown: OnUnknown::TellModel,
        ..ToolSpec::new(
            READ_SKILL_FILE,
            include_str!("read_skill_file.md").trim(),
            schema_of::<Arguments>(),
            Effect::Read,
        )
    }
}

fn examples() -> Vec<Example> {
    vec![
        Example {
            question: "Which fields does the claim form have?".into(),
            arguments: json!({"skill": "claims", "path": "references/form.md"}),
            result: "1. name\n2. date\n3. amount".into(),
            answer: "The form has three fields: **name**, **date** and **amount**.".into(),
        },
        Example {
            question: "按模板写一份周报。".into(),
            arguments: json!({"skill": "周报", "path": "模板.md"}),
            result: "## 本周完成\n## 下周计划".into(),
            answer: "好的，周报分两部分：**本周完成**和**下周计划**。请告诉我各部分的内容。".into(),
        },
    ]
}

/// It reads from the store and touches nothing.
fn guards() -> Guards {
    Guards { timeout: Duration::from_secs(10), attempts: 2, ..Guards::default() }
}

#[cfg(test)]
mod tests {
    use helve_store::MemoryStore;
    use helve_tool::{RunSkills, Toolbox};

    use super::*;
    use crate::testing;

    #[tokio::test]
    async fn text_files_are_read_in_pieces_and_what_is_no_text_is_refused() {
        let store = Arc::new(MemoryStore::new());
        let skill = testing::skill(&store, false).await;
        let toolbox = Toolbox::default().with_skills(RunSkills::new(vec![skill], vec![]));
        let cx = CallContext { toolbox: Arc::new(toolbox), ..testing::context("mei") };
        let call = async |path: &str, offset: Option<f64>| {
            let arguments = json!({"skill": "forms", "path": path, "offset": offset});
            let read = ReadSkillFile { spec: spec() }.call(Request { arguments: &arguments }, &cx).await;
            read.map_err(|error| error.to_string())
        };
        let output = call("./references/多.md", None).await.unwrap();
        assert_eq!(output.text, "更多说明");
        assert!(output.labels.unwrap().untrusted);
        assert_eq!(
            call("references/多.md", Some(6.0)).await.unwrap().text,
            "说明\n[bytes 6 to 12 of 12: the end]"
        );
        assert!(call("references/多.md", Some(12.0)).await.unwrap_err().contains("ends at byte 12"));
        assert!(call("SKILL.md", Some(-1.0)).await.unwrap().text.starts_with("---\nname: forms"));
        assert_eq!(
            call("logo.png", None).await.unwrap_err(),
            "`logo.png` is no text (5 bytes) and cannot be read; go on without it"
        );
        for path in ["../../etc/passwd", "/etc/passwd", "references", "references/多.md/.."] {
            assert!(call(path, None).await.unwrap_err().contains("has no file"), "{path}");
        }
    }

    #[test]
    fn a_long_file_is_read_on_where_its_piece_ended() {
        let text = "说明 ".repeat(20_000);
        let file = SkillFile::new("long.md", text.as_bytes());
        let skill = testing::skill_of("long");
        let first = read_piece(&skill, &file, &text, 0.0).unwrap().text;
        assert!(
            first.len() < BYTES_MAX + 100 && first.contains("read on with offset 32000"),
            "{}",
            &first[first.len() - 80..]
        );
        let rest = read_piece(&skill, &file, &text, 139_990.0).unwrap().text;
        assert!(rest.ends_with(": the end]"), "{rest}");
    }
}
