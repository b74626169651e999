//! What the page of a link says, in the reader's language. The words for tools are those of the web page.

use std::collections::HashMap;
use std::sync::LazyLock;

use axum::http::{HeaderMap, header};
use helve_types::{Answer, ApprovalKind, Effect, Language, Notice, OutcomeAnswer};
use serde::Deserialize;

pub(super) struct Words {
    pub(super) tag: &'static str,
    language: Language,
    /// The other language, in its own name, with its tag.
    pub(super) other: (&'static str, &'static str),
    pub(super) permission: &'static str,
    pub(super) outcome: &'static str,
    pub(super) budget: &'static str,
    pub(super) user: &'static str,
    pub(super) because: &'static str,
    pub(super) effect: &'static str,
    effects: [&'static str; 3],
    pub(super) request: &'static str,
    pub(super) sent: &'static str,
    pub(super) sent_at: &'static str,
    pub(super) checked: &'static str,
    pub(super) no_arguments: &'static str,
    pub(super) exactly: &'static str,
    pub(super) until: &'static str,
    pub(super) asks_for: &'static str,
    pub(super) asked_by_agent: &'static str,
    pub(super) reason: &'static str,
    decisions: [(&'static str, &'static str); 7],
    pub(super) form: FormWords,
    pub(super) only_this: &'static str,
    pub(super) bad_link: &'static str,
    pub(super) too_many_guesses: &'static str,
    pub(super) expired_link: &'static str,
    pub(super) unavailable: &'static str,
    pub(super) not_from_here: &'static str,
    pub(super) not_understood: &'static str,
    pub(super) withdrawn: &'static str,
    pub(super) answered: &'static str,
    /// What stands before the name of a person, with the space that a language wants.
    pub(super) by: &'static str,
    answers: [&'static str; 9],
}

/// What stands around a question of the model's.
pub(super) struct FormWords {
    pub(super) no_secrets: &'static str,
    pub(super) answer: &'static str,
    pub(super) optional: &'static str,
    pub(super) nothing: &'static str,
    pub(super) yes: &'static str,
    pub(super) no: &'static str,
    pub(super) rather_not: &'static str,
    pub(super) rather_not_reason: &'static str,
}

impl Words {
    /// In the language that the address names, or else in the first of the browser's that there is.
    pub(super) fn for_request(headers: &HeaderMap, named: Option<&str>) -> &'static Self {
        match named {
            Some("zh") => return &ZH,
            Some("en") => return &EN,
            _ => {}
        }
        let wanted = headers.get(header::ACCEPT_LANGUAGE).and_then(|value| value.to_str().ok());
        let wanted = wanted.unwrap_or_default().to_ascii_lowercase();
        let mut tags = wanted.split(',').map(str::trim_start);
        let first = tags.find(|tag| tag.starts_with("zh") || tag.starts_with("en"));
        if first.is_some_and(|tag| tag.starts_with("zh")) { &ZH } else { &EN }
    }

    /// The sentence of a notice, or the server's own words where there is none.
    pub(super) fn format_notices(&self, notices: &[Notice], or: &str) -> String {
        let sentences: Option<Vec<_>> = notices.iter().map(|notice| notice.sentence(self.language)).collect();
        let between = if self.language == Language::Chinese { "" } else { " " };
        sentences.filter(|all| !all.is_empty()).map_or_else(|| or.to_owned(), |all| all.join(between))
    }

    /// Tools that come with Helve have a title in each language; others go by their names.
    pub(super) fn tool_title(&self, name: &str) -> String {
        match TOOL_WORDS.names.get(name) {
            Some(title) => format!("{} ({name})", title.text_in(self.language)),
            None => name.to_owned(),
        }
    }

    /// What a tool that comes with Helve does.
    pub(super) fn tool_sentence(&self, tool: &str) -> Option<&'static str> {
        TOOL_WORDS.deeds.get(tool).map(|deed| deed.text_in(self.language))
    }

    /// An argument by a name that people would use: from the list, or made of its own name.
    pub(super) fn argument_label(&self, tool: &str, name: &str) -> String {
        let fields = &TOOL_WORDS.fields;
        let known = fields.get(&format!("{tool}.{name}")).or_else(|| fields.get(name));
        known.map_or_else(|| label_from_name(name), |field| field.text_in(self.language).to_owned())
    }

