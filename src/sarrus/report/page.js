"use strict";
// The page of a report: plots, playback and theme, all from the data in the page.
(() => {
  const data = JSON.parse(document.getElementById("data").textContent);
  const { apply, dark } = Sarrus.theme();
  const plots = [], players = [];
  // no button of a page sends anything anywhere
  Plotly.setPlotConfig({ showSendToCloud: false, showEditInChartStudio: false, plotlyServerURL: "", showLink: false,
    displaylogo: false });

  const css = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
  const traceColor = (k) => css(`--curve${k % 8}`);

  function colors(figure) {
    const ink = css("--ink"), line = css("--line"), update = {
      paper_bgcolor: "rgba(0,0,0,0)", plot_bgcolor: "rgba(0,0,0,0)", "font.color": ink,
      "hoverlabel.bgcolor": css("--paper"), "hoverlabel.font.color": ink, "legend.bgcolor": "rgba(0,0,0,0)",
      "modebar.color": css("--soft"), "modebar.activecolor": css("--accent"), "modebar.bgcolor": "rgba(0,0,0,0)",
    };
    figure.axes.forEach((axis) => {
      for (const part of ["gridcolor", "linecolor", "zerolinecolor", "tickcolor"]) update[`${axis}.${part}`] = line;
    });
    return update;
  }

  const values = (packed) => (typeof packed === "string" ? Sarrus.floats(packed, Float64Array) : packed);
  const SIGNS = ["circle", "square", "diamond", "triangle-up", "triangle-down", "cross", "x", "star"];

  function traces(figure) {
    return figure.traces.map((t) => {
      const exact = t.role === "exact", color = exact ? css("--exact") : traceColor(t.color);
      const trace = { x: values(t.x), y: values(t.y), name: t.name, type: "scatter", mode: t.mode || "lines",
        xaxis: "x", yaxis: t.axis, legendgroup: t.group, showlegend: t.legend,
        line: { color, width: exact ? 6 : 1.6, dash: t.dash || "solid", simplify: false },
        hovertemplate: t.hover || "%{y:.8g}<extra>%{fullData.name}</extra>" };
      if (t.marker) trace.marker = { color, size: 9, symbol: t.open.map((o) => SIGNS[t.sign % 8] + (o ? "-open" : "")), line: { width: 2, color } };
      if (t.text) trace.text = t.text;
      return trace;
    });
  }

  // "a.b": value into nested objects
  function put(layout, update) {
    for (const [path, value] of Object.entries(update)) {
      const parts = path.split("."), last = parts.pop();
      parts.reduce((at, part) => (at[part] = at[part] || {}), layout)[last] = value;
    }
  }

  function draw(host, figure = data.figures[Number(host.dataset.figure)]) {
    const narrow = host.clientWidth < 420;
    const layout = structuredClone(figure.layout);
    // a legend of several lines stands above the label of the first panel
    const named = figure.time ? figure.traces.filter((t) => t.legend) : [];
    const rows = Math.ceil(named.reduce((sum, t) => sum + 7 * t.name.length + 52, 0) / Math.max(host.clientWidth - 90, 100));
    const more = named.length ? 20 * rows : 0;
    layout.margin = { l: narrow ? 62 : 76, r: 14, t: figure.top + more, b: figure.bottom };
    layout.height = figure.layout.height + more;
    host.style.height = `${layout.height}px`;
    layout.font = { family: getComputedStyle(document.body).fontFamily, size: narrow ? 11 : 12, color: css("--ink") };
    layout.hovermode = figure.time ? "x unified" : "closest";
    const above = 1 + 20 / (figure.layout.height - figure.top - figure.bottom);
    layout.legend = { orientation: "h", x: 1, xanchor: "right", y: figure.time ? above : 1, yanchor: "bottom", ...figure.layout.legend };
    layout.modebar = { orientation: "h" };
    layout.dragmode = "zoom";
    put(layout, colors(figure));
    const config = { responsive: true, displaylogo: false, displayModeBar: narrow ? false : "hover",
      modeBarButtonsToRemove: ["select2d", "lasso2d"] };
    return Plotly.newPlot(host, traces(figure), layout, config).then(() => {
      const plot = { host, figure, cursor: null };
      plots.push(plot);
      if (figure.time) tie(plot);
    });
  }

  // the cursor of the time line in a plot; a click in the plot sets the time
  function tie(plot) {
    plot.cursor = document.createElement("div");
    plot.cursor.className = "cursor";
    plot.host.parentElement.append(plot.cursor);
    const measure = () => {
      const { _size: size, xaxis: axis } = plot.host._fullLayout;
      plot.left = plot.host.offsetLeft + axis._offset - 1;
      plot.wide = axis._length;
      plot.range = axis.range.map(Number);
      plot.cursor.style.top = `${plot.host.offsetTop + size.t}px`;
      plot.cursor.style.height = `${size.h}px`;
      place(plot);
    };
    plot.host.on("plotly_afterplot", measure);
    plot.host.on("plotly_click", (e) => { clock.pause(); clock.set(Number(e.points[0].x)); });
    measure();
  }

  function place(plot) {
    const [from, to] = plot.range, share = (clock.time - from) / (to - from);
    plot.cursor.style.visibility = share >= 0 && share <= 1 ? "visible" : "hidden";
    plot.cursor.style.transform = `translateX(${plot.left + plot.wide * share}px)`;
  }

  function recolor() {
    players.forEach((player) => player.recolor());
    plots.forEach(({ host, figure }) => {
      const update = { "line.color": [], "marker.color": [] };
      figure.traces.forEach((t) => {
        const color = t.role === "exact" ? css("--exact") : traceColor(t.color);
        update["line.color"].push(color); update["marker.color"].push(color);
      });
      Plotly.update(host, update, colors(figure));
    });
    if (players.length && players[0].chosen) showChosen(players[0].chosen.name);
    window.dispatchEvent(new Event("recolor"));
  }

  const button = document.getElementById("theme");
  const name = () => { button.textContent = document.documentElement.dataset.theme === "dark" ? "light" : "dark"; };
  const set = (word) => { apply(word); name(); recolor(); };
  button.addEventListener("click", () => set(document.documentElement.dataset.theme === "dark" ? "light" : "dark"));
  dark.addEventListener("change", () => set(dark.matches ? "dark" : "light"));
  name();
  let before = null;
  window.addEventListener("beforeprint", () => {
    document.querySelectorAll("details").forEach((details) => { details.open = true; });
    before = document.documentElement.dataset.theme; set("light");
  });
  window.addEventListener("afterprint", () => { if (before) set(before); });

  // the columns of a run: values at a time, by linear interpolation between the outputs
  class Values {
    constructor(packed) {
      this.times = Sarrus.floats(packed.times, Float64Array); this.packed = packed.columns; this.items = packed.items;
      this.shared = new Set(packed.shared); this.model = packed.model; this.known = {};
      this.names = Object.keys(packed.columns);
    }
    has(end) { return this.names.some((name) => name.endsWith(end)); }
    column(name) {
      if (!(name in this.packed)) return null;
      return this.known[name] || (this.known[name] = Sarrus.floats(this.packed[name]));
    }
    at(name, time) {
      const y = this.column(name), t = this.times;
      if (!y || !y.length) return NaN;
      if (time <= t[0]) return y[0];
      let low = 0, high = t.length - 1;
      if (time >= t[high]) return y[high];
      while (high - low > 1) { const middle = (low + high) >> 1; if (t[middle] <= time) low = middle; else high = middle; }
      const s = (time - t[low]) / (t[high] - t[low]);
      return (1 - s) * y[low] + s * y[high];
    }
    // whose they are is said already
    rows(item, time) {
      const mine = (this.items[item] || []).filter((name) => !/\.v[xyz] |\.F[xyz] /.test(name));
      return mine.map((name) => `${short(name, item)} = ${Sarrus.show(this.at(name, time)).slice(0, 9)} ${unit(name)}`);
    }
  }
  const unit = (column) => column.slice(column.lastIndexOf(" [") + 2, -1);
  const short = (column, item) => {
    const name = column.slice(0, column.lastIndexOf(" ["));
    return name.startsWith(`${item}.`) ? name.slice(item.length + 1) : name;
  };

  // a figure of some columns: a panel a unit
  function figureOf(picks) {
    const units = [...new Set(picks.map((p) => p.unit))], PANEL = 118, LABEL = 30, HEAD = 30, FOOT = 44;
    const height = units.length * PANEL + (units.length - 1) * LABEL, axis = (k, word) => (k ? `${word}${k + 1}` : word);
    const layout = { height: HEAD + FOOT + height, annotations: [], showlegend: false,
      xaxis: { title: { text: "time [s]" }, range: [0, clock.duration], anchor: axis(units.length - 1, "y"), showline: true, zeroline: false } };
    units.forEach((u, k) => {
      const top = 1 - k * (PANEL + LABEL) / height;
      layout[axis(k, "yaxis")] = { domain: [Math.max(top - PANEL / height, 0), top], showline: true, zeroline: false,
        exponentformat: "power", nticks: 5, automargin: true };
      const mine = picks.filter((p) => p.unit === u);
      const names = mine.map((p, i) => `<span style="color:${traceColor(i)}">${plain(p.name)}</span>`).join("  ");
      layout.annotations.push({ text: `${names} [${plain(u)}]`, x: 0, y: top, xref: "paper", yref: "paper", xanchor: "left",
        yanchor: "bottom", showarrow: false });
    });
    const count = {};
    const traces = picks.map((p) => {
      const k = units.indexOf(p.unit), color = count[k] = (count[k] ?? -1) + 1;
      return { x: p.x, y: p.y, name: plain(p.name), axis: axis(k, "y"), color, role: "result", dash: p.dash, group: p.name, legend: false };
    });
    return { layout, traces, time: true, top: HEAD, bottom: FOOT,
      axes: Object.keys(layout).filter((n) => n.startsWith("xaxis") || n.startsWith("yaxis")) };
  }
  const plain = (text) => text.replaceAll("&", "&amp;").replaceAll("<", "&lt;");

  // the curves of what was clicked
  function showChosen(name) {
    const card = document.getElementById("chosen");
    for (let k = plots.length - 1; k >= 0; k--) if (card.contains(plots[k].host)) plots.splice(k, 1);
    card.replaceChildren();
    card.hidden = !name;
    players.forEach((player) => {
      if ((player.chosen ? player.chosen.name : null) !== name) {
        player.chosen = [...player.scene.signs, ...player.scene.shapes].find((item) => item.name === name) || null;
        player.draw();
      }
    });
    if (!name) return;
    const picks = [];
    players.forEach((player, r) => {
      const v = player.values;
      // velocities by part only where there is no better word; magnitudes are in the other figures
      for (const column of v.items[name] || [])
        picks.push({ unit: unit(column), name: short(column, name) + (players.length > 1 ? `, ${data.labels[r]}` : ""),
          x: v.times, y: v.column(column), dash: v.shared.has(name) && /\.[FM]/.test(column) ? "dot" : ["solid", "dash", "longdash"][r % 3] });
    });
    const el = Sarrus.element, close = el("button", { type: "button", onclick: () => players[0].choose(null) }, "close");
    const save = el("button", { type: "button", title: "these curves as CSV", onclick: () => saveColumns(name, (v) => v.items[name] || []) }, "CSV");
    card.append(el("div", { className: "picked" }, el("h2", {}, name), save, close));
    if (!picks.length) { card.append(el("p", {}, "Nothing is kept of it here.")); return; }
    const figure = figureOf(picks), host = el("div", { className: "plot" });
    host.style.height = `${figure.layout.height}px`;
    card.append(el("div", { className: "figure" }, host));
    if (players.some((p) => p.values.shared.has(name)))
      card.append(el("p", { className: "note" }, "Dotted reactions are shared with other joints: rigid bodies do not determine them."));
    draw(host, figure);
    if (window.innerWidth < 1100) card.scrollIntoView({ behavior: "smooth", block: "nearest" });
    else card.scrollIntoView({ block: "nearest" });
  }

  function saveColumns(title, pick) {
    players.forEach((player, r) => {
      const v = player.values, names = pick(v).filter((n) => v.column(n));
      const quote = (text) => (/[",\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text);
      const lines = [["t [s]", ...names].map(quote).join(",")];
      for (let i = 0; i < v.times.length; i++)
        lines.push([v.times[i], ...names.map((n) => v.column(n)[i].toPrecision(7))].join(","));
      const which = players.length > 1 ? `-${r + 1}` : "";
      Sarrus.download(`${player.scene.name}-${title}${which}.csv`, `${lines.join("\n")}\n`, "text/csv");
    });
  }

  const scenes = data.scenes;
  const clock = new Sarrus.Clock(Math.max(...scenes.map((s) => s.duration), 1e-9));
  scenes.forEach((scene, i) => {
    const room = Math.max(300, window.innerHeight - 300);
    const height = (w) => Math.round(Math.max(220, Math.min(1.05 * w * scene.slope + 90, scenes.length > 1 ? 460 : Math.max(460, Math.min(room, 640)))));
    const player = new Sarrus.Player(document.getElementById(`picture-${i}`), scene, clock, height);
    players.push(player);
    if (!scene.values) return;
    player.values = new Values(scene.values);
    const files = [];
    if (i === 0) {
      files.push(["CSV", "all curves of this page", () => { saveColumns("curves", (v) => v.names); return null; }]);
    }
    if (player.values.model) files.push(["model", "the model file (YAML)", () => [`${scene.name}.yaml`, player.values.model, "text/yaml"]]);
    Sarrus.options(document.getElementById(`options-${i}`), player, files);
    player.onChoice(showChosen);
  });
  const bar = document.getElementById("bar");
  if (bar) Sarrus.transport(bar, clock, Math.max(...scenes.map((s) => s.end)), data.marks);
  document.querySelectorAll("[data-time]").forEach((element) => {
    element.addEventListener("click", () => {
      clock.pause(); clock.set(Number(element.dataset.time));
      const picture = document.getElementById("playback");
      if (picture) picture.scrollIntoView({ behavior: "smooth", block: "nearest" });
    });
  });
  document.addEventListener("keydown", (e) => {
    if (!bar || ["INPUT", "SELECT", "BUTTON", "TEXTAREA"].includes(e.target.tagName)) return;
    if (e.key === " ") { e.preventDefault(); clock.toggle(); }
    if (e.key === "ArrowRight" || e.key === "ArrowLeft") {
      clock.pause(); clock.set(clock.time + (e.key === "ArrowRight" ? 1 : -1) * clock.duration / 200);
    }
    if (e.key === "Home" || e.key === "End") { e.preventDefault(); clock.pause(); clock.set(e.key === "Home" ? 0 : clock.duration); }
    if (e.key === "Escape") players[0].choose(null);
    if (e.key === "f") players.forEach((p) => { p.follow = !p.follow; if (!p.follow) p.fit(false); p.draw(); });
    if (e.key === "g") players.forEach((p) => { p.grid = !p.grid; p.draw(); });
    if (e.key === "+" || e.key === "-") players.forEach((p) => p.zoom(e.key === "+" ? 1.3 : 1 / 1.3));
  });
  // one plot after another, so that the page opens at once and answers in between
  const folded = (host) => host.closest("details:not([open])") !== null;
  const hosts = [...document.querySelectorAll(".plot")].filter((host) => !folded(host));
  // what is folded is drawn when it is unfolded
  document.querySelectorAll("details").forEach((details) => details.addEventListener("toggle", () => {
    details.querySelectorAll(".plot:not(.js-plotly-plot)").forEach((host) => { if (!folded(host)) draw(host); });
  }));
  const pause = () => new Promise((go) => { setTimeout(go, 0); });
  hosts.reduce((done, host) => done.then(pause).then(() => draw(host)), Promise.resolve()).then(() => {
    document.documentElement.dataset.ready = "yes";
    clock.onChange(() => plots.forEach((plot) => { if (plot.cursor) place(plot); }));
  });
  // for tests and for the curious
  window.sarrusReport = { clock, players, plots, showChosen };
})();
