//! Which repetitions are pointed out, blocked and asked about.

use helve_types::{MessageId, RunId, Timestamp, ToolOutput};
use uuid::Uuid;

use super::*;

fn call(tool: &str, arguments: &str) -> ToolCall {
    let id = CallId::new(RunId(Uuid::from_u128(1)), 1, 0);
    ToolCall { id, provider_id: None, name: tool.into(), arguments: arguments.into(), repairs: vec![] }
}

/// Plays messages, one a line, with calls as `tool arguments result`, parted by `|`; a result of `!` is a failure, of `?`
/// an unknown outcome, of `-` a refusal of ours. Says what was done about each: `.` made, `b` blocked, `a` asked about
/// and made with a person's consent.
fn play(messages: &str) -> String {
    let mut circles = LoopDetector::default();
    let mut done = String::new();
    for (step, line) in (1..).zip(messages.lines().map(str::trim).filter(|line| !line.is_empty())) {
        for line in line.split('|').map(str::trim) {
            let [tool, arguments, result] = line.splitn(3, ' ').collect::<Vec<_>>().try_into().unwrap();
            let course = circles.verdict(step, &call(tool, arguments));
            let refused = |kind| CallResult::from_failure(&Failure::new(kind, "no"));
            let (mark, came) = match (course, result) {
                (LoopVerdict::Block(_), _) => ('b', refused(FailureKind::Repeating)),
                (course, result) => {
                    let came = match result {
                        "!" => refused(FailureKind::Failed),
                        "-" => refused(FailureKind::Limited),
                        "?" => CallResult::Unknown,
                        text => CallResult::from_output(text),
                    };
                    (if course == LoopVerdict::Continue { '.' } else { 'a' }, came)
                }
            };
            done.push(mark);
            circles.record_result(step, (tool, arguments), came);
        }
    }
    done
}

#[test]
fn the_third_of_the_same_calls_in_a_row_is_asked_about_whatever_came_of_them() {
    assert_eq!(play(&"look {} nothing\n".repeat(6)), "..aaaa");
    assert_eq!(play("job {} 10%\njob {} 20%\njob {} 30%\njob {} 40%"), "..aa");
    assert_eq!(play("send {} !\nsend {} -\nsend {} done"), "..a");
    // However the arguments are written.
    assert_eq!(play("look {\"a\":1,\"b\":2} x\nlook {\"b\":2,\"a\":1} x\nlook {\"a\":1.0,\"b\":2} x"), "..a");
    assert_eq!(play("look {q x\nlook {q x\nlook {q x"), "..a", "and if they are no JSON");
}

#[test]
fn a_row_ends_with_another_call() {
    assert_eq!(play("job {} 1\njob {} 2\nlook {} x\njob {} 3\njob {} 4\njob {} 5"), ".....a");
    assert_eq!(play("job {} 1\njob {} 2|look {} x\njob {} 3\njob {} 4\njob {} 5"), ".....a");
    assert_eq!(play("job {\"n\":1} 1\njob {\"n\":2} 2\njob {\"n\":1} 3\njob {\"n\":2} 4"), "....");
    // What comes beside the third does not hide it.
    assert_eq!(play("job {} 1\njob {} 2\njob {} 3|look {} x"), "..a.");
}

#[test]
fn calls_that_are_never_made_are_seen() {
    let mut circles = LoopDetector::default();
    let mut courses = vec![];
    for (step, kind) in (1..).zip([
        FailureKind::UnknownTool,
        FailureKind::BadArguments,
        FailureKind::Denied,
        FailureKind::Limited,
        FailureKind::Unavailable,
    ]) {
        courses.push(matches!(circles.verdict(step, &call("gone", "{}")), LoopVerdict::Ask(_)));
        circles.record_result(step, ("gone", "{}"), CallResult::from_failure(&Failure::new(kind, "no")));
    }
    assert_eq!(courses, [false, false, true, true, true]);
}

