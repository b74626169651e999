//! All dialects, and what is live when one or all of them are read.

use std::fmt;
use std::sync::OnceLock;

use crate::Dialect;
use crate::dialect::{END_TOKENS, GivenMarks, Grammar, Lookahead, Mark, Opener, RESULTS, Reasoning};
use crate::families::{channels, framed, function_xml, gemma, json_tags, nested_xml, pythonic, reasoning};
use crate::marker::Markers;
use crate::parser::opening;
use helve_json::byte_search::StopBytes;

/// In the order in which they are tried where they share a mark.
static DIALECTS: &[&Dialect] = &[
    &json_tags::json_fenced::DIALECT,
    &json_tags::json_bare::DIALECT,
    &json_tags::hermes::DIALECT,
    &json_tags::jamba::DIALECT,
    &json_tags::nemotron_deci::DIALECT,
    &json_tags::granite::DIALECT,
    &json_tags::granite_20b_fc::DIALECT,
    &json_tags::longcat::DIALECT,
    &json_tags::internlm::DIALECT,
    &json_tags::cohere_cmd::DIALECT,
    &json_tags::apertus::DIALECT,
    &json_tags::gigachat3::DIALECT,
    &json_tags::phi4_mini::DIALECT,
    &json_tags::sarashina::DIALECT,
    &json_tags::llama3_json::DIALECT,
    &function_xml::qwen3_coder::DIALECT,
    &function_xml::seed_oss::DIALECT,
    &function_xml::glm47::DIALECT,
    &function_xml::glm45::DIALECT,
    &function_xml::poolside_v1::DIALECT,
    &function_xml::hy_v3::DIALECT,
    &function_xml::hy_v4::DIALECT,
    &function_xml::minimax_m2::DIALECT,
    &nested_xml::minimax_m3::DIALECT,
    &function_xml::dots::DIALECT,
    &function_xml::minicpm5::DIALECT,
    &function_xml::claude_xml::DIALECT,
    &function_xml::step3::DIALECT,
    &function_xml::deepseek_v32::DIALECT,
    &function_xml::deepseek_v4::DIALECT,
    &function_xml::deepseek_v41::DIALECT,
    &framed::mistral::DIALECT,
    &framed::kimi_k2::DIALECT,
    &framed::deepseek_v31::DIALECT,
    &framed::deepseek_v3::DIALECT,
    &framed::llama31_function_tag::DIALECT,
    &gemma::gemma4::DIALECT,
    &gemma::functiongemma::DIALECT,
    &channels::muse_glimmer::DIALECT,
    &channels::muse_spark::DIALECT,
    &channels::beam::DIALECT,
    &channels::harmony::DIALECT,
    &channels::kimi_k3::DIALECT,
    &channels::inkling::DIALECT,
    &channels::functionary_v32::DIALECT,
    &pythonic::tool_code::DIALECT,
    &pythonic::olmo3::DIALECT,
    &pythonic::lfm2::DIALECT,
    &pythonic::pythonic::DIALECT,
    &pythonic::llama4_pythonic::DIALECT,
    &json_tags::xlam::DIALECT,
    &json_tags::ernie45::DIALECT,
    &json_tags::hunyuan_a13b::DIALECT,
    &json_tags::apriel::DIALECT,
    &json_tags::command_r_plus::DIALECT,
    &json_tags::content_only::DIALECT,
    &pythonic::raven::DIALECT,
    &framed::react::DIALECT,
    &reasoning::think::DIALECT,
    &reasoning::think_seed::DIALECT,
    &reasoning::think_hy::DIALECT,
    &reasoning::think_granite::DIALECT,
    &reasoning::think_mm::DIALECT,
    &reasoning::think_mistral::DIALECT,
    &reasoning::think_kimi::DIALECT,
    &reasoning::think_apertus::DIALECT,
    &reasoning::think_cohere::DIALECT,
    &reasoning::think_longcat::DIALECT,
    &reasoning::scratch_pad::DIALECT,
    &reasoning::think_hunyuan::DIALECT,
    &reasoning::think_ernie::DIALECT,
];

