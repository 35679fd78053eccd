/**
 * @file A country that nobody knows: towns and museums with made-up names and numbers, by seed, and
 * the documents that describe them. Whoever is asked about it must look it up.
 */
import { type Random, seededRandom } from "../../random.ts";
import type { Document } from "../search/corpus.ts";

/** What is known of a place, by field; see FIELDS. */
export type Facts = Readonly<Record<string, string>>;

export interface Place {
  readonly kind: "town" | "museum";
  readonly name: string;
  readonly facts: Facts;
}

export interface Country {
  readonly places: readonly Place[];
  readonly documents: readonly Document[];
}

/** How a document states each fact: the expert reads it back so. */
export const FIELDS: Readonly<Record<string, RegExp>> = {
  population: /\bhas (\d+) inhabitants\b/,
  area: /\bcovers (\d+(?:\.\d+)?) square kilometres\b/,
  founded: /\bwas founded in (\d+)\b/,
  town: /\bstands in (\w+)\b/,
  opened: /\bopened in (\d+)\b/,
  visitors: /\bhad (\d+) visitors last year\b/,
  price: /\ba ticket costs (\d+(?:\.\d+)?) crowns\b/,
};

const BEGINNINGS =
  "Al Bar Cor Dar El Fen Gal Hel Is Jor Kel Lor Mar Nor Ost Per Quel Ros Sar Tor Ul Vel Wen Yar Zan";
const MIDDLES = "a an e en i in o on u un ar er or al el";
const ENDINGS =
  "bach berg bridge burg by dale den fell field ford gard ham holm mouth stad stead thorpe ton wick worth";
const FOUNDERS = "ack and ell ens ert ick ing iva oll orf osk ova ulf und ysh";
const THEMES =
  "Bells Boats Bridges Clocks Coins Dolls Ferries Glass Instruments Lace Maps Mills Minerals Salt Shells Toys";
const LANDSCAPES = [
  "on a wide river",
  "between two lakes",
  "at the edge of a moor",
  "below old vineyards",
  "on a windy coast",
];

const pick = (random: Random, words: string): string => random.pick(words.split(" "));

export function makeCountry(seed: number, towns: number): Country {
  const random = seededRandom("tools", "country", seed);
  const townNames = differentNames(random, towns, ENDINGS);
  const founders = differentNames(random, Math.round(towns * 0.6), FOUNDERS);
  const townList = townNames.map((name) => town(name, random));
  const museums = founders.map((founder) => museum(founder, random.pick(townNames), random));
  const places = [...townList, ...museums];
  return { places, documents: places.map((place) => describe(place, townList, random)) };
}

function differentNames(random: Random, count: number, endings: string): readonly string[] {
  const names = new Set<string>();
  while (names.size < count)
    names.add(pick(random, BEGINNINGS) + pick(random, MIDDLES) + pick(random, endings));
  return [...names];
}

function town(name: string, random: Random): Place {
  const area = (30 + random.integer(4000) / 10).toFixed(1);
  const facts = {
    population: String(2000 + random.integer(900_000)),
    area: String(Number(area)),
    founded: String(900 + random.integer(1000)),
  };
  return { kind: "town", name, facts };
}

/** Named for its founder, so that only its document says where it stands. */
function museum(founder: string, town: string, random: Random): Place {
  const facts = {
    town,
    opened: String(1800 + random.integer(220)),
    visitors: String(1000 + random.integer(200_000)),
    price: String(2 + random.integer(60) / 4),
  };
  return { kind: "museum", name: `${founder} Museum of ${pick(random, THEMES)}`, facts };
}

/** With other places in it, so that not every hit is the right one. */
function describe(place: Place, towns: readonly Place[], random: Random): Document {
  const { name, kind, facts } = place;
  const other = random.pick(towns.filter((town) => town.name !== name)).name;
  const sentences =
    kind === "town"
      ? [
          `${name} is a town ${random.pick(LANDSCAPES)}, ${20 + random.integer(200)} km from ${other}.`,
          `It was founded in ${facts.founded} and today has ${facts.population} inhabitants.`,
          `Its territory covers ${facts.area} square kilometres.`,
        ]
      : [
          `The ${name} stands in ${facts.town} and was planned by an architect from ${other}.`,
          `It opened in ${facts.opened}; a ticket costs ${facts.price} crowns.`,
          `The museum had ${facts.visitors} visitors last year.`,
        ];
  return { id: name, title: name, text: sentences.join(" ") };
}
