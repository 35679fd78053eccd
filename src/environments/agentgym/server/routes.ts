/**
 * @file The routes of a kind's server, and what each does.
 */
import type { Json, World } from "../../environment.ts";
import type { Kind } from "../kind.ts";
import { isRecord } from "../shape.ts";
import { type HostedEnvironments, Refusal } from "./hosted.ts";

export interface Route {
  readonly method: "GET" | "POST";
  answer(given: Given): Json | Promise<Json>;
}

/** What a request brings: fields of its body, or of its query. */
export type Given = Readonly<Record<string, unknown>>;

/** A request without what it must have, in FastAPI's words. */
export class InvalidRequest extends Error {
  readonly detail: Json;

  constructor(field: string, problem: string) {
    super(`${field}: ${problem}`);
    this.detail = [{ loc: [field], msg: problem, type: "value_error" }];
  }
}

/** By path. */
export function routesOf(
  kind: Kind,
  world: World,
  hosted: HostedEnvironments,
): ReadonlyMap<string, Route> {
  const { key, index, prefix } = kind;
  const idOf = (given: Given) => whole(given, key);
  const actionOf = (given: Given) => {
    if (typeof given.action === "string") return given.action;
    throw new InvalidRequest("action", "a text is required");
  };

  const post: Record<string, Route["answer"]> = {
    async create(given) {
      for (const field of ["commands", "goal"])
        if (given[field] !== undefined && given[field] !== null)
          throw new Refusal(`this server has its own tasks; leave "${field}" out of the request.`);
      const wish = kind.createsWithTask ? whole(given, "id") : undefined;
      if (!kind.createsBegun) return kind.writeCreated(hosted.create(wish));
      const [id, episode] = await hosted.createBegun(wish);
      return kind.createsBegun === "told" ? kind.writeReset(id, episode) : kind.writeCreated(id);
    },
    async reset(given) {
      const id = idOf(given);
      const said = given[index.field] !== undefined && given[index.field] !== null;
      const wish = said || !index.optional ? whole(given, index.field) : undefined;
      return kind.writeReset(id, await hosted.reset(id, wish));
    },
    step: async (given) => kind.writeStep(await hosted.step(idOf(given), actionOf(given))),
    close: async (given) => hosted.close(idOf(given)),
  };
  const get: Record<string, Route["answer"]> = {
    "": () => `openmanus-rl serves ${world.name} as ${kind.name}`,
    list_envs: () => [...hosted.numbers],
    async solution(given) {
      const { task } = await hosted.episode(idOf(given));
      return (await world.solution?.(task)) ?? null;
    },
  };
  for (const [name, answer] of Object.entries(kind.constants ?? {})) get[name] = () => answer;
  for (const [name, answer] of Object.entries(kind.questions))
    get[name] = async (given) => answer(await hosted.episode(idOf(given)));

  const routes = new Map<string, Route>([["/", { method: "GET", answer: get[""]! }]]);
  for (const [name, answer] of Object.entries(post))
    routes.set(`${prefix}/${name}`, { method: "POST", answer });
  for (const [name, answer] of Object.entries(get))
    routes.set(`${prefix}/${name}`, { method: "GET", answer });
  return routes;
}

/** A whole number; in a query it is written out. */
function whole(given: Given, field: string): number {
  const value = given[field];
  const number = typeof value === "string" && /^\d+$/.test(value) ? Number(value) : value;
  if (typeof number === "number" && Number.isSafeInteger(number)) return number;
  throw new InvalidRequest(field, "a whole number is required");
}

/** The fields of a body; nothing is an empty body. */
export function fieldsOf(text: string): Given {
  if (text.trim() === "") return {};
  let body: unknown;
  try {
    body = JSON.parse(text);
  } catch {
    throw new InvalidRequest("body", "it is not JSON");
  }
  if (isRecord(body)) return body;
  throw new InvalidRequest("body", "an object is required");
}
