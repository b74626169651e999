//! The guards' promises through the whole pipeline, over any history.

use proptest::prelude::*;

use super::*;

/// A paused clock of its own for each case.
fn paused<T>(test: impl Future<Output = T>) -> T {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().start_paused(true).build();
    runtime.unwrap().block_on(test)
}

/// Says for whom, by which version and to what it answers.
struct Mirror {
    spec: ToolSpec,
}

fn mirror(version: u8) -> Mirror {
    let described = format!("Version {version}.");
    Mirror { spec: ToolSpec { description: described, ..spec("look", Effect::Read) } }
}

impl Tool for Mirror {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn call<'a>(&'a self, request: Request<'a>, cx: &'a CallContext) -> ToolFuture<'a> {
        Box::pin(async move {
            // Long enough for others to come meanwhile.
            tokio::time::sleep(Duration::from_secs(20)).await;
            let (user, agent, conversation) = (&cx.user, &cx.agent, cx.conversation);
            let description = &self.spec.description;
            Ok(ToolOutput::text(format!(
                "{description} {user} {agent} {conversation:?} {}",
                request.arguments
            )))
        })
    }
}

/// One call: who asks, where, for what, of which version of the tool, and when.
#[derive(Debug, Clone)]
struct Ask {
    user: u8,
    agent: u8,
    conversation: u8,
    q: u8,
    version: u8,
    at: u64,
    past_the_cache: bool,
}

fn any_ask() -> impl Strategy<Value = Ask> {
    (0u8..3, 0u8..2, 0u8..3, 0u8..2, 0u8..2, 0u64..60, any::<bool>()).prop_map(
        |(user, agent, conversation, q, version, at, past_the_cache)| Ask {
            user,
            agent,
            conversation,
            q,
            version,
            at: at * 10,
            past_the_cache,
        },
    )
}

