//! The demo model's reply: reasoning, text and calls.

use helve_types::has_language;
use serde_json::{Value, json};

use super::intent::{DemoQuestion, Intent, find_intents, find_named_tool};
use super::prompted::{Conversation, TOOLS};
use crate::Turn;

#[derive(Debug, Clone, PartialEq)]
pub(super) enum ReplyPart {
    Think(String),
    Say(String),
    Call { tool: String, arguments: Value },
}

#[derive(Clone, Copy, PartialEq)]
enum Language {
    English,
    Chinese,
}

pub(super) fn plan_reply(conversation: &Conversation<'_>) -> Vec<ReplyPart> {
    let message = last_message(conversation);
    let language = language_of(conversation);
    if let Some(Turn::Result { .. }) = conversation.turns.last() {
        return write_answer(conversation, language);
    }
    let has = |name: &str| conversation.tools.contains(&name);
    let own =
        conversation.declared.iter().map(|tool| tool.name.as_str()).filter(|name| !TOOLS.contains(name));
    let intents = match find_named_tool(message, own) {
        Some(intent) => vec![intent],
        None => find_intents(message),
    };
    let calls: Vec<(Intent, String, Value)> = intents
        .into_iter()
        .filter_map(|intent| {
            let (tool, arguments) = plan_call(&intent, conversation, language)?;
            Some((intent, tool, arguments))
        })
        .filter(|(_, tool, _)| has(tool))
        .collect();
    if calls.is_empty() {
        return vec![ReplyPart::Say(
            write_introduction(language, has("browser_js_eval"), has("save_note"), has("ask_user"))
                .to_owned(),
        )];
    }
    let mut parts = vec![ReplyPart::Think(write_reasoning(&calls, language))];
    if let [(intent, ..)] = &calls[..]
        && let Some(preface) = write_preface(intent, language)
    {
        parts.push(ReplyPart::Say(preface.to_owned()));
    }
    parts.extend(calls.into_iter().map(|(_, tool, arguments)| ReplyPart::Call { tool, arguments }));
    parts
}

fn last_message<'a>(conversation: &'a Conversation<'_>) -> &'a str {
    messages(conversation).next().unwrap_or_default()
}

/// The language of the last message that is in one: the result of a client's tool comes as a message, too.
fn language_of(conversation: &Conversation<'_>) -> Language {
    let message = messages(conversation).find(|message| has_language(message)).unwrap_or_default();
    let is_chinese = message.chars().any(|c| ('\u{4e00}'..='\u{9fff}').contains(&c));
    if is_chinese { Language::Chinese } else { Language::English }
}

/// The user's messages, the last one first, without the search results that Helve put before them.
fn messages<'a>(conversation: &'a Conversation<'_>) -> impl Iterator<Item = &'a str> {
    conversation.turns.iter().rev().filter_map(|turn| match turn {
        Turn::User(text) => {
            Some(text.rsplit_once("</search_results>\n").map_or(&**text, |(_, message)| message))
        }
        Turn::Assistant { .. } | Turn::Result { .. } => None,
    })
}

fn plan_call(
    intent: &Intent,
    conversation: &Conversation<'_>,
    language: Language,
) -> Option<(String, Value)> {
    let (tool, arguments) = match intent {
        Intent::Calculate(expression) => ("calculator", json!({"expression": expression})),
        Intent::Time(zone) => ("time", json!({"zone": zone})),
        Intent::Search(query) => ("search_web", json!({"query": query})),
        Intent::RunCode(code) => ("browser_js_eval", json!({"code": code})),
        Intent::Note(text) => ("save_note", json!({"text": text})),
        Intent::Ask(asked) => ("ask_user", write_question(*asked, language)),
        Intent::Use { tool, text } => (tool.as_str(), scripted_arguments(conversation, tool, text)?),
    };
    Some((tool.to_owned(), arguments))
}

/// A question that shows one way of asking.
fn write_question(asked: DemoQuestion, language: Language) -> Value {
    match (asked, language) {
        (DemoQuestion::Words, Language::English) => {
            json!({"question": "What would you like me to remember you by?"})
        }
        (DemoQuestion::Words, Language::Chinese) => json!({"question": "我该怎么称呼你？"}),
        (DemoQuestion::Option, Language::English) => json!({
            "question": "Which colour do you like best?",
            "options": ["Green", "Blue", "Red"]
        }),
        (DemoQuestion::Option, Language::Chinese) => json!({
            "question": "你最喜欢哪种颜色？",
            "options": ["绿色", "蓝色", "红色"]
        }),
        (DemoQuestion::Options, Language::English) => json!({
            "question": "Which days suit you?",
            "options": ["Monday", "Wednesday", "Friday"],
            "several": true
        }),
        (DemoQuestion::Options, Language::Chinese) => json!({
            "question": "哪几天方便？",
            "options": ["星期一", "星期三", "星期五"],
            "several": true
        }),
        (DemoQuestion::Form, Language::English) => write_trip_form(
            "Tell me about your trip.",
            ["Where to", "First day", "How many people", "By", "Anything else"],
            ["Train", "Plane", "Car"],
        ),
        (DemoQuestion::Form, Language::Chinese) => write_trip_form(
            "说说你的旅行计划。",
            ["目的地", "出发日期", "人数", "交通方式", "其他要求"],
            ["火车", "飞机", "汽车"],
        ),
    }
}

