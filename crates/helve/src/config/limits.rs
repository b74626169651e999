//! `[limits]`: how much of everything there may be at a time, and how long requests wait.
//!
//! Everything has a bound and none can be lifted: what is too small or too large to mean anything is refused.

use std::ops::RangeInclusive;
use std::time::Duration;

use helve_model_http::{AnswerBounds, Timeouts};
use helve_runtime::{AdmissionSettings, RuntimeSettings, ShareSettings, SubagentLimits};
use helve_server::ServerLimits;
use helve_store::FreeMin;
use helve_tool::JsonBounds;
use serde::Deserialize;

use super::places::Places;
use crate::i18n::tr;

const COUNT: RangeInclusive<u64> = 1..=1_000_000;
const BYTES: RangeInclusive<u64> = 1_024..=1 << 30;
/// Up to an hour.
const MS: RangeInclusive<u64> = 1..=3_600_000;
/// HTTP wants at least this much of a head to fit.
const HEAD_BYTES: RangeInclusive<u64> = 8_192..=1 << 20;
/// Readers of JSON stop at 128.
const DEPTH: RangeInclusive<u64> = 1..=120;
const BALLAST: u64 = 16 << 20;

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default, expecting = "a table")]
pub(super) struct LimitsTable {
    runs_max: Option<u64>,
    runs_per_user_max: Option<u64>,
    runs_queued_max: Option<u64>,
    run_wait_ms: Option<u64>,
    waiting_runs_per_user_max: Option<u64>,
    stored_bytes_per_user_max: Option<Amount>,
    calls_per_message_max: Option<u64>,
    parallel_calls_max: Option<u64>,
    subagent_depth_max: Option<u64>,
    subagents_per_run_max: Option<u64>,
    subagents_per_task_max: Option<u64>,
    streams_max: Option<u64>,
    streams_per_user_max: Option<u64>,
    stream_bytes_max: Option<u64>,
    stream_events_max: Option<u64>,
    stream_stall_ms: Option<u64>,
    connections_max: Option<u64>,
    connections_per_address_max: Option<u64>,
    head_bytes_max: Option<u64>,
    head_time_ms: Option<u64>,
    body_bytes_max: Option<u64>,
    body_time_ms: Option<u64>,
    json_depth_max: Option<u64>,
    json_values_max: Option<u64>,
    model_line_bytes_max: Option<u64>,
    model_answer_bytes_max: Option<u64>,
    model_silence_ms: Option<u64>,
    disk_free_min: Option<Amount>,
    disk_ballast: Option<Amount>,
}

/// Bytes, or a text such as `256 MiB` or `5 %`.
#[derive(Debug, Clone, Deserialize)]
#[serde(untagged, expecting = "a number of bytes, or a text such as \"256 MiB\"")]
enum Amount {
    Bytes(u64),
    Text(String),
}

/// What the table means.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Limits {
    pub runs: AdmissionSettings,
    /// What one user may keep.
    pub share: ShareSettings,
    pub calls_per_message_max: u32,
    pub parallel_calls_max: usize,
    /// How many runs of subagents there may be.
    pub subagents: SubagentLimits,
    pub server: ServerLimits,
    pub answers: AnswerBounds,
    pub model_silence: Duration,
    pub disk_free_min: FreeMin,
    pub disk_ballast_bytes: u64,
}

pub(super) fn limits(table: &LimitsTable, places: &Places) -> anyhow::Result<Limits> {
    table.read().map_err(|(key, what)| places.wrong(&["limits", key], what))
}

