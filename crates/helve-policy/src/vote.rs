//! Whether a person's answer to a question counts, and whether it settles the question. Pure.

use std::collections::BTreeSet;

use helve_types::{Answer, Approvers, Vote};

/// A question that approvers answer, as it stands.
#[derive(Debug, Clone, Copy)]
pub struct Ballot<'a> {
    pub approvers: &'a Approvers,
    /// The others, too, may answer by now.
    pub escalated: bool,
    /// The user whose run it is.
    pub requester: &'a str,
    pub votes: &'a [Vote],
}

/// What an answer does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum VoteEffect {
    /// It is one of several; so many more must agree.
    Counted { missing: u32 },
    /// It settles the question.
    Decides,
}

/// Why an answer does not count.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum VoteRefusal {
    #[error("others decide about this: only the approvers that the rule names may answer")]
    NotApprover,

    #[error("you cannot decide about your own request; another approver must")]
    OwnRequest,

    #[error("you have answered this question before, and one person counts once")]
    AlreadyVoted,

    #[error(
        "others have agreed to something else: agree to just that, with the same arguments, or reject it with a reason"
    )]
    OtherDecision,
}

/// The groups of a user, by name.
pub type GroupsOf<'a> = &'a dyn Fn(&str) -> BTreeSet<String>;

impl Ballot<'_> {
    /// Whether the user may answer, whatever was answered before.
    pub fn check_approver(&self, user: &str, groups_of: GroupsOf<'_>) -> Result<(), VoteRefusal> {
        if user == self.requester && !self.approvers.requester_may_approve {
            return Err(VoteRefusal::OwnRequest);
        }
        if self.names(user, groups_of) { Ok(()) } else { Err(VoteRefusal::NotApprover) }
    }

    /// Whether the user is named, also where it is their own request.
    pub fn names(&self, user: &str, groups_of: GroupsOf<'_>) -> bool {
        let Approvers { users, groups, escalate, .. } = self.approvers;
        let more = escalate.as_ref().filter(|_| self.escalated);
        let (more_users, more_groups) = more.map_or((&[][..], &[][..]), |more| (&more.users, &more.groups));
        let is_in = |names: &[String]| names.iter().any(|name| name == user);
        is_in(users) || is_in(more_users) || {
            let own = groups_of(user);
            groups.iter().chain(more_groups).any(|group| own.contains(group))
        }
    }

    /// What the answer does. A no settles the question at once; a yes counts beside those before it of people who are
    /// still approvers and agreed to the same.
    pub fn judge_vote(
        &self,
        by: &str,
        answer: &Answer,
        groups_of: GroupsOf<'_>,
    ) -> Result<VoteEffect, VoteRefusal> {
        self.check_approver(by, groups_of)?;
        if matches!(answer, Answer::Reject { .. } | Answer::Decline { .. }) {
            return Ok(VoteEffect::Decides);
        }
        if self.votes.iter().any(|vote| vote.by == by) {
            return Err(VoteRefusal::AlreadyVoted);
        }
        let valid: Vec<&Vote> = self.valid_votes(groups_of).collect();
        if valid.iter().any(|vote| !vote.answer.is_same_decision(answer)) {
            return Err(VoteRefusal::OtherDecision);
        }
        let given = u32::try_from(valid.len() + 1).unwrap_or(u32::MAX);
        match self.approvers.approvals.saturating_sub(given) {
            0 => Ok(VoteEffect::Decides),
            missing => Ok(VoteEffect::Counted { missing }),
        }
    }

    /// Votes of people who may still answer: who has lost the group has lost the vote.
    pub fn valid_votes<'a>(&'a self, groups_of: GroupsOf<'a>) -> impl Iterator<Item = &'a Vote> {
        self.votes.iter().filter(move |vote| self.check_approver(&vote.by, groups_of).is_ok())
    }
}

#[cfg(test)]
mod tests {
    use helve_types::{Escalation, Timestamp};

    use super::*;

    fn approvers() -> Approvers {
        Approvers {
            users: vec!["boss".into()],
            groups: vec!["finance".into()],
            approvals: 2,
            requester_may_approve: false,
            remind_after_minutes: None,
            escalate: Some(Escalation { after_minutes: 5, users: vec![], groups: vec!["managers".into()] }),
        }
    }

