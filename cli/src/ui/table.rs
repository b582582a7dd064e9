//! Plain columns: as wide as their widest cell, two spaces apart. Cells are neutralised before.

/// A table as text. The last column is not padded; without a header there is no first line.
pub(crate) fn table(header: &[&str], rows: &[Vec<String>]) -> String {
    let header = header.iter().map(ToString::to_string).collect::<Vec<_>>();
    let header = Some(&header).filter(|header| !header.is_empty());
    let lines: Vec<&Vec<String>> = header.into_iter().chain(rows).collect();
    let columns = lines.iter().map(|line| line.len()).max().unwrap_or(0);
    let widths: Vec<usize> = (0..columns)
        .map(|column| {
            let cells = lines.iter().filter_map(|line| line.get(column));
            cells.map(|cell| cell.chars().count()).max().unwrap_or(0)
        })
        .collect();
    let mut out = String::new();
    for line in lines {
        let cells = line
            .iter()
            .zip(&widths)
            .map(|(cell, &width)| format!("{cell:width$}"));
        let joined = cells.collect::<Vec<_>>().join("  ");
        out.push_str(joined.trim_end());
        out.push('\n');
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_as_wide_as_their_widest_cell() {
        let rows = [
            vec![String::from("b3e41f"), String::from("parked")],
            vec![String::from("c"), String::new()],
        ];
        let text = table(&["RUN", "STATE"], &rows);
        assert_eq!(text, "RUN     STATE\nb3e41f  parked\nc\n");
        assert_eq!(table(&[], &rows[1..]), "c\n");
        assert_eq!(table(&[], &[]), "");
    }
}
