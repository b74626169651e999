//! When the server had said what: the acknowledgements of clients and the orders to the ledger, found in its record.
//!
//! What clients and ledger remember has no place in the order of writes and syncs; what the server sent has. An
//! acknowledgement counts from the moment at which its last byte was handed to the system, so it is exact on which
//! side of a cut it is.

use std::collections::HashMap;

use anyhow::ensure;
use helve_types::RunId;
use uuid::Uuid;

use super::record::Op;
use crate::client::connection::parse;
use crate::client::{ClientLog, Reader, Start};
use crate::ledger::LedgerEntry;

/// A life of the server, and how many entries its record had.
pub(crate) type Moment = (usize, usize);

/// After everything that is on record of a life.
const AT_ITS_END: usize = usize::MAX;

#[derive(Debug, Default)]
pub(crate) struct Observations {
    /// By number and text; the same text may be of two runs.
    events: HashMap<(u64, String), Moment>,
    runs: HashMap<RunId, Moment>,
    answers: HashMap<Uuid, Moment>,
    /// Each time that an effect was ordered, by its call.
    orders: HashMap<String, Vec<Moment>>,
    last: Moment,
}

/// What was sent on one connection, and which entry each byte is of.
#[derive(Default)]
struct Stream {
    bytes: Vec<u8>,
    ends: Vec<(usize, usize)>,
}

impl Stream {
    fn take(&mut self, bytes: &[u8], entry: usize) {
        self.bytes.extend_from_slice(bytes);
        self.ends.push((self.bytes.len(), entry));
    }

    /// How many entries there were when the byte before this had been sent.
    fn sent(&self, end: usize) -> usize {
        let at = self.ends.partition_point(|(upto, _)| *upto < end);
        self.ends.get(at).map_or(AT_ITS_END, |(_, entry)| entry + 1)
    }
}

impl Observations {
    /// Takes in the record of one life.
    pub(crate) fn read_record(&mut self, life: usize, ops: &[Op]) {
        let (mut told, mut asked): (HashMap<u32, Stream>, HashMap<u32, Stream>) = Default::default();
        for (entry, op) in ops.iter().enumerate() {
            match op {
                Op::Told { connection, bytes } => told.entry(*connection).or_default().take(bytes, entry),
                Op::Asked { connection, bytes } => asked.entry(*connection).or_default().take(bytes, entry),
                _ => {}
            }
        }
        for stream in told.values() {
            self.read_frames(life, stream);
            self.read_answers(life, stream);
        }
        for stream in asked.values() {
            self.read_orders(life, stream);
        }
        self.orders.values_mut().for_each(|moments| moments.sort_unstable());
        self.last = (life, AT_ITS_END);
    }

    fn read_frames(&mut self, life: usize, stream: &Stream) {
        let mut from = 0;
        while let Some(length) = find(&stream.bytes[from..], b"\n\n") {
            let end = from + length + 2;
            let text = String::from_utf8_lossy(&stream.bytes[from..end]);
            // Between frames stand the lengths of chunks, which are no lines of a frame.
            if let Some((seq, data)) = parse(&text).and_then(|frame| Some((frame.id?, frame.data))) {
                keep_earliest(&mut self.events, (seq, data), (life, stream.sent(end)));
            }
            from = end;
        }
    }

    /// What was answered with a 201 or a 200, in whose body the id stands.
    fn read_answers(&mut self, life: usize, stream: &Stream) {
        let text = &stream.bytes;
        let starts = find_all(text, b"HTTP/1.1 ");
        for (at, start) in starts.iter().enumerate() {
            let end = starts.get(at + 1).copied().unwrap_or(text.len());
            let answer = String::from_utf8_lossy(&text[*start..end]);
            let moment = (life, stream.sent(end));
            if answer.starts_with("HTTP/1.1 201")
                && let Some(run) = text_until_quote(&answer, "\"run\":\"").and_then(|run| run.parse().ok())
            {
                keep_earliest(&mut self.runs, run, moment);
            } else if answer.starts_with("HTTP/1.1 200")
                && answer.contains("application/json")
                && let Some(id) = text_until_quote(&answer, "\"approval\":\"").and_then(|id| id.parse().ok())
            {
                keep_earliest(&mut self.answers, id, moment);
            }
        }
    }

    fn read_orders(&mut self, life: usize, stream: &Stream) {
        const ORDER: &[u8] = b"{\"call\":\"";
        for start in find_all(&stream.bytes, ORDER) {
            let rest = &stream.bytes[start + ORDER.len()..];
            let Some(end) = find(rest, b"\",\"tool\"") else { continue };
            let call = String::from_utf8_lossy(&rest[..end]).into_owned();
            let sent = stream.sent(start + ORDER.len() + end);
            self.orders.entry(call).or_default().push((life, sent));
        }
    }

