//! `trace list`

use std::time::{Duration, SystemTime};

use anyhow::Result;
use serde_json::{json, Value};
use trace_manager::controller::{GroupInfo, KnownCategory, ProviderInfo};
use trace_protocol::file::utc;
use trace_protocol::message::ClockSource;

use super::status::{sessions, show_sessions};
use crate::cli::{Items, ListArgs};
use crate::daemon_client::{connect_to_query, print_json};
use crate::exit;
use crate::table::{print, Table};

pub(crate) fn run(args: &ListArgs) -> Result<u8> {
    let socket = args.client.socket.as_deref();
    if args.items == Items::Sessions {
        show_sessions(&sessions(socket)?, args.json)?;
        return Ok(exit::OK);
    }
    let mut controller = connect_to_query(socket)?;
    match args.items {
        Items::Providers => {
            show(args, controller.providers()?, provider_json, provider_table, "no programs")?;
        }
        Items::Categories => {
            let categories = controller.known_categories()?;
            show(args, categories, category_json, category_table, "no categories")?;
        }
        Items::Groups => {
            show(args, controller.groups()?, group_json, group_table, "no category groups")?;
        }
        Items::Sessions => {}
    }
    Ok(exit::OK)
}

fn show<T>(
    args: &ListArgs,
    items: Vec<T>,
    as_json: fn(&T) -> Value,
    as_table: fn(&[T]) -> Table,
    none: &str,
) -> Result<()> {
    if args.json {
        return print_json(&items.iter().map(as_json).collect());
    }
    match items.is_empty() {
        true => crate::say(none),
        false => print(&as_table(&items).text())?,
    }
    Ok(())
}

fn registered(provider: &ProviderInfo) -> String {
    utc(SystemTime::UNIX_EPOCH + provider.registered.min(Duration::from_secs(u32::MAX.into())))
}

fn provider_table(providers: &[ProviderInfo]) -> Table {
    let mut table = Table::new(vec!["pid", "user", "name", "process", "registered"], 2);
    for provider in providers {
        table.push(vec![
            provider.pid.to_string(),
            provider.uid.to_string(),
            provider.name.clone(),
            provider.process_name.clone(),
            registered(provider),
        ]);
    }
    table
}

fn provider_json(provider: &ProviderInfo) -> Value {
    json!({
        "id": provider.id,
        "pid": provider.pid,
        "uid": provider.uid,
        "name": provider.name,
        "process": provider.process_name,
        "registered": registered(provider),
        "clock": match provider.clock {
            ClockSource::CpuCounter => "counter",
            ClockSource::Boottime => "boottime",
        },
    })
}

fn category_table(categories: &[KnownCategory]) -> Table {
    let mut table = Table::new(vec!["programs", "category", "description"], 1);
    for category in categories {
        let KnownCategory { name, description, providers } = category.clone();
        table.push(vec![providers.to_string(), name, description]);
    }
    table
}

fn category_json(category: &KnownCategory) -> Value {
    json!({
        "name": category.name,
        "description": category.description,
        "providers": category.providers,
    })
}

fn group_table(groups: &[GroupInfo]) -> Table {
    let mut table = Table::new(vec!["group", "categories"], 0);
    for group in groups {
        table.push(vec![format!("#{}", group.name), group.categories.join(",")]);
    }
    table
}

fn group_json(group: &GroupInfo) -> Value {
    json!({ "name": group.name, "categories": group.categories })
}
