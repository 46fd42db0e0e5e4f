//! The control machine, one file for each phase of a session.

mod calls;
mod ending;
mod initialize;
mod pause;
mod running;
mod served;
mod start;
mod states;
mod users;

use trace_protocol::control::{Request, StartRequest, StopRequest, TerminateRequest, ToDaemon};
use trace_protocol::message::BufferDisposition;
use trace_protocol::socket::PeerCredentials;

use super::*;
use crate::control_server::event_queue::Kind;
use crate::foreign::{Closer, ForeignDescriptor};

/// A machine with clients and the messages that they have received.
pub(super) struct Scene {
    machine: ControlMachine,
    pub(super) now: Time,
    last_id: u32,
    /// The sessions that were opened, and the user whose programs each records.
    pub(super) programs: Vec<(SessionId, Option<u32>)>,
    /// Live streams that have not ended.
    pub(super) streams: Vec<FollowJob>,
    /// Actions that are not messages, as text without numbers of descriptors.
    pub(super) actions: Vec<String>,
    received: BTreeMap<ClientId, Vec<ToController>>,
    /// The error of each replacement of categories, and of each further start.
    pub(super) category_refusal: Option<ControlError>,
}

/// The first client, of a user; and one of root.
pub(super) const CLIENT: ClientId = 2;
pub(super) const ROOT: ClientId = 9;
pub(super) const USER: u32 = 1000;

impl Scene {
    pub(super) fn new() -> Self {
        Self::with(ControlLimits::default())
    }

    pub(super) fn with(limits: ControlLimits) -> Self {
        let groups = [("web".to_owned(), vec!["http*".to_owned(), "-http.cache".to_owned()])];
        let mut scene = Self {
            machine: ControlMachine::new(groups.into(), limits),
            now: Time::ZERO,
            last_id: 0,
            streams: Vec::new(),
            programs: Vec::new(),
            category_refusal: None,
            actions: Vec::new(),
            received: BTreeMap::new(),
        };
        scene.connect(CLIENT, USER);
        scene
    }

    pub(super) fn connect(&mut self, client: ClientId, uid: u32) {
        self.on(Input::Connected(client, caller(uid, uid == 0)));
    }

    pub(super) fn on(&mut self, input: Input) {
        for output in self.machine.on(input, self.now) {
            match output {
                Output::Send(client, message) => {
                    self.received.entry(client).or_default().push(*message);
                }
                Output::Reply(tickets, reply) => {
                    for Ticket { client, id } in tickets {
                        let message = ToController { id, reply: (*reply).clone() };
                        self.received.entry(client).or_default().push(message);
                    }
                }
                Output::Close(client) => self.actions.push(format!("close {client}")),
                Output::Disconnect(client) => self.actions.push(format!("disconnect {client}")),
                Output::Open(id, request) => {
                    let programs = request.caller.programs_of();
                    self.programs.push((id, programs));
                    self.actions.push(format!("open {id} {:?}", request.config.categories));
                }
                Output::Begin(id) => self.actions.push(format!("begin {id}")),
                Output::Pause(id) => self.actions.push(format!("pause {id}")),
                Output::StartAgain(id, ticket, disposition, categories) => {
                    self.actions.push(format!("start {id} {disposition:?} {categories:?}"));
                    let refusal = self.category_refusal.clone();
                    let result = refusal.map_or(Ok(categories), Err);
                    self.on(Input::StartedAgain(id, ticket, result));
                }
                Output::Stop(id) => self.actions.push(format!("stop {id}")),
                Output::Discard(id) => self.actions.push(format!("discard {id}")),
                Output::Flush(id) => self.actions.push(format!("flush {id}")),
                Output::Snapshot(id, _, _) => self.actions.push(format!("snapshot {id}")),
                Output::Follow(id, _, job) => {
                    self.actions.push(format!("follow {id} {:?}", job.categories));
                    self.streams.push(job);
                }
                Output::SetCategories(id, ticket, categories) => {
                    self.actions.push(format!("categories of {id} {categories:?}"));
                    let refusal = self.category_refusal.clone();
                    let result = refusal.map_or(Ok(categories), Err);
                    self.on(Input::CategoriesSet(id, ticket, result));
                }
                Output::Query(_, Query::Sessions(sessions)) => {
                    let names = sessions.iter().map(|(_, info)| info.name.as_str());
                    self.actions.push(format!("sessions {:?}", Vec::from_iter(names)));
                }
                Output::QueryCategories(user) => self.actions.push(format!("categories {user:?}")),
                Output::Query(_, query) => self.actions.push(format!("{query:?}")),
            }
        }
    }

