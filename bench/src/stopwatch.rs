//! How long something took, on the clock and in CPU time of the thread that did it.
//!
//! On a machine that has other things to do, the clock also counts them; the CPU time does not.

use std::time::Instant;

use rustix::time::{ClockId, Timespec, clock_gettime};

pub(crate) struct Stopwatch {
    began: Instant,
    cpu: Timespec,
}

/// Microseconds.
#[derive(Clone, Copy)]
pub(crate) struct Took {
    pub(crate) clock_us: f64,
    pub(crate) cpu_us: f64,
}

impl Stopwatch {
    pub(crate) fn start() -> Self {
        Self { began: Instant::now(), cpu: clock_gettime(ClockId::ThreadCPUTime) }
    }

    pub(crate) fn read(&self) -> Took {
        let clock_us = self.began.elapsed().as_secs_f64() * 1e6;
        let cpu = clock_gettime(ClockId::ThreadCPUTime);
        let cpu_us =
            (cpu.tv_sec - self.cpu.tv_sec) as f64 * 1e6 + (cpu.tv_nsec - self.cpu.tv_nsec) as f64 / 1e3;
        Took { clock_us, cpu_us }
    }
}
