/** The client: one server, one credential. */

import { Collection, type CollectionName, type Filters } from "./collection.js";
import type { Credential } from "./credential.js";
import type { components, paths } from "./generated/openapi.js";
import { Problem, type ProblemMembers } from "./problems.js";
import { batches, linkCursor, query } from "./query.js";
import { type Abortable, type ClientOptions, type Sending, Transport } from "./transport.js";

type Schemas = components["schemas"];

/** The JSON of a successful answer to an operation. */
type Answer<Operation> = Operation extends { responses: infer Responses }
  ? JsonOf<Responses[keyof Responses & (200 | 201)]>
  : never;
type JsonOf<Response> = Response extends { content: { "application/json": infer Json } } ? Json : undefined;
type Method<Path extends keyof paths> = Extract<keyof paths[Path], "get" | "put" | "post" | "delete">;

/** An activity to write. Its object is in a field named after its type, of which only the usual ones are listed. */
export type NewActivity = Schemas["NewActivity"] & { readonly [type: string]: unknown };

/** An activity of a batch, with its service and its id there. */
export type BatchItem = Schemas["BatchItem"] & { readonly [type: string]: unknown };

/** An activity that was accepted. */
export interface Written {
  /** Its `ActivityUrl`; `undefined` in a browser on another origin, which does not show it. */
  readonly url: string | undefined;
  /** Whether it is new; otherwise it existed, perhaps unchanged. */
  readonly created: boolean;
}

/** A hook and its state. Every value is a string. */
export interface Hook {
  readonly Name: string;
  readonly Url: string;
  readonly Collection: CollectionName;
  readonly Service?: string[];
  readonly Type?: string[];
  readonly Verb?: string[];
  readonly CreatedDate: string;
  /** The HTTP status of the last delivery. */
  readonly LastStatus?: string;
  readonly LastDate?: string;
  /** When the next try is due, after a failure. */
  readonly NextDate?: string;
  /** How many seconds the oldest event waits. */
  readonly Lag: string;
  readonly Disabled: "true" | "false";
  /** Why it is disabled, or why the last delivery failed. */
  readonly Reason?: string;
  /** The signing secret, `whsec_…`: only in the answer that created the hook. */
  readonly Secret?: string;
}

/** A new secret of a hook. */
export interface HookSecret {
  readonly Name: string;
  readonly Secret: string;
}

/** What the receiver of a hook answered to a test. */
export interface Ping {
  readonly Delivered: "true" | "false";
  readonly Status?: string;
  readonly Reason?: string;
}

/** What a hook delivers, and where. */
export interface HookSettings {
  readonly url: string;
  /** Default: `tofrom`. */
  readonly collection?: CollectionName;
  readonly service?: readonly string[];
  readonly type?: readonly string[];
  readonly verb?: readonly string[];
}

/**
 * A client of a tofrom server, for browsers and Node.js.
 *
 * A request that failed is repeated, but only if that is safe: GET, PUT and batches; any request that was certainly not
 * executed. The pause grows, or is the one that the server names in `Retry-After`. Errors are a `Problem` if the server
 * answered, and the error of `fetch` if it did not.
 */
export class Client {
  #transport: Transport;

  constructor(baseUrl: string, credential: Credential, options: ClientOptions = {}) {
    this.#transport = new Transport(baseUrl, credential, options);
  }

  // Collections and activities.

