//! Several tasks in one message: the stream takes some thousand messages a second, so a busy service must not need one
//! per task.
//!
//! While a message is being stored, tasks wait, and then share the next message. On an idle service a task does not wait.

use super::{JetStream, end_of_message};
use crate::{Result, StoreError, telemetry};
use model::Position;
use std::sync::Weak;
use tokio::sync::{mpsc, oneshot};
use uuid::Uuid;

/// Limits of a message. A single task may be larger.
const MAX_TASKS: usize = 64;
const MAX_BYTES: usize = 64 * 1024;
/// Tasks that wait at the same time. Further ones wait before they are queued.
const QUEUE: usize = 4_096;

/// The first byte of a message with several tasks: no encoded task begins with it.
const SEVERAL: u8 = 0;

/// A task that waits for its message.
pub(super) struct QueuedTask {
    /// The identifier of a message with this task alone.
    id: String,
    payload: Vec<u8>,
    reply: oneshot::Sender<Result<Position>>,
}

pub(super) type GroupQueue = mpsc::Sender<QueuedTask>;

pub(super) fn queue() -> (GroupQueue, mpsc::Receiver<QueuedTask>) {
    mpsc::channel(QUEUE)
}

/// Stores tasks in order, and returns their positions.
pub(super) async fn publish(queue: &GroupQueue, tasks: &[(&str, &[u8])]) -> Result<Vec<Position>> {
    let stopped = || StoreError::Unavailable("the log was closed".to_owned());
    let mut replies = Vec::with_capacity(tasks.len());
    for (id, payload) in tasks {
        let (reply, answer) = oneshot::channel();
        let task = QueuedTask { id: (*id).to_owned(), payload: payload.to_vec(), reply };
        queue.send(task).await.map_err(|_| stopped())?;
        replies.push(answer);
    }
    let mut positions = Vec::with_capacity(replies.len());
    for answer in replies {
        let lost = |_| StoreError::Unknown("the log was closed before it stored a task".to_owned());
        positions.push(answer.await.map_err(lost)??);
    }
    Ok(positions)
}

/// Stores queued tasks, one message at a time, until the log is dropped.
pub(super) async fn publish_queued(log: Weak<JetStream>, mut queued: mpsc::Receiver<QueuedTask>) {
    let mut next = None;
    loop {
        let first = match next.take() {
            Some(task) => task,
            None => match queued.recv().await {
                Some(task) => task,
                None => return,
            },
        };
        let (mut bytes, mut group) = (first.payload.len(), vec![first]);
        while group.len() < MAX_TASKS
            && let Ok(task) = queued.try_recv()
        {
            bytes += task.payload.len();
            if bytes > MAX_BYTES {
                next = Some(task);
                break;
            }
            group.push(task);
        }
        let Some(log) = log.upgrade() else { return };
        let stored = match group.as_slice() {
            [task] => log.publish(&task.id, &task.payload).await,
            tasks => {
                let payloads: Vec<&[u8]> = tasks.iter().map(|task| task.payload.as_slice()).collect();
                log.publish(&Uuid::now_v7().to_string(), &join(&payloads)).await
            }
        };
        if stored.is_ok() {
            telemetry::tasks_published(group.len());
        }
        for (number, task) in (0..).zip(group) {
            let position = stored.clone().map(|first| Position(first.0 + number));
            // The caller may have stopped waiting.
            let _ = task.reply.send(position);
        }
    }
}

/// The payload of a message with these tasks.
fn join(tasks: &[&[u8]]) -> Vec<u8> {
    let mut payload = vec![SEVERAL];
    for task in tasks {
        payload.extend(u32::try_from(task.len()).unwrap_or(u32::MAX).to_be_bytes());
        payload.extend(*task);
    }
    payload
}

/// The tasks of a message. A payload that this version cannot divide is one task that it cannot decode.
pub(super) fn split(first: Position, payload: &[u8]) -> Vec<Vec<u8>> {
    let Some((&SEVERAL, mut rest)) = payload.split_first() else { return vec![payload.to_vec()] };
    let mut tasks = Vec::new();
    while let Some((length, after)) = rest.split_first_chunk::<4>() {
        let length = usize::try_from(u32::from_be_bytes(*length)).unwrap_or(usize::MAX);
        let Some((task, after)) = after.split_at_checked(length) else { break };
        tasks.push(task.to_vec());
        rest = after;
    }
    let has_room =
        u64::try_from(tasks.len()).is_ok_and(|count| first.0 + count <= end_of_message(first).0 + 1);
    if rest.is_empty() && !tasks.is_empty() && has_room { tasks } else { vec![payload.to_vec()] }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_has_the_tasks_that_were_joined() {
        let first = Position(7 << 44 | 5 << 6);
        let tasks: Vec<Vec<u8>> = (0..MAX_TASKS).map(|number| vec![10; number]).collect();
        let joined = join(&tasks.iter().map(Vec::as_slice).collect::<Vec<_>>());
        assert_eq!(split(first, &joined), tasks);
        assert_eq!(split(first, b"\x0aone"), [b"\x0aone"]);
        let mut more = tasks.clone();
        more.push(Vec::new());
        for invalid in [
            Vec::new(),
            vec![SEVERAL],
            joined[..joined.len() - 1].to_vec(),
            [&joined[..], &[0]].concat(),
            join(&more.iter().map(Vec::as_slice).collect::<Vec<_>>()),
        ] {
            assert_eq!(split(first, &invalid), [&invalid[..]]);
        }
    }
}
