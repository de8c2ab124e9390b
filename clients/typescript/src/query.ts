/** Values that a query, a path or a batch consists of. */

/** A value of a parameter: several words repeat the name, `undefined` is left out. */
export type Value = string | number | boolean | Date | readonly string[] | undefined;
export type Query = ReadonlyArray<readonly [name: string, value: string]>;

// Limits of the server for a batch.
const BATCH_ITEMS = 1_000;
const BATCH_BYTES = 8 * 1024 * 1024;

/** Parameters as the query has them. */
export function query(parameters: Readonly<Record<string, Value>>): Query {
  return Object.entries(parameters).flatMap(([name, value]) => words(value).map((word) => [name, word] as const));
}

function words(value: Value): readonly string[] {
  if (value === undefined) return [];
  if (value instanceof Date) return [value.toISOString()];
  return typeof value === "object" ? value : [String(value)];
}

/** A path with its values, and the query. A space is `%20`, which signatures of OAuth need. */
export function target(path: string, values: Readonly<Record<string, string>>, parameters: Query): string {
  const filled = path.replace(/\{(\w+)\}/g, (_, name: string) => encodeURIComponent(values[name] ?? ""));
  const encoded = parameters.map((pair) => pair.map(encodeURIComponent).join("=")).join("&");
  return encoded ? `${filled}?${encoded}` : filled;
}

/**
 * The cursor in a link of a response.
 *
 * Only the cursor is taken: requests go to the address that the client was made with, which may differ from the public
 * one in links, and a credential never goes anywhere else.
 */
export function linkCursor(response: Response, relation: string): string | undefined {
  const header = response.headers.get("Link") ?? "";
  const link = [...header.matchAll(/<([^>]*)>;\s*rel="([^"]*)"/g)].find(([, , found]) => found === relation);
  return link?.[1] === undefined ? undefined : urlCursor(link[1]);
}

/** The cursor in a link. */
export function urlCursor(url: string): string | undefined {
  return new URL(url).searchParams.get("cursor") ?? undefined;
}

/** Activities as bodies of `application/x-ndjson` that the server accepts. */
export function* batches(items: Iterable<object>): Generator<string> {
  const encoder = new TextEncoder();
  let [lines, size]: [string[], number] = [[], 0];
  for (const item of items) {
    const line = `${JSON.stringify(item)}\n`;
    const length = encoder.encode(line).length;
    if (lines.length > 0 && (lines.length === BATCH_ITEMS || size + length > BATCH_BYTES)) {
      yield lines.join("");
      [lines, size] = [[], 0];
    }
    lines.push(line);
    size += length;
  }
  if (lines.length > 0) yield lines.join("");
}
