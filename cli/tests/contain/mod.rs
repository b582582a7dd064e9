//! Real programs in the containment profile: each row of it, by a program that tries to get out.
//!
//! Machines differ in what they allow. What a machine cannot give must be reported, and then a
//! test asserts what still holds there.

mod place;
mod profile;

use place::Place;