#[test]
fn a_person_may_let_calls_like_one_go_on_for_the_rest_of_the_run() {
    let mut circles = LoopDetector::default();
    let looks = |n: u32| call("look", &format!("{{\"n\":{n}}}"));
    for step in 1..=4 {
        come(&mut circles, step, &looks(1), "x");
    }
    assert!(matches!(circles.verdict(5, &looks(1)), LoopVerdict::Ask(_)));
    let arguments = [("n".to_owned(), Value::from(1))].into();
    circles.exempt_from_loop_check(
        &looks(1),
        &Always { within: helve_types::Within::Run, arguments, days: None },
    );
    for step in 5..=9 {
        assert_eq!(circles.verdict(step, &looks(1)), LoopVerdict::Continue);
        come(&mut circles, step, &looks(1), "x");
    }
    // Another call is another matter.
    for step in 10..=13 {
        come(&mut circles, step, &looks(2), "y");
    }
    assert!(matches!(circles.verdict(14, &looks(2)), LoopVerdict::Ask(_)));
}

#[test]
fn a_call_that_is_repeated_until_something_changes_is_progress() {
    let job = |n: u32| format!("job {{}} {n}0%|log {{}} line {n}\n");
    assert_eq!(play(&(1..9).map(job).collect::<String>()), ".".repeat(16));
    assert_eq!(
        play(&(1..30).map(|n| format!("page {{\"n\":{n}}} text\n")).collect::<String>()),
        ".".repeat(29)
    );
}

#[test]
fn a_cycle_of_calls_is_blocked_in_its_third_round() {
    assert_eq!(play(&"a {} x\nb {} y\n".repeat(5)), "....bbaaaa");
    assert_eq!(play(&"a {} x\nb {} y\nc {} z\n".repeat(3)), "......bbb");
    assert_eq!(play("a {} 1\nb {} y\na {} 2\nb {} y\na {} 3\nb {} y\na {} 4\nb {} y"), "........");
}

#[test]
fn a_tool_that_fails_and_fails_is_left_alone_however_it_is_called() {
    let calls: String = (0..7).map(|n| format!("send {{\"n\":{n}}} !\n")).collect();
    assert_eq!(play(&calls), ".....ba");
    // One success in between, or another tool, begins the count anew.
    let calls: String =
        (0..12).map(|n| format!("send {{\"n\":{n}}} {}\n", if n % 4 == 3 { "sent" } else { "!" })).collect();
    assert_eq!(play(&calls), ".".repeat(12));
}

fn come(circles: &mut LoopDetector, step: u32, call: &ToolCall, result: &str) {
    circles.record_result(step, (&call.name, &call.arguments), CallResult::from_output(result));
}

#[test]
fn the_same_words_with_every_call_are_a_circle_unless_something_comes_of_them() {
    let words = "I will now look at the next page, which must have the answer.";
    let courses = |result: fn(u32) -> String| -> Vec<bool> {
        let mut circles = LoopDetector::default();
        let mut go_on = |step| {
            circles.record_text(words);
            let call = call("page", &format!("{{\"n\":{step}}}"));
            let on = circles.verdict(step, &call) == LoopVerdict::Continue;
            come(&mut circles, step, &call, &result(step));
            on
        };
        (1..=6).map(&mut go_on).collect()
    };
    assert_eq!(courses(|_| "nothing".into()), [true, true, true, false, false, false]);
    assert_eq!(courses(|step| format!("page {step}")), [true; 6]);
}

#[test]
fn equal_calls_of_one_message_are_one() {
    let mut circles = LoopDetector::default();
    let look = call("look", "{}");
    (0..5).for_each(|_| come(&mut circles, 1, &look, "x"));
    assert_eq!(circles.verdict(2, &look), LoopVerdict::Continue);
    (0..5).for_each(|_| come(&mut circles, 2, &look, "x"));
    assert!(matches!(circles.verdict(3, &look), LoopVerdict::Ask(_)));
}

#[test]
fn calls_of_one_message_are_not_judged_by_each_other() {
    let many: Vec<String> = (0..12).map(|n| format!("fetch {{\"n\":{n}}} !")).collect();
    assert_eq!(play(&many.join("|")), ".".repeat(12));
    // In the next messages they are one failure each.
    assert_eq!(play(&format!("{0}\n{0}\n{0}", many[..2].join("|"))), "....bb");
    let others: Vec<String> =
        (0..7).map(|n| format!("fetch {{\"n\":{n}}} ! | fetch {{\"m\":{n}}} !")).collect();
    assert_eq!(play(&others.join("\n")), "..........bbaa");
}

#[test]
fn what_was_refused_for_other_reasons_is_no_failure_of_the_tool() {
    let many: String = (0..9).map(|n| format!("send {{\"n\":{n}}} -\n")).collect();
    assert_eq!(play(&many), ".".repeat(9));
    // But the same call refused again and again is the same call.
    assert_eq!(play(&"send {} -\n".repeat(4)), "..aa");
}

