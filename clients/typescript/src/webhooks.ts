/** Verifies deliveries of hooks by the Standard Webhooks specification (https://www.standardwebhooks.com). */

import type { components } from "./generated/openapi.js";

type Activity = components["schemas"]["Activity"];

/** The request does not come from the server, is too old, or was changed. Answer it with 400. */
export class InvalidDelivery extends Error {
  override readonly name = "InvalidDelivery";
}

/**
 * A verified delivery of a hook. `id` is equal for repeats of a delivery: ignore one that was already processed.
 */
export type Delivery = { readonly id: string; readonly timestamp: string } & (
  | { readonly type: "activity"; readonly data: Activity }
  | { readonly type: "deleted"; readonly data: { readonly ActivityIdentifier: string } }
  | { readonly type: "incomplete"; readonly data: { readonly Url: string } }
  | { readonly type: "ping"; readonly data: unknown }
);

export interface VerifyOptions {
  /** Refuses a timestamp that differs from now by more seconds (300), so that a recorded request cannot be repeated. */
  readonly tolerance?: number;
  /** The present time in seconds since 1970. */
  readonly now?: number;
}

/**
 * Verifies a request and returns its delivery; throws `InvalidDelivery`.
 *
 * `headers` is that of a `Request`, or `request.headers` of Node.js. `body` must be the text or the bytes as received.
 * `secrets` is the hook's secret (`whsec_…`), or several of them while one replaces the other: one match is enough.
 */
export async function verify(
  headers: Headers | Readonly<Record<string, string | readonly string[] | undefined>>,
  body: string | Uint8Array,
  secrets: string | readonly string[],
  options: VerifyOptions = {},
): Promise<Delivery> {
  const header = (name: string): string => {
    const value = headers instanceof Headers ? headers.get(name) : headers[name];
    if (typeof value !== "string" || value === "") throw new InvalidDelivery(`the header ${name} is missing`);
    return value;
  };
  const [id, timestamp, signatures] = [header("webhook-id"), header("webhook-timestamp"), header("webhook-signature")];
  if (!/^\d+$/.test(timestamp)) throw new InvalidDelivery("webhook-timestamp: expected whole seconds since 1970");
  const { tolerance = 300, now = Date.now() / 1000 } = options;
  if (Math.abs(now - Number(timestamp)) > tolerance) {
    throw new InvalidDelivery(`webhook-timestamp differs from the clock by more than ${tolerance} seconds`);
  }
  const bytes = typeof body === "string" ? new TextEncoder().encode(body) : body;
  const content = concatenated(new TextEncoder().encode(`${id}.${timestamp}.`), bytes);
  const received = signatures.split(" ").filter((text) => text.startsWith("v1,"));
  let valid = false;
  for (const secret of typeof secrets === "string" ? [secrets] : secrets) {
    const key = await importKey(secret);
    for (const signature of received) {
      const expected = decoded(signature.slice("v1,".length));
      // subtle.verify compares in constant time.
      if (expected && (await crypto.subtle.verify("HMAC", key, expected, content))) valid = true;
    }
  }
  if (!valid) throw new InvalidDelivery("webhook-signature: no signature is valid for the secret");
  return parsed(id, new TextDecoder().decode(bytes));
}

function parsed(id: string, text: string): Delivery {
  try {
    const { type, timestamp, data } = JSON.parse(text);
    if (typeof type === "string" && typeof timestamp === "string") return { id, type, timestamp, data } as Delivery;
  } catch {
    // Reported below.
  }
  throw new InvalidDelivery("body: expected JSON with type, timestamp and data");
}

function importKey(secret: string): Promise<CryptoKey> {
  const bytes = decoded(secret.replace(/^whsec_/, ""));
  if (!bytes) throw new TypeError("invalid secret: expected whsec_ and base64");
  return crypto.subtle.importKey("raw", bytes, { name: "HMAC", hash: "SHA-256" }, false, ["verify"]);
}

function decoded(base64: string): Uint8Array<ArrayBuffer> | undefined {
  try {
    return Uint8Array.from(atob(base64), (character) => character.charCodeAt(0));
  } catch {
    return undefined;
  }
}

function concatenated(first: Uint8Array, second: Uint8Array): Uint8Array<ArrayBuffer> {
  const all = new Uint8Array(first.length + second.length);
  all.set(first);
  all.set(second, first.length);
  return all;
}
