/** Sends requests with `fetch`: credential, timeouts, retries, problems. */

import { Authorization, type Credential } from "./credential.js";
import { Problem } from "./problems.js";
import { type Query, target } from "./query.js";
import { pause, sleep } from "./retry.js";
import { VERSION } from "./version.js";

export interface ClientOptions {
  /** Names the application beside a key or a password. */
  readonly consumerKey?: string;
  /** Milliseconds for a request with its answer (30,000). */
  readonly timeout?: number;
  /** How often a request that failed is repeated, if that is safe (3). */
  readonly retries?: number;
  /** Comes before the client's own user agent. Browsers send theirs. */
  readonly userAgent?: string;
  /** Replaces the global `fetch`, for example to use a proxy. */
  readonly fetch?: typeof fetch;
}

/** An option of every call: aborts it. */
export interface Abortable {
  readonly signal?: AbortSignal | undefined;
}

export interface Sending extends Abortable {
  readonly query?: Query;
  readonly json?: unknown;
  readonly ndjson?: string;
  /** Whether a second execution does no harm. GET and PUT are repeatable unless this says otherwise. */
  readonly repeatable?: boolean;
}

export class Transport {
  readonly retries: number;
  #base: string;
  #authorization: Authorization;
  #timeout: number;
  #headers: Record<string, string>;
  #fetch: typeof fetch;

  constructor(baseUrl: string, credential: Credential, options: ClientOptions) {
    this.#base = checkedBase(baseUrl);
    this.#authorization = new Authorization(credential);
    this.#timeout = options.timeout ?? 30_000;
    this.retries = options.retries ?? 3;
    // Browsers require that fetch is called without an object.
    this.#fetch = options.fetch ?? ((...request) => fetch(...request));
    this.#headers = {
      Accept: "application/json",
      ...(options.consumerKey && { ServiceConsumerKey: options.consumerKey }),
      ...userAgent(options.userAgent),
    };
  }

  /** Sends a request until it succeeds, or a repeat is not safe or does not help. */
  async send(method: string, path: string, values: Readonly<Record<string, string>>, sending: Sending = {}): Promise<Response> {
    const { signal, repeatable = method === "GET" || method === "PUT" } = sending;
    const url = this.#base + target(path, values, sending.query ?? []);
    const body = sending.ndjson ?? (sending.json === undefined ? undefined : JSON.stringify(sending.json));
    const type = sending.ndjson === undefined ? "application/json" : "application/x-ndjson";
    const headers = body === undefined ? {} : { "Content-Type": type };
    for (let attempt = 0; ; attempt += 1) {
      const limit = AbortSignal.timeout(this.#timeout);
      try {
        const response = await this.#authorized(url, {
          method,
          headers,
          signal: signal ? AbortSignal.any([signal, limit]) : limit,
          ...(body !== undefined && { body }),
        });
        if (response.ok) return response;
        throw await Problem.fromResponse(response);
      } catch (error) {
        signal?.throwIfAborted();
        const delay = pause(error, attempt, repeatable);
        if (delay === undefined || attempt >= this.retries) throw error;
        await sleep(delay, signal);
      }
    }
  }

  /** Opens a stream, once. The timeout is the caller's. */
  async stream(path: string, values: Readonly<Record<string, string>>, query: Query, lastEventId: string, signal: AbortSignal): Promise<ReadableStream<Uint8Array>> {
    const headers = { Accept: "text/event-stream", "Last-Event-ID": lastEventId };
    const url = this.#base + target(path, values, query);
    const response = await this.#authorized(url, { method: "GET", headers, signal, cache: "no-store" });
    if (!response.ok || !response.body) throw await Problem.fromResponse(response);
    return response.body;
  }

  /** Sends a request with the credential; with a new key if the server refused the one before. */
  async #authorized(url: string, request: RequestInit & { method: string; headers: Record<string, string> }): Promise<Response> {
    const attempt = async () => {
      const credential = await this.#authorization.headers(request.method, url);
      const headers = { ...this.#headers, ...request.headers, ...credential };
      return { credential, response: await this.#fetch(url, { ...request, headers, redirect: "error", credentials: "omit" }) };
    };
    const first = await attempt();
    if (first.response.status !== 401 || !(await this.#authorization.refused(first.credential))) return first.response;
    await first.response.body?.cancel();
    return (await attempt()).response;
  }
}

/** The base address without a slash at its end. A credential must not travel in the clear. */
function checkedBase(url: string): string {
  const { protocol, hostname } = new URL(url);
  if (protocol !== "https:" && !["localhost", "127.0.0.1", "[::1]"].includes(hostname)) {
    throw new TypeError(`invalid base address "${url}": expected https`);
  }
  return url.replace(/\/+$/, "");
}

/** Not in browsers, where the header would need the server's permission. */
function userAgent(own: string | undefined): Record<string, string> {
  const node = (globalThis as { process?: { versions?: { node?: string } } }).process?.versions?.node;
  if (!node) return {};
  return { "User-Agent": `${own ? `${own} ` : ""}tofrom-typescript/${VERSION} node/${node}` };
}