    pub(super) fn question_title(&self, kind: ApprovalKind) -> &'static str {
        match kind {
            ApprovalKind::Permission => self.permission,
            ApprovalKind::Outcome => self.outcome,
            ApprovalKind::Budget => self.budget,
            ApprovalKind::User => self.user,
        }
    }

    /// The sentence of a notice.
    pub(super) fn sentence(&self, notice: &Notice) -> String {
        notice.sentence(self.language).unwrap_or_default()
    }

    pub(super) fn effect_label(&self, effect: Effect) -> &'static str {
        self.effects[match effect {
            Effect::Read => 0,
            Effect::Idempotent => 1,
            Effect::NonIdempotent => 2,
        }]
    }

    pub(super) fn decision_label(&self, name: &str) -> &'static str {
        self.decisions.iter().find(|(known, _)| *known == name).map_or("", |(_, word)| word)
    }

    pub(super) fn answer_label(&self, answer: &Answer) -> &'static str {
        self.answers[match answer {
            Answer::Approve { .. } => 0,
            Answer::Reject { .. } => 1,
            Answer::Respond { .. } => 2,
            Answer::Outcome { answer: OutcomeAnswer::Happened } => 3,
            Answer::Outcome { answer: OutcomeAnswer::DidNotHappen } => 4,
            Answer::Outcome { answer: OutcomeAnswer::RunAgain } => 5,
            Answer::Expire => 6,
            Answer::Reply { .. } => 7,
            Answer::Decline { .. } => 8,
        }]
    }
}

/// The words for tools and their arguments, in both languages.
#[derive(Debug, Default, Deserialize)]
struct ToolWords {
    names: HashMap<String, Texts>,
    deeds: HashMap<String, Texts>,
    /// By the argument's name, or by `tool.argument` where a tool means something else by it.
    fields: HashMap<String, Texts>,
}

#[derive(Debug, Deserialize)]
struct Texts {
    en: String,
    zh: String,
}

impl Texts {
    fn text_in(&self, language: Language) -> &str {
        match language {
            Language::English => &self.en,
            Language::Chinese => &self.zh,
        }
    }
}

/// A list that cannot be read is empty, which a test forbids.
static TOOL_WORDS: LazyLock<ToolWords> = LazyLock::new(|| {
    serde_json::from_str(include_str!("../../../../../fixtures/tool-words.json")).unwrap_or_default()
});

/// A name that was written for programs, as people would write it: `reply_to` and `replyTo` are `Reply to`.
fn label_from_name(name: &str) -> String {
    let mut words = String::new();
    let mut is_behind_lower = false;
    for char in name.chars() {
        if char.is_ascii_uppercase() && is_behind_lower {
            words.push(' ');
        }
        is_behind_lower = char.is_ascii_lowercase() || char.is_ascii_digit();
        words.push(if matches!(char, '_' | '-' | '.') { ' ' } else { char });
    }
    let words: Vec<_> = words.split_whitespace().collect();
    let words = words.join(" ").to_lowercase();
    let mut chars = words.chars();
    match chars.next() {
        Some(first) => first.to_uppercase().chain(chars).collect(),
        None => name.to_owned(),
    }
}

const EN: Words = Words {
    tag: "en",
    language: Language::English,
    other: ("zh", "中文"),
    permission: "May this call run?",
    outcome: "Did this call take effect?",
    budget: "May this run spend more?",
    user: "The model asks you",
    because: "Why you are asked",
    effect: "Effect",
    effects: [
        "changes nothing",
        "changes something; repeating it does no harm",
        "changes something, and is sent once",
    ],
    request: "What will be sent",
    sent: "What was sent",
    sent_at: "Sent at (it may or may not have taken effect)",
    checked: "What the check tool says",
    no_arguments: "It has no arguments.",
    exactly: "Exactly, as JSON",
    until: "Open until",
    asks_for: "Asked on behalf of",
    asked_by_agent: "Asked by the agent",
    reason: "Reason, if you say no (the model reads it)",
    decisions: [
        ("approve", "Allow this once"),
        ("reject", "Do not allow"),
        ("happened", "It took effect"),
        ("did_not_happen", "It did not take effect"),
        ("run_again", "Run it again"),
        ("reply", "Send the answer"),
        ("decline", "I’d rather not answer"),
    ],
    form: FormWords {
        no_secrets: "The model reads the answer, and it is stored. Do not enter passwords or keys.",
        answer: "Your answer",
        optional: "optional",
        nothing: "nothing",
        yes: "Yes",
        no: "No",
        rather_not: "I’d rather not answer",
        rather_not_reason: "Why, or what to do instead (optional; the model reads it)",
    },
    only_this: "This link answers this one question. Whoever has it can answer, so do not pass it on.",
    bad_link: "This link is not valid. It may have been cut off on its way: open the whole link, or answer in Helve.",
    too_many_guesses: "Too many wrong tokens came from your address. Wait a minute, then open the link again.",
    expired_link: "This link has expired. Answer in Helve.",
    unavailable: "Helve cannot answer at the moment. Nothing was changed; try again in a minute.",
    not_from_here: "This answer did not come from the page of the link, so it does not count. Open the link and answer there.",
    not_understood: "This answer does not fit the question. Open the link and answer there.",
    withdrawn: "The run ended before it was answered. There is nothing left to decide.",
    answered: "This question is settled",
    by: "by ",
    answers: [
        "allowed",
        "not allowed",
        "answered in the tool's place",
        "it took effect",
        "it did not take effect",
        "it is run again",
        "no answer came in time",
        "answered",
        "would rather not answer",
    ],
};