    /// `mei`, `li` and `wang` are in finance; `zhao` is a manager.
    fn groups_of(user: &str) -> BTreeSet<String> {
        let group = match user {
            "mei" | "li" | "wang" => "finance",
            "zhao" => "managers",
            _ => return BTreeSet::new(),
        };
        BTreeSet::from([group.to_owned()])
    }

    fn vote(by: &str, answer: Answer) -> Vote {
        Vote { by: by.into(), answer, at: Timestamp(1) }
    }

    fn edit(arguments: &str) -> Answer {
        Answer::Approve { arguments: Some(arguments.into()), always: None }
    }

    fn judge(votes: &[Vote], by: &str, answer: &Answer) -> Result<VoteEffect, VoteRefusal> {
        let approvers = approvers();
        let ballot = Ballot { approvers: &approvers, escalated: false, requester: "mei", votes };
        ballot.judge_vote(by, answer, &groups_of)
    }

    #[test]
    fn two_of_the_group_decide_and_neither_is_who_asked() {
        let yes = Answer::approve();
        assert_eq!(judge(&[], "mei", &yes), Err(VoteRefusal::OwnRequest));
        assert_eq!(judge(&[], "zhao", &yes), Err(VoteRefusal::NotApprover));
        assert_eq!(judge(&[], "li", &yes), Ok(VoteEffect::Counted { missing: 1 }));
        let votes = [vote("li", yes.clone())];
        assert_eq!(judge(&votes, "li", &yes), Err(VoteRefusal::AlreadyVoted));
        assert_eq!(judge(&votes, "boss", &yes), Ok(VoteEffect::Decides));
        assert_eq!(judge(&votes, "wang", &yes), Ok(VoteEffect::Decides));
    }

    #[test]
    fn a_no_settles_it_also_from_somebody_who_agreed_before() {
        let no = Answer::Reject { reason: "no".into() };
        assert_eq!(judge(&[], "li", &no), Ok(VoteEffect::Decides));
        assert_eq!(judge(&[vote("li", Answer::approve())], "li", &no), Ok(VoteEffect::Decides));
        assert_eq!(judge(&[], "mei", &no), Err(VoteRefusal::OwnRequest));
        assert_eq!(judge(&[], "nobody", &no), Err(VoteRefusal::NotApprover));
    }

    #[test]
    fn people_must_agree_to_the_same_edit() {
        let votes = [vote("li", edit(r#"{"amount": 5}"#))];
        assert_eq!(judge(&votes, "wang", &Answer::approve()), Err(VoteRefusal::OtherDecision));
        assert_eq!(judge(&votes, "wang", &edit(r#"{"amount":6}"#)), Err(VoteRefusal::OtherDecision));
        assert_eq!(judge(&votes, "wang", &edit(r#"{"amount":5}"#)), Ok(VoteEffect::Decides));
    }

    #[test]
    fn the_vote_of_somebody_who_has_left_the_group_does_not_count() {
        let yes = Answer::approve();
        let votes = [vote("gone", yes.clone())];
        assert_eq!(judge(&votes, "li", &yes), Ok(VoteEffect::Counted { missing: 1 }));
        // Nor does it bind others to an edit.
        assert_eq!(judge(&[vote("gone", edit("{}"))], "li", &yes), Ok(VoteEffect::Counted { missing: 1 }));
    }

    #[test]
    fn after_the_escalation_the_others_may_answer_too() {
        let approvers = approvers();
        let yes = Answer::approve();
        let votes = [vote("li", yes.clone())];
        let ballot = Ballot { approvers: &approvers, escalated: true, requester: "mei", votes: &votes };
        assert_eq!(ballot.judge_vote("zhao", &yes, &groups_of), Ok(VoteEffect::Decides));
        assert_eq!(ballot.judge_vote("wang", &yes, &groups_of), Ok(VoteEffect::Decides));
    }

    #[test]
    fn the_requester_may_approve_where_the_rule_says_so() {
        let approvers = Approvers { requester_may_approve: true, approvals: 1, ..approvers() };
        let ballot = Ballot { approvers: &approvers, escalated: false, requester: "mei", votes: &[] };
        assert_eq!(ballot.judge_vote("mei", &Answer::approve(), &groups_of), Ok(VoteEffect::Decides));
    }
}
