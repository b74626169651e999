//! A crowd of readers who catch up with finished runs costs little memory and no threads.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::scratch;
use crate::serving::Served;

const READERS: usize = 400;
/// What 300 MB for 2,000 readers comes to.
const MEMORY_KIB_MAX: u64 = 60 << 10;
/// After the crowd has left, within ten seconds.
const KEPT_KIB_MAX: u64 = 40 << 10;
const THREADS_MAX: u64 = 16;

/// A number of `/proc/PID/status`.
fn status(served: &Served, name: &str) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{}/status", served.process())).unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix(name)).unwrap();
    line.trim().trim_end_matches(" kB").parse().unwrap()
}

/// A finished run whose log has about 100 KB.
fn finished_run(served: &Served) -> String {
    let body = format!(r#"{{"message": "what is 2+2? {}"}}"#, "lorem ipsum ".repeat(8_000));
    let answer = served.ask("POST", "/api/runs", "", &body);
    let started: Value = serde_json::from_str(answer.split_once("\r\n\r\n").unwrap().1).unwrap();
    let run = started["run"].as_str().unwrap().to_owned();
    while !served.ask("GET", &format!("/api/runs/{run}"), "", "").contains(r#""state":"completed""#) {
        std::thread::sleep(Duration::from_millis(20));
    }
    run
}

/// Everybody asks before anybody reads.
fn crowd(served: &Served, runs: &[String]) {
    let ask = |run: &String| {
        let mut stream = TcpStream::connect(served.address()).unwrap();
        let host = served.address();
        let head =
            format!("GET /api/runs/{run}/events HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n");
        stream.write_all(head.as_bytes()).unwrap();
        stream
    };
    let readers: Vec<TcpStream> = runs.iter().cycle().take(READERS).map(ask).collect();
    for mut reader in readers {
        let mut read = String::new();
        reader.read_to_string(&mut read).unwrap();
        assert!(read.starts_with("HTTP/1.1 200"), "{read}");
        assert!(read.len() > 90_000 && read.contains("run.finished"), "{} bytes", read.len());
    }
}

#[test]
fn a_crowd_that_catches_up_costs_little_memory_and_no_threads_and_gives_back_what_it_took() {
    let served = Served::start(&scratch(), &[("HELVE_LIMITS__STREAMS_PER_USER_MAX", "1000")]);
    let runs: Vec<String> = (0..20).map(|_| finished_run(&served)).collect();
    let (memory, threads) = (status(&served, "VmHWM:"), status(&served, "Threads:"));
    for runs in [&runs[..1], &runs] {
        crowd(&served, runs);
        let (more, now) = (status(&served, "VmHWM:") - memory, status(&served, "Threads:"));
        assert!(more < MEMORY_KIB_MAX, "{more} KiB for {READERS} readers of {} runs", runs.len());
        assert!(now < threads + THREADS_MAX, "{now} threads for {READERS} readers, {threads} before");
    }
    let left = Instant::now();
    while status(&served, "VmRSS:").saturating_sub(memory) > KEPT_KIB_MAX {
        assert!(left.elapsed() < Duration::from_secs(10), "{} KiB are kept", status(&served, "VmRSS:"));
        std::thread::sleep(Duration::from_millis(200));
    }
}
