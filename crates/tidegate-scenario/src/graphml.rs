//! Reads GraphML: the nodes and edges of one graph, with what the attributes say of places, delays, rates and weights.
//!
//! Attributes are known by their names, whatever their case. A node has `label`, and `latitude` and `longitude` in degrees. An edge has `delay`, `dist` or `length` in
//! kilometres, `rate` or `LinkSpeedRaw` in bit/s, and `weight`. Others are left out.

use crate::diagnostic::is_control;
use crate::units;
use quick_xml::Reader;
use quick_xml::escape::resolve_predefined_entity;
use quick_xml::events::{BytesStart, Event};
use std::collections::{HashMap, HashSet};

/// The mean radius of the Earth in kilometres.
const EARTH: f64 = 6371.0;
/// The time that light takes through a kilometre of fibre, in nanoseconds.
const NANOSECONDS_PER_KILOMETRE: f64 = 5000.0;
/// The most nodes and edges.
const MOST: usize = 200_000;

/// An edge of a graph.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Edge {
    /// The names of its ends.
    pub ends: [String; 2],
    pub is_directed: bool,
    /// Values as a scenario file has them.
    pub delay: Option<String>,
    pub rate: Option<String>,
    pub weight: Option<i64>,
}

/// A fault, and the byte at which it is.
pub(crate) type Fault = (usize, String);

#[derive(Default)]
struct Node {
    id: String,
    at: usize,
    attributes: HashMap<String, String>,
}

#[derive(Default)]
struct RawEdge {
    ends: [String; 2],
    at: usize,
    is_directed: bool,
    attributes: HashMap<String, String>,
}

/// The edges of a graph.
///
/// # Errors
/// What is wrong, and where.
pub(crate) fn read(text: &str) -> Result<Vec<Edge>, Fault> {
    let (nodes, edges) = elements(text)?;
    let names = names(&nodes)?;
    let mut places = HashMap::new();
    for node in &nodes {
        let of = |key: &str, most: f64| number(&node.attributes, key, node.at, -most, most);
        if let (Some(latitude), Some(longitude)) = (of("latitude", 90.0)?, of("longitude", 180.0)?) {
            places.insert(node.id.as_str(), (latitude.to_radians(), longitude.to_radians()));
        }
    }
    let mut read = Vec::with_capacity(edges.len());
    for edge in &edges {
        let name = |id: &String| {
            names.get(id.as_str()).cloned().ok_or_else(|| (edge.at, format!("an edge names the node `{id}`, which is not there")))
        };
        let ends = [name(&edge.ends[0])?, name(&edge.ends[1])?];
        if edge.ends[0] == edge.ends[1] {
            return Err((edge.at, format!("an edge leads from `{}` to itself", edge.ends[0])));
        }
        let of = |key: &str, most: f64| number(&edge.attributes, key, edge.at, 0.0, most);
        let kilometres = match (of("dist", 1e6)?, of("length", 1e6)?) {
            (Some(kilometres), _) | (None, Some(kilometres)) => Some(kilometres),
            _ => {
                let place = |id: &String| places.get(id.as_str());
                place(&edge.ends[0]).zip(place(&edge.ends[1])).map(|(one, other)| great_circle(*one, *other))
            }
        };
        let written = |key: &str, is_wrong: &dyn Fn(&str) -> Option<String>| match edge.attributes.get(key) {
            Some(text) => match is_wrong(text) {
                Some(problem) => Err((edge.at, format!("`{key}` is {text:?}: {problem}"))),
                None => Ok(Some(text.clone())),
            },
            None => Ok(None),
        };
        let delay = written("delay", &|text| units::duration(text).err())?;
        let delay = delay.or_else(|| kilometres.map(|kilometres| format!("{} ns", (kilometres * NANOSECONDS_PER_KILOMETRE).round())));
        let speed = of("linkspeedraw", 1e15)?.map(|bits| format!("{} bit/s", bits.round()));
        if let Some(problem) = speed.as_deref().and_then(|speed| units::rate(speed).err()) {
            return Err((edge.at, format!("`linkspeedraw`: {problem}")));
        }
        let weight = of("weight", 1e6)?;
        if let Some(weight) = weight.filter(|weight| *weight < 1.0 || weight.fract() != 0.0) {
            return Err((edge.at, format!("`weight` is {weight}, and a whole number from 1 to 1000000 is expected")));
        }
        let weight = weight.map(|weight| weight as i64);
        let rate = written("rate", &|text| units::rate(text).err())?.or(speed);
        read.push(Edge { ends, is_directed: edge.is_directed, delay, rate, weight });
    }
    Ok(read)
}

/// The kilometres between two places on the Earth by the haversine formula, from latitude and longitude in radians.
fn great_circle(one: (f64, f64), other: (f64, f64)) -> f64 {
    let haversine = |angle: f64| (angle / 2.0).sin().powi(2);
    let h = haversine(other.0 - one.0) + one.0.cos() * other.0.cos() * haversine(other.1 - one.1);
    2.0 * EARTH * h.sqrt().min(1.0).asin()
}

/// An attribute that is a number in a range.
fn number(attributes: &HashMap<String, String>, key: &str, at: usize, least: f64, most: f64) -> Result<Option<f64>, Fault> {
    let Some(text) = attributes.get(key) else { return Ok(None) };
    match text.parse::<f64>() {
        Ok(number) if (least..=most).contains(&number) => Ok(Some(number)),
        _ => Err((at, format!("`{key}` is {text:?}, and a number from {least} to {most} is expected"))),
    }
}

