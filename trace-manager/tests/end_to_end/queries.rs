//! Queries of the manager's state.

use super::provider::{Provider, CATEGORY};
use super::*;

use trace_manager::{End, ManagerError, ProviderState, SessionState};
use trace_protocol::buffer::producer::LossReason;
use trace_protocol::message::{CategoryInfo, ClockSource, ToManager, ToProvider};

fn category(name: &str, description: &str) -> CategoryInfo {
    CategoryInfo { name: name.to_owned(), description: description.to_owned() }
}

#[test]
fn registered_providers_are_listed_with_their_states() {
    let stage = Stage::new();
    assert_eq!(stage.manager.providers().unwrap(), []);
    let (mut provider, _) = Provider::register(stage.manager.path(), "one");
    let (other, _) = Provider::register(stage.manager.path(), "two");
    let providers = stage.manager.providers().unwrap();
    let names: Vec<_> = providers.iter().map(|provider| provider.name.as_str()).collect();
    assert_eq!(names, ["one", "two"]);
    let first = &providers[0];
    assert_eq!((first.pid, first.process_name.as_str()), (std::process::id(), "tester"));
    assert_eq!((first.clock, first.state), (ClockSource::CpuCounter, ProviderState::Registered));
    assert_eq!((first.categories[0].name.as_str(), first.sessions.len()), (CATEGORY, 0));
    drop(other);
    wait_until(|| stage.manager.providers().unwrap().len() == 1);
    let session = stage.start(config(BufferingMode::Oneshot));
    let tracing = provider.enter();
    let state = || stage.manager.providers().unwrap()[0].state;
    wait_until(|| state() == ProviderState::Started);
    assert_eq!(stage.manager.providers().unwrap()[0].sessions, [session.number()]);
    session.stop();
    provider.leave(tracing);
    session.join().unwrap();
    assert_eq!(state(), ProviderState::Registered);
}

#[test]
fn sessions_are_listed_until_they_end() {
    let stage = Stage::new();
    let categories = vec!["a*".to_owned()];
    let circular = config(BufferingMode::Circular);
    let session = stage.start(SessionConfig { categories: categories.clone(), ..circular });
    let sessions = stage.manager.sessions().unwrap();
    assert_eq!(sessions.len(), 1);
    assert_eq!((sessions[0].number, sessions[0].state), (session.number(), SessionState::Started));
    assert_eq!((&sessions[0].categories, sessions[0].buffer_size), (&categories, 64 << 10));
    end(&session);
    assert_eq!(stage.manager.sessions().unwrap(), []);
    assert!(matches!(session.statistics(), Err(ManagerError::SessionEnded)));
}

/// The first provider replies with descriptions, and the second one ends instead.
#[test]
fn categories_of_all_providers_are_requested_and_merged() {
    let stage = Stage::new();
    let path = stage.manager.path();
    assert_eq!(stage.manager.known_categories().unwrap(), []);
    let (mut one, _) = Provider::register(path, "one");
    let (mut two, _) = Provider::register(path, "two");
    let replies = std::thread::spawn(move || {
        assert_eq!(two.next(), Some(ToProvider::GetKnownCategories));
        assert_eq!(one.next(), Some(ToProvider::GetKnownCategories));
        let categories = vec![category("b", "second"), category("a", "")];
        one.send(&ToManager::KnownCategories(categories));
        one
    });
    let categories = stage.manager.known_categories().unwrap();
    assert_eq!(categories, [category("a", ""), category("b", "second")]);
    let _one = replies.join().unwrap();
}

/// A provider that does not reply has the categories of its registration.
#[test]
fn a_provider_that_does_not_reply_delays_the_categories_by_a_second() {
    let stage = Stage::new();
    let _silent = Provider::register(stage.manager.path(), "silent");
    let categories = stage.manager.known_categories().unwrap();
    assert_eq!(categories, [category(CATEGORY, "what tests record")]);
}

/// A provider has at most one request without a reply.
#[test]
fn later_requests_for_categories_share_the_reply() {
    let stage = Stage::new();
    let (mut silent, _) = Provider::register(stage.manager.path(), "silent");
    for _ in 0..2 {
        assert_eq!(stage.manager.known_categories().unwrap().len(), 1);
    }
    let session = stage.start(config(BufferingMode::Streaming));
    assert_eq!(silent.next(), Some(ToProvider::GetKnownCategories));
    let tracing = silent.enter();
    session.stop();
    silent.leave(tracing);
    session.join().unwrap();
}

#[test]
fn queries_of_a_user_concern_the_providers_of_this_user() {
    let stage = Stage::new();
    let (mut provider, _) = Provider::register(stage.manager.path(), "one");
    let user = stage.manager.providers().unwrap()[0].uid;
    let other = Some(user + 1);
    assert_eq!(stage.manager.providers_of(other).unwrap(), []);
    assert_eq!(stage.manager.known_categories_of(other).unwrap(), []);
    assert_eq!(stage.manager.providers_of(Some(user)).unwrap().len(), 1);
    let session = stage.start(config(BufferingMode::Streaming));
    let tracing = provider.enter();
    session.stop();
    provider.leave(tracing);
    session.join().unwrap();
}

#[test]
fn statistics_are_those_of_the_buffer() {
    let stage = Stage::new();
    let (mut provider, _) = Provider::register(stage.manager.path(), "one");
    let session = stage.start(config(BufferingMode::Streaming));
    let tracing = provider.enter();
    let events = tracing.fill(0, 0);
    tracing.save(0);
    tracing.lose(0, 1 << 32 | 5, 3, 1, 2);
    wait_until(|| session.statistics().unwrap()[0].events == events);
    let statistics = session.statistics().unwrap();
    let [one] = &statistics[..] else { panic!("{statistics:?}") };
    assert_eq!((one.name.as_str(), one.pid, one.wrapped_count), ("one", std::process::id(), 0));
    assert_eq!(one.dropped, [(LossReason::ALL[0], 3)]);
    assert!(one.durable_used > 0 && one.durable_used < one.durable_size);
    assert_eq!(one.buffer_size, tracing.layout.total_size() as u64);
    assert!(one.bytes > events * 16, "{one:?}");
    session.stop();
    provider.leave(tracing);
    session.join().unwrap();
}

#[test]
fn statistics_have_the_providers_that_left_and_how() {
    let stage = Stage::new();
    let (mut ended, _) = Provider::register(stage.manager.path(), "ended");
    let (mut bad, _) = Provider::register(stage.manager.path(), "bad");
    let (mut good, _) = Provider::register(stage.manager.path(), "good");
    let session = stage.start(config(BufferingMode::Streaming));
    let [of_ended, of_bad, of_good] = [&mut ended, &mut bad, &mut good].map(Provider::enter);
    let events = of_ended.fill(0, 0);
    of_ended.save(0);
    drop((of_ended, ended));
    of_bad.packets.send(&[0xff; 16], &[]).unwrap();
    let statistics = || session.statistics().unwrap();
    let left = || statistics().iter().filter(|it| it.end.is_some()).count();
    wait_until(|| left() == 2);
    let statistics = statistics();
    let found: Vec<_> =
        statistics.iter().map(|it| (it.name.as_str(), it.events, &it.end)).collect();
    let [first, second, third] = found.as_slice() else { panic!("{found:?}") };
    assert_eq!(first, &("ended", events, &Some(End::Disconnected)));
    assert!(matches!(second, ("bad", 0, Some(End::CutOff(_)))), "{second:?}");
    assert_eq!(third, &("good", 0, &None));
    session.stop();
    good.leave(of_good);
    session.join().unwrap();
}
