//! The block of lines at the bottom of the terminal, as control sequences: drawn over
//! itself, with lines that stay printed above it. Pure text; who writes it is not
//! known here.
//!
//! The cursor rests at the beginning of the last line, so that what the terminal echoes
//! (`^C`) is drawn over, and no line reaches the right edge, so that none is wrapped.

use super::text::columns;

/// What stands on the terminal.
#[derive(Clone, Debug, Default)]
pub struct Block {
    /// Columns of each line that was drawn.
    drawn: Vec<usize>,
}

impl Block {
    /// Draws these lines in the place of those before, and above them `staying`,
    /// whole lines. `width` is the terminal's now, also where it was another before.
    pub fn draw(&mut self, staying: &str, lines: &[String], width: usize) -> String {
        let mut out = self.to_begin(width);
        // What was wrapped, or makes way for lines that stay, is not overwritten.
        if !staying.is_empty() || self.is_wrapped(width) {
            out.push_str("\x1b[J");
        }
        out.push_str(staying);
        for (at, line) in lines.iter().enumerate() {
            if at > 0 {
                out.push_str("\r\n");
            }
            out.push_str(line);
            out.push_str("\x1b[K");
        }
        out.push_str("\x1b[J\r");
        self.drawn = lines.iter().map(|line| columns(line)).collect();
        out
    }

    /// Takes the block away and prints `staying` where it was.
    pub fn clear(&mut self, staying: &str, width: usize) -> String {
        let mut out = self.to_begin(width);
        if !self.drawn.is_empty() {
            out.push_str("\x1b[J");
        }
        out.push_str(staying);
        self.drawn.clear();
        out
    }

    /// Whatever was drawn is somewhere above now: another program had the terminal.
    pub fn forget(&mut self) {
        self.drawn.clear();
    }

    /// To the beginning of the first line. Where the terminal has become narrower, it has
    /// wrapped the longer lines.
    fn to_begin(&self, width: usize) -> String {
        let Some((_, above)) = self.drawn.split_last() else {
            return String::new();
        };
        let rows: usize = above.iter().map(|columns| rows(*columns, width)).sum();
        match rows {
            0 => "\r".into(),
            n => format!("\r\x1b[{n}A"),
        }
    }

    fn is_wrapped(&self, width: usize) -> bool {
        self.drawn.iter().any(|columns| *columns > width)
    }
}

fn rows(columns: usize, width: usize) -> usize {
    columns.div_ceil(width.max(1)).max(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// As much of a terminal as the block asks for: rows that grow at the bottom.
    #[derive(Default)]
    struct Screen {
        rows: Vec<Vec<char>>,
        row: usize,
        column: usize,
    }

    impl Screen {
        fn write(&mut self, text: &str) {
            let mut chars = text.chars();
            while let Some(c) = chars.next() {
                match c {
                    '\r' => self.column = 0,
                    '\n' => (self.row, self.column) = (self.row + 1, 0),
                    '\x1b' => {
                        let mut sequence = String::new();
                        while !sequence.ends_with(|c: char| c.is_ascii_alphabetic()) {
                            sequence.extend(chars.next());
                        }
                        self.control(sequence.trim_start_matches('['));
                    }
                    c => self.put(c),
                }
            }
        }

        fn control(&mut self, sequence: &str) {
            let (count, what) = sequence.split_at(sequence.len() - 1);
            let column = self.column;
            match what {
                "A" => self.row -= count.parse::<usize>().expect("a count"),
                "K" => self.line().truncate(column),
                "J" => {
                    self.line().truncate(column);
                    let rows = self.row + usize::from(column > 0);
                    self.rows.truncate(rows);
                }
                other => panic!("unknown: {other}"),
            }
        }

        fn line(&mut self) -> &mut Vec<char> {
            if self.rows.len() <= self.row {
                self.rows.resize(self.row + 1, Vec::new());
            }
            &mut self.rows[self.row]
        }

        fn put(&mut self, c: char) {
            let column = self.column;
            let line = self.line();
            line.resize(line.len().max(column + 1), ' ');
            line[column] = c;
            self.column += 1;
        }

        fn text(&self) -> Vec<String> {
            self.rows.iter().map(|r| r.iter().collect()).collect()
        }
    }

    fn lines(texts: &[&str]) -> Vec<String> {
        texts.iter().map(|t| (*t).to_owned()).collect()
    }

    #[test]
    fn it_is_drawn_over_itself_below_lines_that_stay() {
        let (mut block, mut screen) = (Block::default(), Screen::default());
        screen.write("$ filermark\n");
        screen.write(&block.draw("", &lines(&["title", "long bar", "rate", "ends"]), 80));
        screen.write("^C");
        screen.write(&block.draw("point 1\n", &lines(&["title", "bar", "ends"]), 80));
        assert_eq!(
            screen.text(),
            ["$ filermark", "point 1", "title", "bar", "ends"]
        );
        screen.write(&block.draw("", &lines(&["TITLE", "b", "r", "e"]), 80));
        screen.write(&block.clear("the end\n", 80));
        assert_eq!(screen.text(), ["$ filermark", "point 1", "the end"]);
        assert_eq!((screen.row, screen.column), (3, 0));
        screen.write(&block.clear("", 80));
        assert_eq!((screen.row, screen.column), (3, 0), "nothing to take away");
    }

    #[test]
    fn a_terminal_that_wraps_lines_when_it_narrows_is_wiped_whole() {
        let (mut block, mut screen) = (Block::default(), Screen::default());
        screen.write("before\n");
        screen.write(&block.draw("", &lines(&["0123456789", "abc", "last"]), 20));
        // What the terminal makes of it at 4 columns.
        screen = Screen::default();
        screen.write("before\n0123\n4567\n89\nabc\nlast\r");
        screen.write(&block.draw("", &lines(&["t", "l"]), 4));
        assert_eq!(screen.text(), ["before", "t", "l"]);
    }

    #[test]
    fn after_a_stop_it_begins_anew() {
        let mut block = Block::default();
        block.draw("", &lines(&["a", "b"]), 80);
        block.forget();
        assert!(!block.draw("", &lines(&["a"]), 80).contains('A'));
    }
}
