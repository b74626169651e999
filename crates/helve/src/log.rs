//! Lines of the log for people: time, level, what happened with its outcome, and then on whose account.
//!
//! The fields of an event come in the order in which they are recorded, so what matters stands first. The spans around
//! it, such as the request's id, come last. Where in the program a line comes from stands at its end, unless it is an
//! ordinary line.

use std::fmt;

use tracing::{Event, Level, Subscriber};
use tracing_subscriber::fmt::format::Writer;
use tracing_subscriber::fmt::time::{FormatTime, SystemTime};
use tracing_subscriber::fmt::{FmtContext, FormatEvent, FormatFields, FormattedFields};
use tracing_subscriber::registry::LookupSpan;

pub(crate) struct OutcomeFirst;

impl<S, N> FormatEvent<S, N> for OutcomeFirst
where
    S: Subscriber + for<'a> LookupSpan<'a>,
    N: for<'a> FormatFields<'a> + 'static,
{
    fn format_event(
        &self,
        context: &FmtContext<'_, S, N>,
        mut writer: Writer<'_>,
        event: &Event<'_>,
    ) -> fmt::Result {
        SystemTime.format_time(&mut writer)?;
        let level = *event.metadata().level();
        match colour(level).filter(|_| writer.has_ansi_escapes()) {
            Some(colour) => write!(writer, " \u{1b}[{colour}m{level:5}\u{1b}[0m ")?,
            None => write!(writer, " {level:5} ")?,
        }
        context.format_fields(writer.by_ref(), event)?;
        for span in context.event_scope().into_iter().flat_map(|scope| scope.from_root()) {
            let extensions = span.extensions();
            if let Some(fields) = extensions.get::<FormattedFields<N>>().filter(|fields| !fields.is_empty()) {
                write!(writer, " {fields}")?;
            }
        }
        if level != Level::INFO {
            write!(writer, " from={}", event.metadata().target())?;
        }
        writeln!(writer)
    }
}

fn colour(level: Level) -> Option<u8> {
    match level {
        Level::ERROR => Some(31),
        Level::WARN => Some(33),
        Level::INFO => Some(32),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;
    use std::sync::{Arc, Mutex};

    use super::*;

    #[derive(Clone, Default)]
    struct Kept(Arc<Mutex<Vec<u8>>>);

    impl Write for Kept {
        fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
            self.0.lock().unwrap().extend_from_slice(bytes);
            Ok(bytes.len())
        }

        fn flush(&mut self) -> std::io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn a_line_says_what_happened_before_on_whose_account_it_did() {
        let kept = Kept::default();
        let writer = kept.clone();
        let logs = tracing_subscriber::fmt().with_writer(move || writer.clone()).with_ansi(false);
        tracing::subscriber::with_default(logs.event_format(OutcomeFirst).finish(), || {
            let span = tracing::error_span!("request", request = "abc");
            let _entered = span.enter();
            tracing::info!(status = 200, path = "/api/runs", "request answered");
            tracing::warn!("disk nearly full");
        });
        let text = String::from_utf8(kept.0.lock().unwrap().clone()).unwrap();
        let lines: Vec<&str> = text.lines().map(|line| line.split_once(' ').unwrap().1).collect();
        assert_eq!(
            lines,
            [
                "INFO  request answered status=200 path=\"/api/runs\" request=\"abc\"",
                "WARN  disk nearly full request=\"abc\" from=helve::log::tests"
            ]
        );
    }
}
