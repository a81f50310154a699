//! Tables as plain text: columns side by side, wrapped where they are too wide.

use super::fragment::fragment_text;
use super::view::Table;

/// Blanks between columns.
const GAP: usize = 2;
/// No column is made narrower than this, in columns of the terminal.
const NARROWEST: usize = 6;

/// The table, at most `width` columns wide if possible.
pub(super) fn text_table(table: &Table, width: usize) -> String {
    let widths = widths(table, width);
    let mut out = String::new();
    let heads: Vec<Vec<String>> = (table.heads.iter().zip(&widths))
        .map(|(head, width)| fragment_text(&plain(&head.title), *width))
        .collect();
    let is_right: Vec<bool> = table.heads.iter().map(|h| h.is_number).collect();
    push_row(&mut out, &heads, &widths, &is_right);
    let rules: Vec<Vec<String>> = widths.iter().map(|w| vec!["-".repeat(*w)]).collect();
    push_row(&mut out, &rules, &widths, &is_right);
    for row in &table.rows {
        let cells: Vec<Vec<String>> = (row.iter().zip(&widths))
            .map(|(cell, width)| fragment_text(&cell.source, *width))
            .collect();
        push_row(&mut out, &cells, &widths, &is_right);
    }
    out
}

/// A title, escaped as a fragment.
fn plain(title: &str) -> String {
    title.replace('&', "&amp;").replace('<', "&lt;")
}

/// As wide as the content; if that is too much, the widest columns are reduced.
fn widths(table: &Table, width: usize) -> Vec<usize> {
    let mut widths: Vec<usize> = Vec::new();
    let mut least: Vec<usize> = Vec::new();
    for (at, head) in table.heads.iter().enumerate() {
        let words = |text: &str| text.split(' ').map(len).max().unwrap_or(0);
        let cells = table.rows.iter().filter_map(|row| row.get(at));
        let lines = cells.flat_map(|cell| fragment_text(&cell.source, 1_000));
        let wanted = lines.map(|line| len(&line)).max().unwrap_or(0);
        // Figures are never broken; heads at blanks only.
        let narrowest = words(&head.title).max(NARROWEST);
        least.push(if head.is_number {
            wanted.max(words(&head.title))
        } else {
            narrowest
        });
        widths.push(wanted.max(words(&head.title)).max(1));
    }
    let gaps = GAP * widths.len().saturating_sub(1);
    while widths.iter().sum::<usize>() + gaps > width {
        let candidates = widths.iter().enumerate();
        let wide = candidates.filter(|(at, w)| least.get(*at).is_some_and(|l| *w > l));
        let Some((widest, _)) = wide.max_by_key(|(_, w)| **w) else {
            break;
        };
        widths[widest] -= 1;
    }
    widths
}

fn push_row(out: &mut String, cells: &[Vec<String>], widths: &[usize], is_right: &[bool]) {
    let height = cells.iter().map(Vec::len).max().unwrap_or(0);
    for line in 0..height {
        let mut row = String::new();
        for (at, width) in widths.iter().enumerate() {
            let text = cells
                .get(at)
                .and_then(|c| c.get(line))
                .map_or("", String::as_str);
            let pad = " ".repeat(width.saturating_sub(len(text)));
            if at > 0 {
                row.push_str(&" ".repeat(GAP));
            }
            match is_right.get(at) {
                Some(true) => row.push_str(&format!("{pad}{text}")),
                _ => row.push_str(&format!("{text}{pad}")),
            }
        }
        out.push_str(row.trim_end());
        out.push('\n');
    }
}

fn len(text: &str) -> usize {
    text.chars().count()
}
