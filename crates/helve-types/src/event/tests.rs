//! How facts are written and read back.

use uuid::Uuid;

use super::*;
use crate::{FailureKind, RunId};

#[test]
fn a_fact_is_written_under_its_kind_and_reads_back() {
    let call = CallId::new(RunId(Uuid::from_u128(1)), 1, 0);
    let facts = [
        Fact::TextFinished { step: 1, part: PartId::new(1, 1, 0), text: "hé".into() },
        Fact::ToolRequested {
            step: 1,
            call: call.clone(),
            provider_id: None,
            tool: "time".into(),
            arguments: "{\"zone\": \"Asia/Tokyo\"}".into(),
            part: None,
            replaces: None,
            repairs: vec![],
        },
        Fact::ToolRefused { call, failure: Failure::new(FailureKind::Denied, "no"), trail: Trail::default() },
        Fact::RunCancelled(Cancelled { by: "mei".into() }),
    ];
    for fact in facts {
        let body = EventBody { at: Timestamp(5), fact };
        let json = serde_json::to_string(&body).unwrap();
        let type_member = format!("\"type\":\"{}\"", body.fact.kind());
        assert!(json.contains(&type_member), "{json}");
        assert_eq!(serde_json::from_str::<EventBody>(&json).unwrap(), body);
    }
}

#[test]
fn a_question_about_an_outcome_cannot_be_approved() {
    let approve = Answer::approve();
    assert!(approve.fits(ApprovalKind::Permission));
    assert!(!approve.fits(ApprovalKind::Outcome));
    assert!(Answer::Expire.fits(ApprovalKind::Outcome));
}

#[test]
fn only_a_question_of_the_model_is_replied_to_or_declined() {
    let reply = Answer::Reply { value: "blue".into() };
    let decline = Answer::Decline { reason: String::new() };
    for kind in [ApprovalKind::Permission, ApprovalKind::Outcome, ApprovalKind::Budget] {
        assert!(!reply.fits(kind) && !decline.fits(kind), "{kind:?}");
    }
    assert!(reply.fits(ApprovalKind::User) && decline.fits(ApprovalKind::User));
    for other in [Answer::approve(), Answer::Reject { reason: String::new() }] {
        assert!(!other.fits(ApprovalKind::User), "{other:?}");
    }
    assert!(Answer::Expire.fits(ApprovalKind::User));
}
