//! Making the past short enough for a model: when, and what of it, as pure decisions.
//!
//! First outputs of old calls are left out, oldest first; if that is not enough, a summary stands for the oldest part,
//! up to a point where nothing that belongs together is torn. Each time much is made room for at once, since whatever
//! changes at the beginning of a question costs the vendor's cache. What would not shrink is left alone.
//! `step/compaction` does what is decided here, and `transcript` shows the result.

pub(crate) mod prompt;
#[cfg(test)]
mod tests;

use helve_model::Turn;
use helve_model::fleet::Window;
use helve_model::fleet::tokens::{EstimateRatio, estimate_turn_tokens};
use helve_types::CallId;

use crate::transcript::{LEFT_OUT_TOKENS, Output, PlacedTurn};

/// What the operator says about long conversations.
#[derive(Debug, Clone, PartialEq)]
pub struct CompactionSettings {
    pub enabled: bool,
    /// Which share of what a model can read may be used before the past is made shorter.
    pub at: f64,
    /// So much of the newest past keeps its outputs; a quarter of what may be used if not said.
    pub keep_recent_tokens: Option<u64>,
    /// Who writes summaries; the model that is asked if not said.
    pub model: Option<String>,
}

impl Default for CompactionSettings {
    fn default() -> Self {
        Self { enabled: true, at: 0.8, keep_recent_tokens: None, model: None }
    }
}

/// How short the past is to become.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct CompactionGoal {
    /// More than this is too much.
    pub(crate) limit: u64,
    /// Where there is something to do at all, it is done down to here.
    pub(crate) low: u64,
    /// The newest tokens, of which no output is left out.
    pub(crate) keep_recent: u64,
}

impl CompactionGoal {
    /// For a model of which it is known what it can read.
    pub(crate) fn from_window(window: Window, settings: &CompactionSettings) -> Self {
        let limit = (window.question_tokens_max() as f64 * settings.at.clamp(0.1, 1.0)) as u64;
        Self::from_limit(limit, settings)
    }

    /// After the model's server has said that a question of so many tokens is too long.
    pub(crate) fn from_rejected_request(
        asked: u64,
        window: Option<Window>,
        settings: &CompactionSettings,
    ) -> Self {
        let surely = asked * 5 / 8;
        let known = window.map_or(u64::MAX, |window| Self::from_window(window, settings).limit);
        Self::from_limit(surely.min(known), settings)
    }

    fn from_limit(limit: u64, settings: &CompactionSettings) -> Self {
        let keep_recent = settings.keep_recent_tokens.unwrap_or(limit / 4).min(limit / 2);
        Self { limit, low: limit * 5 / 8, keep_recent }
    }
}

/// A question that may be too long, taken to pieces.
pub(crate) struct TurnHistory<'a> {
    turns: &'a [PlacedTurn<'a>],
    /// Of each turn.
    tokens: Vec<u64>,
    /// What is asked besides: the system prompt and the tools.
    fixed: u64,
    keeper: HistoryOwner,
}

/// Who keeps the past.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum HistoryOwner {
    /// So many messages came before the run.
    Server(usize),
    /// It tells it anew with each of its questions: a summary would have to be written anew as often, so
    /// there is none.
    Client,
}

/// What is to be done about it.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct ShorteningPlan {
    pub(crate) pruned: Vec<CallId>,
    pub(crate) client_messages: u32,
    /// How long the question is without these outputs.
    pub(crate) tokens_pruned: u64,
    /// Where a summary is to end, if one is needed.
    pub(crate) cut: Option<SummaryCut>,
}

/// Everything before a point.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct SummaryCut {
    /// The turns that are summed up, from the first.
    pub(crate) turns: usize,
    /// The first message that is shown; the messages before it are summed up.
    pub(crate) message: usize,
    /// In the run itself: the last step that is summed up. What the person said stays.
    pub(crate) through_step: u32,
    /// How long what is summed up is, as it stands.
    pub(crate) tokens: u64,
    /// How long the question is without it, and without a summary.
    pub(crate) tokens_left: u64,
}

/// Whether it is worth anything to come down from one length to another.
pub(crate) fn saves_enough(before: u64, after: u64) -> bool {
    after <= before / 10 * 9
}

