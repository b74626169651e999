//! Which tools a prompt spends its room on: those that the question is likely to need, then those that most questions need.
//!
//! Pure: words of the question are compared with what is known of each tool.

use std::collections::HashSet;

use helve_types::ToolSpec;
use serde_json::Value;

/// A word of the tool's own name says most, then a word that people use for what it does.
const NAME_WEIGHT: u32 = 6;
const CUE_WEIGHT: u32 = 5;
const EXAMPLE_WEIGHT: u32 = 2;
const DESCRIPTION_WEIGHT: u32 = 1;
/// More of a question than this changes nothing.
const QUESTION_CHARS_MAX: usize = 2_000;
/// Words that say nothing about what is asked.
const COMMON: &[&str] = &[
    "the", "and", "for", "are", "you", "can", "with", "what", "how", "does", "that", "this", "from", "have",
    "was", "will", "your", "our", "about", "into", "please", "tell", "which", "who", "use", "当前", "什么",
    "怎么", "一个", "可以", "请问", "多少", "是多", "我的", "你的", "这个", "现在", "今天",
];

/// What people say where they mean a tool with such a word in its name.
struct Cue {
    name: &'static [&'static str],
    words: &'static [&'static str],
}

const CUES: &[Cue] = &[
    Cue {
        name: &["search", "web"],
        words: &[
            "search",
            "news",
            "latest",
            "weather",
            "price",
            "who",
            "version",
            "release",
            "look up",
            "搜索",
            "查一下",
            "新闻",
            "最新",
            "天气",
            "股价",
            "价格",
            "谁",
            "版本",
            "哪一年",
        ],
    },
    Cue {
        name: &["time", "clock", "date"],
        words: &["time", "clock", "date", "day", "几点", "时间", "星期", "日期", "几号", "时差"],
    },
    Cue {
        name: &["calculator", "calculate", "math"],
        words: &[
            "calculate",
            "compute",
            "percent",
            "sum",
            "add",
            "plus",
            "minus",
            "times",
            "multiply",
            "multiplied",
            "divide",
            "divided",
            "square",
            "root",
            "power",
            "tip",
            "%",
            "计算",
            "算一下",
            "乘",
            "除以",
            "加上",
            "减去",
            "百分",
            "平方",
            "次方",
        ],
    },
    Cue { name: &["note"], words: &["note", "remember", "记住", "笔记", "记下", "记一下"] },
    Cue { name: &["plan"], words: &["plan", "schedule", "计划", "安排"] },
    Cue { name: &["image", "picture"], words: &["draw", "picture", "image", "画", "图片"] },
    Cue {
        name: &["database", "query", "sql"],
        words: &["database", "table", "sql", "orders", "数据库", "订单", "表"],
    },
    Cue {
        name: &["browser", "js", "eval", "code", "python"],
        words: &[
            "browser",
            "javascript",
            "code",
            "run",
            "reverse",
            "sort",
            "浏览器",
            "代码",
            "运行",
            "素数",
            "排序",
        ],
    },
];

/// The tools, most useful first: by the question, and where it says nothing those that most people need and those that a
/// client declared for it. Stable among equals.
pub(super) fn rank_tools<'t>(tools: &[&'t ToolSpec], question: &str) -> Vec<&'t ToolSpec> {
    let question: String = question.chars().take(QUESTION_CHARS_MAX).collect::<String>().to_lowercase();
    let words = extract_words(&question);
    let mut ranked: Vec<(u32, usize, &'t ToolSpec)> =
        tools.iter().map(|tool| (score_tool(tool, &question, &words), default_rank(tool), *tool)).collect();
    ranked.sort_by_key(|(score, place, _)| (std::cmp::Reverse(*score), *place));
    ranked.into_iter().map(|(.., tool)| tool).collect()
}

/// Where a tool stands that the question says nothing about.
fn default_rank(tool: &ToolSpec) -> usize {
    match tool.name.as_str() {
        "search_web" => 0,
        "time" => 1,
        _ if tool.client => 2,
        "calculator" => 3,
        _ => 4,
    }
}

