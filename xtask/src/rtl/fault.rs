//! One seeded fault, and the lists of them, which are written like patches.

use crate::failure::Failure;
use std::collections::BTreeMap;

/// A fault: in one file of the design, one text is replaced by another.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    /// The design that is simulated, such as `base-4`, or the proof that fails.
    pub check: &'static str,
    /// The file below `rtl/src`, without its ending.
    pub file: &'static str,
    /// What is wrong then.
    pub what: &'static str,
    /// A text that the file has once, and its replacement.
    pub text: String,
    pub replacement: String,
}

impl Fault {
    /// The faults of a list: a line "check, file: what", the lines of the text after "- ", those of the replacement after "+ ".
    pub fn list(text: &'static str) -> Vec<Fault> {
        let mut faults = Vec::new();
        for block in text.split("\n\n") {
            let mut lines = block.lines().filter(|line| !line.starts_with('#'));
            let Some((check, rest)) = lines.next().and_then(|line| line.split_once(", ")) else { continue };
            let (file, what) = rest.split_once(": ").unwrap_or((rest, ""));
            let side = |sign| {
                let side = block.lines().filter_map(|line| line.strip_prefix(sign));
                side.map(|line| line.strip_prefix(' ').unwrap_or(line)).collect::<Vec<_>>().join("\n")
            };
            faults.push(Fault { check, file, what, text: side('-'), replacement: side('+') });
        }
        faults
    }

    /// The file with the fault.
    ///
    /// # Errors
    /// [`Failure::Check`] if the text is not in the file once.
    pub fn seed(&self, sources: &BTreeMap<String, String>) -> Result<String, Failure> {
        let stale = |problem: &str| {
            Failure::Check(format!(
                "rtl/src/{}.sv: a fault for {} replaces \"{}\", which {problem}; adapt xtask/src/rtl/faults",
                self.file, self.check, self.text
            ))
        };
        let source = sources.get(self.file).ok_or_else(|| stale("is in a file that does not exist"))?;
        match source.matches(&self.text).count() {
            0 => Err(stale("is not there")),
            1 => Ok(source.replace(&self.text, &self.replacement)),
            _ => Err(stale("is there more than once")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_is_read_like_a_patch() {
        let list = "# Words.\n\n# More.\n\nbase-4, a: it breaks\n- x\n-\n+ y\n\nproof N=4, b\n-   x\n";
        let fault = |check, file, what, text: &str, replacement: &str| Fault {
            check,
            file,
            what,
            text: text.to_owned(),
            replacement: replacement.to_owned(),
        };
        assert_eq!(Fault::list(list), [fault("base-4", "a", "it breaks", "x\n", "y"), fault("proof N=4", "b", "", "  x", "")]);
    }

    #[test]
    fn a_text_that_is_gone_or_ambiguous_is_refused() {
        let fault = Fault::list("b, a\n- x\n+ y").remove(0);
        let sources = |text: &str| BTreeMap::from([("a".to_owned(), text.to_owned())]);
        assert_eq!(fault.seed(&sources("x;")).ok().unwrap(), "y;");
        for text in ["", "x x"] {
            assert!(matches!(fault.seed(&sources(text)), Err(Failure::Check(_))), "{text}");
        }
    }
}
