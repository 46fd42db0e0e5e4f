//! More threads at a time than the format has thread indices (255).

use std::sync::mpsc::{self, Receiver, Sender};
use std::thread::{self, JoinHandle};

use crate::notes::Notes;
use crate::{known, pause, scope};

const THREADS: u32 = 300;

/// After this number of turns there is a pause, so that full buffers can be saved.
const TURNS_BETWEEN_PAUSES: usize = 10;

struct Member {
    /// A message lets the thread record an event; closing the channel ends the thread.
    turn: Sender<()>,
    done: Receiver<()>,
    thread: JoinHandle<Notes>,
}

/// All threads exist before the first one ends, and record events in turn.
pub(crate) fn crowd(notes: &mut Notes) -> Vec<Notes> {
    let members: Vec<Member> = (0..THREADS).map(member).collect();
    for round in 0..2u32 {
        scope!(notes, "crowd", "round", ["round" => round] {
            for (number, member) in members.iter().enumerate() {
                member.take_turn();
                if number % TURNS_BETWEEN_PAUSES == 0 {
                    pause();
                }
            }
        });
    }
    members.into_iter().map(Member::end).collect()
}

fn member(number: u32) -> Member {
    let (turn, turns) = mpsc::channel();
    let (sender, done) = mpsc::channel();
    let thread = thread::Builder::new().name(format!("crowd {number:03}")).spawn(move || {
        let mut notes = Notes::of_this_thread();
        for (round, ()) in (0u32..).zip(turns) {
            scope!(notes, "crowd", "turn", ["number" => number, "round" => round] {
                known!(notes, trace_instant, "crowd", "in turn", [], "number" => number);
                known!(notes, trace_counter, "crowd", "turns", [u64::from(number)], "round" => round);
            });
            let _sent = sender.send(());
        }
        notes
    });
    Member { turn, done, thread: thread.expect("the system has room for another thread") }
}

impl Member {
    fn take_turn(&self) {
        self.turn.send(()).expect("the thread waits for its turn");
        self.done.recv().expect("the thread takes its turn");
    }

    fn end(self) -> Notes {
        drop(self.turn);
        self.thread.join().expect("the thread does not panic")
    }
}
