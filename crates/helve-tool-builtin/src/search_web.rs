//! `search_web`: the web through Tavily's search.
//!
//! Arguments → one POST (`tavily`) → text for a model (`render`). Knows what a status means and how large an answer
//! may be. Never retries, never follows a redirect, and never says the key.

mod render;
mod tavily;
#[cfg(test)]
mod tests;

use std::num::NonZeroU64;
use std::sync::Arc;
use std::time::Duration;

use helve_egress::{Url, place_of};
use helve_tool::{
    BreakerSettings, CachePolicy, CacheScope, CallContext, Guards, LimitSettings, Limits, Request,
    SEARCH_WEB, Tool, ToolError, ToolFuture, schema_of,
};
use helve_types::{Effect, Example, Fallback, Flow, Notice, OnUnknown, ToolSpec};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;

use self::tavily::{Search, Tavily};
pub use self::tavily::{TAVILY_SECRET, TAVILY_URL};
use crate::Settings;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Arguments {
    /// What to search for.
    #[schemars(length(min = 1, max = 400))]
    query: String,
    /// Fills what is left out. `quick`: 3 results, basic, no summary. `deep`: 10 results and the summary.
    preset: Option<Preset>,
    /// How many results, 1 to 20; 10 if left out.
    // Some models write every number with a point, and 3.0 is a whole number to the schema.
    #[schemars(with = "Option<u8>", range(min = 1, max = 20))]
    max_results: Option<f64>,
    /// `advanced` reads the pages, `basic` is faster; `advanced` if left out.
    search_depth: Option<SearchDepth>,
    /// Whether to begin with a summary of the results; yes if left out.
    include_answer: Option<bool>,
    /// Whether to give the text of whole pages, cut, in the place of excerpts; no if left out.
    include_raw_content: Option<bool>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum Preset {
    Quick,
    Deep,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum SearchDepth {
    Basic,
    Advanced,
}

impl Arguments {
    fn to_search(&self) -> Search<'_> {
        let (max_results, depth, answer) = match self.preset {
            Some(Preset::Quick) => (3, SearchDepth::Basic, false),
            Some(Preset::Deep) | None => (10, SearchDepth::Advanced, true),
        };
        Search {
            query: self.query.trim(),
            max_results: self.max_results.map_or(max_results, |n| n as u8).clamp(1, 20),
            search_depth: self.search_depth.unwrap_or(depth),
            include_answer: self.include_answer.unwrap_or(answer),
            include_raw_content: self.include_raw_content.unwrap_or(false),
        }
    }
}

struct SearchWeb {
    spec: ToolSpec,
    /// None without a key.
    tavily: Option<Tavily>,
}

pub(crate) fn tool(settings: &Settings) -> (Arc<dyn Tool>, Guards) {
    (Arc::new(SearchWeb { spec: spec(flow(settings)), tavily: Tavily::new(settings) }), guards())
}

impl Tool for SearchWeb {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn is_configured(&self) -> bool {
        self.tavily.is_some()
    }

    fn call<'a>(&'a self, request: Request<'a>, cx: &'a CallContext) -> ToolFuture<'a> {
        Box::pin(async move {
            let arguments: Arguments = request.parse()?;
            let search = arguments.to_search();
            if search.query.is_empty() {
                let told = "`query` is empty; say what to search for";
                return Err(ToolError::Declined(told.into()).with_notice(Notice::search_without_query()));
            }
            let Some(tavily) = &self.tavily else {
                let refused = ToolError::Declined(NOT_CONFIGURED.into());
                return Err(refused.with_notice(Notice::search_not_configured()));
            };
            let found = tavily.search(&search, cx.world.now()).await?;
            Ok(render::build_output(&search, found, cx.language))
        })
    }
}

const NOT_CONFIGURED: &str = "web search is not configured on this server, so nothing was searched; answer from \
    what you know and say that you could not search. Operator: set TAVILY_API_KEY to a key from tavily.com";

/// The question leaves, and strangers may have written what is found.
fn flow(settings: &Settings) -> Flow {
    let place = Url::parse(&settings.tavily_url).ok().as_ref().and_then(place_of);
    Flow { private: false, untrusted: true, outward: true, place }
}

fn spec(flow: Flow) -> ToolSpec {
    ToolSpec {
        title: Some("Web search".into()),
        tags: vec!["web".into()],
        examples: examples(),
        on_unknown: OnUnknown::TellModel,
        flow,
        ..ToolSpec::new(
            SEARCH_WEB,
            include_str!("search_web.md").trim(),
            schema_of::<Arguments>(),
            Effect::Read,
        )
    }
}

fn examples() -> Vec<Example> {
    vec![
        Example {
            question: "Which version of Rust made async closures stable?".into(),
            arguments: json!({"query": "Rust release async closures stabilized", "preset": "quick"}),
            result: "1. Announcing Rust 1.85.0 and Rust 2024 | Rust Blog\n\
                     Source: https://blog.rust-lang.org/2025/02/20/Rust-1.85.0/\n\
                     Rust now supports asynchronous closures like async || {} which return futures when called."
                .into(),
            answer: "**Rust 1.85.0**, released on 20 February 2025 \
                     ([Rust Blog](https://blog.rust-lang.org/2025/02/20/Rust-1.85.0/))."
                .into(),
        },
        Example {
            question: "2025 年诺贝尔物理学奖颁给了谁？".into(),
            arguments: json!({"query": "2025 年诺贝尔物理学奖 获奖者"}),
            result: "AI 摘要：2025 年诺贝尔物理学奖授予约翰·克拉克、米歇尔·德沃雷和约翰·马丁尼斯。\n\n\
                     搜索结果：\n\
                     1. 2025 年诺贝尔物理学奖揭晓\n\
                     \u{20}  来源：https://www.nobelprize.org/prizes/physics/2025/\n\
                     \u{20}  内容：三位科学家因发现电路中的宏观量子隧穿和能量量子化而获奖。"
                .into(),
            answer: "2025 年诺贝尔物理学奖授予**约翰·克拉克、米歇尔·德沃雷和约翰·马丁尼斯**，表彰他们发现电路中的宏观量子隧穿\
                     和能量量子化。来源：[诺贝尔奖官网](https://www.nobelprize.org/prizes/physics/2025/)"
                .into(),
        },
    ]
}

/// What a paid service that all users share needs. `make bench ARGS=guards` plays the load that they are made for.
fn guards() -> Guards {
    Guards {
        timeout: Duration::from_secs(20),
        attempts: 3,
        limits: Limits {
            tool: Some(LimitSettings {
                concurrent: Some(50),
                per_window: Some(100),
                window: Duration::from_secs(60),
                wait: Duration::from_secs(5),
                ..LimitSettings::default()
            }),
            user: None,
        },
        breaker: Some(BreakerSettings { failures_in_row: 5, ..BreakerSettings::default() }),
        cache: Some(CachePolicy { ttl: Duration::from_secs(300), scope: CacheScope::Everyone }),
        // What was found within the hour, and says so, is more use to a person than a word that nothing can be searched.
        fallback: Some(Fallback {
            last_good_ms: NonZeroU64::new(60 * 60 * 1_000),
            tool: None,
            when_limited: true,
        }),
        ..Guards::default()
    }
}
