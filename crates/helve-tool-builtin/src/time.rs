//! `time`: what time it is anywhere, and what time that is elsewhere.
//!
//! The clock is that of the call's world, so that a run can be repeated; what zones are comes from `zones`.

#[cfg(test)]
mod tests;
mod zones;

use std::sync::Arc;
use std::time::Duration;

use helve_tool::{CallContext, Guards, Request, Tool, ToolError, ToolFuture, schema_of};
use helve_types::{Effect, Example, Notice, OnUnknown, ToolOutput, ToolSpec};
use jiff::civil::Time as ClockTime;
use jiff::fmt::temporal::Pieces;
use jiff::tz::{AmbiguousOffset, AmbiguousZoned, Dst, TimeZone};
use jiff::{Timestamp, Zoned};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};

use self::zones::Zones;
use crate::Settings;

/// Of an argument that is named to a person.
const SHOWN_CHARS_MAX: usize = 64;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Arguments {
    /// IANA name, city, offset such as `UTC+8`, or `local`; the server's zone if left out.
    #[schemars(length(max = 64))]
    zone: Option<String>,
    /// `now`, or a moment in ISO 8601, such as `2026-03-29T15:30`; now if left out.
    #[schemars(length(max = 64))]
    at: Option<String>,
    /// Zones to show the same moment in.
    #[schemars(length(max = 10))]
    to: Option<Vec<String>>,
}

struct Time {
    spec: ToolSpec,
    zones: Zones,
}

pub(crate) fn tool(settings: &Settings) -> (Arc<dyn Tool>, Guards) {
    let zones = Zones::new(settings.zone.as_deref());
    (Arc::new(Time { spec: spec(), zones }), guards())
}

impl Tool for Time {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn call<'a>(&'a self, request: Request<'a>, cx: &'a CallContext) -> ToolFuture<'a> {
        Box::pin(async move {
            let arguments = request.parse()?;
            let now = Timestamp::from_millisecond(cx.world.now().0)
                .map_err(|_| ToolError::Declined("the server's clock is wrong".into()))?;
            render_time(&arguments, now, &self.zones).map_err(|why| {
                let notice = notice_of_failure(&arguments, now, &self.zones);
                ToolError::Declined(why).with_notice(notice)
            })
        })
    }
}

fn spec() -> ToolSpec {
    ToolSpec {
        title: Some("Time".into()),
        tags: vec!["time".into()],
        examples: examples(),
        on_unknown: OnUnknown::TellModel,
        ..ToolSpec::new("time", include_str!("time.md").trim(), schema_of::<Arguments>(), Effect::Read)
    }
}

fn examples() -> Vec<Example> {
    vec![
        Example {
            question: "What time is it in Tokyo?".into(),
            arguments: json!({"zone": "Asia/Tokyo"}),
            result: "Wednesday, 15 November 2023, 07:13:20, Asia/Tokyo (JST, UTC+09:00), \
                     ISO 2023-11-15T07:13:20+09:00"
                .into(),
            answer: "In Tokyo it is **07:13**, on Wednesday, 15 November 2023.".into(),
        },
        Example {
            question: "Our call is on 29 March 2026 at 15:30 in Berlin. When is that in New York?".into(),
            arguments: json!({"zone": "Europe/Berlin", "at": "2026-03-29T15:30", "to": ["America/New_York"]}),
            result: "Sunday, 29 March 2026, 15:30:00, Europe/Berlin (CEST, UTC+02:00, daylight saving time), \
                     ISO 2026-03-29T15:30:00+02:00\n\
                     Sunday, 29 March 2026, 09:30:00, America/New_York (EDT, UTC-04:00, daylight saving time), \
                     ISO 2026-03-29T09:30:00-04:00"
                .into(),
            answer: "The call is at **9:30** in the morning in New York.".into(),
        },
        Example {
            question: "现在北京几点？今天星期几？".into(),
            arguments: json!({"zone": "北京"}),
            result: "Wednesday, 15 November 2023, 06:13:20, Asia/Shanghai (CST, UTC+08:00), \
                     ISO 2023-11-15T06:13:20+08:00"
                .into(),
            answer: "北京时间现在是 **6:13**，今天是 2023 年 11 月 15 日，星期三。".into(),
        },
    ]
}

/// It takes microseconds and touches nothing. Never cached: the answer is old at once.
fn guards() -> Guards {
    Guards { timeout: Duration::from_secs(5), attempts: 1, ..Guards::default() }
}

fn render_time(arguments: &Arguments, now: Timestamp, zones: &Zones) -> Result<ToolOutput, String> {
    let zone = zones.find(arguments.zone.as_deref().unwrap_or("local"))?;
    let (first, remark) = parse_moment(arguments.at.as_deref().unwrap_or("now"), now, zone)?;
    let mut others = vec![];
    for name in arguments.to.iter().flatten() {
        others.push(first.with_time_zone(zones.find(name)?));
    }
    let mut lines = vec![format_line(&first)];
    lines.extend(others.iter().map(format_line));
    lines.extend(remark);
    let mut data = time_fields(&first);
    if !others.is_empty() {
        data["to"] = others.iter().map(time_fields).collect();
    }
    let (clock, place) = (first.strftime("%H:%M").to_string(), zone_name(&first));
    let headline = Notice::time_in(&clock, &place);
    Ok(ToolOutput::text(lines.join("\n"))
        .with_headline(format!("{clock} in {place}"), headline)
        .with_data(data))
}

