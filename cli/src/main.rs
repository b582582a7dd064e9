//! The binary: the real terminal, files and environment, handed to the library.

use std::process::ExitCode;

fn main() -> ExitCode {
    placet::harden();
    placet::trace();
    let mut io = placet::io::Io::real();
    ExitCode::from(placet::run(std::env::args_os().collect(), &mut io).code())
}
