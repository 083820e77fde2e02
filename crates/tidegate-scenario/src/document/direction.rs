//! The keys of policies of two directions, exactly as they are written, and the names that their policies have then; see [`super`].

use super::PolicyTable;
use crate::value::{At, Leaf, Name, Scalar, expect_text};
use schemars::{Schema, SchemaGenerator, json_schema};
use serde_json::{Value, json};
use tidegate_core::units::Rate;

/// A direction of an access link, as its users see it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Direction {
    /// Towards the users.
    Down,
    /// From the users.
    Up,
}

impl Direction {
    /// Both, in the order in which they are listed.
    pub const ALL: [Direction; 2] = [Direction::Down, Direction::Up];

    /// Its key in a policy.
    pub const fn key(self) -> &'static str {
        match self {
            Direction::Down => "down",
            Direction::Up => "up",
        }
    }

    /// That of two values which holds for it.
    pub fn of_two<T>(self, down: T, up: T) -> T {
        match self {
            Direction::Down => down,
            Direction::Up => up,
        }
    }

    /// The name of the policy of this direction.
    pub fn policy(self, name: &str) -> String {
        format!("{name}.{}", self.key())
    }

    /// The direction of a policy that is half of one of two directions.
    pub fn of(policy: &str) -> Option<Direction> {
        let (_, key) = policy.rsplit_once('.')?;
        Direction::ALL.into_iter().find(|direction| direction.key() == key)
    }
}

/// The schema of a direction: a rate, or any keys of a policy.
pub fn schema(generator: &mut SchemaGenerator) -> Schema {
    let (rate, table) = (generator.subschema_for::<At<Rate>>(), generator.subschema_for::<PolicyTable>());
    json_schema!({ "anyOf": [rate, table] })
}

/// The name of a policy, or that of one direction of a policy: `home.down`.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct PolicyName(pub String);

impl Leaf for PolicyName {
    const NAME: &'static str = "name of a policy";
    fn schema() -> Value {
        json!({ "type": "string", "pattern": "^[^.\"\\u0000-\\u001f\\u007f-\\u009f\\u061c\\u200e\\u200f\\u202a-\\u202e\\u2066-\\u2069]{1,64}([.](down|up))?$" })
    }
    fn read(scalar: &Scalar<'_>) -> Result<PolicyName, String> {
        let text = expect_text(scalar, "a name in quotes")?;
        let name = Direction::of(text).and_then(|direction| text.strip_suffix(direction.key())?.strip_suffix('.'));
        Name::read(&Scalar::Text(name.unwrap_or(text).into())).map(|_| PolicyName(text.to_owned()))
    }
}
