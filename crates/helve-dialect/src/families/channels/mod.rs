//! Messages in channels: a head says whether reasoning, an answer or a call follows.
//!
//! The body reads heads only. What a message says is then read as text, or by the body of the call's own family. In
//! an open channel only the marks of its scope mean anything, so markup that is merely quoted there stays text.

pub(crate) mod beam;
mod body;
pub(crate) mod functionary_v32;
pub(crate) mod harmony;
pub(crate) mod inkling;
pub(crate) mod kimi_k3;
pub(crate) mod muse_glimmer;
pub(crate) mod muse_spark;

pub(crate) use body::ChannelBody;

use crate::Tools;
use crate::body::ChannelTurn;
use crate::dialect::Grammar;

/// How heads are written.
pub(crate) struct ChannelGrammar {
    /// What may end a head.
    pub(crate) signs: &'static [(&'static str, HeadSign)],
    /// Where the message goes, by the head and by the kind of sign behind it. Nowhere if it is no head.
    pub(crate) route: fn(&str, &'static str, &Tools) -> Option<HeadRoute>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum HeadSign {
    /// The message begins; where there are several such signs, this is the kind.
    Message(&'static str),
    /// The same, and the sign of one byte is the message's first.
    Body(&'static str),
    /// What was read is no head, but here one begins.
    Again,
    /// The message was over before it began.
    Over,
}

pub(crate) struct HeadRoute {
    pub(crate) turn: ChannelTurn,
    /// The tool that is called.
    pub(crate) name: Option<String>,
}

impl HeadRoute {
    pub(crate) fn to_turn(turn: ChannelTurn) -> Option<Self> {
        Some(Self { turn, name: None })
    }

    pub(crate) fn to_call(name: &str, grammar: Grammar) -> Option<Self> {
        Some(Self { turn: ChannelTurn::Call(grammar), name: Some(name.to_owned()) })
    }
}