const ZH: Words = Words {
    tag: "zh-CN",
    language: Language::Chinese,
    other: ("en", "English"),
    permission: "允许这次调用吗？",
    outcome: "这次调用生效了吗？",
    budget: "可以继续花费吗？",
    user: "模型向你提问",
    because: "为什么问你",
    effect: "影响",
    effects: ["不改变任何东西", "会改变数据，重复执行没有害处", "会改变数据，只发送一次"],
    request: "将要发出的请求",
    sent: "已经发出的请求",
    sent_at: "发送时间（可能已生效，也可能没有）",
    checked: "检查工具的回答",
    no_arguments: "没有参数。",
    exactly: "原文（JSON）",
    until: "等到",
    asks_for: "代表谁",
    asked_by_agent: "提问的智能体",
    reason: "拒绝的理由（可不填，模型会读到）",
    decisions: [
        ("approve", "允许这一次"),
        ("reject", "拒绝"),
        ("happened", "已生效"),
        ("did_not_happen", "没有生效"),
        ("run_again", "重新运行"),
        ("reply", "发送答复"),
        ("decline", "我不想回答"),
    ],
    form: FormWords {
        no_secrets: "模型会读到你的答复，并且会保存下来。请不要填写密码或密钥。",
        answer: "你的答复",
        optional: "可不填",
        nothing: "不选",
        yes: "是",
        no: "否",
        rather_not: "我不想回答",
        rather_not_reason: "原因，或者你希望怎么做（可不填，模型会读到）",
    },
    only_this: "这个链接只能回答这一个问题。拿到链接的人都能回答，请不要转发。",
    bad_link: "链接无效，可能在传送途中被截断了。请打开完整的链接，或在 Helve 里回答。",
    too_many_guesses: "从你的地址发来的错误令牌太多。请等一分钟，再打开这个链接。",
    expired_link: "链接已过期，请在 Helve 里回答。",
    unavailable: "Helve 暂时无法响应。没有任何改动，请一分钟后再试。",
    not_from_here: "这个答复不是从链接的页面发出的，所以无效。请打开链接，在页面上回答。",
    not_understood: "这个答复不符合问题的要求。请打开链接，在页面上回答。",
    withdrawn: "在有人回答之前，运行已经结束，不需要再作决定。",
    answered: "这个问题已有答复",
    by: "答复者：",
    answers: [
        "已允许",
        "已拒绝",
        "由人答复",
        "已生效",
        "没有生效",
        "重新运行",
        "没有人及时答复",
        "已回答",
        "不想回答",
    ],
};

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tools_and_arguments_have_the_words_of_the_web_page_in_both_languages() {
        assert_eq!(EN.tool_title("save_note"), "Save a note (save_note)");
        assert_eq!(ZH.tool_title("get_plan"), "查看计划 (get_plan)");
        assert_eq!(ZH.tool_title("send_mail"), "send_mail");
        assert!(ZH.tool_sentence("save_note").unwrap().starts_with("在服务器上保存"));
        assert_eq!(EN.tool_sentence("send_mail"), None);
        assert_eq!(
            (EN.argument_label("save_note", "text"), ZH.argument_label("save_note", "text")),
            ("Text".into(), "内容".into())
        );
        assert_eq!(ZH.argument_label("time", "to"), "目标时区");
        assert_eq!(ZH.argument_label("send_mail", "to"), "收件人");
    }

    #[test]
    fn an_argument_without_words_is_named_as_people_would_write_it() {
        for (name, label) in
            [("reply_to", "Reply to"), ("replyTo", "Reply to"), ("_", "_"), ("", ""), ("天气", "天气")]
        {
            assert_eq!(EN.argument_label("send_mail", name), label);
        }
    }
}
