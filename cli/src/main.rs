//! The binary: the real terminal, files and environment, handed to the library.

use std::panic;
use std::process::ExitCode;

fn main() -> ExitCode {
    // Started anew as the helper it reads no option, no home and no environment.
    if let Some(code) = placet::contained(std::env::args_os()) {
        return code;
    }
    placet::harden();
    placet::trace();
    // What a panic says is read on the screen that the person had before.
    let tell = panic::take_hook();
    panic::set_hook(Box::new(move |panic| {
        placet::terminal::restore();
        tell(panic);
    }));
    let mut io = placet::io::Io::real();
    ExitCode::from(placet::run(std::env::args_os().collect(), &mut io).code())
}
