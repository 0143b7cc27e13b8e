"use strict";
// The overview of a study: both plots are drawn from the columns in the page.
(() => {
  const data = JSON.parse(document.getElementById("data").textContent);
  const names = Object.keys(data.columns);
  const byId = (id) => document.getElementById(id);
  const css = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
  const label = (name) => data.labels[name].replaceAll("<", "&lt;");
  const finite = (values) => values.filter((x) => x !== null);
  const layout = () => ({ paper_bgcolor: "rgba(0,0,0,0)", plot_bgcolor: "rgba(0,0,0,0)",
    font: { color: css("--ink"), family: getComputedStyle(document.body).fontFamily, size: 12 },
    margin: { l: 70, r: 40, t: 50, b: 50 } });
  const config = { responsive: true, displaylogo: false };

  function choose(id, chosen) {
    names.forEach((name) => byId(id).add(new Option(data.labels[name], name, false, name === chosen)));
  }

  function short(text) { return text.length > 24 ? `…${text.slice(-23)}` : text; }

  function parallel() {
    // a line needs all its values
    const varying = names.filter((n) => n !== "run" && new Set(finite(data.columns[n])).size > 1).slice(0, 14);
    const whole = data.status.map((_, i) => i).filter((i) => varying.every((n) => data.columns[n][i] !== null));
    const color = byId("color").value;
    const pick = (name) => whole.map((i) => data.columns[name][i]);
    Plotly.react("parallel", [{ type: "parcoords",
      line: { color: pick(color).map((x) => (x === null ? 0 : x)), colorscale: "Viridis", showscale: true,
        colorbar: { title: { text: short(label(color)) } } },
      dimensions: varying.map((n) => ({ label: short(label(n)), values: pick(n) })) }], layout(), config);
  }

  function scatter() {
    const x = byId("x").value, y = byId("y").value;
    const statuses = [...new Set(data.status)].sort((a, b) => (b === "done") - (a === "done") || a.localeCompare(b));
    const traces = statuses.map((word) => {
      const rows = data.status.map((s, i) => i).filter((i) => data.status[i] === word);
      return { type: "scattergl", mode: "markers", name: word, marker: { size: 5, opacity: 0.7 },
        x: rows.map((i) => data.columns[x][i]), y: rows.map((i) => data.columns[y][i]),
        text: rows.map((i) => `run ${data.columns.run[i]}`), hovertemplate: "%{text}<br>%{x:.6g}, %{y:.6g}" };
    });
    const axis = (name, log) => ({ title: { text: label(name) }, type: log ? "log" : "linear",
      gridcolor: css("--line"), zerolinecolor: css("--line") });
    Plotly.react("scatter", traces, { ...layout(), showlegend: statuses.length > 1,
      xaxis: axis(x, byId("logx").checked), yaxis: axis(y, byId("logy").checked) }, config);
  }

  const last = names.filter((n) => n !== "run" && !data.parameters.includes(n)).at(0) || names.at(-1);
  choose("x", data.parameters[0] || names[0]);
  choose("y", last);
  choose("color", last);
  byId("color").addEventListener("change", parallel);
  for (const id of ["x", "y", "logx", "logy"]) byId(id).addEventListener("change", scatter);
  const draw = () => { parallel(); scatter(); };
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", draw);
  draw();
})();
