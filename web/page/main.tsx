/**
 * @file The dashboard's page: which view is shown, and what is around it.
 */
import "uplot/dist/uPlot.min.css";
import "./style.css";
import { render } from "preact";
import { isReport } from "./api.ts";
import { linkTo, useRoute } from "./route.ts";
import { CompareView } from "./views/compare.tsx";
import { EpisodeView } from "./views/episode.tsx";
import { EpisodesView } from "./views/episodes.tsx";
import { GroupView } from "./views/group.tsx";
import { LiveView } from "./views/live.tsx";
import { PlayView } from "./views/play.tsx";
import { RunView } from "./views/run.tsx";
import { RunsView } from "./views/runs.tsx";
import { TaskView } from "./views/task.tsx";

function Page() {
  const { parts, query } = useRoute();
  return (
    <>
      <header class="top">
        <a class="name" href={linkTo([])}>
          openmanus-rl
        </a>
        <span class="faint">{isReport ? "the report of a run" : "runs of this machine"}</span>
      </header>
      <main>{viewOf(parts, query)}</main>
    </>
  );
}

function viewOf(parts: readonly string[], query: URLSearchParams) {
  const [first, run, part, name] = parts;
  if (isReport && parts.length === 0) return <RunView id="report" />;
  if (first === "compare") return <CompareView ids={(query.get("runs") ?? "").split(",")} />;
  if (first !== "run" || run === undefined) return <RunsView />;
  if (part === "episodes") return <EpisodesView run={run} query={query} />;
  if (part === "episode" && name !== undefined)
    return <EpisodeView run={run} id={name} kind={query.get("kind") ?? "training"} />;
  if (part === "task" && name !== undefined)
    return <TaskView run={run} task={name} kind={query.get("kind") ?? "training"} />;
  if (part === "play" && !isReport) return <PlayView run={run} key={run} />;
  if (part === "live" && !isReport) return <LiveView run={run} />;
  if (part === "group" && name !== undefined) return <GroupView run={run} group={name} />;
  return <RunView id={run} />;
}

render(<Page />, document.getElementById("page")!);
