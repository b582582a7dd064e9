//! Real programs in the containment profile: each row of it, by a program that tries to get out.
//!
//! Machines differ in what they allow. What a machine cannot give must be reported, and then a
//! test asserts what still holds there.

mod another_user;
mod ends;
mod files;
mod leftovers;
mod limits;
mod missing;
mod place;
mod profile;
mod program;
mod sockets;

use place::Place;
