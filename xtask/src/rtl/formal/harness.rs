//! What is proved of the design: groups of properties and their sizes, and how the list of them, `proofs.txt`, is read.

/// A group of properties, proved for several sizes.
#[derive(Debug, PartialEq, Eq)]
pub struct Harness {
    /// A module in a file of its name.
    pub name: &'static str,
    pub what: &'static str,
    /// A folder of modules, below `abstractions`, that replace those of the design.
    pub abstraction: Option<&'static str>,
    /// Products are arbitrary numbers.
    pub is_cut: bool,
    pub sizes: Vec<Size>,
}

#[derive(Debug, PartialEq, Eq)]
pub struct Size {
    /// The parameters of the harness: names and values, with blanks between them.
    pub parameters: &'static str,
    pub method: Method,
    /// The cycles within which every `cover` statement can be reached, and of a bounded proof.
    pub cycles: u32,
    /// Proved only if asked for.
    pub is_deep: bool,
}

/// How a proof is made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Method {
    /// All inputs of a circuit without registers.
    Combinational,
    /// All runs of some cycles, from any state that the harness allows.
    Bounded,
    /// All runs, by induction over cycles.
    Induction,
}

impl Harness {
    /// The harnesses of a list, whose head says how it is written; a line that says something else is an error.
    pub fn list(text: &'static str) -> Result<Vec<Harness>, &'static str> {
        let mut harnesses: Vec<Harness> = Vec::new();
        for line in text.lines().filter(|line| !line.is_empty() && !line.starts_with('#')) {
            if let Some((head, what)) = line.split_once(": ") {
                let mut words = head.split(' ');
                let (name, is_cut) = (words.next().unwrap_or_default(), head.ends_with(" cut"));
                let abstraction = words.skip_while(|word| *word != "with").nth(1);
                harnesses.push(Harness { name, what, abstraction, is_cut, sizes: Vec::new() });
            } else {
                harnesses.last_mut().ok_or(line)?.sizes.push(Size::read(line).ok_or(line)?);
            }
        }
        Ok(harnesses)
    }
}

impl Size {
    fn read(line: &'static str) -> Option<Size> {
        let (is_deep, rest) = line.strip_prefix("deep").map_or((false, line), |rest| (true, rest));
        let (method, rest) = rest.trim_start().split_once(' ').unwrap_or((rest.trim_start(), ""));
        let method = match method {
            "combinational" => return Some(Size { parameters: rest.trim(), method: Method::Combinational, cycles: 1, is_deep }),
            "bounded" => Method::Bounded,
            "induction" => Method::Induction,
            _ => return None,
        };
        let (cycles, parameters) = rest.split_once(' ').unwrap_or((rest, ""));
        Some(Size { parameters: parameters.trim(), method, cycles: cycles.parse().ok()?, is_deep })
    }

    /// The method, as the table of proofs shows it.
    pub fn shown(&self) -> String {
        match self.method {
            Method::Combinational => "combinational".to_owned(),
            Method::Bounded => format!("{} cycles", self.cycles),
            Method::Induction => "induction".to_owned(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_is_read_and_what_is_none_is_refused() {
        let list = "# Words.\n\na with b cut: it holds\n      bounded 4     N=4 M=2\ndeep  induction 8\n\nc: d\n      combinational\n";
        let size = |parameters, method, cycles, is_deep| Size { parameters, method, cycles, is_deep };
        let sizes = vec![size("N=4 M=2", Method::Bounded, 4, false), size("", Method::Induction, 8, true)];
        let first = Harness { name: "a", what: "it holds", abstraction: Some("b"), is_cut: true, sizes };
        let sizes = vec![size("", Method::Combinational, 1, false)];
        assert_eq!(Harness::list(list), Ok(vec![first, Harness { name: "c", what: "d", abstraction: None, is_cut: false, sizes }]));
        for bad in ["      bounded 4 N=4", "a: b\n      bounded N=4", "a: b\n      guessed 4"] {
            assert_eq!(Harness::list(bad), Err(bad.lines().last().unwrap()));
        }
    }
}
