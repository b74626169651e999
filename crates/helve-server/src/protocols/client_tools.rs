//! Tools that a client declares and the history that it keeps, in OpenAI's shapes.

use std::collections::BTreeSet;

use helve_tool::Registry;
use helve_types::{ChatCall, ChatMessage, ChatRole, Effect, OnUnknown, ToolChoice, ToolSpec};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::problem::Problem;

const TOOLS_MAX: usize = 64;
/// The declaration of the tool that every browser can run; the page that runs it has the same file.
const BROWSER_JS_EVAL: &str = include_str!("../../../../web/src/api/browser-js-eval.json");

/// An OpenAI function declaration, wrapped in `{"type": "function", "function": …}` or plain.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(untagged)]
pub(crate) enum ClientToolDeclaration {
    Wrapped {
        /// Always `function`.
        #[serde(default, rename = "type")]
        _type: Option<String>,
        function: Function,
    },
    Plain(Function),
}

#[derive(Debug, Deserialize, JsonSchema)]
pub(crate) struct Function {
    name: String,
    #[serde(default)]
    description: Option<String>,
    #[serde(default)]
    parameters: Option<Value>,
    /// Ignored: arguments are always checked.
    #[serde(default, rename = "strict")]
    _strict: Option<bool>,
}

/// The declared tools. Names must be unique, also among the tools of the server.
pub(crate) fn parse_client_tools(
    declared: Vec<ClientToolDeclaration>,
    registry: &Registry,
) -> Result<Vec<ToolSpec>, Problem> {
    let bad = |code, detail| Err(Problem::bad_request(code, detail));
    if declared.len() > TOOLS_MAX {
        return bad("too_many_tools", format!("at most {TOOLS_MAX} tools can be declared"));
    }
    let mut tools: Vec<ToolSpec> = Vec::with_capacity(declared.len());
    for declared in declared {
        let spec = tool_spec(declared);
        let name = &spec.name;
        if registry.get(name).is_some() {
            return bad("bad_tool", format!("`{name}` is a tool of this server; give yours another name"));
        }
        if tools.iter().any(|other| other.name == *name) {
            return bad("bad_tool", format!("the tool `{name}` is declared twice"));
        }
        tools.push(spec);
    }
    Ok(tools)
}

/// Reads `tool_choice`: `none`, `auto`, `required`, or a function by its name, wrapped or plain.
pub(crate) fn parse_tool_choice(said: Option<&Value>) -> Result<ToolChoice, Problem> {
    let named = |said: &Value| said.get("function").unwrap_or(said).get("name")?.as_str().map(str::to_owned);
    Ok(match said {
        None | Some(Value::Null) => ToolChoice::Auto,
        Some(Value::String(word)) if word == "auto" => ToolChoice::Auto,
        Some(Value::String(word)) if word == "none" => ToolChoice::None,
        Some(Value::String(word)) if word == "required" => ToolChoice::Required,
        Some(said) => ToolChoice::Named(named(said).ok_or_else(|| {
            let shape = r#"{"type": "function", "function": {"name": "…"}}"#;
            let detail = format!("`tool_choice` is `none`, `auto`, `required` or {shape}, not {said}");
            Problem::bad_request("bad_tool_choice", detail)
        })?),
    })
}

/// The tools of a client that declares none: such a client is a browser.
pub(crate) fn list_browser_tools(registry: &Registry) -> Vec<ToolSpec> {
    let declared = serde_json::from_str(BROWSER_JS_EVAL);
    let declared = declared.unwrap_or_else(|error| unreachable!("the declaration is ours: {error}"));
    let spec = tool_spec(declared);
    // A server tool of this name takes precedence.
    if registry.get(&spec.name).is_some() { vec![] } else { vec![spec] }
}

/// The spec of a client's tool. Its effect is unknown, so it counts as not idempotent.
fn tool_spec(declaration: ClientToolDeclaration) -> ToolSpec {
    let (ClientToolDeclaration::Wrapped { function, .. } | ClientToolDeclaration::Plain(function)) =
        declaration;
    let description =
        function.description.unwrap_or_else(|| format!("Runs `{}` on the user's side.", function.name));
    ToolSpec {
        tags: vec!["client".into()],
        client: true,
        // The user of the client can see whether it happened.
        on_unknown: OnUnknown::AskUser,
        ..ToolSpec::new(
            function.name,
            description,
            function.parameters.unwrap_or_else(|| json!({"type": "object"})),
            Effect::NonIdempotent,
        )
    }
}

/// A message of a client's history.
#[derive(Debug, Deserialize, JsonSchema)]
pub(crate) struct ClientMessage {
    /// `system`, `user`, `assistant` or `tool`. A client's `system` message is read by the model as the user's
    /// words, below the agent's own instructions.
    role: String,
    /// Text, or a list of parts `{"type": "text", "text": …}`; parts of another type are refused.
    #[serde(default)]
    content: Option<Value>,
    #[serde(default)]
    reasoning_content: Option<String>,
    #[serde(default)]
    tool_calls: Option<Vec<ClientCall>>,
    #[serde(default)]
    tool_call_id: Option<String>,
}

