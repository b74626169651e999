//! What a storm of reconnects came to, as a table.

use std::fmt;
use std::time::Duration;

#[derive(Debug, Clone, Default)]
pub struct StreamTally {
    pub runs: usize,
    pub readers: usize,
    /// Events in the logs on disk.
    pub logged: usize,
    /// Events that readers got, over all of them.
    pub events: usize,
    /// Frames without a number.
    pub live: usize,
    pub bytes: usize,
    /// Connections of a reader after its first.
    pub reconnects: usize,
    /// Connections that were cut by the reader, and where.
    pub cut_in_head: usize,
    pub cut_in_frame: usize,
    pub cut_in_character: usize,
    /// Connections that broke with the server.
    pub broken: usize,
    /// Streams that the server ended because it went down.
    pub drained: usize,
    /// Readers that took little at a time.
    pub slow: usize,
    /// Answers at the head of a run that is over: 204, and 409 behind it.
    pub at_head: usize,
    pub beyond: usize,
    /// Ends of the server: by SIGKILL, by SIGTERM.
    pub killed: usize,
    pub terminated: usize,
    /// Connections on which the seeded bug struck.
    pub struck: usize,
    /// From the first byte of the request to the first event, where the log had one: microseconds.
    pub first: Vec<u32>,
    /// From the death of a server to the first event of the next.
    pub gaps: Vec<Duration>,
    pub time: Duration,
}

impl StreamTally {
    pub(super) fn add(&mut self, other: Self) {
        let Self { first, gaps, .. } = &other;
        self.first.extend(first);
        self.gaps.extend(gaps);
        for (sum, more) in self.numbers_mut().into_iter().zip(other.numbers()) {
            *sum.1 += more.1;
        }
    }

    fn numbers(&self) -> Vec<(&'static str, usize)> {
        let mut copy = Self { first: vec![], gaps: vec![], ..self.clone() };
        copy.numbers_mut().into_iter().map(|(name, number)| (name, *number)).collect()
    }

    /// All of them, in the order of the table.
    fn numbers_mut(&mut self) -> Vec<(&'static str, &mut usize)> {
        vec![
            ("runs", &mut self.runs),
            ("readers", &mut self.readers),
            ("events on record", &mut self.logged),
            ("events delivered", &mut self.events),
            ("live frames delivered", &mut self.live),
            ("bytes", &mut self.bytes),
            ("reconnects", &mut self.reconnects),
            ("cut before the head ended", &mut self.cut_in_head),
            ("cut inside of a frame", &mut self.cut_in_frame),
            ("cut inside of a character", &mut self.cut_in_character),
            ("broken by the server's death", &mut self.broken),
            ("ended by `server.draining`", &mut self.drained),
            ("slow connections", &mut self.slow),
            ("204 at the head of a run that is over", &mut self.at_head),
            ("409 behind it", &mut self.beyond),
            ("SIGKILL", &mut self.killed),
            ("SIGTERM", &mut self.terminated),
            ("struck by the seeded bug", &mut self.struck),
        ]
    }
}

impl fmt::Display for StreamTally {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (name, number) in self.numbers() {
            writeln!(f, "{name:<40}{number:>12}")?;
        }
        let mut first = self.first.clone();
        first.sort_unstable();
        for (name, share) in [("p50", 50), ("p99", 99)] {
            let at = (first.len() * share / 100).min(first.len().saturating_sub(1));
            let micros = first.get(at).copied().unwrap_or_default();
            writeln!(
                f,
                "{:<40}{:>9.1} ms",
                format!("first replayed event, {name}"),
                f64::from(micros) / 1e3
            )?;
        }
        let longest = self.gaps.iter().max().copied().unwrap_or_default();
        writeln!(f, "{:<40}{:>9.0} ms", "death to the next event, longest", longest.as_secs_f64() * 1e3)?;
        write!(f, "{:<40}{:>9.1} s", "time", self.time.as_secs_f64())
    }
}
