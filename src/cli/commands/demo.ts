/**
 * @file `openmanus-rl demo`: a network learns to tell two spirals apart, in a few seconds.
 *
 * Also the shortest complete example of the torch room: data, parameters, a forward function, a
 * loss, an optimiser with a schedule, and tidy around every step.
 */
import * as torch from "../../torch/index.ts";
import { options } from "../arguments/usage.ts";
import type { Command } from "../main.ts";
import { print } from "../support/print.ts";

const POINTS = 400;
const HIDDEN = 64;
const STEPS = 600;

/** Two interleaved spirals: points [2 · POINTS, 2] and labels [2 · POINTS, 1]. */
function spirals(generator: torch.Generator): { points: torch.Tensor; labels: torch.Tensor } {
  return torch.tidy(() => {
    const radius = torch.rand([POINTS, 1], generator).sqrt();
    const angle = radius.mul(2.5 * Math.PI);
    const arm = torch.cat([radius.mul(angle.cos()), radius.mul(angle.sin())], 1);
    const noise = torch.randn([2 * POINTS, 2], generator).mul(0.015);
    const labels = torch.cat([torch.zeros([POINTS, 1]), torch.ones([POINTS, 1])]);
    return { points: torch.cat([arm, arm.neg()]).add(noise), labels };
  });
}

function newNetwork(generator: torch.Generator): torch.Parameters {
  const layer = (inputs: number, outputs: number) => ({
    weight: torch.randn([outputs, inputs], generator).mul(Math.sqrt(2 / inputs)),
    bias: torch.zeros([outputs]),
  });
  const tree = { first: layer(2, HIDDEN), second: layer(HIDDEN, HIDDEN), last: layer(HIDDEN, 1) };
  return torch.asParameters(torch.namedParameters(tree));
}

/** Points [n, 2] to logits [n, 1]. */
function forward(parameters: torch.Parameters, points: torch.Tensor): torch.Tensor {
  const linear = (x: torch.Tensor, name: string) =>
    x.linear(parameters.get(`${name}.weight`)!, parameters.get(`${name}.bias`)!);
  const first = linear(points.mul(4), "first").silu();
  return linear(linear(first, "second").silu(), "last");
}

/** Binary cross-entropy from logits: softplus(z) − y z. */
function lossOf(logits: torch.Tensor, labels: torch.Tensor): torch.Tensor {
  return logits.softplus().sub(labels.mul(logits)).mean();
}

function picture(
  parameters: torch.Parameters,
  { points, labels }: ReturnType<typeof spirals>,
): string {
  const [width, height] = [66, 27];
  const cells = Array.from({ length: height }, (_, row) =>
    Array.from({ length: width }, (_, column) => [
      ((column + 0.5) / width) * 2.4 - 1.2,
      1.2 - ((row + 0.5) / height) * 2.4,
    ]),
  );
  const side = torch.noGrad(() => forward(parameters, torch.tensor(cells)).gt(0).toArray());
  const canvas: string[][] = (side as boolean[][][]).map((row) =>
    row.map(([one]) => (one ? "·" : " ")),
  );
  const [places, marks] = [points.toArray() as number[][], labels.toNumbers()];
  for (const [i, [x, y]] of places.entries()) {
    const row = Math.floor(((1.2 - y!) / 2.4) * height);
    const column = Math.floor(((x! + 1.2) / 2.4) * width);
    if (canvas[row]?.[column] !== undefined) canvas[row]![column] = marks[i] ? "●" : "○";
  }
  return canvas.map((row) => row.join("")).join("\n");
}

export const demo: Command = {
  help: [
    "Usage: openmanus-rl demo [--seed N]",
    "",
    "Trains a small network on two spirals and draws what it learned. The source, src/cli/commands/demo.ts,",
    "shows how a network is written and trained here.",
    "",
    "Example: openmanus-rl demo --seed 7",
  ].join("\n"),
  run(words) {
    const { seed } = options(words, { seed: { type: "string", default: "1" } });
    const data = spirals(torch.derivedGenerator(Number(seed), "data"));
    const parameters = newNetwork(torch.derivedGenerator(Number(seed), "network"));
    const optimizer = torch.adamw(parameters, { lr: 1e-2, weightDecay: 1e-3 });
    const factor = torch.schedule({ kind: "cosine", warmupSteps: 20, totalSteps: STEPS });
    print(`${torch.parameterCount(parameters)} parameters learn to tell two spirals apart:`);
    const start = performance.now();
    const tensorsBefore = torch.memory().tensors;
    for (let step = 0; step < STEPS; step++) {
      torch.tidy(() => {
        const logits = forward(parameters, data.points);
        const loss = lossOf(logits, data.labels);
        loss.backward();
        const norm = torch.clipGradients(parameters, 1);
        for (const group of optimizer.groups) group.lr = 1e-2 * factor(step + 1);
        optimizer.step();
        optimizer.clearGradients();
        if ((step + 1) % 100 !== 0) return;
        const right = logits.gt(0).eq(data.labels.gt(0.5)).to("float32").mean().item();
        print(
          `step ${String(step + 1).padStart(4)}   loss ${loss.item().toFixed(4)}   ` +
            `right ${(100 * right).toFixed(1).padStart(5)} %   gradient norm ${norm.toFixed(3)}`,
        );
      });
    }
    const seconds = (performance.now() - start) / 1000;
    const leaked = torch.memory().tensors - tensorsBefore;
    print(torch.tidy(() => picture(parameters, data)));
    print(
      `${STEPS} steps in ${seconds.toFixed(2)} s (${((seconds / STEPS) * 1000).toFixed(2)} ms each), ` +
        `${leaked} tensors left behind.`,
    );
    return 0;
  },
};