  /** A collection of an account, with filters. Sends nothing. */
  collection(user: string, name: CollectionName = "tofrom", filters: Filters = {}): Collection {
    return new Collection(this.#transport, user, name, filters);
  }

  /** An activity by its `ActivityIdentifier`. */
  activity(identifier: string, options?: Abortable): Promise<Schemas["Activity"]> {
    return this.#json("get", "/activity/{activity}", { activity: identifier }, options);
  }

  /** An activity by its service and the id that the service gave it. */
  authoredActivity(user: string, service: string, source: string, options?: Abortable): Promise<Schemas["Activity"]> {
    return this.#json("get", "/200909/activity/{user}/from/{service}/{source}", { user, service, source }, options);
  }

  /** The user did this on that service: creates the activity, or a new version of it. Safe to repeat. */
  async putActivity(user: string, service: string, source: string, activity: NewActivity, options?: Abortable): Promise<Written> {
    const sending = { ...options, json: activity };
    const path = "/200909/activity/{user}/from/{service}/{source}";
    const response = await this.#send("put", path, { user, service, source }, sending);
    return { url: response.headers.get("Location") ?? undefined, created: response.status === 201 };
  }

  /**
   * Writes many activities, in as many requests as it takes. Safe to repeat.
   *
   * Each needs `SourceId` and `SourceService.Name`. The array has the result of each, in their order; an invalid one
   * does not affect the others.
   */
  async postActivities(user: string, activities: Iterable<BatchItem>, options?: Abortable): Promise<(Written | Problem)[]> {
    const results: (Written | Problem)[] = [];
    for (const ndjson of batches(activities)) {
      const sending = { ...options, ndjson, repeatable: true };
      const response = await this.#send("post", "/200909/activity/{user}/from", { user }, sending);
      for (const line of (await response.text()).trimEnd().split("\n")) {
        const result = JSON.parse(line) as Schemas["AcceptedActivity"] | ProblemMembers;
        const accepted = "ActivityUrl" in result && typeof result.ActivityUrl === "string" ? result.ActivityUrl : undefined;
        results.push(accepted ? { url: accepted, created: result["status"] === 201 } : Problem.fromMembers({ ...result }));
      }
    }
    return results;
  }

  /** Deletes an activity of the account everywhere. */
  async deleteActivity(user: string, service: string, source: string, options?: Abortable): Promise<void> {
    await this.#send("delete", "/200909/activity/{user}/from/{service}/{source}", { user, service, source }, options);
  }

  /** Removes an activity of another account from the account's `to`. */
  async removeReceived(user: string, identifier: string, options?: Abortable): Promise<void> {
    await this.#send("delete", "/200909/activity/{user}/to/{activity}", { user, activity: identifier }, options);
  }

  // Accounts and following.

  /** The account and the scopes of the credential. */
  async whoami(options?: Abortable): Promise<Schemas["Caller"]> {
    return (await this.#json("get", "/200909/whoami", {}, options)).WhoAmI;
  }

  /** Revokes the OAuth token that signs the request. */
  async revokeToken(options?: Abortable): Promise<void> {
    await this.#send("delete", "/200909/whoami/token", {}, options);
  }

  /** An account's profile. */
  async user(user: string, options?: Abortable): Promise<Schemas["Account"]> {
    return (await this.#json("get", "/200909/user/{user}", { user }, options)).User;
  }

  /** Changes an account; an operator also creates one. */
  async putUser(user: string, changes: Schemas["AccountChanges"], options?: Abortable): Promise<void> {
    await this.#send("put", "/200909/user/{user}", { user }, { ...options, json: changes });
  }

  /** Removes an account for good. */
  async deleteUser(user: string, options?: Abortable): Promise<void> {
    await this.#send("delete", "/200909/user/{user}", { user }, options);
  }

  /** The accounts that the account follows. */
  following(user: string, options?: Abortable): AsyncGenerator<Schemas["SourceUser"], void, undefined> {
    return this.#users("/200909/user/{user}/following", user, options);
  }

  /** The account's followers. */
  followers(user: string, options?: Abortable): AsyncGenerator<Schemas["SourceUser"], void, undefined> {
    return this.#users("/200909/user/{user}/followers", user, options);
  }

  /** The account follows another one; with a filter, only some of its activities. Safe to repeat. */
  async addFollowing(user: string, other: string, options: { filter?: Schemas["EdgeFilter"] } & Abortable = {}): Promise<void> {
    const { filter, ...sending } = options;
    await this.#send("put", "/200909/user/{user}/following/{other}", { user, other }, filter ? { ...sending, json: filter } : sending);
  }

  /** The account no longer follows the other one. Safe to repeat. */
  async removeFollowing(user: string, other: string, options?: Abortable): Promise<void> {
    await this.#send("delete", "/200909/user/{user}/following/{other}", { user, other }, { ...options, repeatable: true });
  }

  /** The other account no longer follows the account. Safe to repeat. */
  async removeFollower(user: string, other: string, options?: Abortable): Promise<void> {
    await this.#send("delete", "/200909/user/{user}/followers/{other}", { user, other }, { ...options, repeatable: true });
  }

  /** The accounts that the account blocks. */
  blocked(user: string, options?: Abortable): AsyncGenerator<Schemas["SourceUser"], void, undefined> {
    return this.#users("/200909/user/{user}/blocked", user, options);
  }

  /** The other account can neither follow nor address the account. Safe to repeat. */
  async block(user: string, other: string, options?: Abortable): Promise<void> {
    await this.#send("put", "/200909/user/{user}/blocked/{other}", { user, other }, options);
  }

  /** The account no longer blocks the other one. Safe to repeat. */
  async unblock(user: string, other: string, options?: Abortable): Promise<void> {
    await this.#send("delete", "/200909/user/{user}/blocked/{other}", { user, other }, { ...options, repeatable: true });
  }

  /** The accounts that the account mutes. */
  muted(user: string, options?: Abortable): AsyncGenerator<Schemas["SourceUser"], void, undefined> {
    return this.#users("/200909/user/{user}/muted", user, options);
  }

  /** The account does not see the activities of the other one. Safe to repeat. */
  async mute(user: string, other: string, options?: Abortable): Promise<void> {
    await this.#send("put", "/200909/user/{user}/muted/{other}", { user, other }, options);
  }

  /** The account sees the activities of the other one again. Safe to repeat. */
  async unmute(user: string, other: string, options?: Abortable): Promise<void> {
    await this.#send("delete", "/200909/user/{user}/muted/{other}", { user, other }, { ...options, repeatable: true });
  }

  // Keys.

  /** The account's keys that work, without their secrets. */
  async keys(user: string, options?: Abortable): Promise<Schemas["Key"][]> {
    return (await this.#json("get", "/200909/user/{user}/keys", { user }, options)).Keys.Key;
  }

  /** Creates a key. Only this answer contains the key itself. */
  async createKey(user: string, key: Schemas["NewKey"] = {}, options?: Abortable): Promise<Schemas["KeyWithSecret"]> {
    return (await this.#json("post", "/200909/user/{user}/keys", { user }, { ...options, json: key })).Key;
  }

  /** Revokes a key and the keys that it created. */
  async revokeKey(user: string, id: string, options?: Abortable): Promise<void> {
    await this.#send("delete", "/200909/user/{user}/keys/{id}", { user, id }, options);
  }

  // Sources.

  /** The account's sources with their state. */
  async sources(user: string, options?: Abortable): Promise<Schemas["SourceState"][]> {
    return (await this.#json("get", "/200909/user/{user}/sources", { user }, options)).Sources.Source;
  }

  /** One source with its state. */
  async source(user: string, name: string, options?: Abortable): Promise<Schemas["SourceState"]> {
    return (await this.#json("get", "/200909/user/{user}/sources/{name}", { user, name }, options)).Source;
  }

  /** The activities that a source would bring. Nothing is stored. */
  async previewSource(user: string, address: string, options?: Abortable): Promise<Schemas["PreviewedActivity"][]> {
    const sending = { ...options, json: { Address: address } };
    return (await this.#json("post", "/200909/user/{user}/sources", { user }, sending)).Preview.Activity;
  }

  /** Connects a source, or pauses or resumes it. */
  async putSource(user: string, name: string, changes: Schemas["SourceChanges"], options?: Abortable): Promise<void> {
    await this.#send("put", "/200909/user/{user}/sources/{name}", { user, name }, { ...options, json: changes });
  }

  /** Disconnects a source; `activities` also deletes what it brought. */
  async deleteSource(user: string, name: string, options: { activities?: boolean } & Abortable = {}): Promise<void> {
    const sending = { query: query({ activities: options.activities ?? false }), signal: options.signal };
    await this.#send("delete", "/200909/user/{user}/sources/{name}", { user, name }, sending);
  }

  // Hooks.

  /** The account's hooks with their state. */
  async hooks(user: string, options?: Abortable): Promise<Hook[]> {
    return (await this.#hook<{ Hooks: { Hook: Hook[] } }>("GET", "/200909/user/{user}/hooks", { user }, options)).Hooks.Hook;
  }

  /** One hook with its state. */
  async hook(user: string, name: string, options?: Abortable): Promise<Hook> {
    return (await this.#hook<{ Hook: Hook }>("GET", "/200909/user/{user}/hooks/{name}", { user, name }, options)).Hook;
  }

  /**
   * Creates a hook, or changes its address and filters. Only the answer that creates it has `Secret`.
   *
   * It is not repeated after a broken connection, because the first answer may be lost with its secret: see
   * `rotateHook`.
   */
  async putHook(user: string, name: string, settings: HookSettings, options?: Abortable): Promise<Hook> {
    const { url: Url, collection: Collection = "tofrom", service: Service, type: Type, verb: Verb } = settings;
    const sending = { ...options, json: { Url, Collection, Service, Type, Verb }, repeatable: false };
    return (await this.#hook<{ Hook: Hook }>("PUT", "/200909/user/{user}/hooks/{name}", { user, name }, sending)).Hook;
  }

  /** Removes a hook. */
  async deleteHook(user: string, name: string, options?: Abortable): Promise<void> {
    await this.#transport.send("DELETE", "/200909/user/{user}/hooks/{name}", { user, name }, options);
  }

  /** Sends a signed `ping` to the hook's address. The position of the hook stays. */
  async testHook(user: string, name: string, options?: Abortable): Promise<Ping> {
    return (await this.#hook<{ Ping: Ping }>("POST", "/200909/user/{user}/hooks/{name}/test", { user, name }, options)).Ping;
  }

  /** Enables a disabled hook where it stopped, and tries a waiting one at once. */
  async resumeHook(user: string, name: string, options?: Abortable): Promise<void> {
    await this.#transport.send("POST", "/200909/user/{user}/hooks/{name}/resume", { user, name }, options);
  }

  /** Replaces the secret; the answer has the new one. Both sign for 24 hours: verify with both meanwhile. */
  async rotateHook(user: string, name: string, options?: Abortable): Promise<HookSecret> {
    const path = "/200909/user/{user}/hooks/{name}/rotate";
    return (await this.#hook<{ Hook: HookSecret }>("POST", path, { user, name }, options)).Hook;
  }

  async #hook<Answer>(method: string, path: string, values: Readonly<Record<string, string>>, sending?: Sending): Promise<Answer> {
    return (await (await this.#transport.send(method, path, values, sending)).json()) as Answer;
  }

  // Requests.

  async *#users(path: `/200909/user/{user}/${"following" | "followers" | "blocked" | "muted"}`, user: string, options?: Abortable): AsyncGenerator<Schemas["SourceUser"], void, undefined> {
    let cursor: string | undefined;
    do {
      const response = await this.#send("get", path, { user }, { ...options, query: query({ count: 200, cursor }) });
      yield* ((await response.json()) as Schemas["Users"]).Users.User;
      cursor = linkCursor(response, "next");
    } while (cursor);
  }

  async #json<Path extends keyof paths, M extends Method<Path>>(
    method: M,
    path: Path,
    values: Readonly<Record<string, string>>,
    sending?: Sending,
  ): Promise<Answer<paths[Path][M]>> {
    return (await (await this.#send(method, path, values, sending)).json()) as Answer<paths[Path][M]>;
  }

  #send<Path extends keyof paths>(
    method: Method<Path>,
    path: Path,
    values: Readonly<Record<string, string>>,
    sending: Sending = {},
  ): Promise<Response> {
    return this.#transport.send(method.toUpperCase(), path, values, sending);
  }
}
