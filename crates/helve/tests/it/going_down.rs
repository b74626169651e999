//! A server that is told to stop: what it still does, what it tells, and what it leaves to the next.

use std::io::{BufRead, BufReader, Write};
use std::net::TcpStream;
use std::time::{Duration, Instant};

use crate::outside::{Outside, Spoken};
use crate::people::Home;
use crate::serving::Served;

/// Longer than anything here waits, shorter than what it would wait for if it did not work.
const SOON: Duration = Duration::from_secs(60);

fn begun(served: &Served) -> String {
    let answer = served.ask("POST", "/api/runs", "", r#"{"message": "hello?"}"#);
    assert!(answer.starts_with("HTTP/1.1 201"), "{answer}");
    let (_, rest) = answer.split_once(r#""run":""#).unwrap();
    rest.split('"').next().unwrap().to_owned()
}

/// A stream of the run's events, read line by line.
fn events(served: &Served, run: &str) -> BufReader<TcpStream> {
    let mut stream = TcpStream::connect(served.address()).unwrap();
    write!(stream, "GET /api/runs/{run}/events HTTP/1.1\r\nHost: {}\r\n\r\n", served.address()).unwrap();
    stream.set_read_timeout(Some(SOON)).unwrap();
    BufReader::new(stream)
}

/// Reads until a line has this in it, and gives all that was read.
fn read_to(stream: &mut BufReader<TcpStream>, wanted: &str) -> String {
    let mut all = String::new();
    while !all.contains(wanted) {
        assert!(stream.read_line(&mut all).unwrap() > 0, "`{wanted}` never came: {all}");
    }
    all
}

/// To the end of the stream, which has to be a proper one.
fn rest(stream: &mut BufReader<TcpStream>) -> String {
    read_to(stream, "\r\n0\r\n")
}

#[test]
fn what_is_being_said_is_said_to_its_end_and_nothing_new_is_taken() {
    let words: Vec<String> = (0..40).map(|n| format!("word{n} ")).collect();
    let home = Home::with(Outside::drawling(words));
    let served = home.serve(&[]);
    let run = begun(&served);
    let mut stream = events(&served, &run);
    read_to(&mut stream, "word1 ");
    served.tell_to_stop();
    let refused = loop {
        let answer = served.ask("POST", "/api/runs", "", r#"{"message": "me too"}"#);
        if !answer.starts_with("HTTP/1.1 201") {
            break answer;
        }
    };
    assert!(refused.starts_with("HTTP/1.1 503") && refused.contains(r#""code":"not_ready""#), "{refused}");
    assert!(refused.to_lowercase().contains("retry-after: "), "{refused}");
    let ready = served.ask("GET", "/readyz", "", "");
    assert!(ready.starts_with("HTTP/1.1 503"), "{ready}");
    assert!(served.ask("GET", "/healthz", "", "").starts_with("HTTP/1.1 200"));
    let told = rest(&mut stream);
    assert!(told.contains("word39") && told.contains("run.finished"), "{told}");
    assert!(served.ended_well());
    // Nothing is left to be written into the database at the next start.
    let behind = std::fs::metadata(home.data.join("helve.db-wal")).map_or(0, |wal| wal.len());
    assert_eq!(behind, 0);
}

#[test]
fn at_the_deadline_readers_are_told_and_the_next_server_goes_on() {
    let awake = std::sync::Arc::new(std::sync::atomic::AtomicBool::new(false));
    let switch = awake.clone();
    let home =
        Home::with(Outside::speaking(move |_| match switch.load(std::sync::atomic::Ordering::SeqCst) {
            true => Spoken::Words("Good morning.".into()),
            false => Spoken::Nothing,
        }));
    let served = home.serve(&[("HELVE_SERVER__DRAIN_MS", "200")]);
    let run = begun(&served);
    let mut stream = events(&served, &run);
    read_to(&mut stream, "run.started");
    served.tell_to_stop();
    let told = rest(&mut stream);
    let frame = told.split("\n\n").find(|frame| frame.contains("server.draining")).unwrap();
    assert!(!frame.contains("id:"), "{frame}");
    assert!(served.ended_well());

    awake.store(true, std::sync::atomic::Ordering::SeqCst);
    let next = home.serve(&[]);
    let mut stream = events(&next, &run);
    let told = rest(&mut stream);
    assert!(told.contains("Good morning.") && told.contains("run.resumed"), "{told}");
    for kind in ["run.started", "run.finished"] {
        assert_eq!(told.matches(&format!("\"type\":\"{kind}\"")).count(), 1, "{told}");
    }
}

#[test]
fn a_reader_of_a_run_that_waits_is_told_too() {
    let home = Home::new();
    let served = home.serve(&[]);
    let (run, question) = crate::people::ask(&served, "", "milk");
    let mut stream = events(&served, &run);
    read_to(&mut stream, "run.waiting");
    served.tell_to_stop();
    assert!(rest(&mut stream).contains(r#"data: {"type":"server.draining"}"#));
    assert!(served.ended_well());
    assert_eq!(home.notes(), "");
    let next = home.serve(&[]);
    let listed = next.ask("GET", "/api/approvals", "", "");
    assert!(listed.contains(&question), "it waits as before: {listed}");
}

#[test]
fn told_twice_it_ends_at_once() {
    let home = Home::with(Outside::speaking(|_| Spoken::Nothing));
    let served = home.serve(&[("HELVE_SERVER__DRAIN_MS", "600000")]);
    let run = begun(&served);
    let mut stream = events(&served, &run);
    read_to(&mut stream, "run.started");
    served.tell_to_stop();
    while !served.ask("GET", "/readyz", "", "").starts_with("HTTP/1.1 503") {}
    let began = Instant::now();
    served.tell_to_stop();
    assert!(served.ended_well());
    assert!(began.elapsed() < SOON, "{:?}", began.elapsed());
}