#[test]
fn messages_with_the_same_calls_are_a_circle_however_many_they_are_and_in_whatever_order_they_end() {
    let five = "a {} 1|b {} 2|c {} 3|d {} 4|e {} 5\n";
    let turned = "e {} 5|c {} 3|a {} 1|d {} 4|b {} 2\n";
    assert_eq!(play(&format!("{five}{turned}{five}{turned}")), "..........bbbbbaaaaa");
    let six: String = ('a'..='f').map(|tool| format!("{tool} {{}} x\n")).collect();
    assert_eq!(play(&six.repeat(3)), format!("{}bbbbbb", ".".repeat(12)));
    // The same call beside one that gets on is no circle.
    let beside: String = (0..9).map(|n| format!("look {{}} x|page {{\"n\":{n}}} text {n}\n")).collect();
    assert_eq!(play(&beside), ".".repeat(18));
}

#[test]
fn an_effect_that_may_have_happened_is_not_ordered_again_before_somebody_looked() {
    assert_eq!(play("pay {} ?\npay {} ?\npay {} ?"), ".aa");
    assert_eq!(play("pay {\"n\":1} ?\npay {\"n\":2} ?"), "..");
    assert_eq!(play("pay {} ?\nbalance {} 80\npay {} paid"), "...");
    let (mut circles, pay) = (LoopDetector::default(), call("pay", "{}"));
    circles.record_result(1, ("pay", "{}"), CallResult::Unknown);
    assert!(matches!(circles.verdict(2, &pay), LoopVerdict::Ask(_)));
    circles.resolve_unknown("pay", "{}");
    assert_eq!(circles.verdict(2, &pay), LoopVerdict::Continue);
}

#[test]
fn a_person_who_speaks_ends_a_circle_but_not_what_they_said_before() {
    let (mut circles, look) = (LoopDetector::default(), call("look", "{}"));
    (1..=3).for_each(|step| come(&mut circles, step, &look, "x"));
    circles.exempt_from_loop_check(
        &look,
        &Always { within: helve_types::Within::Run, arguments: BTreeMap::new(), days: None },
    );
    circles.reset();
    (4..=9).for_each(|step| come(&mut circles, step, &look, "x"));
    assert_eq!(circles.verdict(10, &look), LoopVerdict::Continue);
}

/// Which calls of these messages, as `step.tool`, a model is given a hint about. Failures are `!`.
fn hinted(calls: &[(u32, &str, &str)]) -> Vec<String> {
    let run = RunId(Uuid::from_u128(1));
    let mut message = Message::reply(MessageId(Uuid::from_u128(2)), Timestamp(1), run, "m");
    for (index, (step, tool, result)) in (0..).zip(calls) {
        let failed = (*result == "!").then(|| Failure::new(FailureKind::Failed, "no"));
        message.parts.push(Part::Tool(Box::new(ToolPart {
            step: *step,
            call: CallId::new(run, *step, index),
            provider_id: None,
            tool: (*tool).into(),
            input: if failed.is_some() { format!("{{\"n\":{index}}}") } else { "{}".into() },
            state: helve_types::PartState::Completed,
            call_state: None,
            output: failed.is_none().then(|| ToolOutput::text(*result)),
            failure: failed,
            requested_at: Timestamp(1),
            started_at: None,
            ended_at: None,
            cut_off: None,
            subagent: None,
        })));
    }
    let hints = LoopDetector::collect_hints(&message);
    let told = message.tools().filter(|part| hints.contains_key(&part.call));
    told.map(|part| format!("{}.{}", part.step, part.tool)).collect()
}

#[test]
fn what_would_not_be_done_the_next_time_is_pointed_out_with_the_result_before() {
    assert_eq!(hinted(&[(1, "a", "x"), (2, "a", "x")]), ["2.a"]);
    assert_eq!(hinted(&[(1, "a", "x"), (2, "a", "y")]), [""; 0]);
    assert_eq!(hinted(&[(1, "a", "x"), (2, "b", "y"), (3, "a", "x"), (4, "b", "y")]), ["3.a", "4.b"]);
    let fails: Vec<_> = (1..=5).map(|step| (step, "f", "!")).collect();
    assert_eq!(hinted(&fails), ["5.f"]);
    // Calls of one message do not know of each other.
    assert_eq!(hinted(&[(1, "a", "x"), (1, "a", "x")]), [""; 0]);
}
