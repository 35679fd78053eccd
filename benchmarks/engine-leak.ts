/**
 * @file Whether training leaks: a small network, many steps, tensors and resident memory before and
 * after.
 */
import * as torch from "../src/torch/index.ts";

export function leakOver(steps: number): { steps: number; tensors: number; residentBytes: number } {
  return torch.tidy(() => {
    const generator = new torch.Generator(1);
    const x = torch.randn([64, 16], generator);
    const y = torch.randn([64, 4], generator);
    const parameters = torch.asParameters(
      torch.namedParameters({
        first: torch.randn([32, 16], generator).mul(0.2),
        second: torch.randn([4, 32], generator).mul(0.2),
      }),
    );
    const optimizer = torch.adamw(parameters);
    const train = (count: number) => {
      for (let i = 0; i < count; i++)
        torch.tidy(() => {
          const hidden = x.linear(parameters.get("first")!).tanh();
          hidden.linear(parameters.get("second")!).meanSquaredError(y).backward();
          torch.clipGradients(parameters, 1);
          optimizer.step();
          optimizer.clearGradients();
        });
    };
    train(1000);
    const [tensors, resident] = [torch.memory().tensors, process.memoryUsage.rss()];
    train(steps);
    const figures = {
      steps,
      tensors: torch.memory().tensors - tensors,
      residentBytes: process.memoryUsage.rss() - resident,
    };
    optimizer.dispose();
    torch.dispose(parameters);
    return figures;
  });
}
