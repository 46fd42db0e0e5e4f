//! Functions whose work is done by a future: `async fn`, and those that return one.

use std::future::Future;
use std::pin::Pin;

use trace_macros::trace_fn;

use crate::async_traits::{First, Service};
use crate::fake::{self, note, recorded, run, yielded, Noisy};

#[test]
fn an_async_fn_is_a_task() {
    #[trace_fn(crate = fake, category = "c", args(number), flow = 7, ret)]
    async fn doubled(number: u32) -> u32 {
        yielded().await;
        number * 2
    }
    let (result, lines) = recorded(|| run(doubled(4)));
    assert_eq!(result, 8);
    let expected = [
        "task c doubled number=4",
        "poll doubled",
        "FlowStep c flow id=7",
        "pending doubled",
        "poll doubled",
        "instant c return value=8",
        "ready doubled",
    ];
    assert_eq!(lines, expected);
}

/// A future has no effect before its first poll, as without the attribute.
#[test]
fn a_future_that_is_not_polled_records_nothing() {
    #[trace_fn(crate = fake, category = "c")]
    async fn never_run(_noisy: Noisy) {}
    let (_, lines) = recorded(|| drop(never_run(Noisy("parameter"))));
    assert_eq!(lines, ["drop parameter"]);
}

#[test]
fn errors_of_futures_are_recorded() {
    #[trace_fn(crate = fake, category = "c", err)]
    async fn parse(text: &str) -> Result<Box<dyn std::fmt::Debug>, std::num::ParseIntError> {
        yielded().await;
        let number: i32 = text.parse()?;
        if number == 0 {
            return Ok(Box::new("zero"));
        }
        Ok(Box::new(number))
    }
    assert!(recorded(|| run(parse("1"))).0.is_ok());
    let (result, lines) = recorded(|| run(parse("x")));
    assert!(result.is_err());
    assert!(
        lines.contains(&r#"instant c error error="invalid digit found in string""#.to_string()),
        "{lines:?}"
    );
}

/// A tail becomes a `Box<dyn …>` only by its expected type, and `Ok(())` has an error type only by
/// inference.
#[test]
fn types_are_inferred_as_in_the_function() {
    #[trace_fn(crate = fake, category = "c")]
    async fn boxed(one: bool) -> Box<dyn std::fmt::Debug> {
        if one {
            return Box::new(1);
        }
        Box::new("two")
    }
    #[trace_fn(crate = fake, category = "c")]
    async fn converted(text: &str) -> Result<(), Box<dyn std::error::Error + Send + Sync>> {
        let _: i32 = text.parse()?;
        Ok(())
    }
    #[trace_fn(crate = fake, category = "c")]
    async fn collected(items: &[u8]) -> Vec<u32> {
        items.iter().map(|item| (*item).into()).collect()
    }
    #[trace_fn(crate = fake, category = "c")]
    async fn opaque(items: &[u8]) -> impl Iterator<Item = &u8> + '_ {
        items.iter().rev()
    }
    assert_eq!(format!("{:?}", run(boxed(true))), "1");
    assert!(run(converted("x")).is_err());
    assert_eq!(run(collected(&[1])), [1]);
    assert_eq!(run(opaque(&[1, 2])).collect::<Vec<_>>(), [&2, &1]);
}

/// The same function twice, once with the attribute.
macro_rules! same_drops {
    ($test:ident, ($($attribute:tt)*), fn($($parameter:pat_param => $type:ty),*) $(-> $output:ty)? $body:block, $($call:expr),*) => {
        #[test]
        #[allow(unused_variables)]
        fn $test() {
            async fn plain($($parameter: $type),*) $(-> $output)? $body
            #[trace_fn(crate = fake, category = "c", $($attribute)*)]
            async fn traced($($parameter: $type),*) $(-> $output)? $body
            let seen = |mut lines: Vec<String>| {
                lines.retain(|line| line.starts_with("drop") || line.starts_with("note"));
                lines
            };
            let plainly = seen(recorded(|| { let _result = run(plain($($call),*)); }).1);
            assert_eq!(seen(recorded(|| { let _result = run(traced($($call),*)); }).1), plainly);
            assert!(!plainly.is_empty());
            // Dropped at its first await.
            let cancelled = seen(recorded(|| once_polled(plain($($call),*))).1);
            assert_eq!(seen(recorded(|| once_polled(traced($($call),*))).1), cancelled);
        }
    };
}

