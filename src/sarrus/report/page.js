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
  const traceColor = (k) => css(`--curve${k % 6}`);

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

  const values = (packed) => Sarrus.floats(packed, Float64Array);

  function traces(figure) {
    return figure.traces.map((t) => {
      const exact = t.role === "exact", color = exact ? css("--exact") : traceColor(t.color);
      const trace = { x: values(t.x), y: values(t.y), name: t.name, type: "scatter", mode: t.mode || "lines",
        xaxis: "x", yaxis: t.axis, legendgroup: t.group, showlegend: t.legend,
        line: { color, width: exact ? 6 : 1.6, dash: t.dash || "solid" },
        hovertemplate: t.hover || "%{y:.8g}<extra>%{fullData.name}</extra>" };
      if (t.marker) trace.marker = { color, size: 9, symbol: t.open.map((o) => (o ? "circle-open" : "circle")), line: { width: 2, color } };
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

  function draw(host) {
    const figure = data.figures[Number(host.dataset.figure)];
    const narrow = host.clientWidth < 420;
    const layout = structuredClone(figure.layout);
    layout.margin = { l: narrow ? 62 : 76, r: 14, t: figure.top, b: figure.bottom };
    layout.font = { family: getComputedStyle(document.body).fontFamily, size: narrow ? 11 : 12, color: css("--ink") };
    layout.hovermode = figure.time ? "x unified" : "closest";
    layout.legend = { orientation: "h", x: 1, xanchor: "right", y: 1, yanchor: "bottom", ...figure.layout.legend };
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

  const scenes = data.scenes;
  const clock = new Sarrus.Clock(Math.max(...scenes.map((s) => s.duration), 1e-9));
  scenes.forEach((scene, i) => {
    const height = (w) => Math.round(Math.max(200, Math.min(1.05 * w * scene.slope + 70, 460)));
    players.push(new Sarrus.Player(document.getElementById(`picture-${i}`), scene, clock, height));
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
  });
  // one plot after another, so that the page opens at once and answers in between
  const hosts = [...document.querySelectorAll(".plot")];
  const pause = () => new Promise((go) => { setTimeout(go, 0); });
  hosts.reduce((done, host) => done.then(pause).then(() => draw(host)), Promise.resolve()).then(() => {
    document.documentElement.dataset.ready = "yes";
    clock.onChange(() => plots.forEach((plot) => { if (plot.cursor) place(plot); }));
  });
  // for tests and for the curious
  window.sarrusReport = { clock, players, plots };
})();
