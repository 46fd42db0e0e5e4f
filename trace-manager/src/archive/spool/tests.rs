use super::*;
use crate::records::Spares;
use std::thread;

fn block(first: u64, words: usize) -> Block {
    let info = BlockInfo { rate: Some(first as usize), ..BlockInfo::default() };
    let words = Spares::default().share((first..).take(words).collect());
    Block { words, start: 0, info }
}

fn pop_words(spool: &Spool) -> Option<(Vec<u8>, usize)> {
    let ready = spool.pop()?.unwrap();
    let popped = (ready.bytes().to_vec(), ready.info().rate.unwrap());
    spool.release(ready);
    Some(popped)
}

#[test]
fn blocks_beyond_the_limit_keep_their_order() {
    let spool = Spool::new(64, None);
    for first in 0..10 {
        spool.push(block(first, 5)).unwrap();
    }
    assert_eq!(spool.lock().spilled, 9, "the limit is between 40 and 80 bytes");
    for first in 0..5 {
        let words: Vec<u64> = (first..).take(5).collect();
        assert_eq!(pop_words(&spool), Some((as_bytes(&words).to_vec(), first as usize)));
    }
    spool.push(block(10, 5)).unwrap();
    spool.push(block(11, 5)).unwrap();
    spool.close();
    for first in 5..12u64 {
        assert_eq!(pop_words(&spool).unwrap().1, first as usize);
    }
    assert!(spool.pop().is_none());
}

#[test]
fn an_empty_file_is_reused_from_its_start() {
    let spool = Spool::new(8, None);
    for _ in 0..3 {
        spool.push(block(0, 100)).unwrap();
        spool.push(block(1, 100)).unwrap();
        assert_eq!(spool.lock().spill_end, 800);
        pop_words(&spool).unwrap();
        pop_words(&spool).unwrap();
    }
}

#[test]
fn an_empty_queue_accepts_a_large_block() {
    let spool = Spool::new(8, None);
    spool.push(block(0, 1000)).unwrap();
    assert_eq!(spool.lock().spilled, 0);
}

#[test]
fn vectors_are_reused_after_their_last_user() {
    let (spool, spares) = (Spool::new(1 << 20, None), Spares::default());
    let words = spares.share(vec![7; 100]);
    let info = BlockInfo { rate: Some(0), ..BlockInfo::default() };
    spool.push(Block { words: words.clone(), start: 90, info }).unwrap();
    assert_eq!(pop_words(&spool).unwrap().0.len(), 80);
    assert_eq!(spares.take().capacity(), 0, "the words are still in use");
    drop(words);
    let spare = spares.take();
    assert!(spare.is_empty() && spare.capacity() >= 100);
}

#[test]
fn a_failed_spill_is_reported() {
    let gone = tempfile::tempdir().unwrap();
    let directory = Directory::open(gone.path()).unwrap();
    drop(gone);
    let spool = Spool::new(8, Some(directory));
    spool.push(block(0, 10)).unwrap();
    assert!(spool.push(block(1, 10)).is_err());
    assert_eq!(pop_words(&spool).unwrap().1, 0);
}

#[test]
fn a_bounded_queue_has_no_file() {
    let spool = Spool::bounded(100);
    spool.push(block(0, 5)).unwrap();
    spool.push(block(1, 5)).unwrap();
    assert!(!spool.has_overflowed());
    let error = spool.push(block(2, 5)).unwrap_err();
    assert_eq!(error.to_string(), "the output is not read");
    assert!(spool.has_overflowed() && spool.lock().queue.is_empty() && spool.spilled() == 0);
}

#[test]
fn all_blocks_cross_threads_in_order() {
    let spool = Arc::new(Spool::new(4096, None));
    let reader = thread::spawn({
        let spool = Arc::clone(&spool);
        move || {
            let popped: Vec<_> = std::iter::from_fn(|| pop_words(&spool)).collect();
            popped.into_iter().map(|(_, rate)| rate).collect::<Vec<usize>>()
        }
    });
    for first in 0..2000 {
        spool.push(block(first, 64)).unwrap();
    }
    spool.close();
    assert_eq!(reader.join().unwrap(), (0..2000).collect::<Vec<usize>>());
}