    /// What clients had been told at this moment.
    pub(crate) fn clients(&self, all: &[ClientLog], at: Moment) -> Vec<ClientLog> {
        let runs_of = self.runs_of(all);
        let is_told = |moment: Option<&Moment>| moment.is_some_and(|told| *told <= at);
        let mut logs = vec![];
        for client in all {
            let start = |start: &Start| Start {
                runs: start.runs.iter().copied().filter(|run| is_told(self.runs.get(run))).collect(),
                ..start.clone()
            };
            let mut log = ClientLog {
                starts: client.starts.iter().map(start).collect(),
                answers: client.answers.clone(),
                ..ClientLog::default()
            };
            log.answers.retain(|answered| is_told(self.answers.get(&answered.approval)));
            for held in &client.readers {
                let mut reader = Reader::new(held.run);
                reader.connected();
                for event in &held.events {
                    // Whose it was is not known of a text that two runs have; the reader stops there.
                    if !is_told(self.events.get(event)) || runs_of[event] != Some(held.run) {
                        break;
                    }
                    reader.read_frame(Some(event.0), &event.1);
                }
                log.readers.push(reader);
            }
            logs.push(log);
        }
        logs
    }

    /// The run that an event is of, if it is of one only.
    fn runs_of<'a>(&self, all: &'a [ClientLog]) -> HashMap<&'a (u64, String), Option<RunId>> {
        let mut runs: HashMap<&(u64, String), Option<RunId>> = HashMap::new();
        for reader in all.iter().flat_map(|client| &client.readers) {
            for event in &reader.events {
                let run = runs.entry(event).or_insert(Some(reader.run));
                if *run != Some(reader.run) {
                    *run = None;
                }
            }
        }
        runs
    }

    /// What had been ordered at this moment and was carried out.
    ///
    /// Not every order is carried out. Which ones were is not said, so they are taken to be the last ones: nothing
    /// counts before it was sent.
    pub(crate) fn ledger(&self, all: &[LedgerEntry], at: Moment) -> Vec<LedgerEntry> {
        let mut left: HashMap<&str, usize> = HashMap::new();
        for entry in all {
            *left.entry(&entry.call).or_default() += 1;
        }
        let mut kept = vec![];
        for entry in all {
            let orders = self.orders.get(&entry.call).map_or(&[][..], Vec::as_slice);
            let to_come = left.entry(&entry.call).or_default();
            let order = orders.len().checked_sub(*to_come).map_or(self.last, |order| orders[order]);
            *to_come -= 1;
            if order <= at {
                kept.push(entry.clone());
            }
        }
        kept
    }

    /// How much of what clients remember is on record: all but what one last call may have said.
    pub(crate) fn ensure_complete(&self, all: &[ClientLog]) -> anyhow::Result<usize> {
        let readers = all.iter().flat_map(|client| &client.readers);
        let events: Vec<_> = readers.flat_map(|reader| &reader.events).collect();
        let promised: Vec<_> =
            all.iter().flat_map(|client| &client.starts).flat_map(|start| &start.runs).collect();
        let answers: Vec<_> = all.iter().flat_map(|client| &client.answers).collect();
        let lost = [
            events.iter().filter(|event| !self.events.contains_key(**event)).count(),
            promised.iter().filter(|run| !self.runs.contains_key(*run)).count(),
            answers.iter().filter(|answered| !self.answers.contains_key(&answered.approval)).count(),
        ];
        // One call can carry several frames, to several readers.
        ensure!(
            lost[0] <= 16 && lost[1] <= 1 && lost[2] <= 1,
            "clients were told {} events, {} runs and {} answers of which {lost:?} are not on record: the harness is \
             broken",
            events.len(),
            promised.len(),
            answers.len()
        );
        Ok(events.len() + promised.len() + answers.len())
    }
}

fn keep_earliest<K: std::hash::Hash + Eq>(of: &mut HashMap<K, Moment>, key: K, moment: Moment) {
    let known = of.entry(key).or_insert(moment);
    *known = moment.min(*known);
}

fn find(text: &[u8], what: &[u8]) -> Option<usize> {
    text.windows(what.len()).position(|window| window == what)
}

fn find_all(text: &[u8], what: &[u8]) -> Vec<usize> {
    text.windows(what.len()).enumerate().filter(|(_, window)| *window == what).map(|(at, _)| at).collect()
}

