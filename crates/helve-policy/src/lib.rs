//! Rules in, verdict out.
//!
//! Owns the judgement of a described call: may it run, must a person be asked, or is it forbidden? Pure: no
//! IO, no clock, no knowledge of tools beyond what the description says, so that people who read nothing else
//! can review it.
//!
//! Rules stand in layers (the operator's, the agent's). Within a layer the first rule that matches speaks for
//! it; among the layers the strictest verdict wins; where no layer speaks, the effect class decides: what
//! changes nothing is allowed, everything else asks. Where the verdict is to ask, a person may have answered before
//! for all calls of the kind: an `Allowance`. Where a rule names approvers, `Ballot` says whose answer counts.

mod allowance;
mod data_leak;
mod judge;
mod pattern;
mod rule;
mod vote;

pub use allowance::{Allowance, AllowanceScope, CallOccasion, build_conditions, fits_all, parse_patterns};
pub use data_leak::{DataLeak, find_leak};
pub use judge::{CallAccess, Judgement, Rules, Verdict};
pub use pattern::Pattern;
pub use rule::{Action, Rule, RuleExample, matches_wildcard};
pub use vote::{Ballot, GroupsOf, VoteEffect, VoteRefusal};