/// By id, the name of each node: its label, if no other has it, or else its id.
fn names(nodes: &[Node]) -> Result<HashMap<&str, String>, Fault> {
    let label = |node: &Node| node.attributes.get("label").filter(|label| !label.is_empty()).cloned();
    let mut count: HashMap<String, u32> = HashMap::new();
    nodes.iter().filter_map(label).for_each(|label| *count.entry(label).or_default() += 1);
    let mut names = HashMap::new();
    let mut seen = HashSet::new();
    for node in nodes {
        let label = label(node).filter(|label| count[label] == 1);
        // What names of a scenario file may not have.
        let name = label.unwrap_or_else(|| node.id.clone()).replace(|c| matches!(c, '.' | '"' | '*') || is_control(c), "_");
        if !seen.insert(name.clone()) {
            return Err((node.at, format!("two nodes have the name `{name}`")));
        }
        if names.insert(node.id.as_str(), name).is_some() {
            return Err((node.at, format!("two nodes have the id `{}`", node.id)));
        }
    }
    Ok(names)
}

/// The nodes and edges as they are written.
fn elements(text: &str) -> Result<(Vec<Node>, Vec<RawEdge>), Fault> {
    enum Open {
        Nothing,
        Node,
        Edge,
    }
    let mut reader = Reader::from_str(text);
    let (mut nodes, mut edges): (Vec<Node>, Vec<RawEdge>) = (Vec::new(), Vec::new());
    let mut keys: HashMap<String, String> = HashMap::new();
    let (mut open, mut data, mut value) = (Open::Nothing, None, String::new());
    let (mut graphs, mut is_directed, mut depth) = (0, false, 0);
    loop {
        let at = reader.buffer_position() as usize;
        let event = reader.read_event().map_err(|error| (reader.error_position() as usize, format!("this is not XML: {error}")))?;
        let is_empty = matches!(event, Event::Empty(_));
        match event {
            Event::Start(tag) | Event::Empty(tag) => {
                depth += i32::from(!is_empty);
                let attribute = |key: &str| attribute(&tag, key).map_err(|problem| (at, problem));
                let needed = |key: &str| attribute(key)?.ok_or_else(|| (at, format!("a tag lacks the attribute `{key}`")));
                match tag.local_name().as_ref() {
                    b"graph" => {
                        graphs += 1;
                        if graphs > 1 {
                            return Err((at, "there is a second graph, and a topology is one".to_owned()));
                        }
                        is_directed = attribute("edgedefault")?.as_deref() == Some("directed");
                    }
                    b"key" => {
                        let id = needed("id")?;
                        let name = attribute("attr.name")?.unwrap_or_else(|| id.clone());
                        keys.insert(id, name.to_lowercase());
                    }
                    b"node" => {
                        nodes.push(Node { id: needed("id")?, at, ..Node::default() });
                        open = if is_empty { Open::Nothing } else { Open::Node };
                    }
                    b"edge" => {
                        let is_directed = attribute("directed")?.map_or(is_directed, |directed| directed == "true");
                        let ends = [needed("source")?, needed("target")?];
                        edges.push(RawEdge { ends, at, is_directed, ..RawEdge::default() });
                        open = if is_empty { Open::Nothing } else { Open::Edge };
                    }
                    b"data" if !is_empty => {
                        let key = needed("key")?;
                        data = Some(keys.get(&key).cloned().unwrap_or_else(|| key.to_lowercase()));
                        value.clear();
                    }
                    _ => {}
                }
                if nodes.len() + edges.len() > MOST {
                    return Err((at, format!("the graph has more than {MOST} nodes and edges")));
                }
            }
            Event::Text(text) => value += &text.decode().map_err(|error| (at, error.to_string()))?,
            Event::CData(text) => value += &text.decode().map_err(|error| (at, error.to_string()))?,
            Event::GeneralRef(reference) => {
                let character = reference.resolve_char_ref().map_err(|error| (at, error.to_string()))?;
                let name = reference.decode().map_err(|error| (at, error.to_string()))?;
                match (character, resolve_predefined_entity(&name)) {
                    (Some(character), _) => value.push(character),
                    (None, Some(entity)) => value += entity,
                    (None, None) => return Err((at, format!("the entity `&{name};` is not known"))),
                }
            }
            Event::End(tag) => {
                depth -= 1;
                match tag.local_name().as_ref() {
                    b"data" => {
                        let attributes = match open {
                            Open::Node => nodes.last_mut().map(|node| &mut node.attributes),
                            Open::Edge => edges.last_mut().map(|edge| &mut edge.attributes),
                            Open::Nothing => None,
                        };
                        if let (Some(attributes), Some(key)) = (attributes, data.take()) {
                            attributes.insert(key, value.trim().to_owned());
                        }
                    }
                    b"node" | b"edge" => open = Open::Nothing,
                    _ => {}
                }
            }
            Event::Eof if depth > 0 => return Err((at, "the file ends before all its elements do".to_owned())),
            Event::Eof => break,
            _ => {}
        }
    }
    if edges.is_empty() {
        return Err((0, "there is no graph with an edge".to_owned()));
    }
    Ok((nodes, edges))
}

fn attribute(tag: &BytesStart<'_>, key: &str) -> Result<Option<String>, String> {
    let found = tag.try_get_attribute(key).map_err(|error| error.to_string())?;
    found.map(|attribute| attribute.unescape_value().map(|value| value.into_owned()).map_err(|error| error.to_string())).transpose()
}
