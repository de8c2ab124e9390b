/** Events of a live stream, and the decoder of `text/event-stream`. */

import type { components } from "./generated/openapi.js";

type Activity = components["schemas"]["Activity"];

/**
 * An event of a live stream. Its position covers everything up to it: save it after the event is processed.
 *
 * - `activity`: an activity arrived in the collection, or has a new version.
 * - `deleted`: an activity was deleted, or its reader may no longer see it.
 * - `incomplete`: too much changed for single events, or the position was too old: read the collection again.
 * - `seen`: the account's seen position moved to `cursor`, perhaps on another device. It does not move `position`.
 */
export type FeedEvent =
  | { readonly type: "activity"; readonly activity: Activity; readonly position: string }
  | { readonly type: "deleted"; readonly identifier: string; readonly position: string }
  | { readonly type: "incomplete"; readonly url: string; readonly position: string }
  | { readonly type: "seen"; readonly cursor: string; readonly position: string };

/** A message of `text/event-stream`, before its meaning is known. */
export interface Message {
  event: string;
  data: string[];
  id: string | undefined;
}

/** The event of a message; `undefined` for one that this version does not know. */
export function meaning(message: Message, before: string): FeedEvent | undefined {
  const position = message.id ?? before;
  const data = () => JSON.parse(message.data.join("\n"));
  switch (message.event) {
    case "activity":
      return { type: "activity", activity: data(), position };
    case "deleted":
      return { type: "deleted", identifier: data().ActivityIdentifier, position };
    case "incomplete":
      return { type: "incomplete", url: data().Url, position };
    case "seen":
      return { type: "seen", cursor: data().Cursor, position };
    default:
      return undefined;
  }
}

/** Decodes the bytes of a stream, in pieces of any size. */
export class Decoder {
  /** The pause before the next connection in milliseconds, if the server has set one. */
  retry: number | undefined;
  #text = new TextDecoder();
  #rest = "";
  #message: Message = empty();

  /** The messages that end in this piece. */
  *feed(piece: Uint8Array): Generator<Message> {
    // A carriage return at the end may be the first half of a line end.
    const lines = (this.#rest + this.#text.decode(piece, { stream: true })).split(/\r\n|\n|\r(?!$)/);
    this.#rest = lines.pop() ?? "";
    for (const line of lines) {
      if (line) {
        this.#take(line);
        continue;
      }
      const message = this.#message;
      this.#message = empty();
      if (message.data.length > 0) yield message;
    }
  }

  #take(line: string): void {
    const colon = line.indexOf(":");
    const name = colon < 0 ? line : line.slice(0, colon);
    const value = colon < 0 ? "" : line.slice(colon + 1).replace(/^ /, "");
    if (name === "event") this.#message.event = value;
    else if (name === "data") this.#message.data.push(value);
    else if (name === "id" && !value.includes("\0")) this.#message.id = value;
    else if (name === "retry" && /^\d+$/.test(value)) this.retry = Number(value);
  }
}

function empty(): Message {
  return { event: "message", data: [], id: undefined };
}
