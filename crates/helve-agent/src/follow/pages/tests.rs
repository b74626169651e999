//! Pages of a log that readers share: how many are held, and that each is read once.

use helve_store::MemoryStore;
use helve_store_contract::Actor;
use helve_types::{Ending, Fact, PartId};

use super::*;

/// A run with this many events of some size behind its first one.
async fn run_of(mei: &Actor, events: u32, bytes: usize) -> helve_store_contract::Started {
    let mut run = mei.start(mei.new_conversation(), "count").await;
    for n in 1..=events {
        let text = "x".repeat(bytes);
        let fact = Fact::TextFinished { step: 1, part: PartId::new(1, 1, n), text };
        mei.append(&mut run, vec![fact]).await.unwrap();
    }
    run
}

fn mei() -> Actor {
    Actor::new(Arc::new(MemoryStore::new()), "mei")
}

#[tokio::test]
async fn readers_of_the_same_part_share_one_page_and_it_goes_with_the_last_of_them() {
    let mei = mei();
    let run = run_of(&mei, 40, 1_000).await.run;
    let pages = LogPages::default();
    let first = pages.read_page(&*mei.store, run, 0).await.unwrap();
    let second = pages.read_page(&*mei.store, run, 0).await.unwrap();
    assert!(Arc::ptr_eq(&first.page, &second.page));
    let bytes: usize = first.page.events.iter().map(|recorded| recorded.json.len()).sum();
    assert!((PAGE_BYTES..PAGE_BYTES + 2_000).contains(&bytes), "{bytes}");
    let page = Arc::downgrade(&first.page);
    drop((first, second));
    assert!(page.upgrade().is_none());
}

#[tokio::test]
async fn all_pages_together_are_the_log() {
    let mei = mei();
    let run = run_of(&mei, 100, 700).await.run;
    let pages = LogPages::default();
    let mut read = vec![];
    loop {
        let held = pages.read_page(&*mei.store, run, read.len() as u64).await.unwrap();
        read.extend(held.page.events.iter().map(|recorded| recorded.event.seq));
        if held.page.is_last {
            break;
        }
    }
    assert_eq!(read, (1..=101).collect::<Vec<_>>());
}

#[tokio::test]
async fn the_end_of_a_run_that_goes_on_is_read_anew_and_that_of_one_that_is_over_is_shared() {
    let mei = mei();
    let mut run = run_of(&mei, 1, 10).await;
    let pages = LogPages::default();
    let before = pages.read_page(&*mei.store, run.run, 0).await.unwrap();
    mei.append(&mut run, vec![Fact::RunFinished { ending: Ending::Answered }]).await.unwrap();
    let after = pages.read_page(&*mei.store, run.run, 0).await.unwrap();
    assert_eq!((before.page.events.len(), after.page.events.len()), (2, 3));
    let again = pages.read_page(&*mei.store, run.run, 0).await.unwrap();
    assert!(Arc::ptr_eq(&after.page, &again.page));
}
