//! Categories of the kernel that do not exist.

use anyhow::{bail, Result};
use trace_convert::visible;
use trace_kernel::live::{check_probe, CALL_PREFIX, CATEGORIES, ENTRY_PREFIX, EVENT_PREFIX};

use crate::message::HINT;
use crate::near::nearest;

/// The prefix of the kernel's categories.
const KERNEL: &str = "kernel:";

/// The prefixes of categories of one event or function.
const SINGLE: [&str; 3] = [EVENT_PREFIX, ENTRY_PREFIX, CALL_PREFIX];

/// Fails if a pattern selects or excludes a category of the kernel that does not exist.
pub(crate) fn check(patterns: &[String]) -> Result<()> {
    let names: Vec<&str> = CATEGORIES.iter().map(|category| category.name).collect();
    for pattern in patterns {
        let name = pattern.strip_prefix('-').unwrap_or(pattern);
        if let Err(error) = check_probe(pattern) {
            let remedy = error.remedy().map(|remedy| format!("{HINT}{remedy}"));
            bail!("{}{}", visible(&error.to_string()), remedy.unwrap_or_default());
        }
        let is_single = SINGLE.iter().any(|prefix| name.starts_with(prefix));
        if !name.starts_with(KERNEL) || is_single || exists(name, &names) {
            continue;
        }
        let near = nearest(name, names.clone(), |name| (*name).to_owned());
        let near = near.first().copied().unwrap_or(KERNEL);
        let kernel: Vec<&str> =
            names.iter().copied().filter(|name| name.starts_with(KERNEL)).collect();
        bail!(
            "the kernel has no category '{}'{HINT}did you mean {near}? There are {}, \
             {EVENT_PREFIX}SYSTEM/NAME, {ENTRY_PREFIX}PATH:SYMBOL and {CALL_PREFIX}PATH:SYMBOL",
            visible(name),
            kernel.join(", ")
        );
    }
    Ok(())
}

fn exists(pattern: &str, names: &[&str]) -> bool {
    match pattern.strip_suffix('*') {
        Some(prefix) => {
            SINGLE.iter().any(|it| it.starts_with(prefix))
                || names.iter().any(|name| name.starts_with(prefix))
        }
        None => names.contains(&pattern),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn checked(pattern: &str) -> Result<(), String> {
        check(&[pattern.to_owned()]).map_err(|error| error.to_string())
    }

    #[test]
    fn patterns_of_categories_that_exist() {
        for pattern in [
            "app",
            "*",
            "kernel*",
            "kernel:*",
            "kernel:s*",
            "kernel:sched",
            "-kernel:irq",
            "kernel:event:sched/sched_switch",
            "kernel:ev*",
            "kernel:u*",
            "kernels:x",
            "web/kernel",
        ] {
            assert_eq!(checked(pattern), Ok(()), "{pattern}");
        }
    }

    #[test]
    fn wrong_categories_have_the_nearest_one() {
        for (pattern, near) in [
            ("kernel:shced", "kernel:sched"),
            ("-kernel:irqs", "kernel:irq"),
            ("kernel:syscalls", "kernel:syscall"),
            ("kernel:x*", "kernel:"),
        ] {
            let error = checked(pattern).unwrap_err();
            let name = pattern.trim_start_matches('-');
            let expected =
                format!("the kernel has no category '{name}'\nhint: did you mean {near}");
            assert!(error.starts_with(&expected), "{error}");
        }
    }
}
