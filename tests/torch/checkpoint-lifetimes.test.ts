/**
 * @file Checkpointed segments leave no tensors behind, with or without a backward.
 */
import { describe, expect, it } from "vitest";
import { checkpoint, dispose, memory, type Tensor, tidy } from "../../src/torch/index.ts";
import { native } from "../../src/torch/native.ts";
import { collectUntil } from "./support/garbage.ts";
import { expectNoTensorsLeft, layer, leaves } from "./support/segments.ts";

expectNoTensorsLeft();

describe("lifetimes", () => {
  it("forward without backward leaves nothing after tidy", () => {
    const [x, w] = tidy(() => leaves(2)) as [Tensor, Tensor];
    const start = native.liveTensors();
    tidy(() => void checkpoint(layer(w), [checkpoint(layer(w), [x])]).sum());
    expect(native.liveTensors()).toBe(start);
    dispose([x, w]);
  });

  it("nor after dispose", () => {
    const [x, w] = tidy(() => leaves(2)) as [Tensor, Tensor];
    const start = native.liveTensors();
    const h = checkpoint(layer(w), [x]);
    const loss = h.sum();
    dispose([h, loss]);
    expect(native.liveTensors()).toBe(start);
    dispose([x, w]);
  });

  it("nor when everything is forgotten", async () => {
    const [x, w] = tidy(() => leaves(2)) as [Tensor, Tensor];
    const start = memory();
    (() => checkpoint(layer(w), [checkpoint(layer(w), [x])]).sum())();
    expect(await collectUntil(() => memory().tensors === start.tensors)).toBe(true);
    dispose([x, w]);
  });

  it("backward outside any tidy leaves nothing but gradients", () => {
    const [x, w] = tidy(() => leaves(2)) as [Tensor, Tensor];
    const start = memory();
    const h = checkpoint(layer(w), [x]);
    const loss = h.sum();
    loss.backward();
    dispose([h, loss]);
    expect(memory()).toEqual(start);
    dispose([x, w]);
  });

  it("a hundred training steps leave nothing", () => {
    const [x, a, b] = tidy(() => leaves(3)) as [Tensor, Tensor, Tensor];
    const step = () =>
      tidy(() => {
        checkpoint(layer(b), [tidy(() => checkpoint(layer(a), [x]).mul(2))])
          .sum()
          .backward();
        for (const leaf of [x, a, b]) leaf.grad = null;
      });
    step();
    const start = memory();
    for (let i = 0; i < 100; i++) step();
    expect(memory()).toEqual(start);
    dispose([x, a, b]);
  });
});
