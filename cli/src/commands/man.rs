//! `placet man`: the man pages, a page for each verb.

use std::fs;
use std::path::{Path, PathBuf};

use clap::{Args, Command};
use clap_mangen::Man;
use clap_mangen::roff::{Roff, bold, roman};
use serde::Serialize;

use super::docs::{Words, usage, verbs};
use crate::error::{CommandError, Kind};
use crate::exit::ExitStatus;
use crate::ui::{Printer, WIDTH_DEFAULT, text};
use crate::unusable::cannot;

/// Write the man pages, one for each verb
///
/// The folder is made where there is none; pages of an earlier release are replaced.
///
/// Example: placet man ~/.local/share/man/man1
#[derive(Debug, Args)]
pub(crate) struct ManArgs {
    /// The folder to write them to
    #[arg(value_name = "DIR")]
    dir: PathBuf,
}

/// What was written.
#[derive(Debug, Serialize)]
struct Written {
    dir: String,
    pages: Vec<String>,
}

/// Writes the pages.
pub(crate) fn run(args: &ManArgs, printer: &mut Printer<'_>) -> Result<ExitStatus, CommandError> {
    let dir = printer.io().path(&args.dir);
    make_folder(&dir)?;
    let mut written = Written {
        dir: dir.display().to_string(),
        pages: Vec::new(),
    };
    for (name, page) in pages()? {
        let path = dir.join(&name);
        write_whole(&path, &page).map_err(|error| {
            let what = format!("cannot write {}: {error}", path.display());
            CommandError::new(Kind::Failed, what)
        })?;
        written.pages.push(name);
    }
    if printer.json() {
        printer.value(&written)?;
    } else {
        printer.data(&(written.pages.join("\n") + "\n"))?;
    }
    let (count, dir) = (written.pages.len(), text::marked(&written.dir));
    printer.note(&format!("wrote {count} pages to {dir}"));
    Ok(ExitStatus::Done)
}

fn make_folder(dir: &Path) -> Result<(), CommandError> {
    if dir.exists() && !dir.is_dir() {
        let what = format!(
            "cannot write man pages to {}: it is no folder",
            dir.display()
        );
        return Err(CommandError::usage(what).hint("name a folder; it is made where there is none"));
    }
    fs::create_dir_all(dir).map_err(|error| {
        let what = format!("cannot make the folder {}: {error}", dir.display());
        CommandError::new(Kind::Failed, what).hint("name a folder that you may write to")
    })
}

/// Writes a file under another name first: a reader never finds a part of it.
fn write_whole(path: &Path, bytes: &[u8]) -> std::io::Result<()> {
    let mut name = path.file_name().unwrap_or_default().to_owned();
    name.push(format!(".new-{}", uuid::Uuid::new_v4().as_simple()));
    let new = path.with_file_name(name);
    let written = fs::write(&new, bytes).and_then(|()| fs::rename(&new, path));
    if written.is_err() {
        // What was half written is of no use to anyone.
        drop(fs::remove_file(&new));
    }
    written
}

/// Every page under the name of its file: the program first, then nouns and verbs as help lists
/// them.
fn pages() -> Result<Vec<(String, Vec<u8>)>, CommandError> {
    // No page is written for it, so none may refer to one.
    let mut tree = super::tree(WIDTH_DEFAULT).disable_help_subcommand(true);
    tree.build();
    let mut pages = Vec::new();
    add(&tree, &mut pages)?;
    Ok(pages)
}

fn add(verb: &Command, pages: &mut Vec<(String, Vec<u8>)>) -> Result<(), CommandError> {
    pages.push(page(verb)?);
    verbs(verb).try_for_each(|verb| add(verb, pages))
}

fn page(verb: &Command) -> Result<(String, Vec<u8>), CommandError> {
    written(verb).map_err(cannot("write a page of the manual"))
}

fn written(verb: &Command) -> std::io::Result<(String, Vec<u8>)> {
    let words = Words::of(verb);
    let paragraphs: Vec<_> = std::iter::once(format!("{}.", words.about))
        .chain(words.details)
        .collect();
    let man = Man::new(verb.clone().long_about(paragraphs.join("\n\n")))
        .source(format!("placet {}", env!("CARGO_PKG_VERSION")))
        .manual("placet");
    let mut page = Vec::new();
    man.render_title(&mut page)?;
    man.render_name_section(&mut page)?;
    let mut synopsis = Roff::new();
    synopsis.control("SH", ["SYNOPSIS"]);
    synopsis.text([roman(usage(verb))]);
    synopsis.to_writer(&mut page)?;
    man.render_description_section(&mut page)?;
    man.render_options_section(&mut page)?;
    if verb.has_subcommands() {
        man.render_subcommands_section(&mut page)?;
    }
    if verb.get_version().is_some() {
        man.render_version_section(&mut page)?;
    }
    let mut rest = Roff::new();
    if let Some(example) = words.example {
        rest.control("SH", ["EXAMPLES"]);
        rest.control("nf", []);
        rest.text([roman(example)]);
        rest.control("fi", []);
    }
    rest.control("SH", ["EXIT STATUS"]);
    for status in ExitStatus::ALL {
        rest.control("TP", []);
        rest.text([bold(status.code().to_string())]);
        rest.text([roman(status.meaning())]);
    }
    rest.to_writer(&mut page)?;
    Ok((man.get_filename(), page))
}
