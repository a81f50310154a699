//! The lines of a token file as a whole: how many procs they have, and that they agree
//! about every client.

use super::TokenLine;
use crate::error::{ConfigError, SourceLocation, quoted};
use crate::hosts::{CLIENTS_MAX, Pattern, key};
use crate::params::PROCS_MAX;
use std::collections::HashMap;

/// A line whose clients are not separated yet.
pub(super) struct ParsedLine {
    pub pattern: Pattern,
    pub line: TokenLine,
    /// The places of the user and the program.
    pub login_locations: [Option<SourceLocation>; 2],
}

/// The lines so far, one for each client.
#[derive(Default)]
pub(super) struct Lines {
    pub found: Vec<TokenLine>,
    procs: u64,
    /// For every client its user and program, and on which line.
    accounts: HashMap<String, [Option<(String, SourceLocation)>; 2]>,
}

impl Lines {
    /// Adds a line, once for every client that it stands for.
    pub fn take(&mut self, parsed: &ParsedLine, errors: &mut Vec<ConfigError>) {
        let ParsedLine { pattern, line, .. } = parsed;
        self.procs += pattern.count() as u64 * u64::from(line.instances);
        // Lines above the maximum are only counted.
        if self.procs > PROCS_MAX || self.accounts.len() > CLIENTS_MAX {
            return;
        }
        for client in pattern.names() {
            if !self.is_same_account(&client, parsed, errors) {
                return;
            }
            self.found.push(TokenLine {
                client,
                ..line.clone()
            });
        }
    }

    /// Whether the line names no other user and no other program than the lines above.
    fn is_same_account(
        &mut self,
        client: &str,
        parsed: &ParsedLine,
        errors: &mut Vec<ConfigError>,
    ) -> bool {
        let [user_place, program_place] = &parsed.login_locations;
        let given = [
            ("Username", &parsed.line.user, user_place),
            ("Execpath", &parsed.line.program, program_place),
        ];
        let known = self.accounts.entry(key(client)).or_default();
        for ((name, text, place), known) in given.into_iter().zip(known) {
            let (Some(text), Some(place)) = (text, place) else {
                continue;
            };
            match known {
                None => *known = Some((text.clone(), place.clone())),
                Some((other, at)) if other != text => {
                    let message = format!(
                        "{name}={} for client {}, which has {} at {at}",
                        quoted(text),
                        quoted(client),
                        quoted(other)
                    );
                    let hint = "a client has one agent: write the same on all of its lines";
                    errors.push(ConfigError::new(place.clone(), message, hint));
                    return false;
                }
                Some(_) => {}
            }
        }
        true
    }

    /// Reports what is wrong with the lines as a whole.
    pub fn report(&self, file: &str, errors: &mut Vec<ConfigError>) {
        let mut error = |message: String, hint: String| {
            errors.push(ConfigError::new(
                SourceLocation::File(file.to_owned()),
                message,
                hint,
            ));
        };
        if self.procs > PROCS_MAX {
            error(
                format!("the lines make {} procs", self.procs),
                format!("{PROCS_MAX} procs are the most: lower the Instances"),
            );
        } else if self.accounts.len() > CLIENTS_MAX {
            error(
                format!("there are more than {CLIENTS_MAX} clients"),
                "that is the maximum".into(),
            );
        }
    }
}