/// How much of the question is about the tool.
fn score_tool(tool: &ToolSpec, question: &str, words_of_question: &HashSet<String>) -> u32 {
    let name = tool.name.to_lowercase();
    let parts: Vec<&str> = name.split(|c: char| !c.is_alphanumeric()).filter(|part| part.len() > 1).collect();
    let mut score = 0;
    if parts.iter().any(|part| words_of_question.contains(*part)) {
        score += NAME_WEIGHT;
    }
    let cued = CUES.iter().filter(|cue| cue.name.iter().any(|word| parts.contains(word)));
    let mut said =
        cued.flat_map(|cue| cue.words).filter(|word| mentions_cue(word, question, words_of_question));
    if said.next().is_some() {
        score += CUE_WEIGHT;
    }
    if is_arithmetic(question) && parts.contains(&"calculator") {
        score += CUE_WEIGHT;
    }
    let shared = |text: &str| {
        extract_words(&text.to_lowercase()).intersection(words_of_question).count().min(4) as u32
    };
    let examples = tool.examples.iter().map(|example| shared(&example.question)).max().unwrap_or(0);
    score + EXAMPLE_WEIGHT * examples + DESCRIPTION_WEIGHT * shared(&tool.description)
}

/// English cues are words, others stand anywhere.
fn mentions_cue(cue: &str, question: &str, words: &HashSet<String>) -> bool {
    let is_word = cue.bytes().all(|b| b.is_ascii_alphabetic());
    if is_word {
        words.contains(cue) || cue == "who" && question.starts_with("who")
    } else {
        question.contains(cue)
    }
}

/// Two numbers with a sign of arithmetic between them, or a power or a root.
fn is_arithmetic(question: &str) -> bool {
    let signs = ['+', '*', '/', '^', '×', '÷', '%'];
    // A minus may be a hyphen, of a date or a name.
    question.contains(|c: char| c.is_ascii_digit()) && (question.contains(signs) || question.contains(" - "))
}

/// Words of three letters and more, and pairs of Chinese or Japanese characters.
fn extract_words(text: &str) -> HashSet<String> {
    let mut words = HashSet::new();
    for word in text.split(|c: char| !c.is_alphanumeric()) {
        if word.is_ascii() {
            if word.len() >= 3 && !COMMON.contains(&word) {
                words.insert(word.to_owned());
            }
            continue;
        }
        let chars: Vec<char> = word.chars().collect();
        let pairs = chars.windows(2).map(|pair| pair.iter().collect::<String>());
        words.extend(pairs.filter(|pair| !COMMON.contains(&pair.as_str())));
    }
    words
}

/// How fully a prompt describes a tool.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Detail {
    /// As the profile's template has it.
    Full,
    /// Its parameters' names and its purpose, on one line.
    Brief,
    Name,
    /// Counted, where not even all names have room.
    Nothing,
}

/// What a tool takes of the room in each form, in characters.
pub(super) struct Cost {
    pub(super) full: usize,
    pub(super) brief: usize,
    pub(super) name: usize,
}

/// How many of the first tools are described in full before any of the others gets more than its name.
const FULL_FIRST: usize = 3;

/// How fully each of the ranked tools is described so that all of them fit into `room` characters.
pub(super) fn choose_details(costs: &[Cost], room: usize) -> Vec<Detail> {
    let mut left = room;
    let mut details: Vec<Detail> = vec![];
    for cost in costs {
        let fits = cost.name <= left;
        details.push(if fits { Detail::Name } else { Detail::Nothing });
        left -= if fits { cost.name } else { 0 };
    }
    let passes = [(Detail::Full, FULL_FIRST), (Detail::Brief, usize::MAX), (Detail::Full, usize::MAX)];
    for (wanted, first) in passes {
        for (cost, detail) in costs.iter().zip(&mut details).take(first) {
            let size = |detail| match detail {
                Detail::Full => cost.full,
                Detail::Brief => cost.brief,
                Detail::Name => cost.name,
                Detail::Nothing => 0,
            };
            let freed = left + size(*detail);
            let is_more = wanted == Detail::Full || *detail != Detail::Full;
            if *detail != Detail::Nothing && is_more && size(wanted) <= freed {
                left = freed - size(wanted);
                *detail = wanted;
            }
        }
    }
    details
}

