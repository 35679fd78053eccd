/**
 * @file What models and pages say, and what tokenizers and templates are made of.
 */
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { FORMAT_NAMES, replyFormat } from "../../../src/agents/index.ts";
import { readAction } from "../../../src/environments/tools/action.ts";
import { calculatorTool } from "../../../src/environments/tools/calculator/tool.ts";
import { CalculationError } from "../../../src/environments/tools/calculator/work.ts";
import { pageText } from "../../../src/environments/tools/fetch/page-text.ts";
import { GatewayError } from "../../../src/gateway/index.ts";
import { schemaGrammar } from "../../../src/gateway/constrain/json.ts";
import { Machine } from "../../../src/gateway/constrain/grammar.ts";
import {
  CHAT_TEMPLATE,
  compileTemplate,
  loadTokenizer,
  ModelFileError,
  trainTokenizer,
  writeTokenizer,
} from "../../../src/models/index.ts";
import { type Target, texts, values, Violation } from "../target.ts";

const PROBE = "It's 12 o'clock, naïve 漢字 👩‍🚀 <|im_end|>  \n";

const tokenizer: Target = {
  name: "tokenizer",
  words: [
    ...["BPE", "WordPiece", "Unigram", "WordLevel", "ByteLevel", "Sequence", "Split", "Replace"],
    ...["Regex", "String", "Metaspace", "ByteFallback", "Fuse", "NFC", "Lowercase", "Prepend"],
    ...["Strip", "Digits", "BertPreTokenizer", "TemplateProcessing", "unk_token", "content"],
  ],
  errors: [ModelFileError],
  forms() {
    const folder = mkdtempSync(join(tmpdir(), "fuzz-tokenizer-"));
    try {
      const made = join(folder, "made");
      mkdirSync(made);
      writeTokenizer(made, trainTokenizer(["go to the desk. go on."], { vocabularySize: 264 }));
      const own = JSON.parse(readFileSync(join(made, "tokenizer.json"), "utf8")) as object;
      return [values([own, WORD_PIECE, UNIGRAM, FALLBACK])];
    } finally {
      rmSync(folder, { recursive: true, force: true });
    }
  },
  open(folder) {
    writeFileSync(join(folder, "tokenizer_config.json"), '{"eos_token": "<|im_end|>"}');
    return {
      run(given) {
        writeFileSync(join(folder, "tokenizer.json"), given);
        const made = loadTokenizer(folder);
        made.decode(made.encode(PROBE));
        made.encodePlain(PROBE);
        void made.fingerprint;
      },
    };
  },
};

const added = (id: number, content: string) => ({
  ...{ id, content, single_word: false, lstrip: false, rstrip: false, normalized: false },
  special: true,
});
const WORD_PIECE = {
  version: "1.0",
  added_tokens: [added(0, "[UNK]")],
  normalizer: { type: "BertNormalizer", lowercase: true, clean_text: true },
  pre_tokenizer: { type: "BertPreTokenizer" },
  post_processor: null,
  decoder: { type: "WordPiece", prefix: "##", cleanup: true },
  model: {
    ...{ type: "WordPiece", unk_token: "[UNK]", continuing_subword_prefix: "##" },
    ...{ max_input_chars_per_word: 100, vocab: { "[UNK]": 0, it: 1, "##s": 2, "12": 3 } },
  },
};
const UNIGRAM = {
  version: "1.0",
  added_tokens: [],
  normalizer: { type: "Sequence", normalizers: [{ type: "NFKC" }, { type: "Lowercase" }] },
  pre_tokenizer: { type: "Metaspace", replacement: "▁", prepend_scheme: "always", split: true },
  post_processor: null,
  decoder: { type: "Metaspace", replacement: "▁", prepend_scheme: "always", split: true },
  model: {
    type: "Unigram",
    unk_id: 0,
    vocab: [
      ["<unk>", 0],
      ["▁it", -1],
      ["s", -2],
      ["▁", -3],
    ],
  },
};
const FALLBACK = {
  version: "1.0",
  added_tokens: [added(0, "<unk>")],
  normalizer: { type: "Replace", pattern: { String: " " }, content: "▁" },
  pre_tokenizer: { type: "Split", pattern: { Regex: "\\s+" }, behavior: "Isolated", invert: false },
  post_processor: {
    type: "TemplateProcessing",
    single: [{ Sequence: { id: "A", type_id: 0 } }],
    pair: [],
    special_tokens: {},
  },
  decoder: {
    type: "Sequence",
    decoders: [
      { type: "Replace", pattern: { String: "▁" }, content: " " },
      { type: "ByteFallback" },
      { type: "Fuse" },
    ],
  },
  model: {
    ...{ type: "BPE", unk_token: "<unk>", byte_fallback: true, fuse_unk: true },
    ...{ vocab: { "<unk>": 0, "<0x41>": 1, "▁": 2, i: 3, t: 4, it: 5 }, merges: [["i", "t"]] },
  },
};

const MESSAGES = [
  { role: "system", content: "Be brief." },
  { role: "user", content: "It is red.", name: "x" },
  { role: "assistant", content: "go", tool_calls: [{ function: { name: "f", arguments: {} } }] },
] as const;

