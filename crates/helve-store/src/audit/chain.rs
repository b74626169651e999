//! Whether a chain is whole, and where it is not. Pure: entries in, in the order of their numbers.

use super::{AuditHead, ChainHash, ChainedEntry};

/// The first place at which a chain is not what was written.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ChainBreak {
    #[error("entry {seq} was changed: its content does not have its hash")]
    Changed { seq: u64 },

    #[error("entries {from} to {to} were removed")]
    Removed { from: u64, to: u64 },

    #[error("entries {from} to {to} were inserted")]
    Inserted { from: u64, to: u64 },

    #[error("entry {seq} is not in its place: it was written as entry {written_as}")]
    Reordered { seq: u64, written_as: u64 },

    #[error("entry {seq} does not follow entry {}: that one, or one before it, was replaced", seq - 1)]
    Replaced { seq: u64 },

    #[error(
        "the end was cut off: the last entry is {last}, and entry {expected} is known to have been written"
    )]
    Cut { last: u64, expected: u64 },

    #[error("entry {seq} is not the one whose hash was kept: the log up to it was written anew")]
    Rewritten { seq: u64 },
}

/// Follows a chain entry by entry, in constant memory.
#[derive(Debug)]
pub struct ChainVerifier {
    last: AuditHead,
    /// The highest number that an entry may once have had.
    numbers_max: u64,
    /// Heads that were kept elsewhere, the last one first.
    expected: Vec<AuditHead>,
    /// An entry that was written under another number: the entry after it tells what happened.
    misplaced: Option<(u64, u64)>,
}

/// Beyond the last entry that is known, so many numbers are tried for an entry that fits no other.
const NUMBERS_BEYOND: u64 = 1_000;

impl ChainVerifier {
    pub fn new(last_seq: u64, mut expected: Vec<AuditHead>) -> Self {
        expected.sort_by_key(|head| std::cmp::Reverse(head.seq));
        let known = expected.first().map_or(0, |head| head.seq).max(last_seq);
        let numbers_max = known.saturating_add(NUMBERS_BEYOND);
        Self { last: AuditHead::default(), numbers_max, expected, misplaced: None }
    }

    pub fn check(&mut self, entry: ChainedEntry) -> Result<(), ChainBreak> {
        if let Some((seq, written_as)) = self.misplaced {
            return Err(describe_misplaced(seq, written_as, Some(&entry)));
        }
        let wanted = self.last.seq + 1;
        if entry.seq > wanted {
            return Err(ChainBreak::Removed { from: wanted, to: entry.seq - 1 });
        }
        if entry.compute_hash() != entry.hash {
            return match self.find_number(&entry) {
                Some(written_as) => {
                    self.misplaced = Some((entry.seq, written_as));
                    Ok(())
                }
                None => Err(ChainBreak::Changed { seq: entry.seq }),
            };
        }
        if entry.previous != self.last.hash {
            return Err(ChainBreak::Replaced { seq: entry.seq });
        }
        self.last = entry.head();
        self.check_expected()
    }

    pub fn finish(self) -> Result<AuditHead, ChainBreak> {
        if let Some((seq, written_as)) = self.misplaced {
            return Err(describe_misplaced(seq, written_as, None));
        }
        match self.expected.first() {
            Some(head) if head.seq > self.last.seq => {
                Err(ChainBreak::Cut { last: self.last.seq, expected: head.seq })
            }
            _ => Ok(self.last),
        }
    }

    fn check_expected(&mut self) -> Result<(), ChainBreak> {
        while let Some(head) = self.expected.last().filter(|head| head.seq <= self.last.seq) {
            let is_here = head.seq == 0 || *head == self.last;
            if !is_here {
                return Err(ChainBreak::Rewritten { seq: head.seq });
            }
            self.expected.pop();
        }
        Ok(())
    }

    /// The number under which the entry has its hash.
    fn find_number(&self, entry: &ChainedEntry) -> Option<u64> {
        (1..=self.numbers_max).find(|seq| entry.compute_hash_as(*seq) == entry.hash)
    }
}

/// An entry that fits another number was exchanged with another one, unless what follows it was moved with it.
fn describe_misplaced(seq: u64, written_as: u64, next: Option<&ChainedEntry>) -> ChainBreak {
    let is_shifted = next.is_none_or(|next| fits(next, written_as + (next.seq - seq), next.hash));
    match is_shifted {
        true if written_as > seq => ChainBreak::Removed { from: seq, to: written_as - 1 },
        true => ChainBreak::Inserted { from: written_as, to: seq - 1 },
        false => ChainBreak::Reordered { seq, written_as },
    }
}

fn fits(entry: &ChainedEntry, seq: u64, hash: ChainHash) -> bool {
    entry.compute_hash_as(seq) == hash
}

#[cfg(test)]
mod tests {
    use helve_types::Timestamp;

    use super::*;
    use crate::AuditEntry;

    fn chain(length: u64) -> Vec<ChainedEntry> {
        let mut head = AuditHead::default();
        let mut entries = vec![];
        for number in 1..=length {
            let entry = AuditEntry::new(Timestamp(1), "mei", "tool.created", format!("tool {number}"));
            let entry = ChainedEntry::after(head, &entry, "p_1".into(), None);
            head = entry.head();
            entries.push(entry);
        }
        entries
    }

