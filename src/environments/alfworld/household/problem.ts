/**
 * @file A household as a game's problem: the facts and the goal that the engine reads, and the task's
 * sentence.
 */
import { type Random, seededRandom } from "../../random.ts";
import type { Expression } from "../pddl/expression.ts";
import type { Fact, Kind, Problem } from "../pddl/problem.ts";
import type { Household, Wanted } from "./generate.ts";
import { OBJECT_GROUPS } from "./vocabulary.ts";

export interface HouseholdGame {
  readonly problem: Problem;
  /** What follows "Your task is to: ". */
  readonly task: string;
}

/** `seed` decides the ids, and with them the numbers in names and the wording of the task. */
export function problemOf(household: Household, seed: readonly (string | number)[]): HouseholdGame {
  const { room, objects, wanted } = household;
  const random = seededRandom("problem", ...seed);
  const kinds = new Map<string, Kind>([["agent1", "agent"]]);
  const facts: Fact[] = [];
  const newId = (name: string, kind: Kind): string => {
    for (;;) {
      const id = `${name.toLowerCase()}_bar_${coordinates(random)}${suffix(name)}`;
      if (kinds.has(id)) continue;
      kinds.set(id, kind);
      return id;
    }
  };
  const typeOf = (name: string, kind: "rtype" | "otype"): string => {
    const type = `${name.toLowerCase()}type`;
    kinds.set(type, kind);
    return type;
  };

  const start = "loc_bar_0_bar_0_bar_0_bar_30";
  kinds.set(start, "location");
  facts.push(["atlocation", "agent1", start]);
  const locations = room.furniture.map(({ place }) => `loc_bar_${place + 1}_bar_0_bar_0_bar_30`);
  const furniture = room.furniture.map(({ name, closed }, index) => {
    const id = newId(name === "SinkBasin" ? "Sink" : name, "receptacle");
    kinds.set(locations[index]!, "location");
    facts.push(["receptacletype", id, typeOf(name, "rtype")]);
    facts.push(["receptacleatlocation", id, locations[index]!]);
    if (closed) facts.push(["openable", id]);
    return id;
  });

  for (const { name, at } of objects) {
    const id = newId(name, "object");
    facts.push(["objecttype", id, typeOf(name, "otype")]);
    facts.push(["inreceptacle", id, furniture[at]!]);
    facts.push(["objectatlocation", id, locations[at]!]);
    const group = OBJECT_GROUPS.find(({ names }) => names.includes(name));
    if (!group) {
      facts.push(["toggleable", id]);
      continue;
    }
    facts.push(["pickupable", id]);
    for (const ability of ["cleanable", "heatable", "coolable"] as const)
      if (group[ability]) facts.push([ability, id]);
  }
  for (const name of new Set(objects.map((object) => object.name))) {
    const group = OBJECT_GROUPS.find(({ names }) => names.includes(name));
    // Things can be put back where they were found, at home or not.
    const found = objects.filter((object) => object.name === name).map(({ at }) => at);
    const homes = new Set<string>([
      ...(group?.homes ?? []),
      ...found.map((at) => room.furniture[at]!.name),
    ]);
    for (const home of room.furniture.map((piece) => piece.name))
      if (homes.delete(home))
        facts.push(["cancontain", typeOf(home, "rtype"), typeOf(name, "otype")]);
  }
  return { problem: { kinds, facts, goal: goalOf(wanted) }, task: `${sentence(wanted, random)}.` };
}

/** The rules call "sinkbasin" what has a basin in its id. */
function suffix(name: string): string {
  return name === "Sink" ? "_bar_sinkbasin" : "";
}

function coordinates(random: Random): string {
  const coordinate = (): string => {
    const sign = random.chance(0.5) ? "plus" : "minus";
    const digits = String(random.integer(1000)).padStart(4, "0");
    return `_${sign}_${digits.slice(0, 2)}_dot_${digits.slice(2)}`;
  };
  return [coordinate(), coordinate(), coordinate()].join("_bar_");
}

function goalOf({ type, object, target }: Wanted): Expression {
  const objectType = `${object.toLowerCase()}type`;
  const targetType = `${target.toLowerCase()}type`;
  if (type === "look_at_obj_in_light")
    return [
      "and",
      [
        "exists",
        ["?ot", "-", "object", "?r", "-", "receptacle", "?a", "-", "agent", "?l", "-", "location"],
        [
          "and",
          ["objecttype", "?ot", targetType],
          ["toggleable", "?ot"],
          ["istoggled", "?ot"],
          ["receptacleatlocation", "?r", "?l"],
          ["atlocation", "?a", "?l"],
          ["inreceptacle", "?ot", "?r"],
        ],
      ],
      [
        "exists",
        ["?o", "-", "object", "?a", "-", "agent"],
        ["and", ["objecttype", "?o", objectType], ["holds", "?a", "?o"]],
      ],
    ];
  const inTarget = (name: string): Expression[] => [
    ["objecttype", name, objectType],
    ["receptacletype", "?r", targetType],
    ["inreceptacle", name, "?r"],
  ];
  const treatments: Readonly<Partial<Record<typeof type, Expression[]>>> = {
    pick_clean_then_place_in_recep: [
      ["cleanable", "?o"],
      ["isclean", "?o"],
    ],
    pick_heat_then_place_in_recep: [
      ["heatable", "?o"],
      ["ishot", "?o"],
    ],
    pick_cool_then_place_in_recep: [
      ["coolable", "?o"],
      ["iscool", "?o"],
    ],
  };
  const second: Expression[] =
    type === "pick_two_obj_and_place"
      ? [
          [
            "exists",
            ["?o2", "-", "object"],
            ["and", ["not", ["=", "?o", "?o2"]], ...inTarget("?o2")],
          ],
        ]
      : [];
  return [
    "and",
    [
      "exists",
      ["?r", "-", "receptacle"],
      [
        "exists",
        ["?o", "-", "object"],
        ["and", ...(treatments[type] ?? []), ...inTarget("?o"), ...second],
      ],
    ],
  ];
}

function sentence({ type, object, target }: Wanted, random: Random): string {
  const [thing, place] = [object.toLowerCase(), target.toLowerCase()];
  const treated = (adjective: string, verb: string): [string, string] => [
    `put a ${adjective} ${thing} in ${place}`,
    `${verb} some ${thing} and put it in ${place}`,
  ];
  const wordings: Readonly<Record<typeof type, [string, string]>> = {
    pick_and_place_simple: [`put a ${thing} in ${place}`, `put some ${thing} on ${place}`],
    look_at_obj_in_light: [
      `look at ${thing} under the ${place}`,
      `examine the ${thing} with the ${place}`,
    ],
    pick_clean_then_place_in_recep: treated("clean", "clean"),
    pick_heat_then_place_in_recep: treated("hot", "heat"),
    pick_cool_then_place_in_recep: treated("cool", "cool"),
    pick_two_obj_and_place: [
      `put two ${thing} in ${place}`,
      `find two ${thing} and put them in ${place}`,
    ],
  };
  return random.pick(wordings[type]);
}
