/**
 * @file One episode in a shop behind the interface of all worlds.
 */
import {
  EnvironmentError,
  type Json,
  type LocalEnvironment,
  type Observation,
  type StepResult,
  type Task,
} from "../environment.ts";
import { strip } from "../python-text.ts";
import { seededRandom } from "../random.ts";
import { type Action, parseAction } from "./action.ts";
import { type Goal, optionCount } from "./goal.ts";
import { navigate } from "./navigate.ts";
import type { DonePage, ItemPage, Page } from "./page.ts";
import { admissibleActions, clickablesOf } from "./pages/clickable.ts";
import type { Mode } from "./pages/mode.ts";
import { plainText, rendered, SEPARATOR } from "./pages/render.ts";
import { nounsOf } from "./reward/nouns.ts";
import { type Reward, rewardOf } from "./reward/reward.ts";
import { catalogueFor, type Shop } from "./shop.ts";
import type { View } from "./view.ts";

/** What the environments of a world share. */
export interface Context {
  readonly name: string;
  readonly shop: Shop;
  readonly mode: Mode;
  readonly showAttributes: boolean;
  /** How many earlier observations and actions are put before each observation. */
  readonly previousObservations: number;
  readonly previousActions: number;
  /** The reward of a purchase that scores 1. */
  readonly winReward: number;
}

/** What stays the same during an episode. */
interface Episode {
  readonly goal: Goal;
  readonly view: View;
  readonly mode: Mode;
  readonly info: Readonly<Record<string, Json>>;
}

/** What came before, where the observation shows it; the latest last. */
interface History {
  readonly observations: readonly string[];
  readonly actions: readonly string[];
}

const NO_HISTORY: History = { observations: [], actions: [] };

class PageObservation implements Observation {
  readonly info: Readonly<Record<string, Json>>;
  readonly #episode: Episode;
  readonly #page: Page;
  readonly #before: string;
  #text: string | undefined;
  #anchor: string | undefined;
  #admissible: readonly string[] | undefined;

  constructor(episode: Episode, page: Page, before = "", info = episode.info) {
    this.#episode = episode;
    this.#page = page;
    this.#before = before;
    this.info = info;
  }

  get text(): string {
    const { view, mode } = this.#episode;
    this.#text ??= this.#before + rendered(this.#page, view, mode);
    return this.#text;
  }

  get instruction(): string {
    return this.#episode.view.instruction;
  }

  /** As the documents' trainers show a page: what comes after the task, each piece in quotes. */
  get anchor(): string {
    if (this.#anchor === undefined) {
      const text = plainText(this.#page, this.#episode.view);
      const pieces = text.split(SEPARATOR);
      const task = pieces.indexOf(strip(this.instruction));
      const rest = pieces.slice(task + 1).map((piece) => `'${piece}'`);
      this.#anchor = task < 0 ? text : rest.join(SEPARATOR);
    }
    return this.#anchor;
  }

  get admissible(): readonly string[] {
    this.#admissible ??= admissibleActions(this.#page, this.#episode.view);
    return this.#admissible;
  }
}

function isAdmissible(page: Page, { name, argument }: Action, view: View): boolean {
  if (argument === undefined) return false;
  if (name === "search") return page.kind === "index";
  return name === "click" && clickablesOf(page, view).has(argument);
}

export class ShopEnvironment implements LocalEnvironment {
  readonly #context: Context;
  #episode: Episode | undefined;
  #page: Page = { kind: "index" };
  #history = NO_HISTORY;
  #steps = 0;
  #end: StepResult | undefined;

  constructor(context: Context) {
    this.#context = context;
  }

