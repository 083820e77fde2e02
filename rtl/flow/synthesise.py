"""Synthesises one design for ECP5 with Yosys, twice: alone, which gives its area, and in a harness, which gives a netlist to place.

Designs have more ports than chips have pins. The harness has four: clock, reset, one that feeds a shift register from which every input comes,
one to which every output goes through a register of its own and a tree of exclusive ors with a register at every level. So all paths of the
design begin and end at flip-flops, nothing of it can be optimised away, and what is around it is never the slowest.

Usage: synthesise.py TASK.json, an object with
  sources     SystemVerilog files, packages first
  top         the module
  parameters  name -> value, as in SystemVerilog
  mapping     "small" or "short", see SCRIPTS
  is_placed   whether a netlist in the harness is wanted
  folder      where to write cells.json and, if wanted, netlist.json and places.json: where in the sources the cells of the netlist come from
"""

import json
import os
import sys

from pyosys import libyosys as ys

CLOCK, RESET = "clk_i", "rst_ni"

# Tables of four inputs only: wider ones, of tables and multiplexers, make more of both and no shorter paths.
OPTIONS = "-nowidelut"

# What mapping takes a wire to cost, in picoseconds. Placed designs lose about so much on each; the 300 that synth_ecp5 assumes make
# deeper logic.
WIRE = 1000


# How mapping goes about it, by the name that a task gives. "small": paths that are not the longest may become longer where that saves
# tables. "short": every path is as short as it can be, because wires differ in length, which mapping does not know.
SCRIPTS = {
    "small": "",
    "short": "-script +&scorr;&sweep;&dc2;&dch,-f,-r;&ps;&if,{W},-F,0,-A,0,-v;&mfs",
}

# State machines stay encoded as they are written: few states that many multiplexers depend on are best decoded by few bits.
AS_WRITTEN = 'setattr -set fsm_encoding "none" w:*'


def run(design, command):
    ys.run_pass(command, design)


def read(task):
    design = ys.Design()
    parameters = " ".join(f"-G {name}={value}" for name, value in task["parameters"].items())
    run(design, f"read_slang --top {task['top']} {parameters} {' '.join(task['sources'])}")
    run(design, f"hierarchy -check -top {task['top']}")
    return design


def ports(design):
    """Name, width and whether it is an input, of every port of the top module but clock and reset."""
    module = design.top_module()
    found = []
    for name in sorted(str(port) for port in module.ports):
        wire = module.wire(ys.IdString(name))
        if name[1:] not in (CLOCK, RESET):
            found.append((name[1:], wire.width, wire.port_input))
    return found


def harness(top, found):
    """The harness in Verilog."""
    inputs = sum(width for _, width, is_input in found if is_input)
    outputs = sum(width for _, width, is_input in found if not is_input)
    lines = [
        f"module harness(input {CLOCK}, input {RESET}, input feed_i, output fold_o);",
        # Kept, so that no register of the design is taken for one of these, or the other way round.
        f"  (* keep *) reg [{max(inputs, 1) - 1}:0] feed_q;",
        f"  always @(posedge {CLOCK}) feed_q <= {{feed_q, feed_i}};",
        f"  wire [{outputs - 1}:0] level_0;",
        f"  (* keep *) reg [{outputs - 1}:0] level_0_q;",
        f"  always @(posedge {CLOCK}) level_0_q <= level_0;",
    ]
    connections = [f".{CLOCK}({CLOCK})", f".{RESET}({RESET})"]
    low = {True: 0, False: 0}
    for name, width, is_input in found:
        at = low[is_input]
        low[is_input] += width
        connections.append(f".{name}({'feed_q' if is_input else 'level_0'}[{at + width - 1}:{at}])")
    lines.append(f"  {top} design_under_test ({', '.join(connections)});")
    level = 0
    while outputs > 1:
        folded = (outputs + 3) // 4
        lines.append(f"  reg [{folded - 1}:0] level_{level + 1}_q;")
        lines.append(f"  always @(posedge {CLOCK}) begin")
        for i in range(folded):
            high = min(4 * i + 3, outputs - 1)
            lines.append(f"    level_{level + 1}_q[{i}] <= ^level_{level}_q[{high}:{4 * i}];")
        lines.append("  end")
        level, outputs = level + 1, folded
    lines += [f"  assign fold_o = level_{level}_q;", "endmodule"]
    return "\n".join(lines) + "\n"


