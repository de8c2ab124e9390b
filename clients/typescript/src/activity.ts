/** Reading an activity. */

import type { components } from "./generated/openapi.js";

type Schemas = components["schemas"];

/**
 * The type and the object of an activity, whose field is named after its type: `["Bookmark", { Title: … }]`.
 *
 * Types are an open vocabulary, so an activity may have one that `Activity` does not name.
 */
export function objectOf(activity: Schemas["Activity"]): [type: string, object: Schemas["Object"]] {
  for (const [name, value] of Object.entries(activity)) {
    if (typeof value === "object" && name !== "SourceUser" && name !== "SourceService") {
      return [name, value as Schemas["Object"]];
    }
  }
  throw new TypeError("the activity has no object");
}