  reset(task: Task): Observation {
    const { name, shop, mode, showAttributes } = this.#context;
    const goal = shop.goals.find(task.id);
    if (!goal)
      throw new EnvironmentError(
        name,
        `there is no goal ${JSON.stringify(task.id).slice(0, 80)}; ids are ${shop.goals.about}. Is it a task of another shop?`,
      );
    const { instruction } = goal;
    const catalogue = catalogueFor(shop, task.id);
    const view = { catalogue, instruction, session: task.id, showAttributes };
    const info = { goal_idx: task.id, task_text: instruction, split: task.split };
    this.#episode = { goal, view, mode, info };
    this.#page = { kind: "index" };
    this.#steps = 0;
    this.#end = undefined;
    const observation = new PageObservation(this.#episode, this.#page);
    this.#history = this.#remembers
      ? { observations: [observation.text], actions: [] }
      : NO_HISTORY;
    return observation;
  }

  step(action: string): StepResult {
    if (this.#end) return { ...this.#end, reward: 0 };
    const episode = this.#episode;
    if (!episode)
      throw new EnvironmentError(
        this.#context.name,
        "there is no episode yet; call reset(task) before step().",
      );
    const { view } = episode;
    const said = parseAction(action);
    const admissible = isAdmissible(this.#page, said, view);
    const steps = ++this.#steps;
    const random = () => seededRandom("webshop", "any products", view.session, steps);
    const move = navigate(this.#page, said, view, random);
    if (move.kind === "buy") return this.#bought(episode, move.page, action);
    if (move.kind === "page") this.#page = move.page;
    const observation = new PageObservation(episode, this.#page, this.#before(action));
    this.#remember(action);
    return { observation, reward: 0, done: false, won: false, admissible, score: 0 };
  }

  clone(): ShopEnvironment {
    const copy = new ShopEnvironment(this.#context);
    copy.#episode = this.#episode;
    copy.#page = this.#page;
    copy.#history = this.#history;
    copy.#steps = this.#steps;
    copy.#end = this.#end;
    return copy;
  }

  #bought(episode: Episode, page: ItemPage, action: string): StepResult {
    const { catalogue } = episode.view;
    const { product, chosen } = page;
    const purchase = {
      product: catalogue.product(product),
      price: catalogue.price(product),
      options: chosen,
    };
    const reward = rewardOf(purchase, episode.goal, nounsOf);
    const { score } = reward;
    const done: DonePage = { kind: "done", product, chosen, score };
    this.#page = done;
    const info = { ...episode.info, ...details(reward, episode.goal) };
    const won = score === 1;
    this.#end = {
      observation: new PageObservation(episode, done, this.#before(action), info),
      reward: won ? this.#context.winReward : 0,
      ...{ done: true, won, admissible: true, score },
    };
    return this.#end;
  }

  get #remembers(): boolean {
    const { previousActions, previousObservations } = this.#context;
    return previousActions > 0 || previousObservations > 0;
  }

  /** Earlier observations and actions in turn, the oldest first, each with a separator after it. */
  #before(action: string): string {
    if (!this.#remembers) return "";
    const { previousActions, previousObservations } = this.#context;
    const { observations } = this.#history;
    const actions = [...this.#history.actions, action];
    const latestFirst: string[] = [];
    for (let i = 1; i <= Math.max(previousActions, previousObservations); i++) {
      if (i <= previousActions && i <= actions.length) latestFirst.push(actions.at(-i)!);
      if (i <= previousObservations && i <= observations.length)
        latestFirst.push(observations.at(-i)!);
    }
    return latestFirst
      .reverse()
      .map((text) => text + SEPARATOR)
      .join("");
  }

  #remember(action: string): void {
    if (!this.#remembers || !this.#episode) return;
    const { view, mode } = this.#episode;
    const { previousActions, previousObservations } = this.#context;
    const most = Math.max(previousActions, previousObservations);
    const { observations, actions } = this.#history;
    this.#history = {
      observations: [...observations, rendered(this.#page, view, mode)].slice(-most),
      actions: [...actions, action].slice(-most),
    };
  }
}

/** The parts of the score, by the original's names. */
function details(reward: Reward, goal: Goal): Record<string, Json> {
  const { type, attributes, options, priceFits, score } = reward;
  const wanted = optionCount(goal.options);
  return {
    task_score: score,
    r_type: type.factor,
    query_match: type.queryMatch,
    category_match: type.categoryMatch,
    title_score: type.titleScore,
    r_att: goal.attributes.length > 0 ? attributes / goal.attributes.length : null,
    r_option: wanted > 0 ? options / wanted : null,
    r_price: priceFits,
  };
}