/// The tool on one line.
pub(super) fn format_brief(tool: &ToolSpec) -> String {
    const PURPOSE_CHARS_MAX: usize = 120;
    let properties = tool.parameters.get("properties").and_then(Value::as_object);
    let names: Vec<&str> = properties.into_iter().flat_map(|all| all.keys().map(String::as_str)).collect();
    let purpose: String =
        super::views::first_sentence(tool.description.trim()).chars().take(PURPOSE_CHARS_MAX).collect();
    format!("- {}({}): {purpose}", tool.name, names.join(", "))
}

#[cfg(test)]
mod tests {
    use helve_types::{Effect, Example};
    use serde_json::json;

    use super::*;

    fn tool(name: &str, description: &str, question: Option<&str>, client: bool) -> ToolSpec {
        let examples = question.map(|question| Example {
            question: question.into(),
            arguments: json!({}),
            result: String::new(),
            answer: String::new(),
        });
        ToolSpec {
            client,
            examples: examples.into_iter().collect(),
            ..ToolSpec::new(name, description, json!({"type": "object"}), Effect::Read)
        }
    }

    fn tools() -> Vec<ToolSpec> {
        vec![
            tool("browser_js_eval", "Runs code in the person's browser.", None, true),
            tool("calculator", "Computes exactly.", Some("What is 12.5% of 3,480?"), false),
            tool("create_plan", "Begins a plan.", None, false),
            tool("get_plan", "Shows a plan.", None, false),
            tool("list_plans", "Lists plans.", None, false),
            tool("read_output", "Reads an earlier output.", None, false),
            tool("save_note", "Keeps a note.", None, false),
            tool("search_web", "Searches the web.", Some("2025 年诺贝尔物理学奖颁给了谁？"), false),
            tool("time", "Tells the time in a zone.", Some("现在北京几点？今天星期几？"), false),
            tool("get_stock", "Tells a company's stock quote.", None, true),
        ]
    }

    #[test]
    fn the_tool_that_a_question_is_about_comes_first() {
        let tools = tools();
        let tools: Vec<&ToolSpec> = tools.iter().collect();
        for (question, expected) in [
            ("今天北京的天气怎么样?", "search_web"),
            ("搜索一下最新的新闻", "search_web"),
            ("Who won the world cup? Search the web.", "search_web"),
            ("what's the latest version of Rust?", "search_web"),
            ("现在东京几点？", "time"),
            ("What time is it in Paris?", "time"),
            ("what is 2^64 / 3", "calculator"),
            ("How much is 912 divided by 8?", "calculator"),
            ("How much is 5000 - 1234?", "calculator"),
            ("What is the square root of 169?", "calculator"),
            ("计算 25 乘以 4", "calculator"),
            ("Remember that the meeting is at nine", "save_note"),
            ("记住：明天九点开会", "save_note"),
            ("make a plan for the move", "create_plan"),
            ("用浏览器运行这段代码", "browser_js_eval"),
            ("reverse 'hello world' with JavaScript", "browser_js_eval"),
            ("stock quote of Ping An", "get_stock"),
        ] {
            assert_eq!(rank_tools(&tools, question)[0].name, expected, "{question}");
        }
    }

    #[test]
    fn a_question_that_says_nothing_leaves_search_time_and_the_clients_tools_their_turn() {
        let tools = tools();
        let tools: Vec<&ToolSpec> = tools.iter().collect();
        for question in ["", "hello", "你好", "嗯"] {
            let first: Vec<&str> =
                rank_tools(&tools, question).iter().take(5).map(|tool| tool.name.as_str()).collect();
            assert_eq!(
                first,
                ["search_web", "time", "browser_js_eval", "get_stock", "calculator"],
                "{question}"
            );
        }
    }

    #[test]
    fn what_does_not_fit_is_described_in_fewer_words() {
        use Detail::{Brief, Full, Name, Nothing};
        let cost = || Cost { full: 100, brief: 20, name: 5 };
        let costs: Vec<Cost> = (0..5).map(|_| cost()).collect();
        for (room, expected) in [
            (500, [Full; 5]),
            (450, [Full, Full, Full, Full, Brief]),
            (340, [Full, Full, Full, Brief, Brief]),
            (330, [Full, Full, Full, Brief, Name]),
            (136, [Full, Brief, Name, Name, Name]),
            (40, [Brief, Name, Name, Name, Name]),
            (12, [Name, Name, Nothing, Nothing, Nothing]),
        ] {
            let details = choose_details(&costs, room);
            assert_eq!(details, expected, "{room}");
        }
    }
}