/// What stands between this and the next quotation mark.
fn text_until_quote<'a>(text: &'a str, before: &str) -> Option<&'a str> {
    text.split_once(before)?.1.split('"').next()
}

#[cfg(test)]
mod tests {
    use helve_types::Effect;
    use serde_json::json;

    use super::*;
    use crate::client::AnsweredQuestion;

    fn told(connection: u32, text: &str) -> Op {
        Op::Told { connection, bytes: text.as_bytes().to_vec() }
    }

    fn asked(text: &str) -> Op {
        Op::Asked { connection: 9, bytes: text.as_bytes().to_vec() }
    }

    fn effect(n: u64) -> LedgerEntry {
        LedgerEntry {
            n,
            receipt: n,
            call: "c".into(),
            key: "c".into(),
            tool: "t".into(),
            class: Effect::NonIdempotent,
            user: "mei".into(),
            at_once: 1,
            at_ms: 0,
            payload: json!({}),
            answer: String::new(),
        }
    }

    #[test]
    fn an_event_counts_from_its_last_byte_on() {
        let event = r#"{"at":1,"type":"run.resumed","resume":1}"#;
        let run = RunId(Uuid::from_u128(1));
        let mut heard = Observations::default();
        let ops = [
            told(1, "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n"),
            told(1, &format!("3a\r\nid: 1\ndata: {}", &event[..10])),
            told(2, "something else"),
            told(1, &format!("{}\n\n\r\n", &event[10..])),
        ];
        heard.read_record(0, &ops);
        let mut reader = Reader::new(run);
        reader.read_frame(Some(1), event);
        let all = [ClientLog { readers: vec![reader], ..ClientLog::default() }];
        let count = |at| heard.clients(&all, at)[0].readers[0].events.len();
        assert_eq!([count((0, 3)), count((0, 4)), count((1, 0))], [0, 1, 1]);
        heard.ensure_complete(&all).unwrap();
    }

    #[test]
    fn a_text_that_two_runs_have_counts_for_neither() {
        let event = r#"{"at":1,"type":"run.resumed","resume":1}"#;
        let mut heard = Observations::default();
        heard.read_record(0, &[told(1, &format!("id: 1\ndata: {event}\n\n"))]);
        let reader = |run| {
            let mut reader = Reader::new(RunId(Uuid::from_u128(run)));
            reader.read_frame(Some(1), event);
            reader
        };
        let all = [ClientLog { readers: vec![reader(1), reader(2)], ..ClientLog::default() }];
        let told = heard.clients(&all, (0, 1));
        assert!(told[0].readers.iter().all(|reader| reader.events.is_empty()));
    }

    #[test]
    fn promises_and_answers_count_once_their_response_is_out() {
        let id = Uuid::from_u128(7);
        let mut heard = Observations::default();
        let made = format!("HTTP/1.1 201 Created\r\n\r\n{{\"run\":\"{id}\"}}");
        let settled =
            format!("HTTP/1.1 200 OK\r\ncontent-type: application/json\r\n\r\n{{\"approval\":\"{id}\"}}");
        heard.read_record(0, &[told(1, &made[..30]), told(1, &made[30..]), told(1, &settled)]);
        let start = Start { nonce: "n".into(), key: None, runs: vec![RunId(id)] };
        let answered = AnsweredQuestion { approval: id, answer: json!({}) };
        let all = [ClientLog { starts: vec![start], answers: vec![answered], ..ClientLog::default() }];
        let counts = |entries| {
            let told = heard.clients(&all, (0, entries));
            (told[0].starts[0].runs.len(), told[0].answers.len())
        };
        assert_eq!([counts(1), counts(2), counts(3)], [(0, 0), (1, 0), (1, 1)]);
    }

    #[test]
    fn an_effect_counts_from_the_last_order_that_it_can_be_of() {
        let mut heard = Observations::default();
        let order = || asked("POST /effects\r\n\r\n{\"call\":\"c\",\"tool\":\"t\"}");
        heard.read_record(0, &[order(), order(), order()]);
        let kept = |entries, at| heard.ledger(&(1..=entries).map(effect).collect::<Vec<_>>(), (0, at)).len();
        // Two of three were carried out: the second and the third, for all that is known.
        assert_eq!([kept(2, 1), kept(2, 2), kept(2, 3)], [0, 1, 2]);
        assert_eq!([kept(3, 0), kept(3, 1), kept(3, 3)], [0, 1, 3]);
        // One more than is on record was ordered by the call that was not written down.
        assert_eq!([kept(4, 3), heard.ledger(&[effect(1)], (1, 0)).len()], [3, 1]);
    }
}