# A multiplier as mapping sees it: a box that takes as long as the device's, in picoseconds. Without it a product would count as there from
# the beginning, and what waits for it would be mapped as if it did not.
BOX = """
(* abc9_box, blackbox *)
module MULTIPLIER (input [17:0] A, input [17:0] B, output [35:0] P);
  specify
    (A *> P) = 3930;
    (B *> P) = 3930;
  endspecify
endmodule
"""


def boxing():
    """Two maps: from the device's multipliers without registers and signs to boxes, and back."""
    pins = {"A": range(18), "B": range(18), "P": range(36)}
    names = [f"{bus}{bit}" for bus in pins for bit in pins[bus]]
    zeros = ["SIGNEDA", "SIGNEDB", "SOURCEA", "SOURCEB"] + [f"C{bit}" for bit in range(18)]
    inputs = [name for name in names if name[0] != "P"] + zeros
    outputs = [name for name in names if name[0] == "P"]
    buses = ", ".join(f".{bus}({{{', '.join(f'{bus}{bit}' for bit in reversed(pins[bus]))}}})" for bus in pins)
    bits = ", ".join([f".{bus}{bit}({bus}[{bit}])" for bus in pins for bit in pins[bus]] + [f".{name}(1'b0)" for name in zeros])
    there = f"""
module MULT18X18D (input {', '.join(inputs)}, output {', '.join(outputs)});
  parameter _TECHMAP_CONSTVAL_SIGNEDA_ = 1'bx;
  parameter _TECHMAP_CONSTVAL_SIGNEDB_ = 1'bx;
  wire _TECHMAP_FAIL_ = _TECHMAP_CONSTVAL_SIGNEDA_ !== 1'b0 || _TECHMAP_CONSTVAL_SIGNEDB_ !== 1'b0;
  MULTIPLIER _TECHMAP_REPLACE_ ({buses});
endmodule
"""
    back = f"""
module MULTIPLIER (input [17:0] A, input [17:0] B, output [35:0] P);
  MULT18X18D _TECHMAP_REPLACE_ ({bits});
endmodule
"""
    return there, back


def synthesise(design, top, folder, mapping, json=None):
    """Maps a design to the cells of the device."""
    files = [os.path.join(folder, name) for name in ("box.v", "there.v", "back.v")]
    for name, text in zip(files, (BOX, *boxing())):
        with open(name, "w") as file:
            file.write(text)
    box, there, back = files
    command = f"synth_ecp5 {OPTIONS} -top {top}" + (f" -json {json}" if json else "")
    run(design, AS_WRITTEN)
    run(design, f"{command} -run begin:map_luts")
    run(design, f"read_verilog -specify {box}")
    run(design, f"techmap -map {there}")
    run(design, f"abc9 -maxlut 4 -W {WIRE} {SCRIPTS[mapping]}")
    run(design, "clean")
    run(design, f"techmap -map {back}")
    run(design, f"{command} -run map_cells:")


def cells(design):
    """How many cells of each kind the mapped design has."""
    counts = {}
    module = design.top_module()
    for cell in module.selected_cells():
        kind = str(cell.type)[1:]
        counts[kind] = counts.get(kind, 0) + 1
    return counts


def places(design):
    """The line of the sources that each cell comes from, as far as one is known."""
    found = {}
    for cell in design.top_module().selected_cells():
        lines = [line for line in cell.get_src_attribute().split("|") if ".sv:" in line]
        if lines:
            found[str(cell.name)[1:]] = os.path.basename(lines[0]).split(".", 2)[0] + ".sv:" + lines[0].split(".sv:")[1].split(".")[0]
    return found


def main():
    with open(sys.argv[1]) as file:
        task = json.load(file)
    folder = task["folder"]
    os.makedirs(folder, exist_ok=True)

    design = read(task)
    found = ports(design)
    synthesise(design, task["top"], folder, task["mapping"])
    with open(os.path.join(folder, "cells.json"), "w") as file:
        json.dump(cells(design), file, indent=1, sort_keys=True)

    if task["is_placed"]:
        design = read(task)
        around = os.path.join(folder, "harness.v")
        with open(around, "w") as file:
            file.write(harness(task["top"], found))
        run(design, f"read_verilog {around}")
        run(design, "hierarchy -check -top harness")
        synthesise(design, "harness", folder, task["mapping"], os.path.join(folder, "netlist.json"))
        with open(os.path.join(folder, "places.json"), "w") as file:
            json.dump(places(design), file, indent=1, sort_keys=True)


main()
