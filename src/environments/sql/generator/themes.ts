/**
 * @file What generated databases are about: two tables each, of which the second belongs to the first.
 */

export interface Theme {
  readonly name: string;
  readonly owner: Subject;
  readonly owned: Subject;
}

/** One table. Its name is the noun with an s. */
export interface Subject {
  readonly noun: string;
  /** Its column of words, and those. */
  readonly word: readonly [column: string, words: readonly string[]];
  /** Its columns of numbers, with the smallest and largest. */
  readonly numbers: readonly (readonly [column: string, from: number, to: number])[];
}

/** The last two are only for tests: their words occur in no training question. */
export const THEMES: readonly Theme[] = [
  {
    name: "trade",
    owner: {
      noun: "town",
      word: ["region", ["north", "south", "coast", "hills"]],
      numbers: [["population", 900, 90_000]],
    },
    owned: {
      noun: "shop",
      word: ["trade", ["baker", "tailor", "smith", "grocer"]],
      numbers: [
        ["staff", 1, 60],
        ["founded", 1850, 2020],
      ],
    },
  },
  {
    name: "orchard",
    owner: {
      noun: "farm",
      word: ["soil", ["clay", "sand", "loam", "chalk"]],
      numbers: [["hectares", 2, 400]],
    },
    owned: {
      noun: "tree",
      word: ["fruit", ["apple", "pear", "plum", "cherry"]],
      numbers: [
        ["age", 1, 90],
        ["height", 2, 150],
      ],
    },
  },
  {
    name: "archive",
    owner: {
      noun: "author",
      word: ["country", ["Norway", "Chile", "Kenya", "Japan"]],
      numbers: [["born", 1900, 2000]],
    },
    owned: {
      noun: "book",
      word: ["genre", ["poetry", "history", "crime", "travel"]],
      numbers: [
        ["pages", 40, 1200],
        ["year", 1920, 2025],
      ],
    },
  },
  {
    name: "harbour",
    owner: {
      noun: "port",
      word: ["sea", ["Baltic", "Adriatic", "Aegean", "Tasman"]],
      numbers: [["berths", 2, 120]],
    },
    owned: {
      noun: "ship",
      word: ["flag", ["Malta", "Panama", "Greece", "Liberia"]],
      numbers: [
        ["tonnage", 300, 90_000],
        ["crew", 3, 80],
      ],
    },
  },
  {
    name: "clinic",
    owner: {
      noun: "doctor",
      word: ["field", ["eyes", "heart", "skin", "bones"]],
      numbers: [["experience", 1, 45]],
    },
    owned: {
      noun: "patient",
      word: ["insurer", ["Alba", "Corda", "Vita", "Solis"]],
      numbers: [
        ["age", 1, 99],
        ["visits", 1, 70],
      ],
    },
  },
  {
    name: "railway",
    owner: {
      noun: "line",
      word: ["gauge", ["narrow", "standard", "broad", "metre"]],
      numbers: [["length", 5, 900]],
    },
    owned: {
      noun: "station",
      word: ["zone", ["A", "B", "C", "D"]],
      numbers: [
        ["platforms", 1, 60],
        ["opened", 1840, 2020],
      ],
    },
  },
  {
    name: "museum",
    owner: {
      noun: "hall",
      word: ["floor", ["ground", "first", "second", "cellar"]],
      numbers: [["area", 40, 4000]],
    },
    owned: {
      noun: "painting",
      word: ["style", ["baroque", "cubist", "gothic", "modern"]],
      numbers: [
        ["width", 10, 400],
        ["painted", 1400, 2000],
      ],
    },
  },
  {
    name: "league",
    owner: {
      noun: "club",
      word: ["colour", ["red", "blue", "white", "green"]],
      numbers: [["members", 50, 90_000]],
    },
    owned: {
      noun: "player",
      word: ["position", ["keeper", "back", "winger", "striker"]],
      numbers: [
        ["goals", 0, 300],
        ["weight", 55, 120],
      ],
    },
  },
];

export const TEST_THEMES = 2;

const BEGINNINGS = [
  "Al",
  "Bre",
  "Cor",
  "Da",
  "El",
  "Fen",
  "Gar",
  "Hol",
  "Ist",
  "Jor",
  "Kel",
  "Lum",
  "Mar",
  "Nor",
  "Ost",
  "Pel",
];
const ENDINGS = [
  "dan",
  "gard",
  "holm",
  "la",
  "mere",
  "nia",
  "po",
  "ra",
  "sted",
  "tova",
  "ul",
  "vik",
  "win",
  "yra",
];

/** Names that all differ, by number. */
export function nameNumber(number: number): string {
  const [first, second] = [number % BEGINNINGS.length, Math.floor(number / BEGINNINGS.length)];
  return BEGINNINGS[first]! + ENDINGS[second % ENDINGS.length]!;
}

export const NAMES = BEGINNINGS.length * ENDINGS.length;
