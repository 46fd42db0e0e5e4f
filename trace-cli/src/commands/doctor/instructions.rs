//! Findings about instruction traces.

use trace_insntrace::hardware::Pmu;

use super::Finding;

/// Returns how instructions can be traced.
pub(super) fn findings() -> impl Iterator<Item = Finding> {
    cfg!(target_arch = "x86_64")
        .then(|| finding(Pmu::find().map_err(|it| it.to_string())))
        .into_iter()
}

fn finding(pmu: Result<Pmu, String>) -> Finding {
    match pmu {
        Ok(_) => Finding::ok(
            "instructions",
            "Intel PT, by trace insn record --engine hardware (not tested on a processor with it)",
        ),
        Err(missing) => Finding::limited(
            "instructions",
            missing,
            "instructions are traced by stops: programs are some 20,000 times slower",
            "trace only a part, by trace insn record --function, --in-scope or --budget; \
             --engine block is several times faster",
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_works_without_hardware_is_reported() {
        let finding = finding(Err("no Intel PT".into()));
        let (without, remedy) = finding.remedy.unwrap();
        assert_eq!(finding.detail, "no Intel PT");
        assert!(without.contains("by stops") && remedy.contains("--engine block"));
    }
}
