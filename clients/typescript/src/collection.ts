/** A collection with its filters: pages, updates, the live stream, and the seen position. */

import { Decoder, type FeedEvent, meaning } from "./events.js";
import type { components } from "./generated/openapi.js";
import { linkCursor, query, type Query, urlCursor } from "./query.js";
import { backoff, pause, sleep } from "./retry.js";
import type { Abortable, Transport } from "./transport.js";

type Activity = components["schemas"]["Activity"];

export type CollectionName = "to" | "from" | "tofrom";

/** Filters of a collection, which combine with AND. Of several words any may match. */
export interface Filters {
  readonly service?: string | readonly string[];
  readonly type?: string | readonly string[];
  readonly verb?: string | readonly string[];
  readonly receivedSince?: Date | string;
  readonly receivedBefore?: Date | string;
  readonly publishedSince?: Date | string;
  readonly publishedBefore?: Date | string;
  readonly orderBy?: "receivedDate" | "pubDate";
}

/** A page of a collection. */
export interface Page {
  readonly activities: Activity[];
  /** Everything that arrives in the collection later is after this position: see `follow` and `updates`. */
  readonly position: string;
  /** The cursor of the next page; `undefined` on the last one. */
  readonly next: string | undefined;
}

/** How many activities arrived after the seen position. */
export interface Unread {
  readonly count: number;
  /** Whether there may be more: the server counts up to 1,000, and as far back as it remembers. */
  readonly atLeast: boolean;
  /** The seen position: `updates` from here gives these activities. */
  readonly position: string;
}

/**
 * The collection `to`, `from` or `tofrom` of an account, with filters.
 *
 * Made by `Client.collection`. A position belongs to the collection and its filters: use it with these only.
 */
export class Collection {
  #transport: Transport;
  #path: string;
  #values: { user: string };
  #filters: Query;

  constructor(transport: Transport, user: string, name: CollectionName, filters: Filters) {
    this.#transport = transport;
    this.#path = `/200909/activity/{user}/${name}`;
    this.#values = { user };
    // The names of the parameters are those of the filters in lower case.
    this.#filters = query(Object.fromEntries(Object.entries(filters).map(([key, value]) => [key.toLowerCase(), value])));
  }

