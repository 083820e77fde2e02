//! The process `tidegate`: the allocator, the arguments, and the exit code of the library.

use std::process::ExitCode;
use tidegate_bench::huge_pages::HugePages;

/// Puts tables of 16 MiB and more on huge pages.
#[global_allocator]
static ALLOCATOR: HugePages<{ 16 << 20 }> = HugePages;

fn main() -> ExitCode {
    ExitCode::from(tidegate_cli::run(std::env::args_os()))
}
