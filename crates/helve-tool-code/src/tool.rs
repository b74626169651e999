//! One call is one process: the arguments on its standard input, the output on its standard output.

use std::ffi::OsString;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use helve_process::{ProcessError, Program, ProgramEnd, ResourceLimits};
use helve_tool::{
    BreakerSettings, BuiltTool, CallContext, DefinitionError, Guards, LimitSettings, Limits, Request, Tool,
    ToolError, ToolFuture,
};
use helve_types::{Effect, Flow, Notice, ToolOutput, ToolSpec};
use serde_json::json;

use crate::definition::{CodeDefinition, LifecycleStep};
use crate::folder::CodeSource;
use crate::output::{OutputReader, ProgramOutcome};

/// The argument that a program is run with for a call.
const CALL: &str = "call";
/// The exit code by which programs say that they are too busy (`EX_TEMPFAIL`).
const BUSY_CODE: i32 = 75;
/// The processes of one tool that run at the same time unless the definition says otherwise.
const CONCURRENT: u32 = 8;
/// Variables that every program gets if the server has them.
const VARIABLES: [&str; 5] = ["PATH", "LANG", "LC_ALL", "TZ", "TMPDIR"];

/// Where the values of environment variables are from.
pub(crate) type Variables = Arc<dyn Fn(&str) -> Option<OsString> + Send + Sync>;

pub(crate) struct CodeTool {
    spec: ToolSpec,
    program: Program,
}

/// The tool of a source with its guards, and its program for `init` and `destroy`.
pub(crate) fn build_tool(
    source: &CodeSource,
    folder: &Path,
    variables: &Variables,
) -> Result<(BuiltTool, Program), DefinitionError> {
    let row = source.definition.as_row(&source.name);
    let guards = default_guards().with_definition(&row, source.definition.effect).map_err(|error| {
        DefinitionError { field: error.field.trim_start_matches("endpoint.").to_owned(), ..error }
    })?;
    let spec = ToolSpec {
        title: row.display_name,
        tags: row.tags,
        examples: row.examples,
        on_unknown: row.on_unknown.unwrap_or_default(),
        check_tool: row.check_tool,
        // Helve does not see what the program does with what it is given, or where its words are from.
        flow: Flow { untrusted: true, outward: true, ..Flow::default() },
        labels: row.labels,
        ..ToolSpec::new(row.name, row.description, row.parameters, source.definition.effect)
    };
    let program = build_program(source, folder, variables)?;
    Ok(((Arc::new(CodeTool { spec, program: program.clone() }), guards), program))
}

fn default_guards() -> Guards {
    Guards {
        limits: Limits {
            tool: Some(LimitSettings {
                concurrent: Some(CONCURRENT),
                wait: Duration::from_secs(5),
                ..LimitSettings::default()
            }),
            user: None,
        },
        breaker: Some(BreakerSettings::default()),
        ..Guards::default()
    }
}

fn build_program(
    source: &CodeSource,
    folder: &Path,
    variables: &Variables,
) -> Result<Program, DefinitionError> {
    let CodeDefinition { env, limits, .. } = &source.definition;
    let passed_on = VARIABLES.iter().filter_map(|name| Some(((*name).to_owned(), variables(name)?)));
    let mut environment: Vec<_> = passed_on.collect();
    for name in env {
        let Some(value) = variables(name) else {
            return Err(DefinitionError::new("env", Notice::definition_variable_not_set(name)));
        };
        environment.push((name.clone(), value));
    }
    let mut words = source.command.iter();
    let mb = |number: u32| Some(u64::from(number) << 20);
    Ok(Program {
        path: words.next().map(Into::into).unwrap_or_default(),
        arguments: words.map(Into::into).collect(),
        environment,
        directory: Some(folder.to_owned()),
        limits: ResourceLimits {
            memory_bytes: mb(limits.memory_mb.get()),
            cpu_seconds: Some(limits.cpu_seconds.get().into()),
            file_bytes: mb(limits.file_mb.get()),
            open_files: Some(limits.open_files.get().into()),
        },
    })
}

/// Runs a step of the tool's life to its end.
pub(crate) async fn run_step(
    program: &Program,
    step: LifecycleStep,
    timeout: Duration,
) -> Result<(), String> {
    let program = append_argument(program, step.as_str());
    let ignore = |_: &[u8]| Ok::<_, std::convert::Infallible>(());
    let step = step.as_str();
    match tokio::time::timeout(timeout, program.run(b"", ignore)).await {
        Ok(Ok(ProgramEnd { status, .. })) if status.success() => Ok(()),
        Ok(Ok(ProgramEnd { status, stderr })) => {
            Err(format!("`{step}` ended with {status}: {}", stderr.trim()))
        }
        Ok(Err(error)) => Err(format!("`{step}` failed: {error}")),
        Err(_) => Err(format!("`{step}` took more than {} s and was killed", timeout.as_secs())),
    }
}

