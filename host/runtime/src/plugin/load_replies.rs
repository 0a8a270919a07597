//! The callers that wait for a plugin's load. Each gets the result of its own load, never that of
//! another one.

use crate::plugin::admin::{AdminError, Reply};

/// The waiting callers, by the progress of their load.
#[derive(Default)]
pub(crate) struct LoadReplies {
    /// The file is not read yet.
    file: Vec<Reply>,
    /// The file was read, and its load has not begun.
    next: Vec<Reply>,
    /// Their load is under way.
    load: Vec<Reply>,
}

impl LoadReplies {
    /// A caller wants the file to be read and loaded again.
    pub(crate) fn reload(&mut self, reply: Reply) {
        self.file.push(reply);
    }

    /// A caller waits for the load that has just begun.
    pub(crate) fn began(&mut self, reply: Reply) {
        self.load.push(reply);
    }

    /// The file was read after all these callers had asked.
    pub(crate) fn read(&mut self) {
        self.next.append(&mut self.file);
    }

    /// The content that was read last is being loaded. Returns whether a caller waits for it.
    pub(crate) fn load(&mut self) -> bool {
        self.load.append(&mut self.next);
        !self.load.is_empty()
    }

    /// The file cannot be read. The callers that wait for it get the error.
    pub(crate) fn not_read(&mut self, answer: &Result<String, AdminError>) {
        tell(self.file.drain(..), answer);
    }

    /// The load under way has ended with this result.
    pub(crate) fn loaded(&mut self, answer: &Result<String, AdminError>) {
        tell(self.load.drain(..), answer);
    }

    /// The load under way has ended with this result, and the file that waits is not loaded either.
    pub(crate) fn ended(&mut self, answer: &Result<String, AdminError>) {
        tell(self.next.drain(..).chain(self.load.drain(..)), answer);
    }

    /// No load will come.
    pub(crate) fn gone(&mut self, answer: &Result<String, AdminError>) {
        let all = [&mut self.file, &mut self.next, &mut self.load];
        tell(all.into_iter().flat_map(|replies| replies.drain(..)), answer);
    }
}

fn tell(replies: impl Iterator<Item = Reply>, answer: &Result<String, AdminError>) {
    for reply in replies {
        // The caller may be gone.
        let _ = reply.send(answer.clone());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tokio::sync::oneshot;

    /// `a`: a caller asks for the file. `r`: the file is read. `b`: its load begins. `e`: the load ends. `n`: the file
    /// cannot be read. `g`: the plugin is removed. `d`: a defect ends the load, and the next one with it. Shows the step
    /// that answered each caller.
    #[track_caller]
    fn check(steps: &str, expect: &[Option<usize>]) {
        let (mut asked, mut waiting) = (LoadReplies::default(), Vec::new());
        let mut answered: Vec<Option<usize>> = Vec::new();
        for (number, step) in steps.chars().enumerate() {
            let answer = Ok(number.to_string());
            match step {
                'a' => {
                    let (reply, answer) = oneshot::channel();
                    asked.reload(reply);
                    waiting.push(answer);
                    answered.push(None);
                }
                'r' => asked.read(),
                'b' => _ = asked.load(),
                'e' => asked.loaded(&answer),
                'n' => asked.not_read(&answer),
                'g' => asked.gone(&answer),
                'd' => asked.ended(&answer),
                other => panic!("no such step: {other}"),
            }
            for (waiting, answered) in waiting.iter_mut().zip(&mut answered) {
                if let Ok(Ok(text)) = waiting.try_recv() {
                    *answered = text.parse().ok();
                }
            }
        }
        assert_eq!(answered, expect, "{steps}");
    }

    #[test]
    fn an_answer_is_that_of_the_load_that_was_asked_for() {
        check("arbe", &[Some(3)]);
        // The caller asks while another load is under way.
        check("rbaerbe", &[Some(6)]);
        check("rbarebe", &[Some(6)]);
        check("arbaerbe", &[Some(4), Some(7)]);
        check("aarbe", &[Some(4), Some(4)]);
        // Newer content replaces content whose load has not begun.
        check("rbarrebe", &[Some(7)]);
        check("rba", &[None]);
    }

    #[test]
    fn those_for_whom_nothing_comes_are_told() {
        check("an", &[Some(1)]);
        check("rban", &[Some(3)]);
        check("arban", &[None, Some(4)]);
        check("arbarad", &[Some(6), Some(6), None]);
        check("arbararag", &[Some(8), Some(8), Some(8), Some(8)]);
    }
}