    /// Sends a request, with a descriptor if it has one. Returns its number.
    pub(super) fn send(&mut self, client: ClientId, request: Request) -> u32 {
        self.last_id += 1;
        let id = self.last_id;
        let descriptor = (request.descriptors() > 0).then(null);
        self.on(Input::Request(client, Box::new(ToDaemon { id, request }), descriptor));
        id
    }

    /// Sends a request. Returns the reply, if there is one already.
    pub(super) fn call(&mut self, client: ClientId, request: Request) -> Option<Reply> {
        let id = self.send(client, request);
        self.reply(client, id)
    }

    /// Takes the reply with this number.
    pub(super) fn reply(&mut self, client: ClientId, id: u32) -> Option<Reply> {
        let messages = self.received.get_mut(&client)?;
        let at = messages.iter().position(|message| message.id == id)?;
        Some(messages.remove(at).reply)
    }

    /// Takes the actions so far.
    pub(super) fn take_actions(&mut self) -> Vec<String> {
        std::mem::take(&mut self.actions)
    }

    /// Initializes a session, and starts it. Returns the request of the start.
    pub(super) fn starting(&mut self, client: ClientId, config: TraceConfig) -> u32 {
        let name = config.name.clone();
        let reply = self.call(client, Request::Initialize(config));
        assert_eq!(reply, Some(Reply::Initialized(name.clone())));
        self.send(client, Request::Start(StartRequest { session: name, ..Default::default() }))
    }

    /// Starts a session, which has the number `session`.
    pub(super) fn started(&mut self, client: ClientId, session: SessionId, config: TraceConfig) {
        let id = self.starting(client, config);
        self.opened(session);
        assert_eq!(self.reply(client, id), Some(Reply::Started));
        self.actions.clear();
    }

    /// Opens a session, all of whose programs record.
    pub(super) fn opened(&mut self, session: SessionId) {
        self.on(Input::Session(session, SessionEvent::Opened));
        self.on(Input::Session(session, SessionEvent::Recording));
    }

    /// Raises an alert, as the thread of the session forwards it.
    pub(super) fn alert(&mut self, session: SessionId, name: &str) {
        assert!(self.machine.sessions[&session].queue.push(Kind::Alert));
        self.on(Input::Session(session, SessionEvent::Alert(name.to_owned())));
    }

    pub(super) fn ended(&mut self, session: SessionId) {
        self.on(Input::Session(session, SessionEvent::Ended(Box::new(summary()))));
    }
}

/// Returns a controller of a user.
pub(super) fn caller(uid: u32, all_users: bool) -> Caller {
    Caller { peer: PeerCredentials { pid: 1, uid, gid: uid }, all_users }
}

fn null() -> ForeignDescriptor {
    let null = std::fs::File::open("/dev/null").unwrap();
    ForeignDescriptor::new(null.into(), &Closer::default())
}

/// The results as a session's thread sends them.
pub(super) fn summary() -> Summary {
    Summary { bytes: 64, ..Summary::default() }
}

/// The reply with the results of a session.
pub(super) fn stopped(name: &str) -> Option<Reply> {
    Some(Reply::Stopped(Summary { session: name.to_owned(), ..summary() }))
}

pub(super) fn named(name: &str) -> TraceConfig {
    TraceConfig { name: name.to_owned(), buffer_size: 1 << 20, ..TraceConfig::default() }
}

pub(super) fn detached(name: &str) -> TraceConfig {
    TraceConfig { detached: true, ..named(name) }
}

pub(super) fn stop(name: &str, write_results: bool) -> Request {
    Request::Stop(StopRequest { session: name.to_owned(), write_results })
}

/// The request to end a session, and to write its results.
pub(super) fn terminate(name: &str) -> Request {
    Request::Terminate(TerminateRequest { session: name.to_owned(), write_results: true })
}

/// The request to end a session without results.
pub(super) fn abort(name: &str) -> Request {
    Request::Terminate(TerminateRequest { session: name.to_owned(), write_results: false })
}

/// Returns the error of a reply.
#[track_caller]
pub(super) fn error(reply: Option<Reply>) -> ControlError {
    match reply {
        Some(Reply::Failed(error)) => error,
        reply => panic!("expected an error, found {reply:?}"),
    }
}

#[track_caller]
pub(super) fn general(reply: Option<Reply>, code: GeneralError) -> String {
    let error = error(reply);
    assert_eq!(error.code, trace_protocol::control::ErrorCode::General(code), "{error}");
    error.reason
}
