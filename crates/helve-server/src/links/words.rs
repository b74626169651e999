//! What the page of a link says, in the reader's language.

use axum::http::{HeaderMap, header};
use helve_types::{Answer, ApprovalKind, Effect, OutcomeAnswer};

pub(super) struct Words {
    pub(super) tag: &'static str,
    pub(super) permission: &'static str,
    pub(super) outcome: &'static str,
    pub(super) budget: &'static str,
    pub(super) tool: &'static str,
    pub(super) because: &'static str,
    pub(super) effect: &'static str,
    effects: [&'static str; 3],
    pub(super) request: &'static str,
    pub(super) sent: &'static str,
    pub(super) sent_at: &'static str,
    pub(super) checked: &'static str,
    pub(super) arguments: &'static str,
    pub(super) until: &'static str,
    pub(super) asks_for: &'static str,
    pub(super) reason: &'static str,
    decisions: [(&'static str, &'static str); 5],
    pub(super) only_this: &'static str,
    pub(super) bad_link: &'static str,
    pub(super) too_many_guesses: &'static str,
    pub(super) expired_link: &'static str,
    pub(super) unavailable: &'static str,
    pub(super) not_from_here: &'static str,
    pub(super) not_understood: &'static str,
    pub(super) withdrawn: &'static str,
    pub(super) answered: &'static str,
    pub(super) by: &'static str,
    answers: [&'static str; 7],
}

impl Words {
    /// In the first language of the request that there is.
    pub(super) fn of(headers: &HeaderMap) -> &'static Self {
        let wanted = headers.get(header::ACCEPT_LANGUAGE).and_then(|value| value.to_str().ok());
        let wanted = wanted.unwrap_or_default().to_ascii_lowercase();
        let mut tags = wanted.split(',').map(str::trim_start);
        let first = tags.find(|tag| tag.starts_with("zh") || tag.starts_with("en"));
        if first.is_some_and(|tag| tag.starts_with("zh")) { &ZH } else { &EN }
    }

    pub(super) fn title(&self, kind: ApprovalKind) -> &'static str {
        match kind {
            ApprovalKind::Permission => self.permission,
            ApprovalKind::Outcome => self.outcome,
            ApprovalKind::Budget => self.budget,
        }
    }

    pub(super) fn effect(&self, effect: Effect) -> &'static str {
        self.effects[match effect {
            Effect::Read => 0,
            Effect::Idempotent => 1,
            Effect::NonIdempotent => 2,
        }]
    }

    pub(super) fn decision(&self, name: &str) -> &'static str {
        self.decisions.iter().find(|(known, _)| *known == name).map_or("", |(_, word)| word)
    }

    pub(super) fn answer(&self, answer: &Answer) -> &'static str {
        self.answers[match answer {
            Answer::Approve { .. } => 0,
            Answer::Reject { .. } => 1,
            Answer::Respond { .. } => 2,
            Answer::Outcome { answer: OutcomeAnswer::Happened } => 3,
            Answer::Outcome { answer: OutcomeAnswer::DidNotHappen } => 4,
            Answer::Outcome { answer: OutcomeAnswer::RunAgain } => 5,
            Answer::Expire => 6,
        }]
    }
}

const EN: Words = Words {
    tag: "en",
    permission: "May this call run?",
    outcome: "Did this call happen?",
    budget: "May this run spend more?",
    tool: "Tool",
    because: "Why you are asked",
    effect: "Effect",
    effects: [
        "reads only",
        "changes something; doing it twice is as doing it once",
        "changes something and cannot be taken back",
    ],
    request: "What will be sent",
    sent: "What was sent",
    sent_at: "Sent, and it may or may not have happened",
    checked: "What the check tool says",
    arguments: "Arguments",
    until: "Open until",
    asks_for: "Asked for",
    reason: "Reason, if you say no (the model reads it)",
    decisions: [
        ("approve", "Allow this once"),
        ("reject", "Do not allow"),
        ("happened", "It happened"),
        ("did_not_happen", "It did not happen"),
        ("run_again", "Do it again"),
    ],
    only_this: "This link answers this one question. Whoever has it can answer, so do not pass it on.",
    bad_link: "This link is not valid. It may have been cut off on its way: open the whole link, or answer in Helve.",
    too_many_guesses: "Too many wrong tokens came from your address. Wait a minute, then open the link again.",
    expired_link: "This link has expired. Answer in Helve.",
    unavailable: "Helve cannot answer at the moment. Nothing was changed; try again in a minute.",
    not_from_here: "This answer did not come from the page of the link, so it does not count. Open the link and answer there.",
    not_understood: "This answer does not fit the question. Open the link and answer there.",
    withdrawn: "The run ended before anybody answered. There is nothing left to decide.",
    answered: "This question is settled",
    by: "by",
    answers: [
        "allowed",
        "not allowed",
        "answered in the tool's place",
        "it happened",
        "it did not happen",
        "it is done again",
        "nobody answered in time",
    ],
};

const ZH: Words = Words {
    tag: "zh",
    permission: "是否允许执行这次调用？",
    outcome: "这次调用是否已经生效？",
    budget: "是否允许这次运行继续花费？",
    tool: "工具",
    because: "为什么询问您",
    effect: "影响",
    effects: ["只读", "会产生更改；重复执行与执行一次相同", "会产生更改，且无法撤回"],
    request: "将要发送的内容",
    sent: "已经发送的内容",
    sent_at: "发送时间（可能已生效，也可能没有）",
    checked: "检查工具的回答",
    arguments: "参数",
    until: "有效至",
    asks_for: "询问对象",
    reason: "如果拒绝，请说明理由（模型会读到）",
    decisions: [
        ("approve", "仅允许这一次"),
        ("reject", "不允许"),
        ("happened", "已经生效"),
        ("did_not_happen", "没有生效"),
        ("run_again", "重新执行"),
    ],
    only_this: "此链接只能回答这一个问题。任何持有链接的人都可以回答，请勿转发。",
    bad_link: "此链接无效，可能在传送途中被截断。请打开完整的链接，或在 Helve 中回答。",
    too_many_guesses: "来自您所在地址的错误令牌过多。请等待一分钟，然后重新打开此链接。",
    expired_link: "此链接已过期。请在 Helve 中回答。",
    unavailable: "Helve 暂时无法响应。没有任何改动，请稍后再试。",
    not_from_here: "这个回答不是从链接页面发出的，因此无效。请打开链接并在页面中回答。",
    not_understood: "这个回答与问题不符。请打开链接并在页面中回答。",
    withdrawn: "运行在有人回答之前已经结束，无需再作决定。",
    answered: "这个问题已有结论",
    by: "回答者",
    answers: ["已允许", "未允许", "已代替工具作答", "已经生效", "没有生效", "将重新执行", "无人及时回答"],
};
