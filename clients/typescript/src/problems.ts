/**
 * Problems of RFC 9457 as errors.
 *
 * `Problem` is the base. It has a subclass for each kind that a program handles in its own way; every other kind is a
 * plain `Problem`, so a kind that a newer server adds is never lost.
 */

/** The members of a problem document. */
export type ProblemMembers = Readonly<Record<string, unknown>>;

interface Origin {
  readonly retryAfter?: number | undefined;
  readonly requestId?: string | undefined;
}

/** The server refused a request, or failed. */
export class Problem extends Error {
  /** The HTTP status. */
  readonly status: number;
  /** The last segment of `type`, such as `parameter`; empty if the answer was no problem document. */
  readonly kind: string;
  readonly title: string;
  readonly detail: string;
  /** All members of the document, those of the kind too, such as `parameter` and `field`. */
  readonly members: ProblemMembers;
  /** Seconds after which the request may succeed. */
  readonly retryAfter: number | undefined;
  /** Name it when you report the problem to the server's operator. */
  readonly requestId: string | undefined;

  constructor(members: ProblemMembers, origin: Origin = {}) {
    const [status, title, detail] = [Number(members["status"] ?? 0), text(members["title"]), text(members["detail"])];
    super(`${status} ${title}${detail && `: ${detail}`}`);
    this.name = new.target.name;
    this.status = status;
    this.kind = kindOf(members);
    this.title = title;
    this.detail = detail;
    this.members = members;
    this.retryAfter = origin.retryAfter;
    this.requestId = origin.requestId;
  }

  /** The problem of a document, as the class of its kind. */
  static fromMembers(members: ProblemMembers, origin: Origin = {}): Problem {
    const chosen = KINDS.get(kindOf(members)) ?? STATUSES.get(Number(members["status"])) ?? Problem;
    return new chosen(members, origin);
  }

  /** The problem of a response. Its body may come from a proxy, or be missing. */
  static async fromResponse(response: Response): Promise<Problem> {
    const document: unknown = await response.json().catch(() => undefined);
    const members = typeof document === "object" ? document : {};
    const seconds = response.headers.get("Retry-After");
    return Problem.fromMembers(
      { title: response.statusText, ...members, status: response.status },
      {
        retryAfter: seconds && /^\d+$/.test(seconds) ? Number(seconds) : undefined,
        requestId: response.headers.get("X-Request-Id") ?? undefined,
      },
    );
  }

  protected member(name: string): string | undefined {
    const value = this.members[name];
    return typeof value === "string" ? value : undefined;
  }
}

/** A parameter, a field or the body is invalid (400, 413, 415, 422). */
export class Invalid extends Problem {
  /** The invalid parameter of the query. */
  get parameter(): string | undefined {
    return this.member("parameter");
  }

  /** The invalid or missing field of the body, such as `Bookmark.Url`. */
  get field(): string | undefined {
    return this.member("field");
  }
}

/** No valid credential (401). */
export class Unauthorized extends Problem {
  /** Why, as a code: `bad-credentials`, `token-revoked` and so on. */
  get reason(): string | undefined {
    return this.member("reason");
  }
}

/** The credential is valid, but not for this (403). */
export class Forbidden extends Problem {
  /** Why, as a code: `scope`, `not-yours` and so on. */
  get reason(): string | undefined {
    return this.member("reason");
  }

  /** The required scope. */
  get scope(): string | undefined {
    return this.member("scope");
  }
}

/** The account has as many of something as it may have (403). */
export class QuotaExceeded extends Forbidden {
  /** What it has too many of, such as `keys`. */
  get quota(): string | undefined {
    return this.member("quota");
  }
}

/** Nothing is here, or nothing that the caller may see (404). */
export class NotFound extends Problem {}

/** The position is older than the server remembers (410): read the collection again, and go on from there. */
export class PositionExpired extends Problem {
  /** The address of the first page of the collection. */
  get first(): string | undefined {
    return this.member("first");
  }
}

/** Too many requests, streams or wrong credentials (429). */
export class TooManyRequests extends Problem {}

/** The server cannot answer now (502, 503, 504). */
export class Unavailable extends Problem {}

function kindOf(members: ProblemMembers): string {
  return /\/docs\/problems\/([^/]+)$/.exec(text(members["type"]))?.[1] ?? "";
}

function text(value: unknown): string {
  return typeof value === "string" ? value : "";
}

const KINDS = new Map<string, typeof Problem>([
  ["quota", QuotaExceeded],
  ["cursor-expired", PositionExpired],
]);
const STATUSES = new Map<number, typeof Problem>([
  [400, Invalid],
  [401, Unauthorized],
  [403, Forbidden],
  [404, NotFound],
  [413, Invalid],
  [415, Invalid],
  [422, Invalid],
  [429, TooManyRequests],
  [502, Unavailable],
  [503, Unavailable],
  [504, Unavailable],
]);