/// Those of them that mark reasoning, and no calls.
static REASONING: &[&Dialect] = &[
    &reasoning::think::DIALECT,
    &reasoning::think_seed::DIALECT,
    &reasoning::think_hy::DIALECT,
    &reasoning::think_granite::DIALECT,
    &reasoning::think_mm::DIALECT,
    &reasoning::think_mistral::DIALECT,
    &reasoning::think_kimi::DIALECT,
    &reasoning::think_apertus::DIALECT,
    &reasoning::think_cohere::DIALECT,
    &reasoning::think_longcat::DIALECT,
    &reasoning::scratch_pad::DIALECT,
    &reasoning::think_hunyuan::DIALECT,
    &reasoning::think_ernie::DIALECT,
];

/// Every dialect there is.
pub fn dialects() -> &'static [&'static Dialect] {
    DIALECTS
}

/// The dialect of this name.
pub fn dialect(name: &str) -> Option<&'static Dialect> {
    DIALECTS.iter().copied().find(|dialect| dialect.name == name)
}

/// What to look for in prose.
pub(crate) struct ActiveMarks {
    pub(crate) markers: Markers,
    /// By marker.
    pub(crate) roles: Vec<MarkerRole>,
    /// By marker: the dialects behind whose calls it is a stray.
    strays: Vec<Vec<&'static str>>,
    pub(crate) alone: Vec<OpenerChoice>,
    pub(crate) start: Vec<OpenerChoice>,
    /// By the word behind a code fence.
    fences: Vec<(&'static str, Vec<OpenerChoice>)>,
    /// Bytes at which prose must be looked at: those that begin a marker, code or an unmarked call.
    pub(crate) stops: StopBytes,
    /// The same where the ends of lines matter too.
    pub(crate) line_stops: StopBytes,
    /// Whether there may be calls in the text, and not only reasoning.
    pub(crate) calls: bool,
}

pub(crate) enum MarkerRole {
    Call(Vec<OpenerChoice>),
    /// The beginning of reasoning, up to one of these.
    OpenReasoning(Vec<&'static str>),
    CloseReasoning,
    Silent,
    /// Text, except behind a call of a dialect that has it.
    Stray,
    /// The end of a channel's message.
    Over,
    /// The end of all that counts.
    EndsOutput,
    /// The beginning of a tool's result, or its end.
    Result(bool),
}

/// One way to read what follows a mark.
#[derive(Clone, Copy)]
pub(crate) struct OpenerChoice {
    pub(crate) dialect: &'static Dialect,
    pub(crate) then: Lookahead,
    pub(crate) grammar: Grammar,
}

impl fmt::Debug for ActiveMarks {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Live").field(&self.roles.len()).finish()
    }
}

impl ActiveMarks {
    /// The live set of one dialect, or of all; each is built once.
    pub(crate) fn for_dialect(dialect: Option<&'static Dialect>) -> &'static Self {
        static LIVE: [OnceLock<ActiveMarks>; DIALECTS.len() + 1] =
            [const { OnceLock::new() }; DIALECTS.len() + 1];
        let one = dialect.and_then(|one| DIALECTS.iter().position(|d| std::ptr::eq(*d, one)));
        match one {
            Some(index) => {
                LIVE[index].get_or_init(|| Self::new(&DIALECTS[index..=index], &DIALECTS[index].given))
            }
            None => LIVE[DIALECTS.len()].get_or_init(|| {
                let found: Vec<_> = DIALECTS.iter().copied().filter(|dialect| dialect.found).collect();
                Self::new(&found, &GivenMarks::NOTHING)
            }),
        }
    }

    /// The live set of nothing but reasoning.
    pub(crate) fn for_reasoning() -> &'static Self {
        static LIVE: OnceLock<ActiveMarks> = OnceLock::new();
        LIVE.get_or_init(|| {
            let dialects: Vec<_> = REASONING.iter().copied().filter(|dialect| dialect.found).collect();
            Self { calls: false, ..Self::new(&dialects, &GivenMarks::NOTHING) }
        })
    }

