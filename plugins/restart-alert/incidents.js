// What is wrong with a pod, as its container statuses have it.

/** How much of a container's last words is told. */
const WORDS_MAX = 200;

/**
 * The containers that were killed for memory or keep crashing: `{ container, kind, ended, restarts, exit, reason, words }`. `ended` is how often the
 * container has ended, by which an incident is known again.
 */
export function incidents(statuses, restarts) {
  return statuses.flatMap((status) => {
    const last = status.state?.terminated ?? status.lastState?.terminated;
    const kind = kindOf(status, last, restarts);
    if (kind === null) return [];
    const ended = status.restartCount + (status.state?.running === undefined ? 1 : 0);
    const words = (last?.message ?? "").trim().slice(-WORDS_MAX);
    return [{ container: status.name, kind, ended, restarts: status.restartCount, exit: last?.exitCode ?? null, reason: last?.reason ?? "", words }];
  });
}

function kindOf(status, last, restarts) {
  if (last?.reason === "OOMKilled") return "oom-kill";
  if (status.state?.waiting?.reason === "CrashLoopBackOff" && status.restartCount >= restarts) return "crash-loop";
  return null;
}
