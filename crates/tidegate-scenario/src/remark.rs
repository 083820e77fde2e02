//! The remarks of a class, from what a file says to the core, and what is said of them.

use crate::contract::Policing;
use crate::diagnostic::Diagnostic;
use crate::document::{ClassTable, ColourSetTable, SetTable};
use crate::header::{DSCP_NAMES, Dscp};
use crate::policy::{Class, Policy};
use crate::value::{At, Block, Leaf, Scalar, Whole};
use serde_json::{Value, json};
use tidegate_core::packet::Colour;
use tidegate_core::remark::{CodePoint, Remark, Remarks};

/// What a code point is to become: a number or a name as for [`Dscp`], or the drop precedence of the packet's colour.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum DscpChange {
    /// This one.
    To(Dscp),
    /// Within its class of assured forwarding, that of the colour.
    ByColour,
}

const BY_COLOUR: &str = "by-colour";

impl Leaf for DscpChange {
    const NAME: &'static str = "code point or by-colour";
    fn schema() -> Value {
        let names: Vec<&str> = [BY_COLOUR].into_iter().chain(DSCP_NAMES.iter().map(|known| known.0)).collect();
        json!({ "anyOf": [{ "type": "integer", "minimum": 0, "maximum": 63 }, { "enum": names }] })
    }
    fn read(scalar: &Scalar<'_>) -> Result<DscpChange, String> {
        match scalar {
            Scalar::Text(text) if text == BY_COLOUR => Ok(DscpChange::ByColour),
            Scalar::Text(_) => {
                let names = DSCP_NAMES.iter().map(|&(name, number)| (name, DscpChange::To(Dscp(number))));
                let names: Vec<_> = names.chain([(BY_COLOUR, DscpChange::ByColour)]).collect();
                crate::value::one_of(scalar, "a DSCP", &names)
            }
            _ => Dscp::read(scalar).map(DscpChange::To),
        }
    }
}

impl Class {
    /// True if its policer may change colours and the packets do not tell them when they leave.
    pub fn keeps_marks_inside(&self) -> bool {
        self.police.as_ref().is_some_and(Policing::marks) && !tell_colours(&self.remarks)
    }
}

impl Policy {
    /// What the reader of a result should know of colours: those that change nothing on the wire, by class.
    pub fn notes(&self) -> Vec<String> {
        let inside = self.classes.iter().filter(|class| class.keeps_marks_inside());
        let names: Vec<String> = inside.map(|class| format!("`{}`", class.name)).collect();
        if names.is_empty() {
            return Vec::new();
        }
        vec![format!(
            "Policy {}: the colours that its policers give packets of {} change nothing on the wire, because no `set` says how.",
            self.name,
            names.join(", ")
        )]
    }
}

const COLOURS: [Colour; Remarks::COLOURS] = [Colour::Green, Colour::Yellow, Colour::Red];

/// The remarks of a class, by colour.
pub(crate) type ClassRemarks = [Remark; Remarks::COLOURS];

/// What the table of a class says, if it has one.
pub(crate) fn remarks(class: &ClassTable, police: Option<&Policing>, findings: &mut Vec<Diagnostic>) -> ClassRemarks {
    let Some(table) = &class.set else { return Default::default() };
    let remarks = COLOURS.map(|colour| of_colour(table, colour));
    if remarks == ClassRemarks::default() {
        let finding = Diagnostic::error(table.span.clone(), "`set` is empty: it changes nothing");
        findings.push(finding.help("remove it, or say what packets leave with, like set = { dscp = \"by-colour\" }"));
    }
    let by_colour = table.dscp.as_ref().filter(|at| at.value == DscpChange::ByColour);
    if let (Some(at), false) = (by_colour, police.is_some_and(Policing::marks)) {
        let problem = format!("nothing changes the colours of class `{}`: every code point stays", class.name.0);
        let finding = Diagnostic::warning(at.span.clone(), problem);
        findings.push(finding.help("give the class a `police` that marks, like sr-tcm, or a code point"));
    }
    remarks
}

fn of_colour(table: &Block<SetTable>, colour: Colour) -> Remark {
    let own = match colour {
        Colour::Green => &table.green,
        Colour::Yellow => &table.yellow,
        Colour::Red => &table.red,
    };
    let (dscp, pcp, dei) = own
        .as_ref()
        .map_or((None, None, None), |Block { value: ColourSetTable { dscp, pcp, dei }, .. }| (dscp.as_ref(), pcp.as_ref(), dei.as_ref()));
    let priority = |at: &At<Whole<0, 7>>| at.value.0 as u8;
    Remark {
        dscp: match dscp.or(table.dscp.as_ref()).map(|at| at.value) {
            None => CodePoint::Keep,
            Some(DscpChange::To(Dscp(number))) => CodePoint::Set(number),
            Some(DscpChange::ByColour) => CodePoint::DropPrecedence(colour),
        },
        pcp: pcp.or(table.pcp.as_ref()).map(priority),
        dei: dei.or(table.dei.as_ref()).map(|at| at.value),
    }
}

/// True if what a packet leaves with tells its colour, or part of it.
fn tell_colours(remarks: &ClassRemarks) -> bool {
    remarks.iter().any(|remark| remark != &remarks[0])
}

/// What packets leave with, in a few words; empty if they stay as they are.
pub(crate) fn print(remarks: &ClassRemarks) -> String {
    if remarks == &ClassRemarks::default() {
        return String::new();
    }
    if remarks.iter().all(|remark| remark.pcp == remarks[0].pcp && remark.dei == remarks[0].dei)
        && COLOURS.iter().zip(remarks).all(|(&colour, remark)| remark.dscp == CodePoint::DropPrecedence(colour))
    {
        let beside = print_one(&Remark { dscp: CodePoint::Keep, ..remarks[0] });
        let beside = if beside.is_empty() { beside } else { format!(", {beside}") };
        return format!("leaves with AFx1, AFx2 or AFx3 by colour{beside}");
    }
    if !tell_colours(remarks) {
        return format!("leaves with {}", print_one(&remarks[0]));
    }
    let each = COLOURS.iter().zip(remarks).map(|(colour, remark)| {
        let what = print_one(remark);
        format!("{} {}", colour.name(), if what.is_empty() { "as it came".to_owned() } else { format!("with {what}") })
    });
    format!("leaves {}", each.collect::<Vec<_>>().join(", "))
}

fn print_one(remark: &Remark) -> String {
    let name = |number: u8| DSCP_NAMES.iter().find(|known| known.1 == number).map_or(number.to_string(), |known| known.0.to_owned());
    let dscp = match remark.dscp {
        CodePoint::Keep => None,
        CodePoint::Set(number) => Some(format!("dscp {}", name(number))),
        CodePoint::DropPrecedence(colour) => Some(format!("AFx{}", colour as u8 + 1)),
    };
    let pcp = remark.pcp.map(|pcp| format!("pcp {pcp}"));
    let dei = remark.dei.map(|dei| format!("dei {}", u8::from(dei)));
    [dscp, pcp, dei].into_iter().flatten().collect::<Vec<_>>().join(" ")
}