fn once_polled(future: impl Future) {
    let mut future = Box::pin(future);
    let _ = future.as_mut().poll(&mut std::task::Context::from_waker(std::task::Waker::noop()));
}

same_drops!(unmoved_parameters, (), fn(a => Noisy, b => Noisy, c => u8) -> u8 { yielded().await; note("note body"); c }, Noisy("a"), Noisy("b"), 3);
same_drops!(parameters_that_are_moved, (ret), fn(a => Noisy, b => Noisy) -> u8 { drop(b); yielded().await; 1 }, Noisy("a"), Noisy("b"));
same_drops!(parameters_that_may_be_moved, (err), fn(go => bool, a => Noisy, b => Noisy, c => Noisy) -> Result<Noisy, u8> {
    let local = Noisy("local");
    yielded().await;
    if go { return Err(1); }
    drop(b);
    Ok(a)
}, true, Noisy("a"), Noisy("b"), Noisy("c"));
same_drops!(a_part_that_is_moved, (), fn(pair => (Noisy, Noisy), b => Noisy) -> Noisy { yielded().await; let _c = &b; pair.1 }, (Noisy("0"), Noisy("1")), Noisy("b"));
same_drops!(a_temporary_of_the_tail, (), fn(a => Noisy) -> usize { let local = Noisy("local"); yielded().await; Noisy("temporary").0.len() }, Noisy("a"));
same_drops!(a_temporary_of_the_tail_that_is_told, (ret), fn(a => Noisy) -> usize { let local = Noisy("local"); Noisy("temporary").0.len() }, Noisy("a"));
same_drops!(patterns, (), fn((x, y) => (Noisy, Noisy), [first, ..] => [Noisy; 1]) { yielded().await; }, (Noisy("x"), Noisy("y")), [Noisy("first")]);

struct Client {
    name: String,
}

#[trace_fn(crate = fake, category = "c")]
impl Client {
    async fn by_reference(&self) -> &str {
        yielded().await;
        &self.name
    }

    async fn by_mutable_reference(&mut self, suffix: &str) -> &mut String {
        self.name.push_str(suffix);
        &mut self.name
    }

    async fn by_value(mut self, mut times: u8) -> String {
        while times > 0 {
            times -= 1;
            self.name.push('!');
            yielded().await;
        }
        self.name
    }

    async fn pinned(self: Pin<&mut Self>) -> usize {
        self.name.len()
    }

    async fn generic<T, const N: usize>(items: [T; N]) -> String
    where
        T: Into<String> + Clone + Send,
    {
        items.iter().cloned().map(Into::into).collect()
    }

    async fn borrowed_tail(text: std::cell::RefCell<String>) -> usize {
        text.borrow().len()
    }

    fn future(&self, add: u8) -> impl Future<Output = u8> + Send + '_ {
        let length = self.name.len() as u8;
        async move {
            yielded().await;
            length + add
        }
    }

    #[trace_fn(ret, flow_begin = 3)]
    fn early(add: Option<u8>) -> impl Future<Output = Option<u8>> {
        let future = async move {
            yielded().await;
            Some(add? + 1)
        };
        if add.is_some() {
            return future;
        }
        future
    }

    #[trace_fn(args(add))]
    fn boxed<'a>(&'a self, add: &'a str) -> Pin<Box<dyn Future<Output = String> + Send + 'a>> {
        Box::pin(async move {
            yielded().await;
            format!("{}{add}", self.name)
        })
    }

    #[trace_fn(err)]
    fn boxed_at_the_end(&self, fail: bool) -> BoxFuture<'_, Result<usize, String>> {
        let future = async move {
            if fail {
                return Err("failed".to_string());
            }
            Ok(self.name.len())
        };
        Box::pin(future)
    }

    /// The compiler does not know that `T` lives as long as the box.
    fn boxed_elsewhere<T>(future: Boxed<T>, now: Option<Boxed<T>>) -> Boxed<T> {
        if let Some(now) = now {
            return now;
        }
        future
    }
}

