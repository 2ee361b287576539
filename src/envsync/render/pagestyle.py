"""The frame of the HTML report: style, script, and where the content goes (string.Template)."""

from __future__ import annotations

PAGE = """\
<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy"
 content="default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'">
<title>$title</title>
<style>
:root { color-scheme: light dark; --back: #fff; --text: #1b1f24; --dim: #59636e;
 --line: #d5dbe1; --head: #f3f5f7; --good: #11632d; --bad: #b3141d; --warn: #7a4d00;
 --odd: #fdebc8; }
@media (prefers-color-scheme: dark) { :root { --back: #0f1318; --text: #e4e9ee; --dim: #98a3ae;
 --line: #303841; --head: #1a2027; --good: #5cc97c; --bad: #ff7d78; --warn: #e5b04a;
 --odd: #4a3a12; } }
* { box-sizing: border-box; }
body { margin: 0 auto; padding: 1.5rem; background: var(--back); color: var(--text);
 font: 15px/1.45 system-ui, sans-serif; }
h1 { margin: 0; font-size: 1.5rem; border-left: .4rem solid var(--good); padding-left: .7rem; }
h1.bad { border-color: var(--bad); }
h2 { font-size: 1.1rem; margin: 2rem 0 .6rem; }
p { color: var(--dim); margin: .3rem 0 1rem; }
.bar { display: flex; flex-wrap: wrap; gap: .5rem; align-items: center; margin: .8rem 0; }
input, button { font: inherit; color: inherit; background: var(--head);
 border: 1px solid var(--line); border-radius: .4rem; padding: .35rem .7rem; }
input { flex: 1 1 16rem; max-width: 30rem; }
button { cursor: pointer; }
button[aria-pressed=true] { outline: 2px solid currentColor; }
.scroll { overflow: auto; max-height: 75vh; border: 1px solid var(--line);
 border-radius: .4rem; }
table { border-collapse: separate; border-spacing: 0; width: 100%; }
th, td { text-align: left; vertical-align: top; padding: .3rem .7rem;
 border-bottom: 1px solid var(--line); white-space: nowrap; }
thead th { position: sticky; top: 0; background: var(--head); z-index: 2; }
tbody th { font-weight: 600; }
.matrix tbody th { position: sticky; left: 0; background: var(--back); z-index: 1; }
td.odd { background: var(--odd); font-weight: 600; }
.said td { padding-left: 2rem; white-space: normal; color: var(--dim); }
.said ul, .said summary { position: sticky; left: 2rem; width: fit-content;
 max-width: min(75rem, 85vw); }
summary { cursor: pointer; }
ul { margin: 0; padding-left: 1.1rem; }
li.error b, summary.error b, .failed, .drifted, .unfit { color: var(--bad); }
li.warning b, summary.warning b, .warned { color: var(--warn); }
.in-sync { color: var(--good); }
.mark { font-weight: 600; }
.all td { white-space: normal; overflow-wrap: anywhere; }
code { font: .92em ui-monospace, monospace; }
[hidden] { display: none; }
@media print { .scroll { max-height: none; overflow: visible; } .bar { display: none; } }
</style>
</head>
<body>
<h1 class="$verdict">envsync verify: $name</h1>
<p>$about</p>
<div class="bar">$counts
<input id="find" type="search" placeholder="Filter nodes: name, result, value, finding"
 aria-label="Filter nodes">
<span id="shown" aria-live="polite"></span></div>
<div class="scroll"><table class="matrix" id="nodes">
$matrix</table></div>
$checks
<h2>What differs between the nodes</h2>
<div class="scroll all">$differences</div>
<script>
"use strict";
const nodes = Array.from(document.querySelectorAll("#nodes tr.node"), row => {
  const next = row.nextElementSibling;
  const said = next && next.className === "said" ? next : null;
  return {row, said, text: (row.textContent + (said ? said.textContent : "")).toLowerCase()};
});
const find = document.getElementById("find");
const buttons = Array.from(document.querySelectorAll("button[data-find]"));
let state = "";
function show() {
  const words = find.value.toLowerCase().split(/\\s+/).filter(Boolean);
  let count = 0;
  for (const {row, said, text} of nodes) {
    const seen = (!state || row.dataset.state === state) && words.every(w => text.includes(w));
    row.hidden = !seen;
    if (said) said.hidden = !seen;
    count += seen;
  }
  document.getElementById("shown").textContent = count + " of " + nodes.length + " shown";
}
function follow() {  // verify.html#gpu07: a link to some of the nodes
  try { find.value = decodeURIComponent(location.hash.slice(1)); } catch { return; }
  show();
}
find.addEventListener("input", show);
addEventListener("hashchange", follow);
addEventListener("beforeprint", () => {
  for (const each of document.querySelectorAll("details")) each.open = true;
});
for (const button of buttons) button.addEventListener("click", () => {
  state = state === button.dataset.find ? "" : button.dataset.find;
  for (const each of buttons) {
    each.setAttribute("aria-pressed", String(each.dataset.find === state));
  }
  show();
});
show();
if (location.hash) follow();
</script>
</body>
</html>
"""