/// What a person is told of a time that cannot be said: the first of the arguments that cannot be read.
fn notice_of_failure(arguments: &Arguments, now: Timestamp, zones: &Zones) -> Notice {
    let named = arguments.zone.iter().chain(arguments.to.iter().flatten());
    if let Some(zone) = named.into_iter().find(|zone| zones.find(zone).is_err()) {
        return Notice::no_such_zone(&cut(zone));
    }
    match arguments.at.as_deref() {
        Some(at) if parse_moment(at, now, TimeZone::UTC).is_err() => Notice::not_a_time(&cut(at)),
        _ => Notice::time_not_readable(),
    }
}

fn cut(text: &str) -> String {
    match text.char_indices().nth(SHOWN_CHARS_MAX) {
        Some((at, _)) => format!("{}…", &text[..at]),
        None => text.to_owned(),
    }
}

/// The moment that is meant, in the zone that it is given in, and what is odd about it.
fn parse_moment(at: &str, now: Timestamp, zone: TimeZone) -> Result<(Zoned, Option<String>), String> {
    let at = at.trim();
    if at.is_empty() || at.eq_ignore_ascii_case("now") {
        return Ok((now.to_zoned(zone), None));
    }
    let wrong = || {
        format!(
            "`at`: `{at}` is not a time; write ISO 8601 such as 2026-03-29T15:30, 2026-03-29T15:30:00+02:00, \
             2026-03-29 or 15:30, or `now`"
        )
    };
    if let Some(time) = parse_clock_time(at) {
        let today = now.to_zoned(zone.clone()).date();
        return resolve_ambiguity(zone.to_ambiguous_zoned(today.to_datetime(time)));
    }
    let pieces = Pieces::parse(at).map_err(|_| wrong())?;
    let civil = pieces.date().to_datetime(pieces.time().unwrap_or(ClockTime::midnight()));
    let range = |_| format!("`at`: `{at}` is out of range");
    // An offset says exactly which moment it is; a zone in brackets says where.
    let named =
        match pieces.time_zone_annotation() {
            Some(_) => Some(pieces.to_time_zone_with(jiff::tz::db()).ok().flatten().ok_or_else(|| {
                format!("the zone in `{at}` is not known; leave it out and give it as `zone`")
            })?),
            None => None,
        };
    if let Some(offset) = pieces.to_numeric_offset() {
        let instant = offset.to_timestamp(civil).map_err(range)?;
        return Ok((instant.to_zoned(named.unwrap_or(zone)), None));
    }
    resolve_ambiguity(named.unwrap_or(zone).to_ambiguous_zoned(civil))
}

/// `15:30` or `8:30:15`, without a date.
fn parse_clock_time(at: &str) -> Option<ClockTime> {
    let (hours, _) = at.split_once(':')?;
    match hours.len() {
        1 => format!("0{at}").parse().ok(),
        2 => at.parse().ok(),
        _ => None,
    }
}

/// A time that the clocks skip is moved on by as much; of a time that comes twice the first is taken.
fn resolve_ambiguity(time: AmbiguousZoned) -> Result<(Zoned, Option<String>), String> {
    let remark = match time.offset() {
        AmbiguousOffset::Unambiguous { .. } => None,
        AmbiguousOffset::Gap { .. } => Some(format!(
            "note: {} does not exist there, since the clocks go forward; it was moved on by as much",
            time.datetime().strftime("%H:%M")
        )),
        AmbiguousOffset::Fold { after, .. } => Some(format!(
            "note: {} comes twice there, since the clocks go back; this is the first, the second is UTC{after}",
            time.datetime().strftime("%H:%M")
        )),
    };
    let zoned = time.compatible().map_err(|_| "`at` is out of range".to_owned())?;
    Ok((zoned, remark))
}

fn format_line(time: &Zoned) -> String {
    let mut details = vec![];
    details.extend(zone_abbreviation(time));
    if time.time_zone().iana_name().is_some() {
        details.push(format!("UTC{}", utc_offset(time)));
    }
    if is_summer_time(time) {
        details.push("daylight saving time".into());
    }
    let details = if details.is_empty() { String::new() } else { format!(" ({})", details.join(", ")) };
    let (when, zone) = (time.strftime("%A, %-d %B %Y, %H:%M:%S"), zone_name(time));
    format!("{when}, {zone}{details}, ISO {}", to_iso(time))
}

fn time_fields(time: &Zoned) -> Value {
    json!({
        "zone": zone_name(time),
        "weekday": time.strftime("%A").to_string(),
        "date": time.strftime("%Y-%m-%d").to_string(),
        "time": time.strftime("%H:%M:%S").to_string(),
        "utc_offset": utc_offset(time),
        "daylight_saving": is_summer_time(time),
        "iso": to_iso(time),
        "unix": time.timestamp().as_second(),
    })
}

/// The name of a zone; one that is only an offset is called by it.
fn zone_name(time: &Zoned) -> String {
    time.time_zone().iana_name().map_or_else(|| format!("UTC{}", utc_offset(time)), str::to_owned)
}

fn utc_offset(time: &Zoned) -> String {
    time.strftime("%:z").to_string()
}

fn to_iso(time: &Zoned) -> String {
    time.strftime("%Y-%m-%dT%H:%M:%S%:z").to_string()
}

/// Letters such as `CET`; zones without any have their offset there.
fn zone_abbreviation(time: &Zoned) -> Option<String> {
    let info = time.time_zone().to_offset_info(time.timestamp());
    let letters = info.abbreviation();
    (letters.starts_with(|c: char| c.is_ascii_alphabetic()) && letters != "UTC").then(|| letters.to_owned())
}

fn is_summer_time(time: &Zoned) -> bool {
    time.time_zone().to_offset_info(time.timestamp()).dst() == Dst::Yes
}
