//! Builds and prints the remarks of a class: the code points with which its packets leave.

use crate::diagnostic::Diagnostic;
use crate::document::{ClassTable, ColourSetTable, SetTable};
use crate::header::{DSCP_NAMES, Dscp, DscpChange};
use crate::value::{At, Block, Whole};
use tidegate_core::packet::Colour;
use tidegate_core::remark::{CodePoint, Remark, Remarks};

const COLOURS: [Colour; Remarks::COLOURS] = [Colour::Green, Colour::Yellow, Colour::Red];

/// The remarks of a class, by colour.
pub(crate) type ClassRemarks = [Remark; Remarks::COLOURS];

/// The remarks of a class; none without a `set` table. `has_colours` is true if something at the port gives its packets a colour.
pub(crate) fn remarks(class: &ClassTable, has_colours: bool, findings: &mut Vec<Diagnostic>) -> ClassRemarks {
    let Some(table) = &class.set else { return Default::default() };
    let remarks = COLOURS.map(|colour| of_colour(table, colour));
    if remarks == ClassRemarks::default() {
        let finding = table.error("`set` is empty: it changes nothing");
        findings.push(finding.help("remove it, or say what packets leave with, like set = { dscp = \"by-colour\" }"));
    }
    let by_colour = table.dscp.as_ref().filter(|at| at.value == DscpChange::ByColour);
    if let (Some(at), false) = (by_colour, has_colours) {
        let finding = at.warning(format!("nothing changes the colours of class `{}`: every code point stays", class.name.0));
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

/// True if the remarks depend on the colour.
pub(crate) fn tell_colours(remarks: &ClassRemarks) -> bool {
    remarks.iter().any(|remark| remark != &remarks[0])
}

/// The remarks in a few words; empty if packets stay unchanged.
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