fn append_argument(program: &Program, argument: &str) -> Program {
    let arguments = program.arguments.iter().cloned().chain(std::iter::once(argument.into()));
    Program { arguments: arguments.collect(), ..program.clone() }
}

impl Tool for CodeTool {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn preview(&self, request: Request<'_>, _cx: &CallContext) -> Option<String> {
        let words = std::iter::once(self.program.path.as_os_str())
            .chain(self.program.arguments.iter().map(OsString::as_os_str))
            .map(|word| word.to_string_lossy().into_owned());
        let command: Vec<_> = words.collect();
        Some(format!("{} {CALL}\n\n{:#}", command.join(" "), request.arguments))
    }

    fn call<'a>(&'a self, request: Request<'a>, cx: &'a CallContext) -> ToolFuture<'a> {
        Box::pin(async move {
            let mut reader = OutputReader::default();
            let input = build_input(&self.spec.name, request, cx);
            let program = append_argument(&self.program, CALL);
            let ended = program
                .run(input.as_bytes(), |piece| reader.push(piece, |text| cx.progress.report(text)))
                .await;
            match ended {
                Ok(ended) => build_output(&self.spec, &ended, reader),
                Err(error @ ProcessError::Start { .. }) => {
                    let notice = Notice::program_failed_because(&error.to_string());
                    Err(ToolError::NotSent(error.to_string()).with_notice(notice))
                }
                Err(error) => Err(self.unknown_outcome_error(error.to_string())),
            }
        })
    }
}

impl CodeTool {
    fn unknown_outcome_error(&self, problem: String) -> ToolError {
        unknown_outcome_error(&self.spec, problem)
    }
}

fn build_input(tool: &str, Request { arguments }: Request<'_>, cx: &CallContext) -> String {
    let context = json!({
        "call_id": cx.call,
        "run_id": cx.run,
        "conversation_id": cx.conversation,
        "message_id": cx.message,
        "user": cx.user,
        "agent": cx.agent,
        "attempt": cx.attempts_before + 1,
    });
    json!({"tool": tool, "arguments": arguments, "context": context}).to_string()
}

/// What the end of a process and its output say about the call.
///
/// Only the program itself can say that nothing was done, by an `error` message or the exit code for "busy". Any other
/// failure of a tool that changes something may have come after the change.
fn build_output(spec: &ToolSpec, ended: &ProgramEnd, reader: OutputReader) -> Result<ToolOutput, ToolError> {
    let ProgramEnd { status, stderr } = ended;
    let complaint = stderr.trim();
    if status.code() == Some(BUSY_CODE) {
        return Err(ToolError::Busy { message: busy_message(&spec.name, complaint), retry_after: None });
    }
    match reader.finish() {
        Ok(ProgramOutcome::Error(message)) => {
            let notice = Notice::tool_declined_because(&message);
            Err(ToolError::Declined(message).with_notice(notice))
        }
        Ok(ProgramOutcome::Output(output)) if status.success() => Ok(*output),
        Err(problem) if status.success() => Err(unknown_outcome_error(spec, problem)),
        Ok(ProgramOutcome::Output(_)) | Err(_) => {
            let problem = if complaint.is_empty() { "it wrote nothing to stderr" } else { complaint };
            Err(unknown_outcome_error(spec, format!("it ended with {status}: {problem}")))
        }
    }
}

fn busy_message(name: &str, complaint: &str) -> String {
    match complaint {
        "" => format!("`{name}` is too busy; try again later"),
        complaint => format!("`{name}` is too busy: {complaint}"),
    }
}

fn unknown_outcome_error(spec: &ToolSpec, problem: String) -> ToolError {
    let message = format!("the program of `{}` failed: {problem}", spec.name);
    let notice = Notice::program_failed_because(&problem);
    match spec.effect {
        Effect::Read => ToolError::Ailing(message).with_notice(notice),
        Effect::Idempotent | Effect::NonIdempotent => ToolError::Lost(message).with_notice(notice),
    }
}

#[cfg(unix)]
#[cfg(test)]
mod tests {
    use std::sync::Mutex;

