// Reads a page and a problem with the types of openapi.d.ts: see generated_flow.js. A type that is wider or narrower than
// the one named here does not compile.

import createClient from "openapi-fetch";
import type { components, paths } from "./openapi";

declare function require(name: "node:fs"): { readFileSync(file: 0, encoding: "utf8"): string };

type Schemas = components["schemas"];
type Json = "application/json" | "application/problem+json";
type Same<A, B> = (<T>() => T extends A ? 1 : 2) extends <T>() => T extends B ? 1 : 2 ? true : false;

function check(holds: boolean, what: unknown): asserts holds {
  if (!holds) throw new Error(JSON.stringify(what));
}

async function main() {
  const { base, key, account } = JSON.parse(require("node:fs").readFileSync(0, "utf8"));
  const client = createClient<paths, Json>({ baseUrl: base, headers: { ServicePSK: key, Accept: "application/json" } });
  const read = (count: number) =>
    client.GET("/200909/activity/{user}/tofrom", {
      params: { path: { user: account }, query: { count, type: ["photo", "bookmark"], format: "json" } },
    });

  const { data } = await read(20);
  check(data !== undefined, data);
  const activities: Schemas["Activity"][] = data.Activities.Activity;
  check(activities.length === 20, activities);
  for (const activity of activities) {
    const title: string = activity.Title;
    const object: Schemas["Object"] | undefined = activity.Photo ?? activity.Bookmark;
    const typed: Same<typeof activity.SourceUser.UserIdentifier, string> = true;
    check(typed && title.length > 0 && object !== undefined, activity);
  }
  console.log("typescript page");

  const { error } = await read(-1);
  check(error !== undefined && error.status === 400, error);
  const problem: Schemas["Problem"] = error;
  const typed: Same<typeof problem.parameter, string | undefined> = true;
  check(typed && problem.parameter === "count" && problem.type.endsWith("/docs/problems/parameter"), problem);
  console.log("typescript problem");
}

main();
