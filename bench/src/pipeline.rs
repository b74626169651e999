//! One tool call in process: through the whole pipeline, beside a bare function call.

use std::hint::black_box;
use std::sync::Arc;
use std::time::{Duration, Instant};

use helve_store::contract::Actor;
use helve_store::{MemoryStore, RunJournal, Store};
use helve_store_sql::{DataDir, SqliteStore};
use helve_tool::{
    BreakerSettings, CachePolicy, CacheScope, CallContext, Guards, LimitSettings, Limits, Pipeline, Progress,
    Registry, Request, Rules, Tool, ToolFuture, Toolbox,
};
use helve_types::{CallId, Effect, OnUnknown, ToolCall, ToolOutput, ToolSpec, UserId, World};
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

const ARGUMENTS: &str =
    r#"{"query": "rust release notes", "max_results": 5, "depth": "basic", "site": "example.org", "fresh": true}"#;

struct Echo(ToolSpec);

impl Tool for Echo {
    fn spec(&self) -> &ToolSpec {
        &self.0
    }

    fn call<'a>(&'a self, request: Request<'a>, _: &'a CallContext) -> ToolFuture<'a> {
        let output = bare(request.arguments);
        Box::pin(async move { Ok(output) })
    }
}

/// What the tool does: next to nothing.
fn bare(arguments: &Value) -> ToolOutput {
    ToolOutput::text(arguments["query"].as_str().unwrap_or_default())
}

fn spec(name: &str) -> ToolSpec {
    ToolSpec {
        name: name.into(),
        title: None,
        description: "Looks something up.".into(),
        parameters: json!({
            "type": "object",
            "properties": {
                "query": {"type": "string", "minLength": 1},
                "max_results": {"type": "integer", "minimum": 1, "maximum": 20},
                "depth": {"enum": ["basic", "advanced"]},
                "site": {"type": "string"},
                "fresh": {"type": "boolean"}
            },
            "required": ["query"],
            "additionalProperties": false
        }),
        effect: Effect::Read,
        tags: vec![],
        examples: vec![],
        client: false,
        on_unknown: OnUnknown::TellModel,
        check_tool: None,
    }
}

struct Bench {
    pipeline: Pipeline,
    cx: CallContext,
    call: ToolCall,
}

impl Bench {
    async fn new(store: Arc<dyn Store>, tool: &str) -> anyhow::Result<Self> {
        let world = World::real();
        let registry = Registry::new();
        let guarded = Guards {
            limits: Limits {
                tool: Some(LimitSettings {
                    concurrent: Some(50),
                    per_window: Some(10_000_000),
                    ..LimitSettings::default()
                }),
                user: None,
            },
            breaker: Some(BreakerSettings::default()),
            ..Guards::default()
        };
        let cache = CachePolicy { ttl: Duration::from_secs(300), scope: CacheScope::Everyone };
        let full = LimitSettings { per_window: Some(1), ..LimitSettings::default() };
        for (name, guards) in [
            ("guarded", guarded.clone()),
            ("cached", Guards { cache: Some(cache), ..guarded.clone() }),
            ("refused", Guards { limits: Limits { tool: Some(full), user: None }, ..guarded }),
        ] {
            registry.register(Arc::new(Echo(spec(name))), guards, &world)?;
        }
        let actor = Actor::new(store.clone(), "bench");
        let started = actor.start(actor.new_conversation(), "bench").await;
        let journal =
            RunJournal::new(store, world.clone(), started.run, started.epoch, 1, Arc::new(|_| {}));
        let call = ToolCall {
            id: CallId::new(started.run, 1, 0),
            provider_id: None,
            name: tool.into(),
            arguments: ARGUMENTS.into(),
        };
        let cx = CallContext {
            run: started.run,
            conversation: None,
            message: None,
            call: call.id.clone(),
            user: UserId("bench".into()),
            agent: "default".into(),
            attempts_before: 0,
            grant: None,
            skip: helve_tool::Skip::default(),
            toolbox: Arc::new(Toolbox::new(registry.all())),
            journal,
            cancel: CancellationToken::new(),
            progress: Progress::default(),
            world,
        };
        Ok(Self { pipeline: Pipeline::new(Rules::new()), cx, call })
    }

    /// Microseconds a call, the best of several rounds.
    async fn measure(&self, calls: u32, rounds: u32) -> anyhow::Result<f64> {
        let mut best = f64::MAX;
        for _ in 0..rounds {
            let began = Instant::now();
            for _ in 0..calls {
                black_box(self.pipeline.execute(black_box(&self.call), &self.cx).await?);
                // The driver would take these in; here they must not pile up.
                self.cx.journal.take_written();
            }
            best = best.min(began.elapsed().as_secs_f64() * 1e6 / f64::from(calls));
        }
        Ok(best)
    }
}

fn measure_bare(calls: u32, rounds: u32) -> anyhow::Result<f64> {
    let mut best = f64::MAX;
    for _ in 0..rounds {
        let began = Instant::now();
        for _ in 0..calls {
            let arguments: Value = serde_json::from_str(black_box(ARGUMENTS))?;
            black_box(bare(&arguments));
        }
        best = best.min(began.elapsed().as_secs_f64() * 1e6 / f64::from(calls));
    }
    Ok(best)
}

pub(crate) fn report() -> anyhow::Result<()> {
    println!("\nOne tool call in process, five arguments (µs; the bare call parses its JSON too)\n");
    println!("| call | µs | times the bare call |");
    println!("|---|---|---|");
    let bare = measure_bare(20_000, 20)?;
    let row = |what: &str, us: f64| println!("| {what} | {us:.2} | {:.1} |", us / bare);
    row("bare function", bare);
    crate::block_on(async {
        let memory = || -> Arc<dyn Store> { Arc::new(MemoryStore::new()) };
        row("whole pipeline, log in memory", Bench::new(memory(), "guarded").await?.measure(200, 40).await?);
        row("answered from the cache", Bench::new(memory(), "cached").await?.measure(400, 40).await?);
        row("refused by the limit", Bench::new(memory(), "refused").await?.measure(400, 40).await?);
        let dir = tempfile::tempdir()?;
        let sqlite: Arc<dyn Store> =
            Arc::new(SqliteStore::open(DataDir::hold(dir.path())?, World::real().now())?);
        row("whole pipeline, on disk (two commits)", Bench::new(sqlite, "guarded").await?.measure(50, 5).await?);
        Ok(())
    })
}
