//! Commands of triggers, as this user.

use std::path::{Path, PathBuf};
use std::sync::mpsc::{self, Receiver, Sender};
use std::thread::{self, JoinHandle};

use anyhow::{Context, Result};
use trace_convert::visible;
use trace_manager::{Cause, SessionSummary, TriggerRule};

use crate::cli::RecordArgs;
use crate::compression::Compression;
use crate::message::describe;

/// A command to run with the path of an archive.
type Job = (TriggerRule, PathBuf);

/// Runs the commands of triggers one after another, on a thread of its own.
#[derive(Debug)]
pub(super) struct Commands<'a> {
    rules: &'a [TriggerRule],
    jobs: Sender<Job>,
    /// Compressed snapshots are complete at the end.
    deferred: Option<Vec<Job>>,
    thread: Option<JoinHandle<()>>,
}

impl<'a> Commands<'a> {
    /// Starts the thread, if a trigger has a command.
    pub(super) fn start(args: &'a RecordArgs) -> Result<Self> {
        let rules = &args.session.triggers[..];
        let (jobs, receiver) = mpsc::channel();
        let has_command = rules.iter().any(|rule| rule.actions.run.is_some());
        let is_compressed = Compression::of(&args.session.output)? != Compression::None;
        let builder = thread::Builder::new().name("trace-run".to_owned());
        let thread = has_command.then(|| builder.spawn(move || work(&receiver))).transpose();
        let thread = thread.context("cannot start a thread")?;
        Ok(Self { rules, jobs, deferred: is_compressed.then(Vec::new), thread })
    }

    /// Runs the commands of the triggers that took a snapshot.
    pub(super) fn on_snapshot(&mut self, causes: &[Cause], path: &Path) {
        for rule in self.rules.iter().filter(|rule| has_command(rule)) {
            if rule.actions.snapshot && causes.contains(&rule.cause()) {
                let job = (rule.clone(), path.to_owned());
                match &mut self.deferred {
                    Some(deferred) => deferred.push(job),
                    None => self.run(job),
                }
            }
        }
    }

    /// Runs the remaining commands: all archives are complete. Waits for the end of all.
    pub(super) fn end(mut self, summary: &SessionSummary, archive: &Path) {
        self.deferred.take().into_iter().flatten().for_each(|job| self.run(job));
        let stopped_by = |rule: &&TriggerRule| {
            has_command(rule)
                && rule.ends_session()
                && summary.stopped_by.as_ref().is_some_and(|cause| *cause == rule.cause())
        };
        let path = summary.parts.last().map_or(archive, PathBuf::as_path);
        if summary.archive.is_ok() {
            self.rules.iter().filter(stopped_by).for_each(|rule| {
                self.run((rule.clone(), path.to_owned()));
            });
        }
        drop(self.jobs);
        if let Some(thread) = self.thread {
            // A panic is reported by its hook.
            let _ended = thread.join();
        }
    }

    fn run(&self, job: Job) {
        // Fails only if the thread has panicked.
        let _sent = self.jobs.send(job);
    }
}

fn has_command(rule: &TriggerRule) -> bool {
    rule.actions.run.is_some()
}

fn work(jobs: &Receiver<Job>) {
    for (rule, path) in jobs {
        let path = std::path::absolute(&path).unwrap_or(path);
        let cause = rule.condition.to_string();
        match rule.run(&path) {
            Ok(status) if status.success() => {}
            Ok(status) => {
                crate::say(&format!("the command of {} failed: {status}", visible(&cause)))
            }
            Err(error) => {
                let reason = describe(&error);
                crate::say(&format!("cannot run the command of {}: {reason}", visible(&cause)));
            }
        }
    }
}
