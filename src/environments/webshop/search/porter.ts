/**
 * @file Porter's stemmer for English (M. F. Porter, "An algorithm for suffix stripping", 1980), with
 * the two changes of its author's later programs (-bli and -logi in step 2), as Lucene has it.
 */

/** [suffix, what takes its place], longest first where one ends in another. */
type Rules = readonly (readonly [string, string])[];

const STEP_2: Rules = [
  ["ational", "ate"],
  ["ization", "ize"],
  ["iveness", "ive"],
  ["fulness", "ful"],
  ["ousness", "ous"],
  ["tional", "tion"],
  ["biliti", "ble"],
  ["entli", "ent"],
  ["ousli", "ous"],
  ["ation", "ate"],
  ["alism", "al"],
  ["aliti", "al"],
  ["iviti", "ive"],
  ["enci", "ence"],
  ["anci", "ance"],
  ["izer", "ize"],
  ["alli", "al"],
  ["ator", "ate"],
  ["logi", "log"],
  ["bli", "ble"],
  ["eli", "e"],
];

const STEP_3: Rules = [
  ["icate", "ic"],
  ["ative", ""],
  ["alize", "al"],
  ["iciti", "ic"],
  ["ical", "ic"],
  ["ness", ""],
  ["ful", ""],
];

const STEP_4: Rules = [
  ...["ement", "ance", "ence", "able", "ible", "ment", "ant", "ent", "ion", "ism", "ate"],
  ...["iti", "ous", "ive", "ize", "al", "er", "ic", "ou"],
].map((suffix) => [suffix, ""] as const);

/** The stem of a lower-case word. Words of one or two letters are their own stems. */
export function porterStem(word: string): string {
  if (word.length <= 2) return word;
  let stem = step1(word);
  stem = applied(stem, STEP_2, 0);
  stem = applied(stem, STEP_3, 0);
  stem = applied(stem, STEP_4, 1);
  return step5(stem);
}

function step1(word: string): string {
  let stem = word;
  // 1a: plurals.
  if (stem.endsWith("sses") || stem.endsWith("ies")) stem = stem.slice(0, -2);
  else if (stem.endsWith("s") && !stem.endsWith("ss")) stem = stem.slice(0, -1);
  // 1b: -eed, -ed, -ing.
  if (stem.endsWith("eed")) {
    if (measure(stem.slice(0, -3)) > 0) stem = stem.slice(0, -1);
  } else {
    const suffix = ["ed", "ing"].find((suffix) => stem.endsWith(suffix));
    if (suffix && hasVowel(stem.slice(0, -suffix.length)))
      stem = mended(stem.slice(0, -suffix.length));
  }
  // 1c: -y after a vowel anywhere before it.
  if (stem.endsWith("y") && hasVowel(stem.slice(0, -1))) stem = `${stem.slice(0, -1)}i`;
  return stem;
}

/** What is left of a word without -ed or -ing gets back the e, or loses the double, that it had. */
function mended(stem: string): string {
  if (/(?:at|bl|iz)$/.test(stem)) return `${stem}e`;
  if (endsDouble(stem)) return /[lsz]$/.test(stem) ? stem : stem.slice(0, -1);
  return measure(stem) === 1 && endsShort(stem) ? `${stem}e` : stem;
}

/** Replaces the first suffix that fits, if what precedes it measures more than `least`. */
function applied(stem: string, rules: Rules, least: number): string {
  for (const [suffix, replacement] of rules) {
    if (!stem.endsWith(suffix)) continue;
    const rest = stem.slice(0, stem.length - suffix.length);
    if (suffix === "ion" && !/[st]$/.test(rest)) return stem;
    return measure(rest) > least ? rest + replacement : stem;
  }
  return stem;
}

function step5(word: string): string {
  let stem = word;
  if (stem.endsWith("e")) {
    const rest = stem.slice(0, -1);
    const size = measure(rest);
    if (size > 1 || (size === 1 && !endsShort(rest))) stem = rest;
  }
  return stem.endsWith("ll") && measure(stem) > 1 ? stem.slice(0, -1) : stem;
}

/** y is a vowel after a consonant. */
function isConsonant(word: string, at: number): boolean {
  switch (word[at]) {
    case "a":
    case "e":
    case "i":
    case "o":
    case "u":
      return false;
    case "y":
      return at === 0 || !isConsonant(word, at - 1);
    default:
      return true;
  }
}

/** How often a run of vowels is followed by a run of consonants: Porter's m. */
function measure(stem: string): number {
  let count = 0;
  let afterVowel = false;
  for (let i = 0; i < stem.length; i++) {
    const consonant = isConsonant(stem, i);
    if (consonant && afterVowel) count++;
    afterVowel = !consonant;
  }
  return count;
}

function hasVowel(stem: string): boolean {
  for (let i = 0; i < stem.length; i++) if (!isConsonant(stem, i)) return true;
  return false;
}

function endsDouble(stem: string): boolean {
  const { length } = stem;
  return length > 1 && stem[length - 1] === stem[length - 2] && isConsonant(stem, length - 1);
}

/** Consonant, vowel, consonant other than w, x and y: "hop", but not "show". */
function endsShort(stem: string): boolean {
  const last = stem.length - 1;
  return (
    last >= 2 &&
    isConsonant(stem, last) &&
    !isConsonant(stem, last - 1) &&
    isConsonant(stem, last - 2) &&
    !/[wxy]$/.test(stem)
  );
}