/// The drops of a function that returns a future.
#[test]
fn temporaries_of_a_tail_that_is_a_future() {
    fn plain(early: bool) -> impl Future<Output = usize> {
        let _local = Noisy("local");
        if early {
            return std::future::ready(1);
        }
        std::future::ready(Noisy("temporary").0.len())
    }
    #[trace_fn(crate = fake, category = "c")]
    fn traced() -> impl Future<Output = usize> {
        let _local = Noisy("local");
        std::future::ready(Noisy("temporary").0.len())
    }
    #[trace_fn(crate = fake, category = "c")]
    fn early(early: bool) -> impl Future<Output = usize> {
        let _local = Noisy("local");
        if early {
            return std::future::ready(1);
        }
        std::future::ready(Noisy("temporary").0.len())
    }
    #[trace_fn(crate = fake, category = "c")]
    fn boxed() -> BoxFuture<'static, usize> {
        let _local = Noisy("local");
        Box::pin(std::future::ready(Noisy("temporary").0.len()))
    }
    let drops = |call: fn()| {
        let (_, mut lines) = recorded(call);
        lines.retain(|line| line.starts_with("drop"));
        lines
    };
    let plainly = drops(|| drop(plain(false)));
    assert_eq!(plainly.len(), 2);
    assert_eq!(drops(|| drop(traced())), plainly);
    assert_eq!(drops(|| drop(early(false))), plainly);
    assert_eq!(drops(|| drop(boxed())), plainly);
}

type Boxed<T> = Pin<Box<dyn Future<Output = T> + Send>>;
type BoxFuture<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

fn send<T: Send>(value: T) -> T {
    value
}

#[test]
fn methods_of_every_kind_can_be_async() {
    let mut client = Client { name: "n".into() };
    assert_eq!(run(send(client.by_reference())), "n");
    assert_eq!(run(client.by_mutable_reference("m")), "nm");
    assert_eq!(run(Pin::new(&mut client).pinned()), 2);
    assert_eq!(run(Client::generic(["a", "b"])), "ab");
    assert_eq!(run(Client::borrowed_tail(String::from("abc").into())), 3);
    assert_eq!(run(client.by_value(2)), "nm!!");
}

#[test]
fn returned_futures_are_tasks() {
    let client = Client { name: "n".into() };
    let (sum, lines) = recorded(|| run(send(client.future(1))));
    assert_eq!(sum, 2);
    assert_eq!(
        lines,
        ["task c future", "poll future", "pending future", "poll future", "ready future"]
    );
    let (sum, lines) = recorded(|| run(Client::early(Some(1))));
    assert_eq!(sum, Some(2));
    let expected = [
        "flow id c ",
        "task c early",
        "poll early",
        "FlowBegin c flow id=3",
        "pending early",
        "poll early",
        "instant c return value=Some(2)",
        "ready early",
    ];
    assert_eq!(lines, expected);
}

