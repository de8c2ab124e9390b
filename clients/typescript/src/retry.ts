/** When a request is sent again, and after which pause. */

import { Problem } from "./problems.js";

/** A request that would have to wait longer, in milliseconds, fails at once, with `retryAfter`. */
const MAX_PAUSE = 60_000;

/** Causes in Node.js that show that a request was not sent. */
const NOT_SENT = new Set(["ECONNREFUSED", "ENOTFOUND", "EAI_AGAIN", "UND_ERR_CONNECT_TIMEOUT"]);

/** A random pause in milliseconds that grows with each attempt, from 250 up to 30,000. */
export function backoff(attempt: number): number {
  return Math.min(30_000, 500 * 2 ** attempt) * (0.5 + Math.random() / 2);
}

/**
 * The pause before the next attempt; `undefined` if there is none.
 *
 * `repeatable` says that a second execution does no harm. A request that is not repeatable is sent again only if the
 * first one was certainly not executed.
 */
export function pause(error: unknown, attempt: number, repeatable: boolean): number | undefined {
  if (!(error instanceof Problem)) return repeatable || notSent(error) ? backoff(attempt) : undefined;
  const refused = error.status === 429 && error.kind !== "throttled";
  const unavailable = [502, 503, 504].includes(error.status) && error.kind !== "too-broad";
  if (!refused && !(unavailable && repeatable)) return undefined;
  const delay = error.retryAfter === undefined ? backoff(attempt) : error.retryAfter * 1000;
  return delay <= MAX_PAUSE ? delay : undefined;
}

/** Waits; an aborted signal rejects with its reason. */
export function sleep(milliseconds: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    signal?.throwIfAborted();
    const aborted = () => {
      clearTimeout(timer);
      reject(signal?.reason);
    };
    const timer = setTimeout(() => {
      signal?.removeEventListener("abort", aborted);
      resolve();
    }, milliseconds);
    signal?.addEventListener("abort", aborted, { once: true });
  });
}

function notSent(error: unknown): boolean {
  const cause: unknown = error instanceof Error ? error.cause : undefined;
  return typeof cause === "object" && cause !== null && "code" in cause && NOT_SENT.has(String(cause.code));
}
