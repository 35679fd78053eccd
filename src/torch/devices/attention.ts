/**
 * @file Attention over packed sequences where our own kernel does not run: libtorch's flash or memory-efficient
 * operators for sequences of different lengths, where the device has them and they give what they should; else a
 * part at a time.
 */
import type { AttentionOptions } from "../fused.ts";
import type { Tensor } from "../tensor/tensor.ts";
import { chunkedAttention } from "./chunked.ts";
import { isTrusted } from "./probe.ts";
import { VARIABLE_LENGTH, type VariableLength } from "./variable-length.ts";

function operatorFor(
  query: Tensor,
  key: Tensor,
  options: AttentionOptions,
): VariableLength | undefined {
  return VARIABLE_LENGTH.find(
    (operator) => operator.suits(query, options) && isTrusted(operator, query, key, options),
  );
}

/** By whose name attention of such tensors is computed, where it is not the CPU. */
export function attentionOperator(
  query: Tensor,
  key: Tensor,
  options: AttentionOptions = {},
): string {
  return operatorFor(query, key, options)?.name ?? "openmanus::chunked_attention";
}

/** As `attention` in fused.ts. */
export function attentionElsewhere(
  query: Tensor,
  key: Tensor,
  value: Tensor,
  cumulativeLengths: Tensor,
  options: AttentionOptions = {},
): Tensor {
  const operator = operatorFor(query, key, options);
  return operator
    ? operator.attend(query, key, value, cumulativeLengths, options)
    : chunkedAttention(query, key, value, cumulativeLengths, options);
}
