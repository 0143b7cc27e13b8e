"use strict";
// Plots over time with a cursor that is tied to the clock of the picture, and the columns of a run.

const SarrusPlots = (() => {
  // no button of a page sends anything anywhere
  Plotly.setPlotConfig({ showSendToCloud: false, showEditInChartStudio: false, plotlyServerURL: "", showLink: false,
    displaylogo: false });
  const SIGNS = ["circle", "square", "diamond", "triangle-up", "triangle-down", "cross", "x", "star", "hexagon", "bowtie",
    "pentagon", "hourglass"];
  // pixels from a curve that are still at it
  const COLORS = 12, NEAR = 16;
  const css = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
  const traceColor = (k) => css(`--curve${k % COLORS}`);
  const plain = (text) => text.replaceAll("&", "&amp;").replaceAll("<", "&lt;");
  const unit = (column) => column.slice(column.lastIndexOf(" [") + 2, -1);
  const short = (column, item) => {
    const name = column.slice(0, column.lastIndexOf(" ["));
    // of a pin with three or more bodies: "F on crank"
    const on = name.startsWith(`${item} on `) ? name.lastIndexOf(".") : -1;
    if (on >= 0) return `${name.slice(on + 1)} ${name.slice(item.length + 1, on)}`;
    return name.startsWith(`${item}.`) ? name.slice(item.length + 1) : name;
  };
  // whose a column is, as the legends call its curve
  const owner = (column) => column.slice(0, column.includes(".") ? column.lastIndexOf(".") : column.lastIndexOf(" ["));
  const values = (packed) => (typeof packed === "string" ? Sarrus.floats(packed, Float64Array) : packed);

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

  // over: what curves over time are drawn over instead, {title, at(time, run)}
  function traces(figure, over) {
    return figure.traces.map((t) => {
      const exact = t.role === "exact", color = exact ? css("--exact") : traceColor(t.color), x = values(t.x);
      const trace = { x: figure.time && over ? Float64Array.from(x, (time) => over.at(time, t.run || 0)) : x, y: values(t.y), name: t.name, type: "scatter", mode: t.mode || "lines",
        xaxis: "x", yaxis: t.axis, legendgroup: t.group, showlegend: t.legend,
        line: { color, width: exact ? 6 : 1.6, dash: t.dash || "solid", simplify: false },
        hovertemplate: t.hover || "%{y:.8g}<extra>%{fullData.name}</extra>" };
      if (t.marker) trace.marker = { color, size: 9, symbol: t.open.map((o) => SIGNS[t.sign % SIGNS.length] + (o ? "-open" : "")), line: { width: 2, color } };
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

  function layoutOf(host, figure, over) {
    const narrow = host.clientWidth < 420, layout = structuredClone(figure.layout);
    // a legend of several lines stands above the label of the first panel
    const aloft = figure.time || !figure.layout.legend;
    const named = aloft ? figure.traces.filter((t) => t.legend) : [];
    const rows = Math.ceil(named.reduce((sum, t) => sum + 7 * t.name.length + 52, 0) / Math.max(host.clientWidth - 90, 100));
    const more = named.length ? 20 * rows : 0;
    layout.margin = { l: narrow ? 62 : 76, r: 14, t: figure.top + more, b: figure.bottom };
    layout.height = figure.layout.height + more;
    layout.font = { family: getComputedStyle(document.body).fontFamily, size: narrow ? 11 : 12, color: css("--ink") };
    layout.hovermode = figure.time && !over ? "x unified" : "closest";
    if (figure.time && over) {
      layout.xaxis = { ...layout.xaxis, title: { text: plain(over.title) }, range: undefined, autorange: true };
      layout.shapes = (layout.shapes || []).filter((s) => s.type === "line").map((s) => ({ ...s, x0: over.at(s.x0, 0), x1: over.at(s.x1, 0) }));
    }
    const above = 1 + 20 / (figure.layout.height - figure.top - figure.bottom);
    layout.legend = { orientation: "h", x: 1, xanchor: "right", y: aloft ? above : 1, yanchor: "bottom", ...figure.layout.legend };
    layout.modebar = { orientation: "h" };
    layout.dragmode = "zoom";
    put(layout, colors(figure));
    return layout;
  }

  // all plots of a page, tied to one clock
  class Plots {
    // pointed: called with whose curve is under the pointer, or null
    // over: the quantity of the horizontal axis, null for the time
    constructor(clock) { this.clock = clock; this.list = []; this.owners = new Set(); this.pointed = () => {}; this.over = null; }

    setOver(over) {
      this.over = over;
      return Promise.all(this.list.filter((plot) => plot.figure.time).map((plot) => this.draw(plot.host, plot.figure)));
    }

    // into a new host, or the same plot with other curves
    draw(host, figure) {
      const known = this.list.find((plot) => plot.host === host), layout = layoutOf(host, figure, this.over);
      host.style.height = `${layout.height}px`;
      const config = { responsive: true, displaylogo: false, displayModeBar: host.clientWidth < 420 ? false : "hover",
        modeBarButtonsToRemove: ["select2d", "lasso2d"] };
      if (known) { known.figure = figure; return Plotly.react(host, traces(figure, this.over), layout, config); }
      return Plotly.newPlot(host, traces(figure, this.over), layout, config).then(() => {
        const plot = { host, figure, cursor: null };
        this.list.push(plot);
        if (figure.time) this.tie(plot);
        host.on("plotly_afterplot", () => this.shade(plot));
        this.shade(plot);
      });
    }

    // the cursor of the time in a plot; pointing into the plot sets the time, unless it runs
    tie(plot) {
      const clock = this.clock;
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
        this.place(plot);
      };
      plot.host.on("plotly_afterplot", measure);
      const time = (p) => values(plot.figure.traces[p.curveNumber].x)[p.pointNumber];
      plot.host.on("plotly_click", (e) => { clock.pause(); clock.set(time(e.points[0])); });
      plot.host.on("plotly_hover", (e) => {
        if (!clock.playing) clock.set(time(e.points[0]));
        // of all curves at this time the one at the pointer
        const y = e.event.clientY - plot.host.getBoundingClientRect().top;
        const far = (p) => Math.abs(p.yaxis._offset + p.yaxis.d2p(p.y) - y);
        const best = e.points.reduce((a, b) => (far(b) < far(a) ? b : a));
        this.pointed(far(best) < NEAR ? plot.figure.traces[best.curveNumber].group : null);
      });
      plot.host.on("plotly_unhover", () => this.pointed(null));
      measure();
    }

    place(plot) {
      const [from, to] = plot.range, x = this.over ? this.over.at(this.clock.time, 0) : this.clock.time, share = (x - from) / (to - from);
      plot.cursor.style.visibility = share >= 0 && share <= 1 ? "visible" : "hidden";
      plot.cursor.style.transform = `translateX(${plot.left + plot.wide * share}px)`;
    }

    // curves of these owners stand out in plots that have one
    emphasize(owners) { this.owners = owners; this.list.forEach((plot) => this.shade(plot)); }

    shade({ host, figure }) {
      const mine = figure.traces.map((t) => this.owners.has(t.group)), some = mine.some(Boolean);
      host.querySelectorAll(".scatterlayer .trace").forEach((line) => {
        line.style.opacity = some && !mine[line.__data__[0].trace.index] ? 0.15 : 1;
      });
    }

    placeAll() { this.list.forEach((plot) => { if (plot.cursor) this.place(plot); }); }

    // whatever is in a card is gone
    forget(card) { this.list = this.list.filter((plot) => !card.contains(plot.host)); }

    recolor() {
      this.list.forEach(({ host, figure }) => {
        const update = { "line.color": [], "marker.color": [] };
        figure.traces.forEach((t) => {
          const color = t.role === "exact" ? css("--exact") : traceColor(t.color);
          update["line.color"].push(color); update["marker.color"].push(color);
        });
        Plotly.update(host, update, colors(figure));
      });
    }
  }

  // the columns of a run: values at a time, by linear interpolation between the outputs
  class Values {
    constructor(packed) {
      this.times = Sarrus.floats(packed.times, Float64Array); this.packed = packed.columns; this.items = packed.items;
      this.exerted = packed.exerted || {}; this.shared = new Set(packed.shared); this.model = packed.model; this.known = {};
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
    // some columns as the text of a CSV file
    csv(names) {
      const quote = (text) => (/[",\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text);
      const lines = [["t [s]", ...names].map(quote).join(",")];
      for (let i = 0; i < this.times.length; i++)
        lines.push([this.times[i], ...names.map((n) => this.column(n)[i].toPrecision(7))].join(","));
      return `${lines.join("\n")}\n`;
    }
  }

  // a figure of some columns: a panel a unit
  function figureOf(picks, duration) {
    const units = [...new Set(picks.map((p) => p.unit))], PANEL = 118, LABEL = 30, HEAD = 30, FOOT = 44;
    const height = units.length * PANEL + (units.length - 1) * LABEL, axis = (k, word) => (k ? `${word}${k + 1}` : word);
    const layout = { height: HEAD + FOOT + height, annotations: [], showlegend: false,
      xaxis: { title: { text: "time [s]" }, range: [0, duration], anchor: axis(units.length - 1, "y"), showline: true, zeroline: false } };
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
    const made = picks.map((p) => {
      const k = units.indexOf(p.unit), color = count[k] = (count[k] ?? -1) + 1;
      return { x: p.x, y: p.y, run: p.run, name: plain(p.name), axis: axis(k, "y"), color, role: "result", dash: p.dash, group: p.name, legend: false };
    });
    return { layout, traces: made, time: true, top: HEAD, bottom: FOOT,
      axes: Object.keys(layout).filter((n) => n.startsWith("xaxis") || n.startsWith("yaxis")) };
  }

  // the columns of one part, a pick each; several runs differ by their dashes
  function picksOf(item, v, label, r) {
    return (v.items[item] || []).map((column) => ({ unit: unit(column), name: short(column, item) + (label ? `, ${label}` : ""),
      x: v.times, y: v.column(column), run: r,
      dash: v.shared.has(owner(column)) && /\.[FM]/.test(column) ? "dot" : ["solid", "dash", "longdash"][r % 3] }));
  }

  // parts and their curves stand out together: what the pointer is at, in a picture or a plot, else what is chosen;
  // of a body also the curves of its joints
  function link(players, plots) {
    const owners = (player, item) => {
      const names = item.lines ? [item.name]
        : [item.name, ...player.scene.signs.filter((s) => s.bodies.includes(item.name)).map((s) => s.name)];
      return new Set(names.flatMap((name) => [name, ...((player.values && player.values.items[name]) || []).map(owner)]));
    };
    const shade = () => {
      const player = players.find((p) => p.hovered) || players.find((p) => p.chosen);
      const item = player && (player.hovered ? player.hovered.item : player.chosen);
      plots.emphasize(item ? owners(player, item) : new Set());
    };
    players.forEach((player) => { player.onPoint = shade; player.onChoice(shade); });
    plots.pointed = (name) => players.forEach((player) => {
      const { signs, shapes } = player.scene, items = [...signs, ...shapes];
      const item = items.find((i) => i.name === name) || items.find((i) => i.lines && owners(player, i).has(name));
      player.point(item ? { item, point: null, kind: item.kind } : null);
    });
  }

  // a list of what curves are drawn over: time, angles and travels of joints; runs: their columns
  function chooseOver(host, plots, runs) {
    const moves = runs[0].names.filter((n) => /\.(angle \[deg\]|travel \[m\])$/.test(n)).filter((n) => {
      const y = runs[0].column(n);
      return y.some((x) => Math.abs(x - y[0]) > 1e-9);
    });
    // the newest columns, also of a list that stays
    host.runs = runs;
    host.hidden = !moves.length;
    const known = JSON.stringify(moves);
    if (host.dataset.known === known) return;
    host.dataset.known = known;
    const before = plots.over ? plots.over.name : "";
    const list = Sarrus.element("select", { "aria-label": "horizontal axis", onchange: () => set(list.value) },
      Sarrus.element("option", { value: "" }, "over time"),
      ...moves.map((n) => Sarrus.element("option", { value: n }, `over ${n.replace(".", " ")}`)));
    const set = (name) => plots.setOver(name ? { name, title: name.replace(".", " "), at: (time, run) => (host.runs[run] || host.runs[0]).at(name, time) } : null);
    list.value = moves.includes(before) ? before : "";
    host.replaceChildren(list);
    if (before && !list.value) set("");
  }

  return { Plots, Values, chooseOver, figureOf, link, picksOf };
})();
