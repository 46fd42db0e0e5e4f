//! The effect of programs and clients that misbehave on others.

use std::fs::File;
use std::io::ErrorKind;
use std::os::unix::net::UnixStream;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use trace_manager::controller::Controller;
use trace_protocol::archive::ClockSample;
use trace_protocol::control::{Request, ToDaemon};
use trace_protocol::message::{ClockSource, ToProvider};
use trace_protocol::packet::Packet;
use trace_protocol::socket::Socket;

use crate::daemon::{config, own_events, stop, Daemon, SESSION};
use crate::percentile;
use crate::program::Program;
use crate::scripted::{Provider, Session};

/// Programs that record as usual, and the events of each in a second.
const OTHERS: usize = 8;
const RATE: u64 = 50_000;
const TIME: Duration = Duration::from_secs(10);
const BUFFER: u64 = 1 << 20;
/// Pause between two saves of the program that measures them.
const PAUSE: Duration = Duration::from_millis(5);

/// Runs of each disturbance.
const ROUNDS: usize = 3;

/// What the others have recorded, and the time of each save.
#[derive(Default)]
struct Outcome {
    written: u64,
    lost: u64,
    nanos: Vec<u64>,
}

/// What misbehaves.
#[derive(Clone, Copy, PartialEq)]
enum Disturbance {
    None,
    Client,
    Silent,
    Busy,
    Records,
    Alerts,
}

impl Disturbance {
    const ALL: [Self; 6] =
        [Self::None, Self::Client, Self::Silent, Self::Busy, Self::Records, Self::Alerts];

    fn name(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Client => "a client that reads neither replies nor its stream",
            Self::Silent => "a provider that replies to nothing",
            Self::Busy => "a busy program that is not traced",
            Self::Records => "a program that records at full speed",
            Self::Alerts => "a program that raises alerts at full speed",
        }
    }

    /// Returns the role of a program that does it.
    fn role(self) -> Option<String> {
        let time = TIME.as_millis();
        match self {
            Self::None | Self::Client | Self::Silent => None,
            Self::Busy => Some(format!("spin {time}")),
            Self::Records => Some(format!("paced 0 {time}")),
            Self::Alerts => Some(format!("alert {time}")),
        }
    }
}

/// Prints the table.
pub(crate) fn print() {
    println!(
        "| disturbance | events of the others | lost by them | saves | save, µs: median | p99 | \
         longest |"
    );
    println!("|---|---|---|---|---|---|---|");
    let mut results = Disturbance::ALL.map(|disturbance| (disturbance, Outcome::default()));
    // They take turns, because the speed of the machine varies.
    for _ in 0..ROUNDS {
        for (disturbance, outcome) in &mut results {
            run(*disturbance, outcome);
        }
    }
    for (disturbance, Outcome { written, lost, mut nanos }) in results {
        let mut at = |percent| percentile(&mut nanos, percent) as f64 / 1e3;
        let (median, late, longest) = (at(50), at(99), at(100));
        let (name, saves) = (disturbance.name(), nanos.len());
        println!(
            "| {name} | {written} | {lost} | {saves} | {median:.0} | {late:.0} | {longest:.0} |"
        );
    }
    println!();
}

/// Runs the others beside a disturbance, and adds what they record and how long saves take.
fn run(disturbance: Disturbance, outcome: &mut Outcome) {
    let daemon = Daemon::start();
    let role = format!("paced {RATE} {}", TIME.as_millis());
    let mut others = Program::start_many(&daemon.socket(), &role, OTHERS);
    let mut own = disturbance.role().map(|role| Program::start(&daemon.socket(), &role));
    let (mut measuring, _) = Provider::register(&daemon.socket(), "measuring");
    let silent = (disturbance == Disturbance::Silent)
        .then(|| Provider::register(&daemon.socket(), "silent"));
    let mut controller = daemon.controller();
    let is_over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let saves = scope.spawn(|| measure_saves(&mut measuring, &is_over));
        let output = File::create(daemon.archive()).expect("an archive");
        controller.initialize(&config(BUFFER), &output).expect("a session");
        controller.start(SESSION).expect("it starts");
        let unread = (disturbance == Disturbance::Client).then(|| follow_unread(&mut controller));
        if disturbance == Disturbance::Client {
            scope.spawn(|| request_unread(&daemon, &is_over));
        }
        others.iter_mut().chain(&mut own).for_each(Program::go);
        let written: u64 = others.iter_mut().map(|program| program.numbers()[0]).sum();
        is_over.store(true, Ordering::Relaxed);
        let summary = stop(&mut controller);
        outcome.nanos.extend(saves.join().expect("saves"));
        let pids: Vec<u32> = others.iter().map(Program::pid).collect();
        let results = || summary.providers.iter().filter(|it| pids.contains(&it.pid));
        let recorded: u64 = results().map(own_events).sum();
        let lost: u64 = results().map(|it| it.dropped).sum();
        assert_eq!(written, recorded + lost);
        outcome.written += written;
        outcome.lost += lost;
        drop((unread, silent));
    });
}

/// Fills and saves rolling buffers until the end. Returns the nanoseconds of each save.
fn measure_saves(provider: &mut Provider, is_over: &AtomicBool) -> Vec<u64> {
    let session = provider.enter();
    let mut nanos = Vec::new();
    for wrapped_count in 0.. {
        if is_over.load(Ordering::Relaxed) {
            break;
        }
        session.fill(wrapped_count, ClockSample::now().ticks(ClockSource::CpuCounter));
        let begin = Instant::now();
        session.save(wrapped_count);
        nanos.push(begin.elapsed().as_nanos() as u64);
        std::thread::sleep(PAUSE);
    }
    leave(provider, &session);
    nanos
}

/// Replies to the messages up to the end of the session. A live stream causes requests to flush.
fn leave(provider: &mut Provider, session: &Session) {
    loop {
        match provider.next() {
            Some(ToProvider::Stop) => session.send(Packet::Stopped),
            Some(ToProvider::Terminate) | None => return,
            Some(_) => {}
        }
    }
}

/// Follows the session into a socket that nobody reads.
fn follow_unread(controller: &mut Controller) -> UnixStream {
    let (unread, output) = UnixStream::pair().expect("sockets");
    controller.follow(SESSION, &[], &output).expect("a stream");
    unread
}

/// Sends requests until the end, on connections whose replies nobody reads.
fn request_unread(daemon: &Daemon, is_over: &AtomicBool) {
    let connect = || {
        let socket = Socket::connect(&daemon.path("control.sock")).expect("the daemon runs");
        socket.set_nonblocking(true);
        socket
    };
    let request = ToDaemon { id: 1, request: Request::GetProviders }.encode();
    let mut socket = connect();
    while !is_over.load(Ordering::Relaxed) {
        match socket.send(&request, &[]) {
            // It reads no more, or the next request would be one too many in this second.
            Ok(_) => std::thread::sleep(Duration::from_micros(1_200)),
            Err(error) if error.kind() == ErrorKind::WouldBlock => std::thread::sleep(PAUSE),
            Err(_) => socket = connect(),
        }
    }
}
