/** Client of tofrom, an activity feed server. */

import type { components } from "./generated/openapi.js";

export { objectOf } from "./activity.js";
export {
  type BatchItem,
  Client,
  type Hook,
  type HookSecret,
  type HookSettings,
  type NewActivity,
  type Ping,
  type Written,
} from "./client.js";
export { Collection, type CollectionName, type Filters, type Page, type Unread } from "./collection.js";
export type { Credential, Key, Password, Signature } from "./credential.js";
export type { FeedEvent } from "./events.js";
export type { components, paths } from "./generated/openapi.js";
export {
  Forbidden,
  Invalid,
  NotFound,
  PositionExpired,
  Problem,
  QuotaExceeded,
  TooManyRequests,
  Unauthorized,
  Unavailable,
} from "./problems.js";
export type { Abortable, ClientOptions } from "./transport.js";
export { VERSION } from "./version.js";

export type Activity = components["schemas"]["Activity"];
export type Account = components["schemas"]["Account"];