#[derive(Debug, Deserialize, JsonSchema)]
struct ClientCall {
    /// Always `function`.
    #[serde(default, rename = "type")]
    _type: Option<String>,
    #[serde(default)]
    id: Option<String>,
    function: ClientFunction,
}

#[derive(Debug, Deserialize, JsonSchema)]
struct ClientFunction {
    name: String,
    /// JSON text, or the object itself.
    #[serde(default)]
    arguments: Value,
}

pub(crate) fn client_history(messages: Vec<ClientMessage>) -> Result<Vec<ChatMessage>, Problem> {
    let mut history: Vec<ChatMessage> = (1..)
        .zip(messages)
        .map(|(number, message)| chat_message(number, message))
        .collect::<Result<_, _>>()?;
    if !history.is_empty() && history.iter().all(|message| message.role != ChatRole::User) {
        let detail = "`messages` has no message with the role `user`: there is nothing to answer";
        return Err(Problem::bad_request("no_question", detail));
    }
    assign_results(&mut history)?;
    Ok(history)
}

/// Gives each result without a `tool_call_id` the id of the call that it answers: the results that follow a message of
/// the assistant answer its calls in their order, apart from those calls that another result names. Where there are
/// more or fewer calls than results the order says nothing, and the history is refused.
fn assign_results(history: &mut [ChatMessage]) -> Result<(), Problem> {
    let mut start = 0;
    while start < history.len() {
        let is_assistant = |message: &ChatMessage| message.role == ChatRole::Assistant;
        let next = history[start + 1..].iter().position(is_assistant);
        let end = next.map_or(history.len(), |next| start + 1 + next);
        let unnamed: Vec<usize> = (start..end)
            .filter(|&at| history[at].role == ChatRole::Tool && history[at].call_id.is_none())
            .collect();
        if !unnamed.is_empty() {
            let named: BTreeSet<&str> =
                history[start..end].iter().filter_map(|message| message.call_id.as_deref()).collect();
            let open = history[start].calls.iter().map(|call| &call.id);
            let open: Vec<String> = open.filter(|id| !named.contains(id.as_str())).cloned().collect();
            if open.len() != unnamed.len() {
                return Err(unnamed_result_problem(unnamed[0] + 1, open.len(), unnamed.len()));
            }
            for (at, id) in unnamed.into_iter().zip(open) {
                history[at].call_id = Some(id);
            }
        }
        start = end;
    }
    Ok(())
}

fn unnamed_result_problem(number: usize, calls: usize, results: usize) -> Problem {
    let detail = format!(
        "message {number} is a tool result without `tool_call_id`, and it is not clear which call it answers: the \
         assistant's message before it has {calls} calls without a result, and {results} results have no id; send \
         `tool_call_id` with each result"
    );
    Problem::bad_request("bad_body", detail)
        .with_field("field", format!("messages[{}].tool_call_id", number - 1))
}

fn chat_message(number: usize, message: ClientMessage) -> Result<ChatMessage, Problem> {
    let role = match message.role.as_str() {
        "system" | "developer" => ChatRole::System,
        "user" => ChatRole::User,
        "assistant" => ChatRole::Assistant,
        "tool" => ChatRole::Tool,
        other => {
            let detail = format!(
                "message {number} has the role `{other}`; use `system`, `user`, `assistant` or `tool`"
            );
            return Err(Problem::bad_request("bad_role", detail));
        }
    };
    let call = |(index, call): (usize, ClientCall)| ChatCall {
        id: call.id.unwrap_or_else(|| format!("call_{number}_{index}")),
        name: call.function.name,
        arguments: match call.function.arguments {
            Value::String(text) => text,
            Value::Null => "{}".into(),
            object => object.to_string(),
        },
    };
    Ok(ChatMessage {
        role,
        content: content_text(number, message.content)?,
        reasoning: message.reasoning_content.unwrap_or_default(),
        calls: message.tool_calls.unwrap_or_default().into_iter().enumerate().map(call).collect(),
        call_id: message.tool_call_id.filter(|id| !id.is_empty()),
    })
}

fn content_text(number: usize, content: Option<Value>) -> Result<String, Problem> {
    let refused = |kind: &str| {
        let detail = format!(
            "message {number} has {kind}; only text is read here: send `content` as a text, or as parts of the type `text`"
        );
        Err(Problem::bad_request("unsupported_content", detail))
    };
    let parts = match content {
        None | Some(Value::Null) => return Ok(String::new()),
        Some(Value::String(text)) => return Ok(text),
        Some(Value::Array(parts)) => parts,
        Some(_) => return refused("a `content` that is neither a text nor a list of parts"),
    };
    let mut texts = vec![];
    for part in &parts {
        match (part["type"].as_str(), part["text"].as_str()) {
            (None | Some("text" | "input_text" | "output_text"), Some(text)) => texts.push(text),
            (kind, _) => {
                let kind = kind.unwrap_or("unknown").chars().take(40).collect::<String>();
                return refused(&format!("a part of the type `{kind}`"));
            }
        }
    }
    Ok(texts.join("\n"))
}