  /** One page, newest first: the first one, or the one after another page's `next`. */
  async page(options: { count?: number; start?: number; cursor?: string } & Abortable = {}): Promise<Page> {
    const { count, start, cursor, signal } = options;
    const parameters = [...this.#filters, ...query({ count, start, cursor })];
    const response = await this.#transport.send("GET", this.#path, this.#values, { query: parameters, signal });
    const position = linkCursor(response, "updates");
    if (!position) throw new Error("the response has no updates link: a proxy may have removed its Link header");
    const body = (await response.json()) as components["schemas"]["Activities"];
    return { activities: body.Activities.Activity, position, next: linkCursor(response, "next") };
  }

  /**
   * All pages, newest first. Arrivals meanwhile cause no gap and no repeat.
   *
   * The position of the last page covers all of them: `follow` and `updates` go on where it ends.
   */
  async *pages(options: { count?: number } & Abortable = {}): AsyncGenerator<Page, void, undefined> {
    const { count = 100, signal } = options;
    let page = await this.page({ count, signal });
    yield page;
    while (page.next) {
      page = await this.page({ count, cursor: page.next, signal });
      yield page;
    }
  }

  /** All activities, newest first, read in pages of `count` (100). */
  async *activities(options: { count?: number } & Abortable = {}): AsyncGenerator<Activity, void, undefined> {
    for await (const page of this.pages(options)) yield* page.activities;
  }

  /** The present position: everything that arrives from now on is after it. */
  async position(options: Abortable = {}): Promise<string> {
    return (await this.page({ count: 0, ...options })).position;
  }

  /**
   * The activities that arrived after a position, oldest first, each in its newest version.
   *
   * Go on with the position of the page. `next` is there while there is more. Deletions are reported by `follow` only.
   * Throws `PositionExpired` if the position is too old.
   */
  updates(position: string, options: { count?: number } & Abortable = {}): Promise<Page> {
    return this.page({ count: 200, ...options, cursor: position });
  }

  /**
   * Pages of updates without end, for networks that do not let a stream through.
   *
   * Yields a page whenever something has arrived, and waits for `interval` milliseconds (10,000) when it has all. Save
   * the page's position after the page is processed. Without a position it begins now. Throws `PositionExpired`.
   */
  async *poll(options: { position?: string | undefined; interval?: number; count?: number } & Abortable = {}): AsyncGenerator<Page, never, undefined> {
    const { interval = 10_000, count = 200, signal } = options;
    let position = options.position ?? (await this.position({ signal }));
    for (;;) {
      const page = await this.updates(position, { count, signal });
      if (page.activities.length > 0) yield page;
      position = page.position;
      if (!page.next) await sleep(interval, signal);
    }
  }

  /**
   * The events after a position, live and without end. Without a position it begins now.
   *
   * Each event has a position. Save it after the event is processed, and begin with it after a restart: nothing is
   * missing, and no version comes twice. A broken connection is opened again and continues in the same way; one that is
   * silent for `silence` milliseconds (40,000) counts as broken, since the server sends a comment every 15 seconds. Only
   * the first connection fails after the client's number of retries. A `Problem` that a repeat cannot cure, such as
   * `Unauthorized`, is thrown at any time.
   *
   * The event `incomplete` says that events are missing, after an unfollow or because the position was too old: read
   * the collection again.
   */
  async *follow(options: { position?: string | undefined; silence?: number } & Abortable = {}): AsyncGenerator<FeedEvent, never, undefined> {
    const { silence = 40_000, signal } = options;
    // A stream is always in the order of arrival.
    const filters = this.#filters.filter(([name]) => name !== "orderby");
    let position = options.position ?? (await this.position({ signal }));
    for (let attempt = 0, opened = false; ; attempt += 1) {
      const decoder = new Decoder();
      const connection = new AbortController();
      const stop = () => connection.abort(signal?.reason);
      signal?.addEventListener("abort", stop);
      let watch: ReturnType<typeof setTimeout> | undefined;
      const extend = () => {
        clearTimeout(watch);
        watch = setTimeout(() => connection.abort(new Error(`no data for ${silence} milliseconds`)), silence);
      };
      let delay: number | undefined;
      try {
        signal?.throwIfAborted();
        extend();
        const body = await this.#transport.stream(this.#path, this.#values, filters, position, connection.signal);
        for await (const piece of pieces(body)) {
          // Silence is measured while the stream is read, not while its reader is busy with an event.
          clearTimeout(watch);
          [attempt, opened] = [0, true];
          for (const message of decoder.feed(piece)) {
            const event = meaning(message, position);
            position = message.id ?? position;
            if (event) yield event;
          }
          extend();
        }
      } catch (error) {
        signal?.throwIfAborted();
        delay = pause(error, attempt, true);
        if (delay === undefined || (!opened && attempt >= this.#transport.retries)) throw error;
      } finally {
        clearTimeout(watch);
        signal?.removeEventListener("abort", stop);
        connection.abort();
      }
      await sleep(delay ?? decoder.retry ?? backoff(attempt), signal);
    }
  }

  /** How many activities arrived after the account's seen position. */
  async unread(options: Abortable = {}): Promise<Unread> {
    const sending = { query: this.#filters, signal: options.signal };
    const response = await this.#transport.send("GET", `${this.#path}/unread`, this.#values, sending);
    const { Unread: found } = (await response.json()) as { Unread: { Count: string; AtLeast: string; Url: string } };
    return { count: Number(found.Count), atLeast: found.AtLeast === "true", position: urlCursor(found.Url) ?? "" };
  }

  /** Moves the account's seen position forward to this one, or to the present one. */
  async markSeen(position?: string, options: Abortable = {}): Promise<void> {
    const json = position === undefined ? undefined : { Cursor: position };
    await this.#transport.send("PUT", `${this.#path}/seen`, this.#values, { json, signal: options.signal });
  }
}

/** The pieces of a body. Safari's streams are not iterable. */
async function* pieces(body: ReadableStream<Uint8Array>): AsyncGenerator<Uint8Array, void, undefined> {
  const reader = body.getReader();
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return;
    yield value;
  }
}
