/**
 * @file The style of the report's page, light and dark.
 */

export const PAGE_STYLE = `
:root {
  color-scheme: light dark;
  --back: #ffffff; --card: #f6f7f9; --text: #1c2128; --faint: #656d76; --line: #dde1e6;
  --good: #1a7f37; --bad: #c0392b; --agent: #eaf2fd;
  --curve-1: #2f74c9; --curve-2: #c95d08; --curve-3: #15835c;
  --curve-4: #b0438d; --curve-5: #7f6d14; --curve-6: #6a5bd6;
}
@media (prefers-color-scheme: dark) {
  :root {
    --back: #12151a; --card: #1b2027; --text: #e4e8ed; --faint: #99a2ad; --line: #313943;
    --good: #4cc26b; --bad: #f0796b; --agent: #1c2a3d;
    --curve-1: #5b9ef0; --curve-2: #f08b3c; --curve-3: #3cc08f;
    --curve-4: #e07cc0; --curve-5: #c9b23f; --curve-6: #9d90f5;
  }
}
* { box-sizing: border-box; }
body {
  margin: 0 auto; padding: 2rem 1.25rem 4rem; max-width: 76rem;
  background: var(--back); color: var(--text);
  font: 15px/1.5 system-ui, -apple-system, "Segoe UI", Roboto, sans-serif;
}
h1 { margin: 0; font-size: 1.7rem; line-height: 1.25; overflow-wrap: anywhere; }
h2 { margin: 2.25rem 0 0.75rem; font-size: 1.2rem; }
.subtitle { margin: 0.35rem 0 0; color: var(--faint); overflow-wrap: anywhere; }
.scroll { overflow-x: auto; }
table { border-collapse: collapse; font-variant-numeric: tabular-nums; }
th, td { padding: 0.4rem 1.5rem 0.4rem 0; text-align: left; border-bottom: 1px solid var(--line); }
th { color: var(--faint); font-weight: 500; white-space: nowrap; }
td.number { text-align: right; white-space: nowrap; }
th.number { text-align: right; }
.interval { color: var(--faint); font-size: 0.85em; margin-left: 0.4rem; }
@media (max-width: 44rem) {
  th, td { padding-right: 0.8rem; }
  .interval { display: block; margin: 0; }
}
.good { color: var(--good); } .bad { color: var(--bad); }
details { border-top: 1px solid var(--line); padding: 0.6rem 0; }
summary { cursor: pointer; font-weight: 600; overflow-wrap: anywhere; }
summary .count { color: var(--faint); font-weight: 400; margin-left: 0.4rem; }
.charts {
  display: grid; gap: 1rem; margin-top: 0.75rem;
  grid-template-columns: repeat(auto-fill, minmax(min(26rem, 100%), 1fr));
}
figure { margin: 0; padding: 0.75rem 0.75rem 0.5rem; background: var(--card); border-radius: 8px; min-width: 0; }
figcaption { font-weight: 600; font-size: 0.92rem; margin-bottom: 0.25rem; overflow-wrap: anywhere; }
.chart { min-height: 220px; }
.u-legend { font-size: 12px; text-align: left; color: var(--faint); }
.u-legend .u-marker { border-radius: 2px; }
.u-legend th, .u-legend td { border: 0; padding: 0 0.2rem; white-space: normal; overflow-wrap: anywhere; }
.u-select { background: color-mix(in srgb, var(--text) 10%, transparent); }
.u-cursor-x { border-color: var(--faint) !important; }
.control { display: inline-flex; align-items: center; gap: 0.6rem; color: var(--faint); font-size: 0.9rem; }
.turn { margin: 0.75rem 0; }
.who { color: var(--faint); font-size: 0.8rem; }
pre {
  margin: 0.15rem 0 0; padding: 0.6rem 0.8rem; background: var(--card); border-radius: 6px;
  white-space: pre-wrap; overflow-wrap: anywhere;
  font: 13px/1.5 ui-monospace, "SF Mono", Menlo, Consolas, monospace;
}
.agent pre { background: var(--agent); }
`;
