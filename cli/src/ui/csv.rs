//! Comma-separated values that no spreadsheet takes for a formula.

use super::text;

/// How a formula begins.
const FORMULA: &[char] = &['=', '+', '-', '@'];

/// A header and lines; every cell is quoted, and prefixed where it begins like a formula.
pub(crate) fn csv(header: &[&str], lines: impl IntoIterator<Item = Vec<String>>) -> String {
    let header = header.iter().map(ToString::to_string).collect();
    let mut out = String::new();
    for line in std::iter::once(header).chain(lines) {
        let cells: Vec<_> = line.iter().map(|text| cell(text)).collect();
        out.push_str(&cells.join(","));
        out.push_str("\r\n");
    }
    out
}

fn cell(text: &str) -> String {
    let text = text::inline(text);
    let prefix = if text.trim_start().starts_with(FORMULA) {
        "'"
    } else {
        ""
    };
    format!("\"{prefix}{}\"", text.replace('"', "\"\""))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cells_are_quoted_and_formulas_are_text() {
        let line = [
            "=1+1",
            "+1",
            "-1",
            "@a",
            " =1",
            "say \"hi\"",
            "a,b",
            "\tx\n",
            "a\u{202e}",
        ];
        let line = line.iter().map(ToString::to_string).collect();
        let expected = "\"a\"\r\n\"'=1+1\",\"'+1\",\"'-1\",\"'@a\",\"' =1\",\"say \"\"hi\"\"\",\
                        \"a,b\",\"\\tx\\n\",\"a\\u{202e}\"\r\n";
        assert_eq!(csv(&["a"], [line]), expected);
    }
}
