//! One tool call in process: through the whole pipeline, beside a bare function call.

use std::hint::black_box;
use std::sync::{Arc, Barrier};
use std::time::{Duration, Instant};

use helve_store_contract::Actor;
use helve_store::{MemoryStore, RunJournal, Store};
use helve_store_sql::{DataDir, SqliteStore};
use helve_tool::{
    BreakerSettings, CachePolicy, CacheScope, CallContext, Guards, LimitSettings, Limits, Pipeline, Progress,
    Registry, Request, Rules, SkippedGuards, Tool, ToolFuture, Toolbox,
};
use helve_types::{CallId, Effect, ToolCall, ToolOutput, ToolSpec, UserId, World};
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

const ARGUMENTS: &str = r#"{"query": "rust release notes", "max_results": 5, "depth": "basic", "site": "example.org", "fresh": true}"#;

/// `max_results` is too large.
const WRONG: &str = r#"{"query": "rust release notes", "max_results": 50, "depth": "basic", "site": "example.org", "fresh": true}"#;

/// Of each thread, in each of so many rounds.
const CALLS: u32 = 20_000;
const ROUNDS: u32 = 7;

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

pub(crate) fn spec(name: &str) -> ToolSpec {
    let parameters = json!({
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
    });
    ToolSpec::new(name, "Looks something up.", parameters, Effect::Read)
}

/// Tools that do the same under other guards.
pub(crate) fn registry() -> anyhow::Result<Arc<Registry>> {
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
        ("other", guarded.clone()),
        ("cached", Guards { cache: Some(cache), ..guarded.clone() }),
        ("refused", Guards { limits: Limits { tool: Some(full), user: None }, ..guarded }),
    ] {
        registry.register(Arc::new(Echo(spec(name))), guards, &world)?;
    }
    Ok(Arc::new(registry))
}

/// One call of one tool, ready to be made again and again.
pub(crate) struct Bench {
    pub(crate) pipeline: Pipeline,
    pub(crate) cx: CallContext,
    pub(crate) call: ToolCall,
}

impl Bench {
    pub(crate) async fn new(store: Arc<dyn Store>, registry: &Registry, tool: &str) -> anyhow::Result<Self> {
        let world = World::real();
        let actor = Actor::new(store.clone(), "bench");
        let started = actor.start(actor.new_conversation(), "bench").await;
        let journal = RunJournal::new(store, world.clone(), started.run, started.epoch, 1, Arc::new(|_| {}));
        let call = ToolCall {
            id: CallId::new(started.run, 1, 0),
            provider_id: None,
            name: tool.into(),
            arguments: ARGUMENTS.into(),
            repairs: vec![],
        };
        let cx = CallContext {
            run: started.run,
            conversation: None,
            message: None,
            request_id: None,
            call: call.id.clone(),
            user: UserId("bench".into()),
            agent: "default".into(),
            language: helve_types::Language::default(),
            attempts_before: 0,
            grant: None,
            taint: Arc::default(),
            skip: SkippedGuards::default(),
            early: helve_tool::Early::No,
            toolbox: Arc::new(Toolbox::new(registry.list())),
            journal,
            cancel: CancellationToken::new(),
            progress: Progress::default(),
            world,
        };
        Ok(Self { pipeline: Pipeline::new(Rules::new()), cx, call })
    }

    fn asking(self, arguments: &str) -> Self {
        Self { call: ToolCall { arguments: arguments.into(), ..self.call }, ..self }
    }

    /// Microseconds a call, the best of several rounds.
    async fn measure(&self, calls: u32, rounds: u32) -> anyhow::Result<f64> {
        let mut best = f64::MAX;
        for _ in 0..rounds {
            let began = Instant::now();
            for _ in 0..calls {
                black_box(self.pipeline.execute_call(black_box(&self.call), &self.cx).await?);
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
        let tools = registry()?;
        let of = async |tool| Bench::new(memory(), &tools, tool).await;
        row("whole pipeline, log in memory", of("guarded").await?.measure(200, 40).await?);
        row("answered from the cache", of("cached").await?.measure(400, 40).await?);
        row("refused by the limit", of("refused").await?.measure(400, 40).await?);
        row("refused by the schema", of("guarded").await?.asking(WRONG).measure(400, 40).await?);
        let dir = tempfile::tempdir()?;
        let sqlite: Arc<dyn Store> =
            Arc::new(SqliteStore::open(DataDir::lock(dir.path())?, World::real().now())?);
        row(
            "whole pipeline, on disk (two commits)",
            Bench::new(sqlite, &tools, "guarded").await?.measure(50, 5).await?,
        );
        anyhow::Ok(())
    })?;
    threads()
}

/// What two threads do together, beside one alone. Tools that have nothing to do with each other must not wait for each
/// other; what is left between the two rows is the lock of one tool's own guards.
fn threads() -> anyhow::Result<()> {
    println!("\nCalls a second through the whole pipeline, log in memory\n");
    println!("| threads | calls/s | times one thread |");
    println!("|---|---|---|");
    // The best of several rounds in turn: the machine has other things to do.
    let mut best = [0.0_f64; 3];
    for _ in 0..ROUNDS {
        for (best, tools) in
            best.iter_mut().zip([&["guarded"][..], &["guarded", "other"], &["guarded", "guarded"]])
        {
            *best = best.max(throughput(tools)?);
        }
    }
    for (what, calls) in ["one", "two, each its own tool", "two, the same tool"].iter().zip(best) {
        println!("| {what} | {calls:.0} | {:.2} |", calls / best[0]);
    }
    Ok(())
}

/// Calls a second of as many threads as there are names, each calling the tool of its name.
fn throughput(tools: &[&str]) -> anyhow::Result<f64> {
    let registry = registry()?;
    let ready = Barrier::new(tools.len());
    std::thread::scope(|scope| {
        let threads: Vec<_> = tools
            .iter()
            .map(|tool| {
                let (registry, ready) = (&registry, &ready);
                scope.spawn(move || -> anyhow::Result<f64> {
                    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
                    runtime.block_on(async {
                        let bench = Bench::new(Arc::new(MemoryStore::new()), registry, tool).await?;
                        bench.measure(100, 1).await?;
                        ready.wait();
                        let us = bench.measure(CALLS, 1).await?;
                        Ok(1e6 / us)
                    })
                })
            })
            .collect();
        let mut sum = 0.0;
        for thread in threads {
            sum += thread.join().map_err(|_| anyhow::anyhow!("a thread broke down"))??;
        }
        Ok(sum)
    })
}
