//! The driver process: starts one child per tracer, and takes one measurement from each per round.

use std::fs;
use std::io::{self, BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use crate::killed;
use crate::options::Plan;
use crate::peer::{Kind, Peer};
use crate::peers::{self, EMPTY_LOOP, RAW_CLOCK};
use crate::report::{self, Footprint, Row};

/// Runs the whole comparison and renders the report.
///
/// # Errors
///
/// Fails if a child does not start or ends early, if no scratch directory can be created, or on an
/// unknown name in `--only`.
pub fn compare(plan: &Plan) -> io::Result<String> {
    let chosen = choose(&plan.only)?;
    let scratch = tempfile::tempdir()?;
    let rows = measure(&chosen, plan, scratch.path())?;
    let footprints = chosen
        .iter()
        .filter(|peer| !is_baseline(peer))
        .map(|peer| footprint(peer, plan.scopes, scratch.path()))
        .collect::<io::Result<Vec<_>>>()?;
    let survivors = chosen
        .iter()
        .filter(|peer| !is_baseline(peer))
        .map(|peer| killed::kill(peer, plan.scopes, scratch.path()))
        .collect::<io::Result<Vec<_>>>()?;
    Ok(report::render(plan, &rows, &footprints, &survivors))
}

/// Returns the selected tracers, and always the two baselines.
fn choose(only: &[String]) -> io::Result<Vec<&'static Peer>> {
    if let Some(unknown) = only.iter().find(|name| peers::find(name).is_none()) {
        let known: Vec<_> = peers::ALL.iter().map(|peer| peer.name).collect();
        return Err(io::Error::other(format!(
            "no tracer is called {unknown:?}; there are: {}",
            known.join(", ")
        )));
    }
    let is_selected = |peer: &Peer| {
        only.is_empty() || is_baseline(peer) || only.iter().any(|name| name == peer.name)
    };
    Ok(peers::ALL.iter().filter(|peer| is_selected(peer)).collect())
}

fn is_baseline(peer: &Peer) -> bool {
    peer.name == RAW_CLOCK || peer.name == EMPTY_LOOP
}

fn measure(chosen: &[&'static Peer], plan: &Plan, scratch: &Path) -> io::Result<Vec<Row>> {
    let mut pairs = chosen
        .iter()
        .map(|peer| Ok((Worker::spawn(peer)?, Row::new(peer))))
        .collect::<io::Result<Vec<_>>>()?;
    rounds(&mut pairs, plan, &[Kind::Off])?;
    for (worker, _) in &mut pairs {
        worker.ask(&format!("start {}", scratch_file(scratch, worker.peer, "speed").display()))?;
    }
    rounds(&mut pairs, plan, &Kind::RECORDING)?;
    pairs.into_iter().map(|(worker, row)| worker.end().map(|()| row)).collect()
}

/// Measures every kind in every child, `plan.reps` times.
fn rounds(pairs: &mut [(Worker, Row)], plan: &Plan, kinds: &[Kind]) -> io::Result<()> {
    for round in 1..=plan.reps {
        eprintln!("peers: {}, round {round} of {}", kinds[0].word(), plan.reps);
        for &kind in kinds {
            for (worker, row) in
                pairs.iter_mut().filter(|(worker, _)| worker.peer.body(kind).is_some())
            {
                row.samples(kind).push(worker.run(kind, iterations(plan, kind))?);
                worker.ask("settle")?;
            }
        }
    }
    Ok(())
}

/// A trace point that is off takes less than a nanosecond, so more iterations are required to hide
/// the cost of the clock.
fn iterations(plan: &Plan, kind: Kind) -> u64 {
    match kind {
        Kind::Off => plan.count * 25,
        _ => plan.count,
    }
}

/// Starts a child that records `scopes` scopes without a pause, and stops.
fn footprint(peer: &'static Peer, scopes: u64, scratch: &Path) -> io::Result<Footprint> {
    eprintln!("peers: {} scopes with {}", scopes, peer.name);
    let file = scratch_file(scratch, peer, "size");
    let mut worker = Worker::spawn(peer)?;
    worker.ask(&format!("start {}", file.display()))?;
    let nanos = worker.run(Kind::Scope, scopes)?;
    let answer = worker.ask("finish")?;
    let (stop_ns, memory_kib) = parse_pair(&answer).ok_or_else(|| worker.nonsense(&answer))?;
    worker.end()?;
    let file_bytes = fs::metadata(&file).ok().map(|metadata| metadata.len());
    Ok(Footprint { name: peer.name, scopes, nanos, stop_ns, memory_kib, file_bytes })
}

/// Returns the path of a tracer's file.
pub fn scratch_file(scratch: &Path, peer: &Peer, what: &str) -> PathBuf {
    scratch.join(format!("{}.{what}", peer.name))
}

fn parse_pair(answer: &str) -> Option<(u64, u64)> {
    let (first, second) = answer.split_once(' ')?;
    Some((first.parse().ok()?, second.parse().ok()?))
}

/// The driver's side of a child.
pub struct Worker {
    peer: &'static Peer,
    process: Child,
    commands: ChildStdin,
    answers: BufReader<ChildStdout>,
}

impl Worker {
    pub fn spawn(peer: &'static Peer) -> io::Result<Worker> {
        let mut command = Command::new(std::env::current_exe()?);
        command.args(["--child", peer.name]).stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut process = command.spawn()?;
        let commands =
            process.stdin.take().ok_or_else(|| io::Error::other("the child has no input"))?;
        let answers =
            process.stdout.take().ok_or_else(|| io::Error::other("the child has no output"))?;
        Ok(Worker { peer, process, commands, answers: BufReader::new(answers) })
    }

    pub fn ask(&mut self, command: &str) -> io::Result<String> {
        writeln!(self.commands, "{command}")?;
        let mut answer = String::new();
        if self.answers.read_line(&mut answer)? == 0 {
            return Err(io::Error::other(format!(
                "{} ended before it answered {command:?}",
                self.peer.name
            )));
        }
        Ok(answer.trim_end().to_owned())
    }

    pub fn run(&mut self, kind: Kind, n: u64) -> io::Result<f64> {
        let answer = self.ask(&format!("run {} {n}", kind.word()))?;
        answer.parse().map_err(|_| self.nonsense(&answer))
    }

    fn nonsense(&self, answer: &str) -> io::Error {
        io::Error::other(format!("{} answered {answer:?}", self.peer.name))
    }

    /// Kills the child with SIGKILL.
    pub fn kill(mut self) -> io::Result<()> {
        self.process.kill()?;
        self.process.wait().map(drop)
    }

    /// Closes the child's input, which ends the child.
    fn end(mut self) -> io::Result<()> {
        drop(self.commands);
        let status = self.process.wait()?;
        if status.success() {
            return Ok(());
        }
        Err(io::Error::other(format!("{} ended with {status}", self.peer.name)))
    }
}