impl<'a> TurnHistory<'a> {
    /// `whole` is the estimate of the whole question.
    pub(crate) fn new(
        turns: &'a [PlacedTurn<'a>],
        whole: u64,
        keeper: HistoryOwner,
        ratio: EstimateRatio,
    ) -> Self {
        let tokens: Vec<u64> =
            turns.iter().map(|placed| ratio.correct_estimate(estimate_turn_tokens(&placed.turn))).collect();
        let fixed = ratio.correct_estimate(whole).saturating_sub(tokens.iter().sum());
        Self { turns, tokens, fixed, keeper }
    }

    pub(crate) fn total_tokens(&self) -> u64 {
        self.fixed + self.tokens.iter().sum::<u64>()
    }

    /// What to do so that it fits, or nothing if it does, or if nothing would help.
    pub(crate) fn plan_compaction(&self, goal: &CompactionGoal) -> Option<ShorteningPlan> {
        let whole = self.total_tokens();
        if whole <= goal.limit {
            return None;
        }
        let mut left = self.tokens.clone();
        let mut plan = self.plan_pruning(goal, &mut left);
        if plan.tokens_pruned > goal.limit || !saves_enough(whole, plan.tokens_pruned) {
            plan.cut = self.choose_summary_end(goal, &left);
        }
        // What is too little to be made alone is made with a summary, or not at all.
        (plan.cut.is_some() || saves_enough(whole, plan.tokens_pruned)).then_some(plan)
    }

    /// Leaves outputs out, oldest first, until there is room, and says how long what is left of each turn is.
    fn plan_pruning(&self, goal: &CompactionGoal, left: &mut [u64]) -> ShorteningPlan {
        let mut plan = ShorteningPlan { tokens_pruned: self.total_tokens(), ..ShorteningPlan::default() };
        let settled = self.turns.iter().zip(&mut *left).take(self.first_recent_turn(goal.keep_recent));
        for (PlacedTurn { place, .. }, left) in settled {
            if plan.tokens_pruned <= goal.low {
                break;
            }
            match place.output {
                Output::Stays => continue,
                _ if *left <= LEFT_OUT_TOKENS => continue,
                Output::Of(call) => plan.pruned.push(call.clone()),
                Output::OfClient => plan.client_messages = place.message as u32 + 1,
            }
            plan.tokens_pruned -= *left - LEFT_OUT_TOKENS;
            *left = LEFT_OUT_TOKENS;
        }
        self.prune_rest_of_messages(&mut plan, left);
        plan
    }

    /// A client's results are left out by whole messages.
    fn prune_rest_of_messages(&self, plan: &mut ShorteningPlan, left: &mut [u64]) {
        for (PlacedTurn { place, .. }, left) in self.turns.iter().zip(left) {
            let out = place.output == Output::OfClient && place.message < plan.client_messages as usize;
            if out && *left > LEFT_OUT_TOKENS {
                plan.tokens_pruned -= *left - LEFT_OUT_TOKENS;
                *left = LEFT_OUT_TOKENS;
            }
        }
    }

    /// The turns before the newest so many tokens, and before the last message of a model with its results.
    fn first_recent_turn(&self, keep_recent: u64) -> usize {
        let mut recent = 0;
        let newest = self.tokens.iter().rposition(|tokens| {
            recent += tokens;
            recent > keep_recent
        });
        let is_said = |placed: &PlacedTurn<'_>| matches!(placed.turn, Turn::Assistant { .. });
        let last = self.turns.iter().rposition(is_said).unwrap_or(0);
        newest.map_or(0, |newest| newest + 1).min(last)
    }

    /// Where a summary would have to end: as early as it makes enough room, or else as late as it can.
    fn choose_summary_end(&self, goal: &CompactionGoal, left: &[u64]) -> Option<SummaryCut> {
        let whole = self.total_tokens();
        let cuts: Vec<SummaryCut> =
            (1..self.turns.len()).filter_map(|at| self.make_cut_before(at, left)).collect();
        let with_summary = |cut: &SummaryCut| cut.tokens_left + estimate_summary_tokens(cut.tokens);
        let cut = cuts.iter().find(|cut| with_summary(cut) <= goal.low).or(cuts.last()).copied();
        cut.filter(|cut| saves_enough(whole, with_summary(cut)))
    }

    /// The cut before a turn, if that is a place where nothing is torn: what a person said at the beginning of a run,
    /// or what the model said in this one.
    fn make_cut_before(&self, at: usize, left: &[u64]) -> Option<SummaryCut> {
        let HistoryOwner::Server(own) = self.keeper else { return None };
        let PlacedTurn { turn, place } = &self.turns[at];
        let (message, through_step, kept) = match turn {
            Turn::User(_) if place.step == 0 => (place.message, 0, 0),
            Turn::Assistant { .. } if place.message == own => {
                let asked = self.turns.iter().position(|placed| placed.place.message == own)?;
                // The first of its steps that is shown has nothing before it but the question.
                let through = place.step.saturating_sub(1);
                (asked + 1 < at).then_some((own, through, left[asked]))?
            }
            _ => return None,
        };
        let tokens: u64 = self.tokens[..at].iter().sum();
        let rest: u64 = left[at..].iter().sum();
        Some(SummaryCut { turns: at, message, through_step, tokens, tokens_left: self.fixed + kept + rest })
    }
}

/// How long a summary of so much may be expected to be.
pub(crate) fn estimate_summary_tokens(of: u64) -> u64 {
    (of / 5).clamp(100, 2_000)
}