    /// The ways to read what follows a mark, in the order in which they are tried.
    pub(crate) fn choices(&self, mark: opening::MarkId) -> &[OpenerChoice] {
        match mark {
            opening::MarkId::Tag(marker) => match &self.roles[marker] {
                MarkerRole::Call(choices) => choices,
                _ => &[],
            },
            opening::MarkId::Alone => &self.alone,
            opening::MarkId::Start => &self.start,
            opening::MarkId::Fence(fence) => &self.fences[fence].1,
        }
    }

    /// Whether the marker begins the head of a message, and nothing else.
    pub(crate) fn is_head(&self, marker: usize) -> bool {
        let head = |choice: &OpenerChoice| matches!(choice.grammar, Grammar::Channel(_));
        matches!(&self.roles[marker], MarkerRole::Call(choices) if choices.iter().all(head))
    }

    /// Whether the marker may begin the head of a message.
    pub(crate) fn may_be_head(&self, marker: usize) -> bool {
        let head = |choice: &OpenerChoice| matches!(choice.grammar, Grammar::Channel(_));
        matches!(&self.roles[marker], MarkerRole::Call(choices) if choices.iter().any(head))
    }

    /// Whether the marker is left out behind a call of one of these dialects. One that is an ordinary word never is.
    pub(crate) fn is_stray(&self, marker: usize, spoken: impl Fn(&'static str) -> bool) -> bool {
        !self.is_words(marker) && self.strays[marker].iter().any(|dialect| spoken(dialect))
    }

    /// Whether the marker is ordinary text.
    pub(crate) fn is_words(&self, marker: usize) -> bool {
        is_words(self.markers.text(marker))
    }

    /// The fence with this word behind it, if a dialect knows it.
    pub(crate) fn find_fence(&self, word: &str) -> Option<usize> {
        self.fences.iter().position(|(known, _)| *known == word)
    }

    /// Whether the word behind the fence says that calls are inside.
    pub(crate) fn is_for_calls(&self, fence: usize) -> bool {
        self.fences[fence].0 == pythonic::tool_code::WORD
    }

    fn new(dialects: &[&'static Dialect], given: &'static GivenMarks) -> Self {
        let mut marks = MarkTable::default();
        let mut alone = Vec::new();
        let mut start = Vec::new();
        let mut fences = Vec::new();
        for &dialect in dialects {
            for opener in dialect.openers.iter().chain(given.openers) {
                let choice = OpenerChoice { dialect, then: opener.then, grammar: opener.grammar };
                match opener.mark {
                    Mark::Alone => alone.push(choice),
                    Mark::Start => start.push(choice),
                    Mark::Fence(words) => words.iter().for_each(|word| add_fence(&mut fences, word, choice)),
                    Mark::Tag(text) => marks.add_opener(text, choice),
                }
            }
        }
        // A mark has one role, the first of these that it is given.
        for &dialect in dialects {
            dialect.reasoning.iter().chain(given.reasoning).for_each(|one| marks.add_reasoning(one));
            dialect.over.iter().for_each(|text| marks.add(text, MarkerRole::Over));
            dialect.ends_output.iter().for_each(|text| marks.add(text, MarkerRole::EndsOutput));
            dialect.silent.iter().chain(given.silent).for_each(|text| marks.add(text, MarkerRole::Silent));
        }
        dialects
            .iter()
            .flat_map(|dialect| dialect.strays)
            .for_each(|text| marks.add(text, MarkerRole::Stray));
        // Last, since some dialects have given them another role.
        END_TOKENS.iter().for_each(|text| marks.add(text, MarkerRole::Silent));
        for (open, close) in RESULTS {
            marks.add(open, MarkerRole::Result(true));
            marks.add(close, MarkerRole::Result(false));
        }
        let MarkTable { texts, roles } = marks;
        let strays = texts.iter().map(|text| dialects_with_mark(text, dialects)).collect();
        let unmarked: &[u8] = if alone.is_empty() { b"" } else { b"{[" };
        let firsts = texts.iter().map(|text| text.as_bytes()[0]);
        let stops: Vec<u8> = firsts.chain(*b"`~").chain(unmarked.iter().copied()).collect();
        let line_stops = StopBytes::new(stops.iter().copied().chain(*b"\n"));
        let stops = StopBytes::new(stops);
        let markers = Markers::new(texts);
        Self { markers, roles, strays, alone, start, fences, stops, line_stops, calls: true }
    }
}

/// Marks, each with what it means.
#[derive(Default)]
struct MarkTable {
    texts: Vec<&'static str>,
    roles: Vec<MarkerRole>,
}

impl MarkTable {
    /// A mark that means this, unless it means something else already.
    fn add(&mut self, text: &'static str, role: MarkerRole) {
        if !self.texts.contains(&text) {
            self.texts.push(text);
            self.roles.push(role);
        }
    }

    fn role_of(&mut self, text: &str) -> Option<&mut MarkerRole> {
        let known = self.texts.iter().position(|known| *known == text)?;
        self.roles.get_mut(known)
    }

    /// One more way to read what follows the mark.
    fn add_opener(&mut self, text: &'static str, choice: OpenerChoice) {
        self.add(text, MarkerRole::Call(Vec::new()));
        if let Some(MarkerRole::Call(choices)) = self.role_of(text) {
            choices.push(choice);
        }
    }

    fn add_reasoning(&mut self, marks: &'static Reasoning) {
        self.add(marks.open, MarkerRole::OpenReasoning(Vec::new()));
        if let Some(MarkerRole::OpenReasoning(closers)) = self.role_of(marks.open)
            && !closers.contains(&marks.close)
        {
            closers.push(marks.close);
        }
        self.add(marks.close, MarkerRole::CloseReasoning);
    }
}

fn add_fence(fences: &mut Vec<(&'static str, Vec<OpenerChoice>)>, word: &'static str, choice: OpenerChoice) {
    match fences.iter_mut().find(|(known, _)| *known == word) {
        Some((_, choices)) => choices.push(choice),
        None => fences.push((word, vec![choice])),
    }
}

/// The dialects behind whose calls the mark is a stray.
fn dialects_with_mark(text: &str, dialects: &[&'static Dialect]) -> Vec<&'static str> {
    let opens = |opener: &Opener| matches!(opener.mark, Mark::Tag(mark) if mark == text);
    let has = |dialect: &&&Dialect| dialect.strays.contains(&text) || dialect.openers.iter().any(opens);
    dialects.iter().filter(has).map(|dialect| dialect.name).collect()
}

/// Whether a mark is ordinary text, which people write too.
pub(crate) fn is_words(mark: &str) -> bool {
    mark.chars().all(|c| c.is_alphanumeric() || " _.:：'=>".contains(c))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_word_behind_a_mark_begins_another() {
        let openers = |dialect: &&'static Dialect| dialect.openers.iter().chain(dialect.given.openers);
        for opener in dialects().iter().flat_map(openers) {
            let Lookahead::Words(words) = opener.then else { continue };
            for word in words {
                let begun = words.iter().filter(|other| other.starts_with(word)).count();
                assert_eq!(begun, 1, "{word}");
            }
        }
    }

    #[test]
    fn no_marker_stands_in_another() {
        let given = dialects().iter().map(|dialect| ActiveMarks::for_dialect(Some(dialect)));
        for live in given.chain([ActiveMarks::for_dialect(None)]) {
            for (i, a) in live.markers.texts().iter().enumerate() {
                for (j, b) in live.markers.texts().iter().enumerate() {
                    assert!(i == j || !b.contains(a), "`{a}` stands in `{b}`");
                }
            }
        }
    }

    #[test]
    fn what_has_no_marks_is_nobodys() {
        let call = r#"{"name": "f", "arguments": {}}"#;
        let found = |text: &str| {
            let tools = crate::Tools::new([("f".to_owned(), serde_json::json!({}))]);
            crate::read(text, crate::Reading::any(tools), None).dialect
        };
        assert_eq!(found(call), Some("json_bare"));
        assert_eq!(found(&format!("[{call}]")), Some("json_bare"));
        assert_eq!(found(&format!("```json\n{call}\n```")), Some("json_fenced"));
    }

    #[test]
    fn names_are_unique_and_found() {
        for (index, one) in dialects().iter().enumerate() {
            assert_eq!(dialects().iter().position(|d| d.name == one.name), Some(index));
            assert!(dialect(one.name).is_some());
        }
        assert!(dialect("nonesuch").is_none());
    }
}
