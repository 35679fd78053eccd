/**
 * @file The door of the training room: the trainer, its workers, SFT, checkpoints.
 */
export { checkpointFolder, checkpointSteps, type RunState } from "./checkpoint/checkpoint.ts";
export { CheckpointError } from "./checkpoint/files.ts";
export { type FitOptions, type FitResult, fit } from "./fit.ts";
export { joinRanks, type Ranks } from "./ranks.ts";
export { writeRunReport } from "./report.ts";
export { runPath } from "./run-folder.ts";
export {
  type Example,
  exampleOfChat,
  examplesOf,
  examplesOfEverything,
  readExamples,
} from "./sft/examples.ts";
export { type ExpertOptions, expertEpisodes, worldTexts } from "./sft/experts.ts";
export {
  fineTune,
  meanLoss,
  type SftOptions,
  type SftProgress,
  type SftResult,
} from "./sft/sft.ts";
export { taskOrder } from "./task-order.ts";
export { type TrainOptions, type TrainResult, train } from "./train.ts";
export { type Validation, validate } from "./validate.ts";
export { createWorkers } from "./workers.ts";
