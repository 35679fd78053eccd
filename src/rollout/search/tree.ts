/**
 * @file The tree that a search grows: every node is an episode as far as it was played, a child one turn more.
 *
 * A reply that leads to an action which a sibling has already is not a new node: the sibling was drawn once more.
 * How often a child was drawn, of all draws at its parent, is the policy's own probability of its action.
 */
import type { Environment } from "../../environments/index.ts";
import { deriveSeed } from "../../torch/index.ts";
import type { Line } from "../line.ts";
import type { Turn } from "../trajectory.ts";
import type { Budget } from "./budget.ts";

export interface Node {
  /** In the order in which nodes were made, which depends on what runs beside; the root is 0. */
  readonly number: number;
  /** Which draw of each node on the way led here: the same however fast what runs beside it is. */
  readonly place: readonly number[];
  readonly line: Line;
  readonly parent: Node | undefined;
  /** Turns from the root. */
  readonly depth: number;
  readonly children: Node[];
  /** Replies that were drawn here, those that led to a child again included. */
  draws: number;
  /** Replies of the parent that led here. */
  drawn: number;
  /** Results that were counted here, and their sum. */
  visits: number;
  total: number;
  /** What the judge said; undefined: it was not asked. */
  value: number | undefined;
}

export interface Tree {
  readonly root: Node;
  readonly nodes: readonly Node[];
  readonly budget: Budget;
  /**
   * Draws so many replies at a node, all at once; gives the children that they led to, each once. `apart`, for episodes
   * that are independent of each other: every reply is a child, also one whose action was there before (its words are
   * others), and what was begun is played to its end, whatever is left of the budget.
   */
  expand(node: Node, draws: number, apart?: boolean): Promise<Node[]>;
  /** Plays on from a node to an end, a node for every turn; gives the last one. */
  playOut(node: Node, apart?: boolean): Promise<Node>;
  /** Gives back what all nodes hold. */
  close(): void;
}

export interface TreeOptions {
  /** Begun. */
  readonly line: Line;
  readonly seed: bigint;
  readonly budget: Budget;
  /** For worlds that cannot be cloned. */
  readonly fresh: () => Environment;
  /** Takes back what a node held. */
  readonly discard: (environment: Environment) => void;
}

export function createTree({ line, seed, budget, fresh, discard }: TreeOptions): Tree {
  const nodes: Node[] = [];
  const newNode = (of: Line, parent: Node | undefined, draw: number): Node => {
    const node: Node = {
      ...{ number: nodes.length, line: of, parent, depth: parent ? parent.depth + 1 : 0 },
      place: parent ? [...parent.place, draw] : [],
      ...{ children: [], draws: 0, drawn: parent ? 1 : 0, visits: 0, total: 0, value: undefined },
    };
    nodes.push(node);
    parent?.children.push(node);
    return node;
  };
  const root = newNode(line, undefined, 0);

  /** One reply at a node, on a line of its own. */
  async function draw(node: Node, number: number): Promise<Line> {
    const place = [...node.place, number];
    const fork = await node.line.fork(`${line.id}/${place.join(".")}`, fresh);
    await fork.play(deriveSeed(seed, ...place));
    // What it has drawn stays in the engine's cache for others as long as there is room.
    fork.end();
    const turn = fork.turns.at(-1);
    const isNew = fork.turns.length > node.line.turns.length;
    if (isNew) budget.spend({ tokens: turn!.reply.ids.length });
    return fork;
  }

  const tree: Tree = {
    root,
    nodes,
    budget,
    async expand(node, draws, apart = false) {
      const count = apart ? draws : Math.min(draws, Math.max(0, budget.statesLeft));
      if (node.line.status || count === 0) return [];
      const first = node.draws;
      node.draws += count;
      // Before they are played: others are begun meanwhile.
      budget.spend({ states: count });
      const lines = await Promise.all(
        Array.from({ length: count }, (_, i) => draw(node, first + i)),
      );
      const reached = new Set<Node>();
      for (const [i, one] of lines.entries()) {
        const twin = apart
          ? undefined
          : node.children.find((child) => isSameAction(child.line, one));
        if (twin) {
          twin.drawn++;
          discard(one.environment);
        }
        reached.add(twin ?? newNode(one, node, first + i));
      }
      return [...reached];
    },
    async playOut(node, apart) {
      let last = node;
      while (!last.line.status && (apart || budget.isLeft)) {
        const [next] = await tree.expand(last, 1, apart);
        if (!next) break;
        last = next;
      }
      return last;
    },
    close() {
      for (const node of nodes) {
        node.line.end();
        if (node !== root) discard(node.line.environment);
      }
    },
  };
  return tree;
}

/** Whether the last turn of both did the same. What could not be read does nothing, whatever it said. */
function isSameAction(a: Line, b: Line): boolean {
  const [one, other] = [a.turns.at(-1), b.turns.at(-1)];
  return a.turns.length === b.turns.length && one?.action === other?.action;
}

/** By the places of their draws: an order that does not depend on what was faster. */
export function byPlace(a: Node, b: Node): number {
  const first = a.place.findIndex((draw, i) => draw !== b.place[i]);
  return first < 0 ? a.place.length - b.place.length : a.place[first]! - (b.place[first] ?? -1);
}

/** From the root to the node. */
export function pathTo(node: Node): Node[] {
  const path: Node[] = [];
  for (let at: Node | undefined = node; at; at = at.parent) path.unshift(at);
  return path;
}

/** Counts a result at a node and everything above it. */
export function backUp(node: Node, result: number): void {
  for (let at: Node | undefined = node; at; at = at.parent) {
    at.visits++;
    at.total += result;
  }
}

/** The mean result of what went through a node; undefined: nothing did. */
export function meanResult({ visits, total }: Node): number | undefined {
  return visits > 0 ? total / visits : undefined;
}

/** What a finished line is worth: 1 won, else the world's score, which is below. */
export function resultOf({ status, score }: Line): number {
  return status === "won" ? 1 : Math.min(Math.max(score, 0), 1) * BELOW_WON;
}

/** A score of 1 without a win is no win. */
const BELOW_WON = 0.999;

/** log p of everything that the policy drew in these turns. */
export function logProbability(turns: readonly Turn[]): number {
  let sum = 0;
  for (const { reply } of turns) for (const logprob of reply.sampledLogprobs) sum += logprob;
  if (!Number.isNaN(sum)) return sum;
  throw new Error(
    "this policy tells no log-probabilities, which beam and the judge likelihood go by: choose another strategy or " +
      "judge, or ask its server in ids (--tokenizer)",
  );
}