    use helve_tool::Progress;
    use serde_json::Value;

    use super::*;

    fn tool(script: &str, more: Value) -> Arc<dyn Tool> {
        let mut definition = json!({
            "description": "A test.",
            "command": ["sh", "-c", script, "tool"],
        });
        definition.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        let source = CodeSource {
            name: "test".into(),
            definition: CodeDefinition::parse(definition.to_string().as_bytes()).unwrap(),
            command: vec!["sh".into(), "-c".into(), script.into(), "tool".into()],
            version: String::new(),
        };
        let variables: Variables = Arc::new(|name| std::env::var_os(name));
        build_tool(&source, Path::new("/"), &variables).unwrap().0.0
    }

    async fn call(script: &str, effect: &str) -> Result<ToolOutput, ToolError> {
        let arguments = json!({"q": "茶"});
        let cx = CallContext::for_tests("mei");
        tool(script, json!({"effect": effect})).call(Request { arguments: &arguments }, &cx).await
    }

    #[tokio::test]
    async fn a_program_gets_the_arguments_and_where_the_call_is_from() {
        let output = call("cat", "read").await.unwrap().data.unwrap();
        assert_eq!(output["arguments"], json!({"q": "茶"}));
        assert_eq!((&output["tool"], &output["context"]["user"]), (&json!("test"), &json!("mei")));
        assert_eq!(output["context"]["attempt"], 1);
        assert!(output["context"]["call_id"].is_string());
        assert_eq!(call("echo $1", "read").await.unwrap().text, CALL);
    }

    #[tokio::test]
    async fn progress_comes_while_the_program_runs() {
        let said = Arc::new(Mutex::new(vec![]));
        let heard = said.clone();
        let cx = CallContext {
            progress: Progress::new(move |text| heard.lock().unwrap().push(text.to_owned())),
            ..CallContext::for_tests("mei")
        };
        let script =
            r#"echo '{"type":"progress","text":"one"}'; echo '{"type":"progress","text":"two"}'; echo done"#;
        let output = tool(script, json!({})).call(Request { arguments: &json!({}) }, &cx).await.unwrap();
        assert_eq!((output.text.as_str(), said.lock().unwrap().join(" ")), ("done", "one two".into()));
    }

    #[tokio::test]
    async fn only_the_program_can_say_that_nothing_was_done() {
        let error = |message: &str| format!("the program of `test` failed: {message}");
        for (script, effect, expected) in [
            ("echo bad >&2; exit 3", "read", ToolError::Ailing(error("it ended with exit status: 3: bad"))),
            (
                "echo bad >&2; exit 3",
                "non_idempotent",
                ToolError::Lost(error("it ended with exit status: 3: bad")),
            ),
            (
                "kill -9 $$",
                "non_idempotent",
                ToolError::Lost(error("it ended with signal: 9 (SIGKILL): it wrote nothing to stderr")),
            ),
            (
                r#"echo '{"type":"error","message":"no"}'; exit 1"#,
                "non_idempotent",
                ToolError::Declined("no".into()),
            ),
            (
                "exit 75",
                "non_idempotent",
                ToolError::Busy { message: "`test` is too busy; try again later".into(), retry_after: None },
            ),
        ] {
            assert_eq!(
                call(script, effect).await.map_err(ToolError::without_notice),
                Err(expected),
                "{script}"
            );
        }
    }

    #[tokio::test]
    async fn a_program_gets_the_variables_of_its_definition_and_no_others() {
        let source = |env: &[&str]| CodeSource {
            name: "test".into(),
            definition: CodeDefinition::parse(json!({"description": "x", "env": env}).to_string().as_bytes())
                .unwrap(),
            command: vec!["env".into()],
            version: String::new(),
        };
        let variables: Variables = Arc::new(|name| match name {
            "PATH" => std::env::var_os("PATH"),
            "GIVEN" | "SECRET" => Some(name.into()),
            _ => None,
        });
        let ((tool, _), _) = build_tool(&source(&["GIVEN"]), Path::new("/"), &variables).unwrap();
        let cx = CallContext::for_tests("mei");
        // `env call` looks for a program named `call`, so the shell's own list is asked for through a definition.
        let output = tool.preview(Request { arguments: &json!({}) }, &cx).unwrap();
        assert!(output.starts_with("env call\n"), "{output}");
        let missing = build_tool(&source(&["NOT_SET"]), Path::new("/"), &variables).err().unwrap();
        assert_eq!(missing.field, "env");
    }
}
