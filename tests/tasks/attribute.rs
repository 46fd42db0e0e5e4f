//! `#[trace_fn]` on functions that are futures.

use std::future::Future;
use std::pin::Pin;

use trace_runtime::trace_fn;

use crate::Recording;

struct Shop {
    name: String,
}

impl Shop {
    #[trace_fn(category = "test", args(number, shop = self.name))]
    async fn order(&mut self, number: u64) -> Result<u64, String> {
        self.name.push('!');
        let price = price(number).await?;
        Ok(price + boxed(number).await)
    }
}

#[trace_fn(category = "test", args(number))]
async fn price(number: u64) -> Result<u64, String> {
    tokio::task::yield_now().await;
    if number == 0 {
        return Err("nothing".to_owned());
    }
    Ok(number * 10)
}

#[trace_fn(category = "test")]
fn boxed(number: u64) -> Pin<Box<dyn Future<Output = u64> + Send>> {
    Box::pin(async move { number })
}

#[test]
fn an_async_function_is_a_task() {
    let recording = Recording::start();
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).build().unwrap();
    runtime.block_on(async {
        let order = |number| async move {
            let mut shop = Shop { name: "shop".to_owned() };
            shop.order(number).await
        };
        assert_eq!(tokio::spawn(order(7)).await.unwrap(), Ok(77));
        assert_eq!(tokio::spawn(order(0)).await.unwrap(), Err("nothing".to_owned()));
    });
    let tasks = recording.tasks();
    let orders = tasks.named("Shop::order");
    let [first, second] = orders[..] else { panic!("{tasks:?}") };
    assert_eq!((first.numbers["number"], first.texts["shop"].as_str()), (7, "shop"));
    assert_eq!((first.state(), second.state()), ("ready", "ready"));
    let prices = tasks.named("attribute::price");
    assert_eq!(prices.len(), 2);
    assert_eq!((prices[0].parent, prices[1].parent), (Some(first.id), Some(second.id)));
    assert_eq!(tasks.only("attribute::boxed").parent, Some(first.id));
}

#[trace_fn(category = "test")]
fn lazy(number: u64) -> impl Future<Output = u64> + Send {
    async move { number }
}

#[trace_fn(category = "test", args(number))]
fn with_arguments(number: u64) -> impl Future<Output = u64> + Send {
    async move { number }
}

/// Without arguments, the call has no data to record.
#[test]
fn a_returned_future_begins_with_its_first_poll() {
    let recording = Recording::start();
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    runtime.block_on(async {
        drop((lazy(1), boxed(1)));
        assert_eq!(lazy(2).await, 2);
        drop(with_arguments(3));
    });
    let tasks = recording.tasks();
    assert_eq!(tasks.only("attribute::lazy").state(), "ready");
    assert_eq!(tasks.named("attribute::boxed").len(), 0);
    assert_eq!(tasks.only("attribute::with_arguments").state(), "cancelled");
}