    fn verify(entries: Vec<ChainedEntry>, expected: Vec<AuditHead>) -> Result<AuditHead, ChainBreak> {
        let mut verifier = ChainVerifier::new(entries.last().map_or(0, |last| last.seq), expected);
        entries.into_iter().try_for_each(|entry| verifier.check(entry))?;
        verifier.finish()
    }

    /// Numbers as they stand, without gaps.
    fn renumber(entries: &mut [ChainedEntry]) {
        (1..).zip(entries).for_each(|(seq, entry)| entry.seq = seq);
    }

    #[test]
    fn a_chain_is_whole_as_it_was_written_and_with_each_head_that_it_ever_had() {
        let entries = chain(9);
        let heads = entries.iter().map(ChainedEntry::head).collect();
        assert_eq!(verify(entries.clone(), heads), Ok(entries[8].head()));
        assert_eq!(verify(vec![], vec![]), Ok(AuditHead::default()));
        assert_eq!(verify(chain(3), vec![AuditHead::default()]).map(|head| head.seq), Ok(3));
    }

    #[test]
    fn every_field_of_every_entry_is_under_its_hash() {
        type Change = fn(&mut ChainedEntry);
        let changes: [Change; 6] = [
            |entry| entry.at = Timestamp(2),
            |entry| entry.by = "p_2".into(),
            |entry| entry.about = Some("p_2".into()),
            |entry| entry.action.push('d'),
            |entry| entry.detail.clear(),
            |entry| entry.hash.0[31] ^= 1,
        ];
        for place in 0..5 {
            for change in changes {
                let mut entries = chain(5);
                change(&mut entries[place]);
                let seq = place as u64 + 1;
                assert_eq!(verify(entries, vec![]), Err(ChainBreak::Changed { seq }));
            }
        }
    }

    #[test]
    fn an_entry_that_was_replaced_with_its_hash_is_found_by_the_one_after_it() {
        let mut entries = chain(5);
        entries[2].detail = "nothing".into();
        entries[2].hash = entries[2].compute_hash();
        assert_eq!(verify(entries, vec![]), Err(ChainBreak::Replaced { seq: 4 }));
    }

    #[test]
    fn removed_entries_are_named_whether_the_others_were_renumbered_or_not() {
        for (from, to) in [(1, 1), (2, 3), (4, 4)] {
            let mut entries = chain(5);
            entries.drain(from - 1..to);
            let removed = ChainBreak::Removed { from: from as u64, to: to as u64 };
            assert_eq!(verify(entries.clone(), vec![]), Err(removed.clone()));
            renumber(&mut entries);
            assert_eq!(verify(entries, vec![]), Err(removed));
        }
    }

    #[test]
    fn an_inserted_entry_is_named_though_it_continues_the_chain() {
        for place in 0..4_usize {
            let mut entries = chain(4);
            let head = place.checked_sub(1).map_or(AuditHead::default(), |last| entries[last].head());
            let forged = AuditEntry::new(Timestamp(1), "x", "tool.deleted", "");
            entries.insert(place, ChainedEntry::after(head, &forged, "p_9".into(), None));
            renumber(&mut entries);
            let number = place as u64 + 1;
            assert_eq!(verify(entries, vec![]), Err(ChainBreak::Inserted { from: number, to: number }));
        }
    }

    #[test]
    fn entries_that_changed_places_are_named_with_the_number_they_had() {
        for (one, other) in [(0, 1), (1, 3), (3, 4), (0, 4)] {
            let mut entries = chain(5);
            entries.swap(one, other);
            renumber(&mut entries);
            let reordered = ChainBreak::Reordered { seq: one as u64 + 1, written_as: other as u64 + 1 };
            assert_eq!(verify(entries, vec![]), Err(reordered));
        }
    }

    #[test]
    fn a_tail_that_was_cut_off_is_found_by_a_head_that_was_kept() {
        let entries = chain(5);
        let head = entries[4].head();
        let left = entries[..3].to_vec();
        assert_eq!(verify(left.clone(), vec![]), Ok(entries[2].head()));
        assert_eq!(verify(left, vec![head]), Err(ChainBreak::Cut { last: 3, expected: 5 }));
        assert_eq!(verify(vec![], vec![head]), Err(ChainBreak::Cut { last: 0, expected: 5 }));
    }

    #[test]
    fn a_chain_that_was_written_anew_is_found_by_a_head_that_was_kept() {
        let kept = chain(5)[3].head();
        let mut head = AuditHead::default();
        let mut anew = vec![];
        for _ in 0..6 {
            let entry = AuditEntry::new(Timestamp(1), "mei", "tool.created", "other");
            let entry = ChainedEntry::after(head, &entry, "p_1".into(), None);
            head = entry.head();
            anew.push(entry);
        }
        assert_eq!(verify(anew.clone(), vec![]), Ok(head));
        assert_eq!(verify(anew, vec![kept]), Err(ChainBreak::Rewritten { seq: 4 }));
    }
}