const SCOPES: [CacheScope; 4] =
    [CacheScope::Everyone, CacheScope::User, CacheScope::Agent, CacheScope::Conversation];

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, ..ProptestConfig::default() })]

    /// P5: what a scope does not share never crosses; other arguments and other versions never do.
    #[test]
    fn no_answer_crosses_to_whom_it_is_not_for(
        scope in 0usize..4,
        asks in proptest::collection::vec(any_ask(), 1..60),
    ) {
        paused(async {
            let scope = SCOPES[scope];
            let lab = Lab::new().await;
            let conversations = [None, Some(lab.world.conversation_id()), Some(lab.world.conversation_id())];
            // Both versions live on and share their guards, as they do while runs that began with the old one go on.
            let parts = lab.registry.registry_parts(&lab.world);
            let made = |version| {
                let tool = mirror(version);
                let hash = tool.spec.version();
                crate::Registered::for_row(Arc::new(tool), hash, cached(scope), &parts).unwrap()
            };
            let first = made(0);
            let second = made(1).into_next_version(&first);
            let versions = [Arc::new(first), Arc::new(second)];
            let runs = asks.iter().map(|ask| async {
                tokio::time::sleep(Duration::from_secs(ask.at)).await;
                let arguments = format!(r#"{{"q": "{}"}}"#, ask.q);
                let call = lab.call("look", &arguments);
                let cx = CallContext {
                    user: helve_types::UserId(format!("user {}", ask.user)),
                    agent: format!("agent {}", ask.agent),
                    conversation: conversations[usize::from(ask.conversation)],
                    toolbox: Arc::new(Toolbox::new([versions[usize::from(ask.version)].clone()])),
                    skip: crate::SkippedGuards { cache: ask.past_the_cache, limit: false },
                    ..lab.context(&call)
                };
                let outcome = Pipeline::new(Rules::new()).execute_call(&call, &cx).await.unwrap();
                let Outcome::Finished(output) = outcome else { panic!("{outcome:?}") };
                let said = output.text;
                let has = |part: String| assert!(said.contains(&part), "{said} lacks {part}");
                has(format!("Version {}.", ask.version));
                has(format!(r#"{{"q":"{}"}}"#, ask.q));
                match scope {
                    CacheScope::Everyone => {}
                    CacheScope::User => has(format!(" {} ", cx.user)),
                    CacheScope::Agent => has(format!(" {} ", cx.agent)),
                    CacheScope::Conversation => has(format!(" {:?} ", cx.conversation)),
                }
            });
            futures_util::future::join_all(runs).await;
        });
    }

    /// P3: however calls come, wait, fail and are tried again, the tool is never sent more than its window allows.
    #[test]
    fn a_tool_is_never_asked_more_often_than_its_limit_allows(
        per_window in 1u32..5,
        calls in proptest::collection::vec((0u64..30, any::<bool>()), 1..60),
    ) {
        paused(async {
            let lab = Lab::new().await;
            let sent: Arc<Mutex<Vec<Instant>>> = Arc::default();
            let (times, scripts) = (sent.clone(), calls.clone());
            let behaviour: Behaviour = Box::new(move |n| {
                times.lock().unwrap().push(Instant::now());
                let fails = scripts[n as usize % scripts.len()].1;
                Box::pin(async move {
                    if fails { Err(ToolError::NotSent("no".into())) } else { Ok(ToolOutput::text("found")) }
                })
            });
            let window = Duration::from_secs(60);
            let limit = LimitSettings {
                per_window: Some(per_window), window, wait: Duration::from_secs(40), ..LimitSettings::default()
            };
            let limits = Limits { tool: Some(limit), user: None };
            lab.tool(spec("look", Effect::Read), Guards { limits, attempts: 3, ..Guards::default() }, behaviour);
            let runs = calls.iter().map(|(pause, _)| async {
                tokio::time::sleep(Duration::from_secs(*pause * 7)).await;
                lab.run("look", r#"{"q": "x"}"#).await;
            });
            futures_util::future::join_all(runs).await;
            let sent = sent.lock().unwrap();
            for (first, last) in sent.iter().zip(sent.iter().skip(per_window as usize)) {
                assert!(*last - *first >= window, "{sent:?}");
            }
        });
    }

    /// P4: calls that are dropped anywhere lose no probe, and no two probe at once.
    #[test]
    fn a_dropped_call_never_takes_the_probe_with_it(
        calls in proptest::collection::vec((0u64..90, 0u64..40, 0u64..60, any::<bool>()), 1..40),
    ) {
        paused(async {
            let lab = Lab::new().await;
            let scripts = calls.clone();
            let behaviour: Behaviour = Box::new(move |n| {
                let (_, works, _, fails) = scripts[n as usize % scripts.len()];
                Box::pin(async move {
                    tokio::time::sleep(Duration::from_secs(works)).await;
                    if fails { Err(ToolError::Ailing("down".into())) } else { Ok(ToolOutput::text("up")) }
                })
            });
            let breaker = Some(BreakerSettings { failures_in_row: 2, ..BreakerSettings::default() });
            let guards = Guards { breaker, attempts: 1, ..Guards::default() };
            lab.tool(spec("look", Effect::Read), guards, behaviour);
            let look = lab.registry.get("look").unwrap();
            let runs = calls.iter().map(|(comes, _, patience, _)| async {
                tokio::time::sleep(Duration::from_secs(*comes * 5)).await;
                let call = lab.run("look", r#"{"q": "x"}"#);
                _ = tokio::time::timeout(Duration::from_secs(*patience), call).await;
                assert!(look.status().breaker.unwrap().probes <= 1);
            });
            futures_util::future::join_all(runs).await;
            let status = look.status().breaker.unwrap();
            assert_eq!(status.probes, 0, "nobody is under way, so nobody probes");
            tokio::time::advance(Duration::from_secs(600)).await;
            assert!(look.status().breaker.unwrap().refusing.is_none(), "the next call may find out");
        });
    }
}

#[tokio::test]
async fn arguments_that_make_no_difference_do_not_part_answers() {
    let lab = Lab::new().await;
    let guards = Guards { cache_ignore: vec!["trace".into()], ..cached(CacheScope::Everyone) };
    let runs = lab.tool(spec("look", Effect::Read), guards, says("found"));
    lab.run("look", r#"{"q": "x", "trace": "1"}"#).await;
    lab.run("look", r#"{"q": "x", "trace": "2"}"#).await;
    assert_eq!(runs.load(Ordering::Relaxed), 1);
    lab.run("look", r#"{"q": "y", "trace": "2"}"#).await;
    assert_eq!(runs.load(Ordering::Relaxed), 2);
}
