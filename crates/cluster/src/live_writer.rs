//! The thread that writes the logs of a run that goes on: the prime must not wait for a
//! disk while load is made.

use filermark_results::RunRecord;
use filermark_results::live::{LiveLogs, LivePlaces, News};
use std::io;
use std::sync::mpsc::{Receiver, Sender, SyncSender, channel, sync_channel};
use std::thread::JoinHandle;

/// The thread, as long as a run goes on.
#[derive(Debug)]
pub(crate) struct LiveWriter {
    words: Option<Sender<Word>>,
    thread: Option<JoinHandle<()>>,
}

enum Word {
    News(News),
    /// Answer when all is written: the first thing that went wrong since the last answer.
    Settle(SyncSender<Option<String>>),
}

impl LiveWriter {
    /// Begins to write the logs of the run whose record begins so.
    ///
    /// # Errors
    /// The logs or the thread cannot be made: in words.
    pub fn begin(record: RunRecord, places: &LivePlaces) -> Result<Self, String> {
        let logs = LiveLogs::new(record, places).map_err(|e| e.to_string())?;
        let (words, heard) = channel();
        let thread = std::thread::Builder::new()
            .name("live-logs".into())
            .spawn(move || write(logs, &heard))
            .map_err(|e: io::Error| {
                format!("the thread that writes logs cannot be started: {e}")
            })?;
        Ok(Self {
            words: Some(words),
            thread: Some(thread),
        })
    }

    /// Tells what has happened; does not wait.
    pub fn tell(&self, news: News) {
        if let Some(words) = &self.words {
            // A thread that is gone is noticed when it does not settle.
            let _ = words.send(Word::News(news));
        }
    }

    /// Waits until everything is written; nothing more is until the next load point
    /// begins. Gives what went wrong.
    pub fn settle(&self) -> Option<String> {
        let gone = || Some("the thread that writes logs has ended".to_owned());
        let Some(words) = &self.words else {
            return gone();
        };
        let (answer, answered) = sync_channel(1);
        match words.send(Word::Settle(answer)) {
            Ok(()) => answered.recv().unwrap_or_else(|_| gone()),
            Err(_) => gone(),
        }
    }
}

impl Drop for LiveWriter {
    fn drop(&mut self) {
        self.words = None;
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

fn write(mut logs: LiveLogs, heard: &Receiver<Word>) {
    let mut trouble = None;
    while let Ok(first) = heard.recv() {
        let mut answers = Vec::new();
        // What has come meanwhile is written at once.
        for word in std::iter::once(first).chain(heard.try_iter()) {
            match word {
                Word::News(news) => logs.hear(news),
                Word::Settle(answer) => {
                    answers.push(answer);
                    break;
                }
            }
        }
        if let Err(e) = logs.show() {
            trouble.get_or_insert(e.to_string());
        }
        for answer in answers {
            logs.rest();
            let _ = answer.send(trouble.take());
        }
    }
}
