/**
 * @file The door of process groups: several processes that train together.
 */
export { type FailureReason, ProcessGroupError } from "./errors.ts";
export {
  type Backend,
  defaultBackend,
  type GroupReduction,
  initializeProcessGroup,
  ProcessGroup,
  type ProcessGroupOptions,
} from "./group.ts";
export {
  LaunchError,
  type LaunchOptions,
  launch,
  type OutputLine,
  type RankResult,
} from "./launch.ts";
export { firstHost } from "./launchers.ts";
export {
  networkTraffic,
  type PendingStatistics,
  PendingTensor,
  pendingStatistics,
} from "./pending.ts";
export { findRendezvous, type Rendezvous } from "./rendezvous.ts";
