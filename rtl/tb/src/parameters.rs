//! The parameters that a design is built with.

/// Names and values.
#[derive(Clone, Debug, Default)]
pub struct Parameters(pub Vec<(String, usize)>);

impl Parameters {
    pub fn get(&self, name: &str) -> Result<usize, String> {
        let found = self.0.iter().find(|(known, _)| known == name);
        found.map(|(_, value)| *value).ok_or_else(|| format!("the design's parameter is missing: {name}=NUMBER"))
    }
}