fn write_trip_form(question: &str, titles: [&str; 5], ways: [&str; 3]) -> Value {
    let [place, day, people, way, more] = titles;
    json!({
        "question": question,
        "form": {
            "type": "object",
            "properties": {
                "place": {"type": "string", "title": place, "maxLength": 80},
                "day": {"type": "string", "format": "date", "title": day},
                "people": {"type": "integer", "minimum": 1, "maximum": 9, "default": 2, "title": people},
                "way": {"type": "string", "enum": ways, "title": way},
                "more": {"type": "string", "multiline": true, "title": more}
            },
            "required": ["place", "day", "people"],
            "propertyOrdering": ["place", "day", "people", "way", "more"]
        }
    })
}

/// The arguments of a tool that requires none or a single text; for others the demo model has no values.
fn scripted_arguments(conversation: &Conversation<'_>, tool: &str, text: &str) -> Option<Value> {
    let parameters = &conversation.declared.iter().find(|declared| declared.name == tool)?.parameters;
    let required: Vec<&str> =
        parameters["required"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
    match required[..] {
        [] => Some(json!({})),
        [name] if parameters["properties"][name]["type"] == "string" && !text.is_empty() => {
            Some(json!({name: text}))
        }
        _ => None,
    }
}

fn write_reasoning(calls: &[(Intent, String, Value)], language: Language) -> String {
    let [(intent, ..)] = calls else {
        return match language {
            Language::English => format!(
                "There are {} things to find out, and none depends on another, so I ask for them at once.",
                calls.len()
            ),
            Language::Chinese => format!("有 {} 件事要查，互不依赖，可以同时进行。", calls.len()),
        };
    };
    let (english, chinese) = match intent {
        Intent::Calculate(_) => (
            "This is arithmetic. Guessing digits is how models go wrong; the calculator is exact.",
            "这是一道算术题。凭感觉写数字容易出错，用计算器才准确。",
        ),
        Intent::Time(_) => (
            "I have no clock of my own, but there is a tool that has.",
            "我自己没有时钟，不过有一个工具知道时间。",
        ),
        Intent::Search(_) => {
            ("I know nothing about this by heart. A search will tell.", "这个问题我并不了解，需要搜索。")
        }
        Intent::RunCode(_) => (
            "This should run in the person's own browser. I can only propose the code; the person starts it.",
            "这段代码要在用户自己的浏览器里运行。我只能提出代码，由用户点击运行。",
        ),
        Intent::Note(_) => (
            "Writing a note changes something, so Helve will ask the person before it happens.",
            "保存笔记会改变数据，Helve 会先征求用户同意。",
        ),
        Intent::Ask(_) => (
            "Only the person knows this, so I ask. They can answer now, later, or not at all.",
            "这件事只有用户自己知道，所以我来问。用户可以现在回答、以后回答，也可以不回答。",
        ),
        Intent::Use { .. } => ("There is a tool of that name.", "有一个叫这个名字的工具。"),
    };
    match language {
        Language::English => english.into(),
        Language::Chinese => chinese.into(),
    }
}

/// The text before a call that needs an action of the user.
fn write_preface(intent: &Intent, language: Language) -> Option<&'static str> {
    Some(match (intent, language) {
        (Intent::RunCode(_), Language::English) => {
            "Here is the code. Look at it, and press **Run** if you like what you see."
        }
        (Intent::RunCode(_), Language::Chinese) => "代码如下，请先看一眼，确认后点击「运行」。",
        (Intent::Note(_), Language::English) => "I would like to save this. Please allow it or refuse.",
        (Intent::Note(_), Language::Chinese) => "我想保存下面的内容，请允许或拒绝。",
        _ => return None,
    })
}

/// The answer to the results of the last calls.
fn write_answer(conversation: &Conversation<'_>, language: Language) -> Vec<ReplyPart> {
    let results: Vec<_> = conversation
        .turns
        .iter()
        .rev()
        .map_while(|turn| match turn {
            Turn::Result { id, tool, text, is_error } => Some((id, tool, text, *is_error)),
            Turn::User(_) | Turn::Assistant { .. } => None,
        })
        .collect();
    let mut lines: Vec<String> = vec![];
    for (id, tool, text, is_error) in results.into_iter().rev() {
        let input = argument_of_call(conversation, id);
        lines.push(describe_result(tool, &input, text, is_error, language));
    }
    vec![ReplyPart::Say(lines.join("\n\n"))]
}

