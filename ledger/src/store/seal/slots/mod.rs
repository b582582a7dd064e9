//! x
#[derive(Debug)]
pub struct KeyFile;
#[derive(Debug)]
pub struct KeyFileError;