/// The key that is wrong, and why.
type Wrong = (&'static str, String);

impl LimitsTable {
    fn read(&self) -> Result<Limits, Wrong> {
        let runtime = RuntimeSettings::default();
        let server = ServerLimits::default();
        let answers = AnswerBounds::default();
        let runs = AdmissionSettings {
            all: size("runs_max", self.runs_max, runtime.runs.all, COUNT)?,
            each: size("runs_per_user_max", self.runs_per_user_max, runtime.runs.each, COUNT)?,
            queue_max: size("runs_queued_max", self.runs_queued_max, runtime.runs.queue_max, COUNT)?,
            wait: time("run_wait_ms", self.run_wait_ms, runtime.runs.wait)?,
        };
        let calls = size("calls_per_message_max", self.calls_per_message_max, 16, 1..=1_000)?;
        let json = JsonBounds {
            depth_max: size("json_depth_max", self.json_depth_max, server.json.depth_max, DEPTH)?,
            values_max: size(
                "json_values_max",
                self.json_values_max,
                server.json.values_max,
                1..=10_000_000,
            )?,
        };
        Ok(Limits {
            runs,
            share: ShareSettings {
                waiting_runs_max: number(
                    "waiting_runs_per_user_max",
                    self.waiting_runs_per_user_max,
                    runtime.share.waiting_runs_max,
                    COUNT,
                )?,
                bytes_max: bytes(
                    "stored_bytes_per_user_max",
                    self.stored_bytes_per_user_max.as_ref(),
                    runtime.share.bytes_max,
                )?,
            },
            calls_per_message_max: u32::try_from(calls).unwrap_or(u32::MAX),
            parallel_calls_max: size(
                "parallel_calls_max",
                self.parallel_calls_max,
                runtime.parallel_calls_max,
                1..=1_000,
            )?,
            subagents: self.subagents(runtime.subagents)?,
            server: self.server(server, json)?,
            answers: AnswerBounds {
                line_bytes_max: size(
                    "model_line_bytes_max",
                    self.model_line_bytes_max,
                    answers.line_bytes_max,
                    BYTES,
                )?,
                bytes_max: size(
                    "model_answer_bytes_max",
                    self.model_answer_bytes_max,
                    answers.bytes_max,
                    BYTES,
                )?,
            },
            model_silence: time("model_silence_ms", self.model_silence_ms, Timeouts::default().idle)?,
            disk_free_min: self.disk_free_min.as_ref().map_or(Ok(FreeMin::Usual), |amount| {
                amount.free_min().map_err(|what| ("disk_free_min", what))
            })?,
            disk_ballast_bytes: bytes("disk_ballast", self.disk_ballast.as_ref(), BALLAST)?,
        })
    }

    fn subagents(&self, usual: SubagentLimits) -> Result<SubagentLimits, Wrong> {
        let depth_max = size("subagent_depth_max", self.subagent_depth_max, usual.depth_max, 0..=10)?;
        let per_run_max =
            size("subagents_per_run_max", self.subagents_per_run_max, usual.per_run_max, 0..=100)?;
        let per_tree_max =
            size("subagents_per_task_max", self.subagents_per_task_max, usual.per_tree_max, 0..=1_000)?;
        Ok(SubagentLimits { depth_max, per_run_max, per_tree_max })
    }

    fn server(&self, usual: ServerLimits, json: JsonBounds) -> Result<ServerLimits, Wrong> {
        Ok(ServerLimits {
            connections_max: size("connections_max", self.connections_max, usual.connections_max, COUNT)?,
            connections_per_address_max: size(
                "connections_per_address_max",
                self.connections_per_address_max,
                usual.connections_per_address_max,
                COUNT,
            )?,
            head_bytes_max: size("head_bytes_max", self.head_bytes_max, usual.head_bytes_max, HEAD_BYTES)?,
            head_time: time("head_time_ms", self.head_time_ms, usual.head_time)?,
            body_bytes_max: size("body_bytes_max", self.body_bytes_max, usual.body_bytes_max, BYTES)?,
            body_time: time("body_time_ms", self.body_time_ms, usual.body_time)?,
            json,
            streams_max: size("streams_max", self.streams_max, usual.streams_max, COUNT)?,
            streams_per_user_max: size(
                "streams_per_user_max",
                self.streams_per_user_max,
                usual.streams_per_user_max,
                COUNT,
            )?,
            stream_bytes_max: size("stream_bytes_max", self.stream_bytes_max, usual.stream_bytes_max, BYTES)?,
            stream_events_max: size(
                "stream_events_max",
                self.stream_events_max,
                usual.stream_events_max,
                COUNT,
            )?,
            stall: time("stream_stall_ms", self.stream_stall_ms, usual.stall)?,
        })
    }
}

/// A number of bytes that is no share of the disk.
fn bytes(key: &'static str, said: Option<&Amount>, usual: u64) -> Result<u64, Wrong> {
    match said.map(Amount::free_min).transpose().map_err(|what| (key, what))? {
        None => Ok(usual),
        Some(FreeMin::Bytes(bytes)) => Ok(bytes),
        Some(_) => Err((key, tr!("a share of the disk means nothing here; use bytes, as in \"16 MiB\""))),
    }
}

fn number(
    key: &'static str,
    said: Option<u64>,
    usual: u64,
    range: RangeInclusive<u64>,
) -> Result<u64, Wrong> {
    let said = said.unwrap_or(usual);
    if range.contains(&said) {
        return Ok(said);
    }
    Err((
        key,
        tr!(
            "`{said}` is no bound; use {start} to {end}",
            start = range.start(),
            end = range.end(),
            said = said
        ),
    ))
}

fn size(
    key: &'static str,
    said: Option<u64>,
    usual: usize,
    range: RangeInclusive<u64>,
) -> Result<usize, Wrong> {
    let size = number(key, said, usual as u64, range)?;
    usize::try_from(size).map_err(|_| (key, tr!("`{size}` is more than this machine can count", size = size)))
}

fn time(key: &'static str, said: Option<u64>, usual: Duration) -> Result<Duration, Wrong> {
    let usual = u64::try_from(usual.as_millis()).unwrap_or(u64::MAX);
    number(key, said, usual, MS).map(Duration::from_millis)
}

impl Amount {
    fn free_min(&self) -> Result<FreeMin, String> {
        let wrong = |text: &str| {
            tr!(
                "`{text}` is no amount of room; use a number of bytes, \"256 MiB\", \"2 GiB\" or \"5 %\"",
                text = text
            )
        };
        let (text, number, unit) = match self {
            Self::Bytes(bytes) => (bytes.to_string(), Some(*bytes), ""),
            Self::Text(text) => {
                let end = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
                (text.clone(), text[..end].parse().ok(), text[end..].trim())
            }
        };
        let number = number.filter(|number| *number > 0).ok_or_else(|| wrong(&text))?;
        let factor: u64 = match unit {
            "%" => {
                let percent = u8::try_from(number).ok().filter(|percent| *percent <= 90);
                return percent.map(FreeMin::Percent).ok_or_else(|| wrong(&text));
            }
            "" | "B" => 1,
            "KiB" => 1 << 10,
            "MiB" => 1 << 20,
            "GiB" => 1 << 30,
            _ => return Err(wrong(&text)),
        };
        number.checked_mul(factor).map(FreeMin::Bytes).ok_or_else(|| wrong(&text))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<Limits, String> {
        let table: LimitsTable = toml::from_str(text).map_err(|error| error.message().to_owned())?;
        table.read().map_err(|(key, what)| format!("{key}: {what}"))
    }

    #[test]
    fn what_is_not_said_is_as_the_parts_have_it() {
        let usual = read("").unwrap();
        assert_eq!(usual.runs, RuntimeSettings::default().runs);
        assert_eq!(usual.server, ServerLimits::default());
        assert_eq!(usual.answers, AnswerBounds::default());
        assert_eq!(usual.calls_per_message_max, RuntimeSettings::default().calls_per_message_max);
        assert_eq!((usual.disk_free_min, usual.disk_ballast_bytes), (FreeMin::Usual, 16 << 20));
    }

    #[test]
    fn what_is_said_holds() {
        let limits =
            read("runs_max = 2\nrun_wait_ms = 50\nstreams_per_user_max = 3\ndisk_free_min = \"5 %\"");
        let limits = limits.unwrap();
        assert_eq!((limits.runs.all, limits.runs.wait.as_millis()), (2, 50));
        assert_eq!((limits.server.streams_per_user_max, limits.disk_free_min), (3, FreeMin::Percent(5)));
        for (text, bytes) in [("7", 7), ("\"7\"", 7), ("\"256MiB\"", 256 << 20), ("\"2 GiB\"", 2 << 30)] {
            let limits = read(&format!("disk_free_min = {text}\ndisk_ballast = {text}")).unwrap();
            assert_eq!((limits.disk_free_min, limits.disk_ballast_bytes), (FreeMin::Bytes(bytes), bytes));
        }
    }

    #[test]
    fn nought_and_nonsense_are_refused_with_the_key() {
        for (text, told) in [
            ("runs_max = 0", "runs_max: `0` is no bound; use 1 to 1000000"),
            ("runs_queued_max = 0", "runs_queued_max: `0` is no bound; use 1 to 1000000"),
            ("run_wait_ms = 0", "run_wait_ms: `0` is no bound; use 1 to 3600000"),
            ("waiting_runs_per_user_max = 0", "waiting_runs_per_user_max: `0` is no bound; use 1 to 1000000"),
            (
                "stored_bytes_per_user_max = \"5 %\"",
                "stored_bytes_per_user_max: a share of the disk means nothing here; use bytes, as in \"16 MiB\"",
            ),
            ("head_bytes_max = 100", "head_bytes_max: `100` is no bound; use 8192 to 1048576"),
            ("json_depth_max = 500", "json_depth_max: `500` is no bound; use 1 to 120"),
            (
                "body_bytes_max = 9999999999",
                "body_bytes_max: `9999999999` is no bound; use 1024 to 1073741824",
            ),
            (
                "disk_ballast = \"5%\"",
                "disk_ballast: a share of the disk means nothing here; use bytes, as in \"16 MiB\"",
            ),
        ] {
            assert_eq!(read(text).unwrap_err(), told);
        }
        for amount in
            ["0", "\"\"", "\"much\"", "\"-5 MiB\"", "\"0 %\"", "\"91%\"", "\"5 MB\"", "\"99999999999 GiB\""]
        {
            let told = read(&format!("disk_free_min = {amount}")).unwrap_err();
            assert!(told.starts_with("disk_free_min: `"), "{amount}: {told}");
            assert!(told.contains("is no amount of room"), "{amount}: {told}");
        }
        assert!(read("runs = 3").unwrap_err().starts_with("unknown field `runs`"));
        assert!(read("runs_max = -1").is_err());
    }
}