/// The argument by which a user recognises the call.
fn argument_of_call(conversation: &Conversation<'_>, id: &str) -> String {
    let calls = conversation.turns.iter().rev().filter_map(|turn| match turn {
        Turn::Assistant { calls, .. } => Some(calls),
        Turn::User(_) | Turn::Result { .. } => None,
    });
    let Some(call) = calls.flatten().find(|call| call.id == id) else { return String::new() };
    let arguments: Value = serde_json::from_str(&call.arguments).unwrap_or_default();
    ["expression", "zone", "query", "code", "text", "question"]
        .iter()
        .find_map(|name| Some(arguments.get(name)?.as_str()?.to_owned()))
        .unwrap_or_default()
}

/// How Helve tells a model that a person refused a call.
const REFUSED: &str = "the user did not allow this call";

fn describe_result(tool: &str, input: &str, result: &str, is_error: bool, language: Language) -> String {
    let first = result.lines().next().unwrap_or_default();
    // What Helve tells models has their advice in it, which is nothing for people.
    let result = if is_error { result.strip_prefix("Error: ").unwrap_or(result) } else { result };
    let is_refused = is_error && result.starts_with(REFUSED);
    match (tool, is_error, language) {
        ("ask_user", true, Language::English) => {
            format!("Then I go on without the answer. Helve told me: {result}")
        }
        ("ask_user", true, Language::Chinese) => format!("好的，那我就不问了。Helve 告诉我：{result}"),
        ("ask_user", false, Language::English) => format!("I asked: {input} Your answer: **{first}**"),
        ("ask_user", false, Language::Chinese) => format!("我问的是：{input}你的答复：**{first}**"),
        (_, true, Language::English) if is_refused => {
            format!("You did not allow `{tool}`, so I did not do it.")
        }
        (_, true, Language::Chinese) if is_refused => format!("你没有允许 `{tool}`，所以我没有执行。"),
        (_, true, Language::English) => {
            format!(
                "`{tool}` gave no result: {result}\n\nSo I leave it at that rather than make something up."
            )
        }
        (_, true, Language::Chinese) => {
            format!("`{tool}` 没有给出结果：{result}\n\n我不会编造答案。")
        }
        ("calculator", ..) => format!("{input} = **{first}**"),
        ("time", _, Language::English) => format!("In {input} it is **{first}**."),
        ("time", _, Language::Chinese) => format!("{input} 的时间是 **{first}**。"),
        ("search_web", _, Language::English) => format!("This is what the search found:\n\n{result}"),
        ("search_web", _, Language::Chinese) => format!("搜索结果如下：\n\n{result}"),
        ("browser_js_eval", _, Language::English) => {
            format!("Your browser ran it and says:\n\n```json\n{result}\n```")
        }
        ("browser_js_eval", _, Language::Chinese) => {
            format!("你的浏览器运行后返回：\n\n```json\n{result}\n```")
        }
        ("save_note", _, Language::English) => format!("Done. {result}"),
        ("save_note", _, Language::Chinese) => format!("好了。{result}"),
        (_, _, Language::English) => format!("`{tool}` says:\n\n{result}"),
        (_, _, Language::Chinese) => format!("`{tool}` 返回：\n\n{result}"),
    }
}

fn write_introduction(language: Language, browser: bool, notes: bool, questions: bool) -> String {
    let (mut text, browser_line, note_line, ask_line, end) = match language {
        Language::English => (
            String::from(
                "I am Helve's **demo model**: a few rules inside the program, not a language model. I can show \
                 you how tools work here. Try one of these:\n\n\
                 - what is 12.5% of 3,480?\n\
                 - what time is it in Tokyo and in Paris, and what is 2^64?\n\
                 - 15% tip on $86.40\n",
            ),
            "- run `[...\"helve\"].reverse().join(\"\")` in my browser\n",
            "- remember that the meeting is at nine\n",
            "- ask me to choose a colour\n- ask me for the details of a trip\n",
            "\nTo talk to a real model, set a key such as `OPENAI_API_KEY` or start an Ollama, and choose it \
             in the list of models.",
        ),
        Language::Chinese => (
            String::from(
                "我是 Helve 的**演示模型**：只是程序里的几条规则，并不是语言模型。我可以演示工具是怎样工作的。\
                 试试这些：\n\n\
                 - 3480 的 12.5% 是多少？\n\
                 - 东京和巴黎现在几点？\n\
                 - 86.40 的 15% 是多少？\n",
            ),
            "- 在浏览器里运行 `[...\"helve\"].reverse().join(\"\")`\n",
            "- 记住：明天九点开会\n",
            "- 问我选择哪个颜色\n- 用表单问我旅行计划\n",
            "\n想和真正的模型对话，请设置密钥（例如 `OPENAI_API_KEY`）或启动 Ollama，然后在模型列表里选择。",
        ),
    };
    if browser {
        text.push_str(browser_line);
    }
    if notes {
        text.push_str(note_line);
    }
    if questions {
        text.push_str(ask_line);
    }
    text.push_str(end);
    text
}