#[test]
fn boxed_futures_are_tasks() {
    let client = Client { name: "n".into() };
    let (text, lines) = recorded(|| run(client.boxed("m")));
    assert_eq!(text, "nm");
    assert_eq!(
        lines,
        [r#"task c boxed add="m""#, "poll boxed", "pending boxed", "poll boxed", "ready boxed"]
    );
    assert_eq!(run(client.boxed_at_the_end(false)), Ok(1));
    let (_, lines) = recorded(|| run(client.boxed_at_the_end(true)));
    let expected = [
        "task c boxed_at_the_end",
        "poll boxed_at_the_end",
        r#"instant c error error="failed""#,
        "ready boxed_at_the_end",
    ];
    assert_eq!(lines, expected);
}

/// The caller may poll later, or never.
#[test]
fn returned_futures_without_arguments_begin_at_their_first_poll() {
    let client = Client { name: "n".into() };
    let (_, lines) = recorded(|| {
        drop(client.future(1));
        drop(client.boxed_at_the_end(false));
        drop(First(1).plain());
    });
    assert_eq!(lines, [""; 0]);
    let (_, lines) = recorded(|| {
        let future = client.boxed_at_the_end(false);
        note("called");
        run(future)
    });
    let expected =
        ["called", "task c boxed_at_the_end", "poll boxed_at_the_end", "ready boxed_at_the_end"];
    assert_eq!(lines, expected);
}

/// Arguments are there when the function is called, and may be gone when the future is polled.
#[test]
fn returned_futures_with_arguments_begin_when_the_function_is_called() {
    let client = Client { name: "n".into() };
    assert_eq!(recorded(|| drop(client.boxed("m"))).1, [r#"task c boxed add="m""#]);
}

#[test]
fn a_box_from_elsewhere_is_passed_on() {
    let future: Boxed<u8> = Box::pin(std::future::ready(1));
    let (number, lines) = recorded(|| run(Client::boxed_elsewhere(future, None)));
    assert_eq!(number, 1);
    assert_eq!(lines, ["begin c boxed_elsewhere", "end boxed_elsewhere"]);
}

/// Returns from the function around it, like `bail!`, without a visible `return`.
macro_rules! leave_with {
    ($early:expr) => {
        return $early
    };
}

#[test]
fn macros_may_return_from_the_function() {
    #[trace_fn(crate = fake, category = "c")]
    fn returned(early: bool) -> impl Future<Output = u8> {
        if early {
            leave_with!(std::future::ready(1));
        }
        std::future::ready(2)
    }
    #[trace_fn(crate = fake, category = "c", args(early))]
    fn boxed(early: bool) -> BoxFuture<'static, u8> {
        if early {
            leave_with!(Box::pin(std::future::ready(1)));
        }
        Box::pin(std::future::ready(2))
    }
    #[trace_fn(crate = fake, category = "c", args(early))]
    fn within_the_box(early: bool) -> BoxFuture<'static, u8> {
        Box::pin(if early { return Box::pin(std::future::ready(1)) } else { std::future::ready(2) })
    }
    #[trace_fn(crate = fake, category = "c")]
    fn with_a_known_name(early: bool) -> impl Future<Output = u8> {
        macro_rules! error {
            ($early:expr) => {
                return $early
            };
        }
        if early {
            error!(std::future::ready(1));
        }
        std::future::ready(2)
    }
    assert_eq!(recorded(|| run(with_a_known_name(true))).0, 1);
    let task = ["task c returned", "poll returned", "ready returned"];
    assert_eq!(recorded(|| run(returned(true))), (1, task.map(String::from).to_vec()));
    assert_eq!(recorded(|| run(returned(false))), (2, task.map(String::from).to_vec()));
    let call = ["begin c boxed early=true", "end boxed"];
    assert_eq!(recorded(|| run(boxed(true))), (1, call.map(String::from).to_vec()));
    let call = ["begin c within_the_box early=true", "end within_the_box"];
    assert_eq!(recorded(|| run(within_the_box(true))), (1, call.map(String::from).to_vec()));
}

/// Macros of the standard library and of logging crates do not return, and a `return` in an async
/// block ends only the block.
#[test]
fn macros_that_do_not_return_keep_the_task() {
    #[trace_fn(crate = fake, category = "c")]
    fn boxed(number: u8) -> BoxFuture<'static, String> {
        debug_assert!(number > 0, "there is one");
        let text = if number > 1 { "many".to_string() } else { format!("{number}") };
        Box::pin(async move {
            if text.is_empty() {
                leave_with!(text);
            }
            text
        })
    }
    let (text, lines) = recorded(|| run(boxed(1)));
    assert_eq!(
        (text.as_str(), lines),
        (
            "1",
            vec!["task c boxed".to_string(), "poll boxed".to_string(), "ready boxed".to_string(),]
        )
    );
}

/// As in the crate `futures` before 0.2. Its trait is not the standard library's, so only the call
/// is traced.
#[test]
fn a_future_without_output_is_another_trait() {
    mod old {
        pub(super) trait Future {
            type Item;

            fn item(&self) -> Self::Item;
        }

        impl Future for u8 {
            type Item = u8;

            fn item(&self) -> u8 {
                *self
            }
        }
    }
    use old::Future as _;
    #[trace_fn(crate = fake, category = "c")]
    fn returned() -> impl old::Future<Item = u8> {
        3
    }
    #[trace_fn(crate = fake, category = "c")]
    fn boxed() -> Pin<Box<dyn old::Future<Item = u8>>> {
        Box::pin(4)
    }
    let (item, lines) = recorded(|| returned().item());
    assert_eq!(
        (item, lines),
        (3, vec!["begin c returned".to_string(), "end returned".to_string()])
    );
    assert_eq!(recorded(|| boxed().item()).0, 4);
}

#[test]
fn a_future_that_does_not_end() {
    #[trace_fn(crate = fake, category = "c")]
    async fn forever() -> ! {
        loop {
            yielded().await;
        }
    }
    let (_, lines) = recorded(|| once_polled(forever()));
    assert_eq!(lines, ["task c forever", "poll forever", "pending forever"]);
}