const template: Target = {
  name: "template",
  words: [
    ...["{{ ", " }}", "{% ", " %}", "for m in messages", "endfor", "if ", "endif", "else", "elif "],
    ...[
      "set x = ",
      "macro f(a)",
      "endmacro",
      "|tojson",
      "|length",
      "|trim",
      "|join(',')",
      "range(",
    ],
    ...["loop.index0", "namespace(", "messages[0]['content']", "raise_exception('x')", "~", " is "],
    ...["defined", "none", "true", "not ", " in ", "|map(attribute='role')", "|selectattr('role')"],
    ...[
      "strftime_now('%d')",
      "**",
      " * 99999",
      ".replace('a','b')",
      ".split('')",
      "|list",
      "|items",
    ],
    ...["|indent(4)", "|reject('x')", "|sort", "|unique", "|default('')", "{# #}", "x.x", "[::-1]"],
  ],
  errors: [ModelFileError],
  forms: () => [
    texts(
      CHAT_TEMPLATE,
      "{% for m in messages %}{{ m.role ~ ': ' ~ m.content | trim }}\n{% endfor %}",
      "{% set ns = namespace(n=0) %}{% for i in range(4) %}{% set ns.n = ns.n + i %}{% endfor %}{{ ns.n }}",
      "{% macro f(a, b=2) %}{{ a * b }}{% endmacro %}{{ f(3) }}{{ messages | map(attribute='role') | list | tojson }}",
      "{% if messages[0]['role'] == 'system' and tools is not none %}{{ tools | length }}{% endif %}{{ 'a,b'.split(',')[::-1] }}",
    ),
  ],
  open: () => ({
    run(given) {
      const compiled = compileTemplate(given.toString());
      const text = compiled.render(MESSAGES, { tools: [{ name: "f" }], addGenerationPrompt: true });
      if (typeof text !== "string") throw new Violation(`rendered a ${typeof text}`);
    },
  }),
};

const page: Target = {
  name: "page",
  words: [
    "<p>",
    "</p>",
    "<script>",
    "</script>",
    "<!--",
    "-->",
    "&amp;",
    "&#x41;",
    "<td",
    "<title>",
  ],
  errors: [],
  forms: () => [
    texts(
      "<html><head><title>A page</title><style>p { }</style></head><body><p>One &amp; two<br>three</body>",
      "<table><tr><td>1<td>2</table><!-- x --><script>if (a < b) { }</script>&#128640; &bogus;",
    ),
  ],
  open: () => ({
    run(given) {
      pageText(given.toString());
    },
  }),
};

const situation = { turn: 2, admissible: ["go to desk 1", "look"] };

const replies: Target = {
  name: "replies",
  words: [
    ...["<think>", "</think>", "<action>", "</action>", "<tool_call>", "</tool_call>", "Action:"],
    ...[
      "Thought:",
      '{"name": "act", "arguments": {"action": "go"}}',
      "<memory>",
      "<|im_end|>",
      "```",
    ],
  ],
  errors: [CalculationError],
  forms: () => [
    texts(
      "<think>I go.</think><action>go to desk 1</action>",
      "Thought: I look.\nAction: look",
      '<tool_call>{"name": "act", "arguments": {"action": "look"}}</tool_call>',
      '{"name": "calculator", "arguments": {"expression": "2 * (3 + 4!) ^ 0.5"}}',
    ),
  ],
  open() {
    const formats = FORMAT_NAMES.map(replyFormat);
    const calculator = calculatorTool();
    return {
      async run(given) {
        const text = given.toString();
        for (const format of formats) format.parse(text, situation as never);
        readAction(text);
        await calculator.execute({ expression: text });
      },
    };
  },
};

const SCHEMA = {
  type: "object",
  properties: {
    city: { type: "string", enum: ["Bern", "Rome"] },
    days: { type: "array", items: { type: "integer", minimum: 1 }, minItems: 1, maxItems: 3 },
    more: { anyOf: [{ type: "null" }, { $ref: "#/$defs/more" }] },
  },
  required: ["city"],
  additionalProperties: false,
  $defs: { more: { type: "object", properties: { more: { $ref: "#/$defs/more" } } } },
};

const calls: Target = {
  name: "calls",
  words: [
    ...[
      "type",
      "object",
      "array",
      "string",
      "integer",
      "number",
      "null",
      "boolean",
      "enum",
      "const",
    ],
    ...[
      "anyOf",
      "oneOf",
      "allOf",
      "$ref",
      "#/$defs/more",
      "#",
      "pattern",
      "minLength",
      "maxLength",
    ],
  ],
  errors: [GatewayError],
  forms: () => [values([SCHEMA, { type: ["string", "null"] }, { const: { a: [1, null] } }, true])],
  open: () => ({
    run(given) {
      const machine = new Machine(schemaGrammar(JSON.parse(given.toString()), "schema"));
      let state = machine.start;
      for (const byte of Buffer.from('{"city":"Bern","days":[1,2]}')) {
        const next = machine.step(state, byte);
        if (!next) break;
        state = next;
      }
    },
  }),
};

export const targets: readonly Target[] = [tokenizer, template, page, replies, calls];
