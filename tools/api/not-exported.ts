/**
 * @file Types that something exported mentions, and that are not exported themselves. A new one is an error:
 * export it from its room's index.ts, or say here why not.
 */

export const NOT_EXPORTED: string[] = [
  // Tables from which an exported type is made.
  "src/models/config/presets.ts:PRESETS",
  "src/torch/tensor/network.ts:REDUCTIONS",
  // How it is done inside.
  "src/torch/tensor/core.ts:TensorCore",
  "src/torch/distributed/rendezvous.ts:Environment",
  "src/models/checkpoint/json.ts:JsonObject",
  "src/models/tokenizer/control-tokens.ts:ControlTokens",
  "src/environments/tools/fetch/request.ts:FetchLimits",
  "src/environments/tools/mcp/client.ts:McpLimits",
  "src/environments/tools/search/corpus.ts:Document",
];
