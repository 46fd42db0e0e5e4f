//! Categories of the kernel that do not exist.

use anyhow::{bail, Result};
use trace_convert::visible;
use trace_kernel::live::{CATEGORIES, EVENT_PREFIX};

use crate::message::HINT;
use crate::near::nearest;

/// The prefix of the kernel's categories.
const KERNEL: &str = "kernel:";

/// Fails if a pattern selects or excludes a category of the kernel that does not exist.
pub(crate) fn check(patterns: &[String]) -> Result<()> {
    let names: Vec<&str> = CATEGORIES.iter().map(|category| category.name).collect();
    for pattern in patterns {
        let name = pattern.strip_prefix('-').unwrap_or(pattern);
        if !name.starts_with(KERNEL) || name.starts_with(EVENT_PREFIX) || exists(name, &names) {
            continue;
        }
        let near = nearest(name, names.clone(), |name| (*name).to_owned());
        let near = near.first().copied().unwrap_or(KERNEL);
        let kernel: Vec<&str> =
            names.iter().copied().filter(|name| name.starts_with(KERNEL)).collect();
        bail!(
            "the kernel has no category '{}'{HINT}did you mean {near}? There are {}, and \
             {EVENT_PREFIX}SYSTEM/NAME",
            visible(name),
            kernel.join(", ")
        );
    }
    Ok(())
}

fn exists(pattern: &str, names: &[&str]) -> bool {
    match pattern.strip_suffix('*') {
        Some(prefix) => {
            EVENT_PREFIX.starts_with(prefix) || names.iter().any(|name| name.starts_with(prefix))
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
