//! One seeded fault.

use crate::failure::Failure;
use std::collections::BTreeMap;

/// A fault: in one file of the design, one text is replaced by another.
pub struct Mutant {
    /// The file below `rtl/src`, without its ending.
    pub file: &'static str,
    /// A text that the file has once, and its replacement.
    pub text: &'static str,
    pub replacement: &'static str,
    /// What is wrong then.
    pub fault: &'static str,
    /// The design that is simulated, such as `base-4`.
    pub design: &'static str,
}

impl Mutant {
    /// The sources with the fault.
    ///
    /// # Errors
    /// [`Failure::Check`] if the text is not in the file once.
    pub fn seed(&self, sources: &BTreeMap<String, String>) -> Result<BTreeMap<String, String>, Failure> {
        let stale = |problem: &str| {
            Failure::Check(format!(
                "rtl/src/{}.sv: the fault \"{}\" replaces \"{}\", which {problem}; adapt xtask/src/rtl/mutants",
                self.file, self.fault, self.text
            ))
        };
        let text = sources.get(self.file).ok_or_else(|| stale("is in a file that does not exist"))?;
        match text.matches(self.text).count() {
            0 => Err(stale("is not there")),
            1 => {
                let mut mutated = sources.clone();
                mutated.insert(self.file.to_owned(), text.replace(self.text, self.replacement));
                Ok(mutated)
            }
            _ => Err(stale("is there more than once")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_that_is_gone_or_ambiguous_is_refused() {
        let mutant = Mutant { file: "a", text: "x", replacement: "y", fault: "", design: "" };
        let sources = |text: &str| BTreeMap::from([("a".to_owned(), text.to_owned())]);
        assert_eq!(mutant.seed(&sources("x;")).ok().unwrap()["a"], "y;");
        for text in ["", "x x"] {
            assert!(matches!(mutant.seed(&sources(text)), Err(Failure::Check(_))), "{text}");
        }
    }
}
