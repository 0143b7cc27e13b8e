"use strict";
// The overview of a study: both plots are drawn from the columns in the page.
(() => {
  const data = JSON.parse(document.getElementById("data").textContent).study;
  const names = Object.keys(data.columns);
  const byId = (id) => document.getElementById(id);
  const css = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
  const label = (name) => data.labels[name].replaceAll("<", "&lt;");
  const short = (text) => (text.length > 24 ? `…${text.slice(-23)}` : text);
  const layout = (height) => ({ height, paper_bgcolor: "rgba(0,0,0,0)", plot_bgcolor: "rgba(0,0,0,0)",
    font: { color: css("--ink"), family: getComputedStyle(document.body).fontFamily, size: 12 },
    margin: { l: 70, r: 40, t: 50, b: 50 } });
  const config = { responsive: true, displaylogo: false };

  function choose(id, chosen) {
    names.forEach((name) => byId(id).add(new Option(data.labels[name], name, false, name === chosen)));
  }

  function parallel() {
    const differs = (n) => new Set(data.columns[n].filter((x) => x !== null)).size > 1;
    const axes = names.filter((n) => n !== "run" && differs(n)).slice(0, 14), color = byId("color").value;
    // a line needs all its values
    const whole = data.status.map((_, i) => i).filter((i) => [...axes, color].every((n) => data.columns[n][i] !== null));
    const pick = (n) => ({ name: n, label: short(data.labels[n]), values: whole.map((i) => data.columns[n][i]) });
    // the dark end of the scale would not be seen on dark paper
    const dark = document.documentElement.dataset.theme === "dark";
    const scale = dark ? [[75, 127, 209], [47, 208, 160], [240, 228, 66]] : [[68, 1, 84], [33, 145, 140], [216, 180, 0]];
    const style = { ink: css("--ink"), line: css("--line"), paper: css("--paper"), scale };
    window.sarrusParallel = new Parallel.Plot(byId("parallel"), axes.map(pick), pick(color), style);
  }

  function scatter() {
    const x = byId("x").value, y = byId("y").value;
    const words = [...new Set(data.status)].sort((a, b) => (b === "done") - (a === "done") || a.localeCompare(b));
    const traces = words.map((word, k) => {
      const rows = data.status.map((_, i) => i).filter((i) => data.status[i] === word);
      return { type: "scatter", mode: "markers", name: word,
        marker: { size: rows.length > 300 ? 5 : 8, opacity: 0.8, color: css(`--curve${k % 12}`) },
        x: rows.map((i) => data.columns[x][i]), y: rows.map((i) => data.columns[y][i]),
        text: rows.map((i) => `run ${data.columns.run[i]}`), hovertemplate: "%{text}<br>%{x:.6g}, %{y:.6g}" };
    });
    const axis = (name, log) => ({ title: { text: label(name) }, type: log ? "log" : "linear",
      gridcolor: css("--line"), zerolinecolor: css("--line") });
    Plotly.react("scatter", traces, { ...layout(460), showlegend: words.length > 1,
      xaxis: axis(x, byId("logx").checked), yaxis: axis(y, byId("logy").checked) }, config);
  }

  const recorded = names.find((n) => n !== "run" && !data.parameters.includes(n)) || names.at(-1);
  choose("x", data.parameters[0] || names[0]);
  choose("y", recorded);
  choose("color", recorded);
  byId("color").addEventListener("change", parallel);
  for (const id of ["x", "y", "logx", "logy"]) byId(id).addEventListener("change", scatter);
  const draw = () => { parallel(); scatter(); };
  window.addEventListener("recolor", draw);
  draw();
})();
