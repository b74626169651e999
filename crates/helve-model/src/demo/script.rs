//! What the demo model answers: beats of thinking, saying and calling.

use serde_json::{Value, json};

use super::prompted::{Scene, TOOLS};
use super::wish::{Wish, named_tool, wishes};
use crate::Turn;

#[derive(Debug, Clone, PartialEq)]
pub(super) enum Beat {
    Think(String),
    Say(String),
    Call { tool: String, arguments: Value },
}

#[derive(Clone, Copy, PartialEq)]
enum Language {
    English,
    Chinese,
}

pub(super) fn script(scene: &Scene<'_>) -> Vec<Beat> {
    let message = last_message(scene);
    let language = if message.chars().any(|c| ('\u{4e00}'..='\u{9fff}').contains(&c)) {
        Language::Chinese
    } else {
        Language::English
    };
    if let Some(Turn::Result { .. }) = scene.turns.last() {
        return answer(scene, language);
    }
    let has = |name: &str| scene.tools.contains(&name);
    let own = scene.declared.iter().map(|tool| tool.name.as_str()).filter(|name| !TOOLS.contains(name));
    let wishes = match named_tool(message, own) {
        Some(wish) => vec![wish],
        None => wishes(message),
    };
    let calls: Vec<(Wish, String, Value)> = wishes
        .into_iter()
        .filter_map(|wish| {
            let (tool, arguments) = call(&wish, scene)?;
            Some((wish, tool, arguments))
        })
        .filter(|(_, tool, _)| has(tool))
        .collect();
    if calls.is_empty() {
        return vec![Beat::Say(introduction(language, has("browser_js_eval"), has("save_note")).to_owned())];
    }
    let mut beats = vec![Beat::Think(reasoning(&calls, language))];
    if let [(wish, ..)] = &calls[..]
        && let Some(preface) = preface(wish, language)
    {
        beats.push(Beat::Say(preface.to_owned()));
    }
    beats.extend(calls.into_iter().map(|(_, tool, arguments)| Beat::Call { tool, arguments }));
    beats
}

/// What the person said last, behind what was searched before it.
fn last_message<'a>(scene: &'a Scene<'_>) -> &'a str {
    scene
        .turns
        .iter()
        .rev()
        .find_map(|turn| match turn {
            Turn::User(text) => {
                Some(text.rsplit_once("</search_results>\n").map_or(&**text, |(_, said)| said))
            }
            Turn::Assistant { .. } | Turn::Result { .. } => None,
        })
        .unwrap_or_default()
}

fn call(wish: &Wish, scene: &Scene<'_>) -> Option<(String, Value)> {
    let (tool, arguments) = match wish {
        Wish::Calculate(expression) => ("calculator", json!({"expression": expression})),
        Wish::Time(zone) => ("time", json!({"zone": zone})),
        Wish::Search(query) => ("search_web", json!({"query": query})),
        Wish::RunCode(code) => ("browser_js_eval", json!({"code": code})),
        Wish::Note(text) => ("save_note", json!({"text": text})),
        Wish::Use { tool, text } => (tool.as_str(), own_arguments(scene, tool, text)?),
    };
    Some((tool.to_owned(), arguments))
}

/// The arguments of a tool that needs none, or one text; the demo makes no others up.
fn own_arguments(scene: &Scene<'_>, tool: &str, text: &str) -> Option<Value> {
    let parameters = &scene.declared.iter().find(|declared| declared.name == tool)?.parameters;
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

fn reasoning(calls: &[(Wish, String, Value)], language: Language) -> String {
    let [(wish, ..)] = calls else {
        return match language {
            Language::English => format!(
                "There are {} things to find out, and none depends on another, so I ask for them at once.",
                calls.len()
            ),
            Language::Chinese => format!("有 {} 件事要查，互不依赖，可以同时进行。", calls.len()),
        };
    };
    let (english, chinese) = match wish {
        Wish::Calculate(_) => (
            "This is arithmetic. Guessing digits is how models go wrong; the calculator is exact.",
            "这是一道算术题。凭感觉写数字容易出错，用计算器才准确。",
        ),
        Wish::Time(_) => (
            "I have no clock of my own, but there is a tool that has.",
            "我自己没有时钟，不过有一个工具知道时间。",
        ),
        Wish::Search(_) => {
            ("I know nothing about this by heart. A search will tell.", "这个问题我并不了解，需要搜索。")
        }
        Wish::RunCode(_) => (
            "This should run in the person's own browser. I can only propose the code; the person starts it.",
            "这段代码要在用户自己的浏览器里运行。我只能提出代码，由用户点击运行。",
        ),
        Wish::Note(_) => (
            "Writing a note changes something, so Helve will ask the person before it happens.",
            "保存笔记会改变数据，Helve 会先征求用户同意。",
        ),
        Wish::Use { .. } => ("There is a tool of that name.", "有一个叫这个名字的工具。"),
    };
    match language {
        Language::English => english.into(),
        Language::Chinese => chinese.into(),
    }
}

/// Said before a call that the person has to do something for.
fn preface(wish: &Wish, language: Language) -> Option<&'static str> {
    Some(match (wish, language) {
        (Wish::RunCode(_), Language::English) => {
            "Here is the code. Look at it, and press **Run** if you like what you see."
        }
        (Wish::RunCode(_), Language::Chinese) => "代码如下，请先看一眼，确认后点击「运行」。",
        (Wish::Note(_), Language::English) => "I would like to save this. Please allow it or refuse.",
        (Wish::Note(_), Language::Chinese) => "我想保存下面的内容，请允许或拒绝。",
        _ => return None,
    })
}

/// What the results of the last calls amount to.
fn answer(scene: &Scene<'_>, language: Language) -> Vec<Beat> {
    let results: Vec<_> = scene
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
        let input = argument_of(scene, id);
        lines.push(line(tool, &input, text, is_error, language));
    }
    vec![Beat::Say(lines.join("\n\n"))]
}

/// The one argument that a person would recognise the call by.
fn argument_of(scene: &Scene<'_>, id: &str) -> String {
    let calls = scene.turns.iter().rev().filter_map(|turn| match turn {
        Turn::Assistant { calls, .. } => Some(calls),
        Turn::User(_) | Turn::Result { .. } => None,
    });
    let Some(call) = calls.flatten().find(|call| call.id == id) else { return String::new() };
    let arguments: Value = serde_json::from_str(&call.arguments).unwrap_or_default();
    ["expression", "zone", "query", "code", "text"]
        .iter()
        .find_map(|name| Some(arguments.get(name)?.as_str()?.to_owned()))
        .unwrap_or_default()
}

fn line(tool: &str, input: &str, result: &str, is_error: bool, language: Language) -> String {
    let first = result.lines().next().unwrap_or_default();
    match (tool, is_error, language) {
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

fn introduction(language: Language, browser: bool, notes: bool) -> String {
    let (mut text, browser_line, note_line, end) = match language {
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
            "\n想和真正的模型对话，请设置密钥（例如 `OPENAI_API_KEY`）或启动 Ollama，然后在模型列表里选择。",
        ),
    };
    if browser {
        text.push_str(browser_line);
    }
    if notes {
        text.push_str(note_line);
    }
    text.push_str(end);
    text
}
