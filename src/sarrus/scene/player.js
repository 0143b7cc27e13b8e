"use strict";
// Playback of a scene: a canvas with its own projection, a clock, and a transport bar.

const Sarrus = (() => {
  // the name of a language, not an address: nothing is loaded from it
  const SVG = ["http:", "", "www.w3.org/2000/svg"].join("/");
  const COLORS = 6, MOST_LINKS = 60, SHOWN_LINKS = 24, LEAST_PIXELS = 14, MOST_NAMES = 200;

  function floats(text, kind = Float32Array) {
    const bytes = Uint8Array.from(atob(text), (c) => c.charCodeAt(0));
    return new kind(bytes.buffer);
  }

  const show = (x) => {
    const text = Number(x).toPrecision(5);
    return Math.abs(x) < 1e-12 ? "0" : text.includes("e") ? text : String(parseFloat(text));
  };

  // where all points are at a time: cubic between evenly spaced frames
  class Motion {
    constructor(scene) {
      this.scene = scene;
      this.data = floats(scene.data);
      this.width = scene.moving.length * scene.dimension;
      this.points = new Float64Array(3 * scene.places.length);
      scene.places.forEach((p, i) => p.forEach((x, k) => { this.points[3 * i + k] = x; }));
      this.held = false;
    }

    // all points where somebody put them, flat; null: they move again
    hold(flat) {
      this.held = flat !== null;
      const d = this.scene.dimension;
      if (flat) flat.forEach((x, k) => { this.points[3 * Math.floor(k / d) + k % d] = x; });
    }

    at(time) {
      if (this.held) return this.points;
      const { moving, dimension, frames, step } = this.scene;
      const x = step > 0 ? Math.min(Math.max(time / step, 0), frames - 1) : 0;
      const i = Math.min(Math.floor(x), Math.max(frames - 2, 0));
      const s = x - i, w = this.width, d = this.data;
      const j = Math.min(i + 1, frames - 1), before = Math.max(i - 1, 0), after = Math.min(i + 2, frames - 1);
      const half1 = j > before + 1 ? 0.5 : 1, half2 = after > j ? 0.5 : 1;
      const s2 = s * s, s3 = s2 * s;
      const a = 2 * s3 - 3 * s2 + 1, b = 3 * s2 - 2 * s3, c = s3 - 2 * s2 + s, e = s3 - s2;
      for (let n = 0; n < moving.length; n++) {
        for (let k = 0; k < dimension; k++) {
          const o = n * dimension + k, p1 = d[i * w + o], p2 = d[j * w + o];
          const m1 = half1 * (p2 - d[before * w + o]), m2 = half2 * (d[after * w + o] - p1);
          this.points[3 * moving[n] + k] = a * p1 + b * p2 + c * m1 + e * m2;
        }
      }
      return this.points;
    }

    // the path of the observed point
    path() {
      const { trace, dimension } = this.scene, d = floats(trace), out = [];
      for (let i = 0; i < d.length; i += dimension) out.push([d[i], d[i + 1], dimension > 2 ? d[i + 2] : 0]);
      return out;
    }
  }

  class Clock {
    constructor(duration) {
      this.duration = duration; this.time = 0; this.speed = 1; this.playing = false; this.listeners = [];
    }
    onChange(listener) { this.listeners.push(listener); listener(this); }
    tell() { this.listeners.forEach((listener) => listener(this)); }
    set(time) { this.time = Math.min(Math.max(time, 0), this.duration); this.tell(); }
    toggle() { if (this.playing) this.pause(); else this.play(); }
    pause() { this.playing = false; this.tell(); }
    play() {
      if (this.time >= this.duration) this.time = 0;
      this.playing = true;
      let last = null;
      const step = (now) => {
        if (!this.playing) return;
        if (last !== null) this.time += (now - last) / 1000 * this.speed;
        last = now;
        if (this.time >= this.duration) { this.time = this.duration; this.playing = false; }
        this.tell();
        requestAnimationFrame(step);
      };
      requestAnimationFrame(step);
    }
  }

  // what the drawing calls of a canvas, written down as SVG
  class SvgPath {
    constructor() { this.d = ""; }
    moveTo(x, y) { this.d += `M${x.toFixed(2)} ${y.toFixed(2)}`; }
    lineTo(x, y) { this.d += `L${x.toFixed(2)} ${y.toFixed(2)}`; }
    closePath() { this.d += "Z"; }
    arc(x, y, r, from, to) {
      const at = (a) => `${(x + r * Math.cos(a)).toFixed(2)} ${(y + r * Math.sin(a)).toFixed(2)}`;
      // halves, because a whole circle ends where it begins
      const half = (from + to) / 2, large = to - from > 2 * Math.PI ? 1 : 0;
      this.d += `${this.d && !this.d.endsWith("Z") ? "L" : "M"}${at(from)}A${r} ${r} 0 ${large} 1 ${at(half)}A${r} ${r} 0 ${large} 1 ${at(to)}`;
    }
  }

  class SvgPen {
    constructor(width, height) {
      Object.assign(this, { width, height, parts: [], globalAlpha: 1, lineWidth: 1, dash: [], lineCap: "butt",
        lineJoin: "round", fillStyle: "#000", strokeStyle: "#000", font: "12px sans-serif", textAlign: "left",
        textBaseline: "alphabetic", path: new SvgPath() });
    }
    setTransform() {}
    setLineDash(dash) { this.dash = dash; }
    measureText(text) { return { width: 6.6 * text.length }; }
    beginPath() { this.path = new SvgPath(); }
    moveTo(x, y) { this.path.moveTo(x, y); }
    lineTo(x, y) { this.path.lineTo(x, y); }
    arc(...numbers) { this.path.arc(...numbers); }
    closePath() { this.path.closePath(); }
    stroke(path = this.path) {
      const dash = this.dash.length ? ` stroke-dasharray="${this.dash.join(" ")}"` : "";
      this.parts.push(`<path d="${path.d}" fill="none" stroke="${this.strokeStyle}" stroke-width="${this.lineWidth}" `
        + `stroke-linecap="${this.lineCap}" stroke-linejoin="${this.lineJoin}" opacity="${this.globalAlpha}"${dash}/>`);
    }
    fill(path = this.path) {
      this.parts.push(`<path d="${path.d}" fill="${this.fillStyle}" opacity="${this.globalAlpha}"/>`);
    }
    fillRect(x, y, w, h) {
      this.parts.push(`<rect x="${x}" y="${y}" width="${w}" height="${h}" fill="${this.fillStyle}" opacity="${this.globalAlpha}"/>`);
    }
    strokeText(text, x, y) { this.fillText(text, x, y, `fill="none" stroke="${this.strokeStyle}" stroke-width="${this.lineWidth}" stroke-linejoin="round"`); }
    fillText(text, x, y, paint = `fill="${this.fillStyle}"`) {
      const plain = String(text).replaceAll("&", "&amp;").replaceAll("<", "&lt;");
      const anchor = { left: "start", center: "middle", right: "end" }[this.textAlign] || "start";
      const base = { middle: "central", top: "hanging" }[this.textBaseline] || "auto";
      this.parts.push(`<text x="${x}" y="${y}" ${paint} text-anchor="${anchor}" dominant-baseline="${base}" `
        + `style="font:${this.font.replaceAll('"', "'")}">${plain}</text>`);
    }
    text() {
      return `<svg xmlns="${SVG}" width="${this.width}" height="${this.height}" `
        + `viewBox="0 0 ${this.width} ${this.height}">${this.parts.join("\n")}</svg>\n`;
    }
  }

  // hands a file to the one who looks at the page; nothing leaves the machine
  function download(name, content, kind) {
    const link = document.createElement("a");
    link.download = name.replace(/[^\w.-]+/g, "-");
    link.href = content instanceof Blob || kind ? URL.createObjectURL(content instanceof Blob ? content : new Blob([content], { type: kind })) : content;
    document.body.append(link); link.click(); link.remove();
    setTimeout(() => URL.revokeObjectURL(link.href), 10000);
  }

  // 1, 2 or 5 times a power of ten, at most x
  function round(x) {
    const ten = 10 ** Math.floor(Math.log10(x));
    return (x / ten >= 5 ? 5 : x / ten >= 2 ? 2 : 1) * ten;
  }

  function tip() {
    let box = document.querySelector(".tip");
    if (!box) { box = document.createElement("div"); box.className = "tip"; document.body.append(box); }
    return box;
  }

  class Player {
    constructor(host, scene, clock, height) {
      this.clock = clock; this.height = height;
      this.turn = 35; this.tilt = 20; this.hovered = null; this.frames = 0;
      // what is chosen: an item of the scene; which points leave a trace; what the picture shows besides
      this.chosen = null; this.follow = false; this.grid = scene.dimension < 3;
      this.arrows = ""; this.onBody = ""; this.arrowLength = 1; this.values = null; this.listeners = [];
      // who wants to know what the pointer is at
      this.onPoint = () => {};
      // who takes the pointer before the view does: {down(found, at, event), move(at, event), up(at, event)}, and what it
      // draws: {line: [from, to], at}, places in metres
      this.tool = null; this.ghost = null;
      // names of joints and points in the picture; plain: only the name next to the selection
      this.names = false; this.named = false; this.plain = false;
      // whether somebody chose the view; what the hint says instead of what the view can do
      this.viewed = false; this.says = "";
      host.classList.add("player");
      this.canvas = document.createElement("canvas");
      this.canvas.setAttribute("role", "img");
      this.canvas.setAttribute("aria-label", `moving picture of ${scene.name}`);
      this.clockBox = document.createElement("div");
      this.clockBox.className = "clock";
      this.hint = document.createElement("div");
      const tools = document.createElement("div");
      tools.className = "tools";
      for (const [word, label, action] of [
        ["+", "closer", () => this.zoom(1.3)], ["−", "farther", () => this.zoom(1 / 1.3)],
        ["whole", "show the whole mechanism", () => { this.follow = false; this.viewed = false; this.fit(true); this.draw(); }]]) {
        const button = document.createElement("button");
        button.type = "button"; button.textContent = word; button.setAttribute("aria-label", label);
        button.addEventListener("click", action);
        tools.append(button);
      }
      host.append(this.canvas, this.clockBox, tools, this.hint);
      this.take(scene);
      this.listen();
      this.resize();
      if ("ResizeObserver" in window) new ResizeObserver(() => this.resize()).observe(host);
      clock.onChange(() => this.draw());
    }

    take(scene) {
      this.scene = scene; this.motion = new Motion(scene); this.largest = {}; this.view = null; this.hovered = null;
      this.traced = [];
      this.middle = this.findBox();
      this.trace = this.motion.path();
      const crossings = scene.observed === null ? [] : scene.marks.filter((m) => m.word === "crossing");
      if (scene.observed !== null && this.trace.length) this.traced.push({ point: scene.observed, path: this.trace, step: scene.trace_step });
      this.marks = crossings.map((m) => {
        const p = this.motion.at(m.time), o = 3 * scene.observed;
        return [p[o], p[o + 1], p[o + 2]];
      });
    }

    // another scene in the same view, what is chosen and what leaves traces by their names
    show(scene, values) {
      const named = (item) => [...scene.signs, ...scene.shapes].find((other) => other.name === item.name && !other.lines === !item.lines);
      const before = this.scene, chosen = this.chosen, traced = this.traced.map((t) => t.point).filter((i) => i !== before.observed);
      const kept = traced.map((i) => before.signs.find((s) => s.points.at(s.named ?? -1) === i)).filter(Boolean);
      this.take(scene);
      this.values = values;
      this.chosen = chosen ? named(chosen) || null : null;
      // a view that somebody chose or works in stays
      if (!this.viewed && !this.tool && !this.follow && !this.fits()) this.fit(false);
      kept.forEach((sign) => { const now = named(sign); if (now) this.toggleTrace(now.points.at(now.named ?? -1)); });
      this.draw();
    }

    // whether all of the motion is in the picture, and not too small
    fits() {
      this.camera = this.rows();
      const corners = [0, 1, 2, 3, 4, 5, 6, 7].map((n) => this.place([0, 1, 2].map((k) => ((n >> k) & 1 ? this.high : this.low)[k])));
      const [xs, ys] = [0, 1].map((k) => corners.map((corner) => corner[k]));
      const wide = Math.max(...xs) - Math.min(...xs), high = Math.max(...ys) - Math.min(...ys);
      return Math.min(...xs) > 0 && Math.max(...xs) < this.w && Math.min(...ys) > 0 && Math.max(...ys) < this.h - 20
        && (wide > 0.3 * this.w || high > 0.3 * this.h);
    }

    findBox() {
      const low = [Infinity, Infinity, Infinity], high = [-Infinity, -Infinity, -Infinity];
      for (const p of this.samples())
        p.forEach((x, k) => { low[k] = Math.min(low[k], x); high[k] = Math.max(high[k], x); });
      // an empty plane is two metres wide
      if (low[0] === Infinity) low.forEach((_, k) => { low[k] = k < 2 ? -1 : 0; high[k] = k < 2 ? 1 : 0; });
      this.low = low; this.high = high;
      return low.map((x, k) => (x + high[k]) / 2);
    }

    // directions right, up, towards the eye: the same camera as in movies
    rows() {
      if (this.scene.dimension < 3) return [[1, 0, 0], [0, 1, 0], [0, 0, 1]];
      const up = this.scene.up, cross = (p, q) =>
        [p[1] * q[2] - p[2] * q[1], p[2] * q[0] - p[0] * q[2], p[0] * q[1] - p[1] * q[0]];
      const sizes = up.map(Math.abs), side = [0, 0, 0];
      side[sizes.indexOf(Math.min(...sizes))] = 1;
      let a = cross(side, up);
      const length = Math.hypot(...a);
      a = a.map((x) => x / length);
      const b = cross(up, a), s = this.turn * Math.PI / 180, t = this.tilt * Math.PI / 180;
      const right = a.map((x, k) => Math.cos(s) * x + Math.sin(s) * b[k]);
      const back = a.map((x, k) => -Math.sin(s) * x + Math.cos(s) * b[k]);
      const eye = up.map((x, k) => Math.sin(t) * x - Math.cos(t) * back[k]);
      return [right, cross(eye, right), eye];
    }

    fit(whole) {
      const size = this.scene.size, r = this.rows();
      let low = this.low, high = this.high;
      const long = Math.max(...high.map((x, k) => x - low[k]));
      // links must be long enough to be seen as bars
      const part = !whole && (long > MOST_LINKS * size || long * LEAST_PIXELS > this.w * size);
      this.explain(part);
      if (part) {
        const links = Math.min(SHOWN_LINKS, Math.max(4, this.w / (3 * LEAST_PIXELS)));
        const path = this.trace.length ? this.trace : [this.middle], reach = links * size / 2;
        const mid = [0, 1, 2].map((k) => {
          const xs = path.map((p) => p[k]);
          const m = (Math.min(...xs) + Math.max(...xs)) / 2;
          return Math.min(Math.max(m, low[k] + reach), Math.max(low[k] + reach, high[k] - reach));
        });
        const box = [low, high];
        low = mid.map((x, k) => Math.max(box[0][k], x - reach));
        high = mid.map((x, k) => Math.min(box[1][k], x + reach));
      }
      const mid = low.map((x, k) => (x + high[k]) / 2);
      const span = [[Infinity, -Infinity], [Infinity, -Infinity]];
      const inside = (p) => p.every((x, k) => x >= low[k] - 1e-9 && x <= high[k] + 1e-9);
      for (const p of this.samples()) {
        if (!inside(p)) continue;
        for (let k = 0; k < 2; k++) {
          const x = p.reduce((sum, y, i) => sum + (y - mid[i]) * r[k][i], 0);
          span[k] = [Math.min(span[k][0], x), Math.max(span[k][1], x)];
        }
      }
      if (span[0][0] === Infinity) span.fill([-1, 1]);
      // the middle of what is seen, not of the box around it
      const off = span.map(([from, to]) => (from + to) / 2), reach = span.map(([from, to]) => (to - from) / 2);
      mid.forEach((_, i) => { mid[i] += off[0] * r[0][i] + off[1] * r[1][i]; });
      this.target = mid;
      this.shift = [0, 0];
      const margin = 0.3 * size;
      this.scale = Math.min(this.w / (2 * (reach[0] + margin)), (this.h - 80) / (2 * (reach[1] + margin)));
    }

    // what can be done with the picture; whether more of it can be shown
    explain(part) {
      const drag = this.scene.dimension > 2 ? "drag to turn" : "drag to move";
      this.hint.className = part ? "hint part" : "hint";
      this.hint.textContent = part ? "this is a part: drag to move, or show the whole"
        : this.says || `${drag}, click a part for its curves`;
    }

    // places of points at some instants, for the size of the picture
    * samples() {
      const { dimension, moving, frames, places, moves } = this.scene, d = this.motion.data;
      for (let i = 0; i < places.length; i++)
        if (!moves[i]) yield [places[i][0], places[i][1], places[i][2] || 0];
      const step = Math.max(1, Math.ceil(frames * moving.length / 40000));
      for (let i = 0; i < frames; i += step)
        for (let n = 0; n < moving.length; n++) {
          const at = i * this.motion.width + n * dimension;
          yield [d[at], d[at + 1], dimension > 2 ? d[at + 2] : 0];
        }
    }

    // closer or farther; what is at a place of the picture stays there, else what is in its middle
    zoom(factor, x = this.w / 2, y = this.h / 2 - 6) {
      const off = [x - this.w / 2, y - this.h / 2 + 6];
      this.viewed = true; this.scale *= factor;
      this.shift = this.shift.map((s, k) => factor * s + (1 - factor) * off[k]);
      this.draw();
    }

    // a part stands out, because the pointer is at it or at a curve of it
    point(found) {
      const before = this.hovered && this.hovered.item;
      this.hovered = found;
      this.draw();
      if (before !== (found && found.item)) this.onPoint();
    }

    resize() {
      const w = this.canvas.parentElement.clientWidth;
      if (!w || w === this.w) return;
      this.w = w; this.h = typeof this.height === "function" ? this.height(w) : this.height;
      const ratio = Math.min(window.devicePixelRatio || 1, 2);
      this.canvas.width = Math.round(w * ratio); this.canvas.height = Math.round(this.h * ratio);
      this.canvas.style.height = `${this.h}px`;
      this.ratio = ratio;
      this.fit(false);
      this.draw();
    }

    project(points) {
      const r = this.camera = this.rows(), n = points.length / 3, t = this.target;
      if (!this.flat || this.flat.length !== 3 * n) this.flat = new Float64Array(3 * n);
      const cx = this.w / 2 + this.shift[0], cy = this.h / 2 - 6 + this.shift[1];
      for (let i = 0; i < n; i++) {
        const x = points[3 * i] - t[0], y = points[3 * i + 1] - t[1], z = points[3 * i + 2] - t[2];
        this.flat[3 * i] = cx + this.scale * (r[0][0] * x + r[0][1] * y + r[0][2] * z);
        this.flat[3 * i + 1] = cy - this.scale * (r[1][0] * x + r[1][1] * y + r[1][2] * z);
        this.flat[3 * i + 2] = r[2][0] * x + r[2][1] * y + r[2][2] * z;
      }
      return this.flat;
    }

    // one place, with the camera of the last projection
    place([px, py, pz]) {
      const r = this.camera, t = this.target, x = px - t[0], y = py - t[1], z = pz - t[2];
      return [this.w / 2 + this.shift[0] + this.scale * (r[0][0] * x + r[0][1] * y + r[0][2] * z),
        this.h / 2 - 6 + this.shift[1] - this.scale * (r[1][0] * x + r[1][1] * y + r[1][2] * z)];
    }

    // the place in metres under a pixel, as deep as another place
    unplace(x, y, near = this.target) {
      const r = this.rows(), t = this.target;
      const a = (x - this.w / 2 - this.shift[0]) / this.scale, b = -(y - this.h / 2 + 6 - this.shift[1]) / this.scale;
      const depth = near.reduce((sum, v, k) => sum + (v - t[k]) * r[2][k], 0);
      return [0, 1, 2].map((k) => t[k] + a * r[0][k] + b * r[1][k] + depth * r[2][k]);
    }

    colors() {
      const style = getComputedStyle(document.documentElement), get = (n) => style.getPropertyValue(n).trim();
      const bars = Array.from({ length: COLORS }, (_, k) => get(`--bar${k}`));
      return { paper: get("--paper"), ink: get("--ink"), soft: get("--soft"), edge: get("--edge"),
        joint: get("--joint"), earth: get("--earth"), trace: get("--trace"), crossing: get("--crossing"),
        accent: get("--accent"), line: get("--line"), bars,
        arrows: [0, 1, 2].map((k) => get(`--arrow${k}`)) };
    }

    recolor() { this.palette = null; this.draw(); }

    draw() {
      if (!this.w) return;
      this.render(this.canvas.getContext("2d"));
      const late = this.clock.time > this.scene.end + 1e-9;
      const words = `t = ${Math.min(this.clock.time, this.scene.end).toFixed(2)} s` + (late ? " (the run ended here)" : "");
      if (this.clockBox.textContent !== words) this.clockBox.textContent = words;
      this.frames++;
    }

    newPath() { return this.svg ? new SvgPath() : new Path2D(); }

    render(c) {
      const colors = this.palette || (this.palette = this.colors());
      const scene = this.scene, time = Math.min(this.clock.time, scene.end);
      c.setTransform(this.ratio, 0, 0, this.ratio, 0, 0);
      c.fillStyle = colors.paper;
      c.fillRect(0, 0, this.w, this.h);
      const points = this.motion.at(time);
      if (this.follow) {
        const i = this.followed();
        this.target = [points[3 * i], points[3 * i + 1], points[3 * i + 2]]; this.shift = [0, 0];
      }
      const flat = this.project(points);
      if (this.grid && scene.dimension < 3) this.drawGrid(c, colors);
      const bar = Math.min(Math.max(0.085 * scene.size * this.scale, 3), 15);
      const sign = Math.min(Math.max(0.11 * scene.size * this.scale, 5), 16);
      const edge = Math.min(Math.max(0.13 * bar, 0.7), 1.8);
      this.bar = bar;
      c.lineJoin = "round";
      this.drawTrace(c, colors, time);
      this.drawGround(c, colors, flat, sign, edge);
      this.drawShapes(c, colors, flat, bar, edge);
      this.drawSigns(c, colors, flat, bar, sign, edge);
      this.traced.forEach((t, k) => this.dot(c, flat, t.point, 0.3 * bar + 1.5, this.traceColor(colors, k)));
      this.drawMarks(c, colors);
      if (this.arrows) this.drawArrows(c, colors, flat, time);
      this.drawAxes(c, colors);
      if (this.names) this.drawNames(c, colors, flat);
      if (this.chosen) this.highlight(c, colors, flat, bar, this.chosen);
      if (this.hovered) this.highlight(c, colors, flat, bar, this.hovered.item);
      if (this.chosen && !(this.plain && this.names)) this.drawValues(c, colors, flat, time);
      if (this.ghost) this.drawGhost(c, colors, this.ghost);
    }

    // what a tool is about to do
    drawGhost(c, colors, { line, at, path }) {
      c.strokeStyle = colors.accent; c.lineWidth = 2; c.lineCap = "butt";
      if (path && path.length > 1) {
        c.beginPath(); path.forEach((p, k) => (k ? c.lineTo(...this.place(p)) : c.moveTo(...this.place(p)))); c.stroke();
      }
      if (line) {
        c.setLineDash([7, 5]); c.beginPath(); c.moveTo(...this.place(line[0])); c.lineTo(...this.place(line[1])); c.stroke(); c.setLineDash([]);
      }
      if (!at) return;
      const [x, y] = this.place(at);
      c.beginPath(); c.arc(x, y, 7, 0, 2 * Math.PI);
      c.moveTo(x - 12, y); c.lineTo(x + 12, y); c.moveTo(x, y - 12); c.lineTo(x, y + 12); c.stroke();
    }

    // names next to joints and points; those at one position below each other
    drawNames(c, colors, flat) {
      const { signs } = this.scene, used = new Map();
      if (signs.length > MOST_NAMES) return;
      c.font = "12px system-ui, sans-serif"; c.textBaseline = "middle"; c.lineJoin = "round";
      const write = (name, x, y) => {
        const spot = `${Math.round(x / 6)} ${Math.round(y / 6)}`, row = used.get(spot) || 0;
        used.set(spot, row + 1);
        c.textAlign = "left"; c.lineWidth = 4; c.strokeStyle = colors.paper; c.fillStyle = colors.ink;
        c.strokeText(name, x, y + 14 * row); c.fillText(name, x, y + 14 * row);
      };
      const at = (i) => `${flat[3 * i].toFixed(1)} ${flat[3 * i + 1].toFixed(1)}`;
      const joints = signs.filter((s) => s.kind !== "point"), held = new Set(joints.flatMap((s) => s.points.map(at)));
      const reach = 0.6 * this.bar + 5;
      for (const s of [...joints, ...signs.filter((g) => g.kind === "point" && !(g.ground && held.has(at(g.points[0]))))]) {
        const [x, y] = this.middleOf(s, flat);
        write(s.name, x + reach, y - reach);
      }
    }

    traceColor(colors, k) { return k ? colors.bars[(k + 1) % COLORS] : colors.trace; }

    // the point that a followed view keeps in its middle
    followed() {
      if (this.chosen) return this.chosen.lines ? this.chosen.points.at(this.chosen.named ?? -1) : this.chosen.points[0];
      return this.scene.observed ?? this.scene.moving[0] ?? 0;
    }

    // where an item is in the picture
    middleOf(item, flat) {
      const points = item.lines && item.glyph !== "spring" && item.glyph !== "link" ? [item.points.at(item.named ?? -1)] : item.points;
      return [0, 1].map((k) => points.reduce((sum, i) => sum + flat[3 * i + k], 0) / points.length);
    }

    choose(name) {
      const items = [...this.scene.signs, ...this.scene.shapes];
      this.chosen = items.find((item) => item.name === name) || null;
      this.listeners.forEach((listener) => listener(this.chosen ? name : null));
      this.draw();
    }

    onChoice(listener) { this.listeners.push(listener); }

    // a point begins or ends to leave a trace
    toggleTrace(point) {
      const at = this.traced.findIndex((t) => t.point === point);
      if (at >= 0) this.traced.splice(at, 1);
      else {
        const { frames, step } = this.scene, count = step > 0 ? Math.min(4 * frames, 4000) : 1, path = [];
        for (let k = 0; k < count; k++) {
          const p = this.motion.at(this.scene.end * k / Math.max(count - 1, 1));
          path.push([p[3 * point], p[3 * point + 1], p[3 * point + 2]]);
        }
        this.traced.push({ point, path, step: this.scene.end / Math.max(count - 1, 1) });
      }
      this.view = null;
      this.draw();
    }

    drawGrid(c, colors) {
      const step = round(110 / this.scale) / (this.w < 500 ? 0.5 : 1), [x0, y0] = this.place([0, 0, 0]), s = step * this.scale;
      const path = this.newPath();
      for (let k = Math.ceil(-x0 / s); x0 + k * s < this.w; k++) { path.moveTo(x0 + k * s, 0); path.lineTo(x0 + k * s, this.h); }
      for (let k = Math.ceil(-y0 / s); y0 + k * s < this.h; k++) { path.moveTo(0, y0 + k * s); path.lineTo(this.w, y0 + k * s); }
      c.lineWidth = 1; c.strokeStyle = colors.line; c.globalAlpha = 0.55; c.stroke(path);
      // the axes themselves
      const axes = this.newPath();
      axes.moveTo(x0, 0); axes.lineTo(x0, this.h); axes.moveTo(0, y0); axes.lineTo(this.w, y0);
      c.lineWidth = 1.4; c.globalAlpha = 0.9; c.stroke(axes); c.globalAlpha = 1;
    }

    arrow(c, color, [x, y], [dx, dy], dash) {
      const length = Math.hypot(dx, dy);
      if (!(length > 3) || x < -300 || x > this.w + 300) return;
      const tx = dx / length, ty = dy / length, head = Math.min(9, 0.5 * length), ex = x + dx, ey = y + dy;
      c.strokeStyle = color; c.fillStyle = color; c.lineWidth = 2; c.lineCap = "butt";
      c.setLineDash(dash ? [5, 3] : []);
      c.beginPath(); c.moveTo(x, y); c.lineTo(ex - head * tx, ey - head * ty); c.stroke();
      c.setLineDash([]);
      c.beginPath(); c.moveTo(ex, ey); c.lineTo(ex - head * tx - 0.45 * head * ty, ey - head * ty + 0.45 * head * tx);
      c.lineTo(ex - head * tx + 0.45 * head * ty, ey - head * ty - 0.45 * head * tx); c.closePath(); c.fill();
    }

    // vectors at joints and points; the longest is a fifth of the picture at length 1
    drawArrows(c, colors, flat, time) {
      if (this.arrows === "centres") { this.drawCentres(c, colors, time); return; }
      const r = this.camera, vectors = this.vectors(this.arrows, time), largest = this.largestVector(this.arrows);
      const factor = 0.2 * Math.min(this.w, this.h + 120) * this.arrowLength / (largest || 1);
      const color = colors.arrows[{ velocities: 0, accelerations: 2, reactions: 1, forces: 2 }[this.arrows]];
      for (const { point, vector, dash, word } of vectors) {
        const dx = factor * (r[0][0] * vector[0] + r[0][1] * vector[1] + r[0][2] * vector[2]);
        const dy = -factor * (r[1][0] * vector[0] + r[1][1] * vector[1] + r[1][2] * vector[2]);
        this.arrow(c, color, [flat[3 * point], flat[3 * point + 1]], [dx, dy], dash);
        if (!word || Math.hypot(dx, dy) < 12) continue;
        c.font = "11px system-ui, sans-serif"; c.textAlign = dx < 0 ? "right" : "left"; c.textBaseline = "middle"; c.fillStyle = color;
        c.fillText(word, flat[3 * point] + dx + (dx < 0 ? -4 : 4), flat[3 * point + 1] + dy);
      }
    }

    // velocities of all points, by differences
    rates(time) {
      const { end, step } = this.scene, h = Math.max(0.25 * step, 1e-9), a = Math.max(time - h, 0), b = Math.min(time + h, end);
      const before = Float64Array.from(this.motion.at(a)), after = Float64Array.from(this.motion.at(b));
      this.motion.at(time);
      return after.map((x, k) => (x - before[k]) / (b - a || 1));
    }

    // instant centres of all bodies relative to the ground, in the plane: where a body has no velocity
    centres(time) {
      const rates = this.rates(time), p = this.motion.points, out = [];
      for (const { name, points } of this.scene.shapes) {
        const i = points[0], j = points.find((n) => Math.hypot(p[3 * n] - p[3 * i], p[3 * n + 1] - p[3 * i + 1]) > 1e-9);
        if (j === undefined) continue;
        const d = [p[3 * j] - p[3 * i], p[3 * j + 1] - p[3 * i + 1]], v = [rates[3 * i], rates[3 * i + 1]];
        const spin = (d[0] * (rates[3 * j + 1] - v[1]) - d[1] * (rates[3 * j] - v[0])) / (d[0] ** 2 + d[1] ** 2);
        // a body that only translates has its centre at infinity
        if (Math.abs(spin) * Math.hypot(...d) > 1e-4 * Math.hypot(...v)) out.push({ name, at: [p[3 * i] - v[1] / spin, p[3 * i + 1] + v[0] / spin, 0], body: [i, j] });
      }
      return out;
    }

    drawCentres(c, colors, time) {
      const flat = this.flat, used = new Map();
      c.font = "12px system-ui, sans-serif"; c.textAlign = "left"; c.textBaseline = "middle";
      for (const { name, at, body } of this.centres(time)) {
        const [x, y] = this.place(at), spot = `${Math.round(x / 6)} ${Math.round(y / 6)}`, row = used.get(spot) || 0;
        used.set(spot, row + 1);
        c.strokeStyle = colors.arrows[2]; c.fillStyle = colors.arrows[2]; c.lineWidth = 1;
        c.setLineDash([3, 4]); c.beginPath();
        for (const i of body) { c.moveTo(x, y); c.lineTo(flat[3 * i], flat[3 * i + 1]); }
        c.stroke(); c.setLineDash([]);
        c.lineWidth = 2; c.beginPath(); c.moveTo(x - 5, y - 5); c.lineTo(x + 5, y + 5); c.moveTo(x - 5, y + 5); c.lineTo(x + 5, y - 5); c.stroke();
        c.fillText(`I ${name}`, x + 8, y + 8 + 13 * row);
      }
    }

    vectors(kind, time) {
      const out = [], { signs, dimension } = this.scene;
      if (kind === "velocities" || kind === "accelerations") {
        const rates = kind === "velocities" ? this.rates(time) : null, seen = new Set();
        for (const s of signs) {
          const i = s.points.at(s.named ?? -1);
          if (seen.has(i) || !this.scene.moves[i]) continue;
          seen.add(i);
          const vector = rates ? [0, 1, 2].map((k) => rates[3 * i + k])
            : ["x", "y", "z"].map((axis, k) => (k < dimension ? this.values.at(`${s.name}.a${axis} [m/s^2]`, time) : 0));
          if (vector.every(Number.isFinite)) out.push({ point: i, vector });
        }
      }
      if (kind === "reactions" && this.values)
        for (const s of signs)
          for (const label of this.values.exerted[s.name] || []) {
            // of a pin with three or more bodies an arrow for each, with its name
            const body = label === s.name ? "" : label.slice(s.name.length + 1);
            if (this.onBody && !(body ? label.endsWith(` on ${this.onBody}`) : s.bodies.includes(this.onBody))) continue;
            const v = ["x", "y", "z"].slice(0, dimension).map((axis) => this.values.at(`${label}.F${axis} [N]`, time));
            // columns of a joint of two bodies are those on its second one
            const sign = !body && this.onBody && s.bodies[0] === this.onBody ? -1 : 1;
            if (v.every(Number.isFinite)) out.push({ point: s.points.at(-1), vector: v.concat(0).slice(0, 3).map((x) => sign * x), dash: this.values.shared.has(label), word: body });
          }
      if (kind === "forces" && this.values)
        for (const s of signs.filter((g) => g.glyph === "spring")) {
          const pull = this.values.at(`${s.name}.force [N]`, time), p = this.motion.points;
          const [i, j] = s.points, d = [0, 1, 2].map((k) => p[3 * j + k] - p[3 * i + k]), length = Math.hypot(...d) || 1;
          if (!Number.isFinite(pull)) continue;
          out.push({ point: i, vector: d.map((x) => pull * x / length) }, { point: j, vector: d.map((x) => -pull * x / length) });
        }
      return out;
    }

    largestVector(kind) {
      this.largest = this.largest || {};
      if (!(kind in this.largest)) {
        const sizes = [], now = this.clock.time;
        for (let k = 0; k <= 60; k++)
          for (const { vector } of this.vectors(kind, this.scene.end * k / 60)) sizes.push(Math.hypot(...vector));
        this.motion.at(Math.min(now, this.scene.end));
        // a pole at a crossing would leave nothing of all others
        sizes.sort((a, b) => a - b);
        this.largest[kind] = sizes.length ? sizes[Math.floor(0.98 * (sizes.length - 1))] : 0;
      }
      return this.largest[kind];
    }

    // name and numbers next to the selection
    drawValues(c, colors, flat, time) {
      const item = this.chosen, rows = this.values ? this.values.rows(item.name, time).slice(0, 7) : [];
      const lines = [item.name, ...rows];
      c.font = "12px system-ui, sans-serif"; c.textAlign = "left"; c.textBaseline = "middle";
      const wide = Math.max(...lines.map((t) => c.measureText(t).width)) + 14, high = 16 * lines.length + 8;
      const [x, y] = this.middleOf(item, flat);
      const left = x + 16 + wide < this.w ? x + 16 : Math.max(4, x - 16 - wide);
      const top = Math.min(Math.max(y - high / 2, 34), Math.max(34, this.h - high - 34));
      c.globalAlpha = 0.9; c.fillStyle = colors.paper; c.fillRect(left, top, wide, high); c.globalAlpha = 1;
      c.lineWidth = 1; c.strokeStyle = colors.accent;
      c.beginPath(); c.moveTo(left, top); c.lineTo(left + wide, top); c.lineTo(left + wide, top + high);
      c.lineTo(left, top + high); c.closePath(); c.stroke();
      lines.forEach((text, k) => {
        c.fillStyle = k ? colors.ink : colors.accent; c.fillText(text, left + 7, top + 12 + 16 * k);
      });
    }

    // the picture as it is now, for other programs
    svgText() {
      const pen = new SvgPen(this.w, this.h), view = this.view;
      this.svg = true; this.view = null;
      try { this.render(pen); } finally { this.svg = false; this.view = null; }
      this.draw();
      return pen.text();
    }

    drawTrace(c, colors, time) {
      const way = (points) => {
        const path = this.newPath();
        points.forEach((p, i) => { const [x, y] = this.place(p); if (i) path.lineTo(x, y); else path.moveTo(x, y); });
        return path;
      };
      // whole paths change only with the view
      const view = [this.turn, this.tilt, this.scale, ...this.shift, ...this.target, this.w].join();
      const fresh = this.view !== view;
      this.view = view;
      this.traced.forEach((t, k) => {
        if (!t.path.length) return;
        if (fresh || !t.whole) t.whole = way(t.path);
        const line = (path, alpha, width) => {
          c.globalAlpha = alpha; c.lineWidth = width; c.strokeStyle = this.traceColor(colors, k); c.stroke(path); c.globalAlpha = 1;
        };
        // a long run covers its own tracks: the last stretch is drawn strongly
        const now = Math.floor(time / t.step), from = Math.max(0, now - Math.ceil(10 / t.step));
        line(t.whole, 0.25, 1);
        if (this.motion.held) return;
        const o = 3 * t.point, p = this.motion.points;
        line(way([...t.path.slice(from, now + 1), [p[o], p[o + 1], p[o + 2]]]), 1, 1.6);
      });
    }

    // over everything: a crossing often lies at a joint
    drawMarks(c, colors) {
      c.strokeStyle = colors.crossing; c.lineWidth = 1.6;
      for (const mark of this.marks) {
        const [x, y] = this.place(mark);
        c.beginPath(); c.moveTo(x, y - 6); c.lineTo(x + 6, y); c.lineTo(x, y + 6); c.lineTo(x - 6, y);
        c.closePath(); c.stroke();
      }
    }

    drawGround(c, colors, flat, s, edge) {
      const stands = this.newPath(), hatch = this.newPath();
      for (const i of this.scene.ground) {
        const x = flat[3 * i], y = flat[3 * i + 1];
        if (x < -50 || x > this.w + 50) continue;
        stands.moveTo(x, y); stands.lineTo(x - 0.9 * s, y + 1.5 * s); stands.lineTo(x + 0.9 * s, y + 1.5 * s);
        stands.closePath();
        hatch.moveTo(x - 1.5 * s, y + 1.5 * s); hatch.lineTo(x + 1.5 * s, y + 1.5 * s);
        for (let k = 0; k < 5; k++) {
          const left = x - 1.3 * s + 0.65 * k * s;
          hatch.moveTo(left, y + 1.5 * s); hatch.lineTo(left - 0.45 * s, y + 2.1 * s);
        }
      }
      c.lineWidth = edge; c.strokeStyle = colors.edge; c.fillStyle = colors.earth;
      c.fill(stands); c.stroke(stands); c.stroke(hatch);
    }

    drawShapes(c, colors, flat, bar, edge) {
      const bars = [], margin = 60;
      this.scene.shapes.forEach((shape, n) => {
        const [a, b] = shape.points, color = colors.bars[n % COLORS];
        for (const face of shape.faces) {
          const depth = face.reduce((sum, i) => sum + flat[3 * i + 2], 0) / face.length;
          bars.push({ depth, face, color });
        }
        if (shape.kind === "plate" || shape.kind === "block" || b === undefined) return;
        const x1 = flat[3 * a], y1 = flat[3 * a + 1], x2 = flat[3 * b], y2 = flat[3 * b + 1];
        if (Math.max(x1, x2) < -margin || Math.min(x1, x2) > this.w + margin) return;
        bars.push({ depth: (flat[3 * a + 2] + flat[3 * b + 2]) / 2, x1, y1, x2, y2, color });
      });
      if (this.scene.dimension > 2) bars.sort((a, b) => a.depth - b.depth);
      c.lineCap = "round";
      if (bars.length > 60 && this.scene.dimension < 3 && !bars.some((b) => b.face)) this.strokeMany(c, colors, bars, bar, edge);
      else for (const b of bars) this.strokeOne(c, colors, flat, b, bar, edge);
      for (const [n, shape] of this.scene.shapes.entries()) {
        if (shape.kind !== "mass") continue;
        this.dot(c, flat, shape.points[0], 1.1 * bar + 2, colors.bars[n % COLORS], colors.edge, edge);
      }
    }

    strokeOne(c, colors, flat, b, bar, edge) {
      if (b.face) {
        c.beginPath();
        b.face.forEach((i, k) => (k ? c.lineTo(flat[3 * i], flat[3 * i + 1]) : c.moveTo(flat[3 * i], flat[3 * i + 1])));
        c.closePath();
        c.lineWidth = bar; c.strokeStyle = colors.edge; c.stroke();
        c.lineWidth = bar - 2 * edge; c.strokeStyle = b.color; c.fillStyle = b.color; c.stroke(); c.fill();
        return;
      }
      c.beginPath(); c.moveTo(b.x1, b.y1); c.lineTo(b.x2, b.y2);
      c.lineWidth = bar; c.strokeStyle = colors.edge; c.stroke();
      c.lineWidth = bar - 2 * edge; c.strokeStyle = b.color; c.stroke();
    }

    strokeMany(c, colors, bars, bar, edge) {
      const stroke = (list, width, color) => {
        c.beginPath();
        for (const b of list) { c.moveTo(b.x1, b.y1); c.lineTo(b.x2, b.y2); }
        c.lineWidth = width; c.strokeStyle = color; c.stroke();
      };
      stroke(bars, bar, colors.edge);
      for (const color of colors.bars) stroke(bars.filter((b) => b.color === color), bar - 2 * edge, color);
    }

    drawSigns(c, colors, flat, bar, sign, edge) {
      const at = (i) => [flat[3 * i], flat[3 * i + 1]];
      const line = (i, j, width, color) => {
        c.beginPath(); c.moveTo(...at(i)); c.lineTo(...at(j)); c.lineWidth = width; c.strokeStyle = color; c.stroke();
      };
      // thousands of joints smaller than a pixel only cost time
      const crowded = this.scene.signs.length > 400 && this.scene.size * this.scale < 6;
      const pins = this.newPath(), radius = 0.42 * bar + 0.8;
      for (const s of crowded ? [] : this.scene.signs) {
        const [x] = at(s.points[0]);
        if (x < -60 || x > this.w + 60) continue;
        c.lineCap = "butt";
        const slides = s.glyph === "guide" || s.glyph === "slider";
        s.lines.forEach(([i, j], k) => {
          if (slides && k === 1) this.block(c, colors, at(i), at(j), 1.4 * sign, edge);
          else line(i, j, s.glyph === "plane" || slides ? 1.4 * edge : 0.75 * bar, colors.edge);
          if (slides && k === 0 && !this.scene.moves[i]) this.hatch(c, colors, at(i), at(j), sign, edge);
        });
        const end = s.points[s.points.length - 1];
        if (s.glyph === "spring") this.spring(c, colors, at(s.points[0]), at(end), sign, edge);
        else if (s.glyph === "link") {
          line(s.points[0], end, 2 * edge, colors.edge);
          for (const p of s.points) this.dot(c, flat, p, 0.35 * bar + 1, colors.edge);
        } else if (s.glyph === "ball" || s.glyph === "point")
          this.dot(c, flat, end, 0.4 * bar + 1, colors.edge);
        else if (s.glyph === "square") {
          const [px, py] = at(end), half = 0.45 * bar + 1;
          c.fillStyle = colors.edge; c.fillRect(px - half, py - half, 2 * half, 2 * half);
        } else if (s.glyph !== "slider") {
          const [px, py] = at(end);
          pins.moveTo(px + radius, py); pins.arc(px, py, radius, 0, 2 * Math.PI);
        }
        const way = s.glyph === "slider" ? s.lines[0] : s.glyph === "link" ? s.points : null;
        if (s.driven && way) this.push(c, at(way[0]), at(way[1]), sign + 3, colors.accent, 1.6 * edge);
        else if (s.driven) this.ring(c, at(end), 0.9 * bar + 3, colors.accent, 1.6 * edge);
        if (s.torsion) this.spiral(c, at(end), 0.9 * bar + 2, colors.soft, 1.3 * edge);
      }
      c.fillStyle = colors.joint; c.fill(pins);
      c.lineWidth = 1.4 * edge; c.strokeStyle = colors.edge; c.stroke(pins);
    }

    dot(c, flat, i, radius, fill, stroke, width) {
      const x = flat[3 * i], y = flat[3 * i + 1];
      if (x < -20 || x > this.w + 20) return;
      c.beginPath(); c.arc(x, y, radius, 0, 2 * Math.PI); c.fillStyle = fill; c.fill();
      if (stroke) { c.lineWidth = width; c.strokeStyle = stroke; c.stroke(); }
    }

    // a motor: an arrow around the joint, and the letter next to it
    ring(c, [x, y], radius, color, width) {
      c.beginPath(); c.arc(x, y, radius, -0.6 * Math.PI, 0.9 * Math.PI); c.lineWidth = width; c.strokeStyle = color;
      c.stroke();
      const tx = x + radius * Math.cos(0.9 * Math.PI), ty = y + radius * Math.sin(0.9 * Math.PI);
      c.beginPath(); c.moveTo(tx, ty - 4); c.lineTo(tx - 4, ty + 2); c.lineTo(tx + 4, ty + 2); c.closePath();
      c.fillStyle = color; c.fill();
      c.font = "bold 11px system-ui, sans-serif"; c.textAlign = "center"; c.textBaseline = "middle";
      c.fillText("M", x + 0.75 * radius + 7, y - 0.75 * radius - 6);
    }

    // a motor of a slider: an arrow with two heads along it, next to its middle
    push(c, [x1, y1], [x2, y2], size, color, width) {
      const length = Math.hypot(x2 - x1, y2 - y1) || 1, tx = (x2 - x1) / length, ty = (y2 - y1) / length;
      const x = (x1 + x2) / 2 + size * ty, y = (y1 + y2) / 2 - size * tx, half = 1.3 * size;
      c.beginPath(); c.moveTo(x - half * tx, y - half * ty); c.lineTo(x + half * tx, y + half * ty);
      for (const way of [-half, half]) {
        const px = x + way * tx, py = y + way * ty, back = -Math.sign(way) * 5;
        c.moveTo(px + back * tx - 4 * ty, py + back * ty + 4 * tx); c.lineTo(px, py);
        c.lineTo(px + back * tx + 4 * ty, py + back * ty - 4 * tx);
      }
      c.lineWidth = width; c.strokeStyle = color; c.stroke();
      c.font = "bold 11px system-ui, sans-serif"; c.textAlign = "center"; c.textBaseline = "middle";
      c.fillStyle = color; c.fillText("M", x + 9 * ty, y - 9 * tx);
    }

    spiral(c, [x, y], radius, color, width) {
      c.beginPath();
      for (let k = 0; k <= 60; k++) {
        const a = k / 60 * 5 * Math.PI, r = radius * (0.45 + 0.85 * k / 60);
        if (k) c.lineTo(x + r * Math.cos(a), y + r * Math.sin(a)); else c.moveTo(x + r, y);
      }
      c.lineWidth = width; c.strokeStyle = color; c.stroke();
    }

    // short strokes on the lower side of a guide that the ground holds
    hatch(c, colors, a, b, size, edge) {
      const [[x1, y1], [x2, y2]] = a[0] <= b[0] ? [a, b] : [b, a];
      const length = Math.hypot(x2 - x1, y2 - y1) || 1, tx = (x2 - x1) / length, ty = (y2 - y1) / length;
      const count = Math.max(2, Math.floor(length / (0.65 * size)));
      c.beginPath();
      for (let k = 0; k < count; k++) {
        const s = length * k / (count - 1), x = x1 + s * tx, y = y1 + s * ty;
        c.moveTo(x, y); c.lineTo(x + 0.6 * size * (-ty - 0.7 * tx), y + 0.6 * size * (tx - 0.7 * ty));
      }
      c.lineWidth = edge; c.strokeStyle = colors.edge; c.stroke();
    }

    // a slider along its guide
    block(c, colors, [x1, y1], [x2, y2], height, edge) {
      const length = Math.hypot(x2 - x1, y2 - y1) || 1;
      const nx = -(y2 - y1) / length * height / 2, ny = (x2 - x1) / length * height / 2;
      c.beginPath(); c.moveTo(x1 - nx, y1 - ny); c.lineTo(x2 - nx, y2 - ny); c.lineTo(x2 + nx, y2 + ny);
      c.lineTo(x1 + nx, y1 + ny); c.closePath();
      c.fillStyle = colors.earth; c.fill(); c.lineWidth = edge; c.strokeStyle = colors.edge; c.stroke();
    }

    spring(c, colors, [x1, y1], [x2, y2], width, edge) {
      const dx = x2 - x1, dy = y2 - y1, length = Math.hypot(dx, dy) || 1;
      const nx = -dy / length * 0.7 * width, ny = dx / length * 0.7 * width, turns = 12;
      c.beginPath(); c.moveTo(x1, y1); c.lineTo(x1 + 0.14 * dx, y1 + 0.14 * dy);
      for (let k = 0; k < turns; k++) {
        const s = 0.14 + 0.72 * (k + 0.5) / turns, side = k % 2 ? 1 : -1;
        c.lineTo(x1 + s * dx + side * nx, y1 + s * dy + side * ny);
      }
      c.lineTo(x1 + 0.86 * dx, y1 + 0.86 * dy); c.lineTo(x2, y2);
      c.lineWidth = 1.5 * edge; c.strokeStyle = colors.soft; c.stroke();
    }

    // directions, a bar of known length, and where things fall
    drawAxes(c, colors) {
      const r = this.rows(), x = 30, y = this.h - 26, { dimension, gravity, up } = this.scene;
      c.font = "12px system-ui, sans-serif"; c.lineWidth = 1.5; c.textAlign = "center"; c.textBaseline = "middle";
      c.strokeStyle = colors.soft; c.fillStyle = colors.soft;
      ["x", "y", "z"].slice(0, dimension).forEach((name, k) => {
        const dx = 20 * r[0][k], dy = -20 * r[1][k];
        c.beginPath(); c.moveTo(x, y); c.lineTo(x + dx, y + dy); c.stroke();
        if (Math.hypot(dx, dy) > 6) c.fillText(name, x + 1.4 * dx, y + 1.4 * dy);
      });
      const length = round(0.22 * this.w / this.scale), wide = length * this.scale, left = 76;
      c.beginPath(); c.moveTo(left, y - 4); c.lineTo(left, y + 4); c.moveTo(left, y); c.lineTo(left + wide, y);
      c.moveTo(left + wide, y - 4); c.lineTo(left + wide, y + 4); c.stroke();
      c.textAlign = "left";
      c.fillText(length < 0.01 ? `${show(1000 * length)} mm` : `${show(length)} m`, left + wide + 6, y);
      if (gravity > 0) {
        const down = [0, 1].map((k) => -r[k].reduce((sum, v, i) => sum + v * (up[i] || 0), 0));
        this.arrow(c, colors.soft, [18, 40], [26 * down[0], -26 * down[1]], false);
        c.fillStyle = colors.soft; c.fillText("g", 26, 48);
      }
    }

    highlight(c, colors, flat, bar, item) {
      c.strokeStyle = colors.accent; c.lineWidth = 2.5; c.globalAlpha = 0.9;
      for (const i of item.lines ? [item.points[item.points.length - 1]] : item.points) {
        c.beginPath(); c.arc(flat[3 * i], flat[3 * i + 1], 0.6 * bar + 4, 0, 2 * Math.PI); c.stroke();
      }
      c.globalAlpha = 1;
    }

    // the joint or body under the pointer
    find(x, y) {
      const flat = this.project(this.motion.at(Math.min(this.clock.time, this.scene.end)));
      let best = null, near = 12;
      for (const s of this.scene.signs) {
        for (const i of s.points) {
          const d = Math.hypot(flat[3 * i] - x, flat[3 * i + 1] - y);
          if (d < near) { near = d; best = { item: s, point: i, kind: s.kind }; }
        }
      }
      if (best) return best;
      near = this.bar / 2 + 5;
      const distance = (a, b) => {
        const x1 = flat[3 * a], y1 = flat[3 * a + 1], dx = flat[3 * b] - x1, dy = flat[3 * b + 1] - y1;
        const s = Math.min(Math.max(((x - x1) * dx + (y - y1) * dy) / (dx * dx + dy * dy || 1), 0), 1);
        return Math.hypot(x1 + s * dx - x, y1 + s * dy - y);
      };
      for (const s of [...this.scene.shapes, ...this.scene.signs.filter((g) => g.points.length > 1)]) {
        for (let k = 0; k < s.points.length; k++) {
          const d = distance(s.points[k], s.points[(k + 1) % s.points.length]);
          if (d < near) { near = d; best = { item: s, point: null, kind: s.kind }; }
        }
      }
      if (best) return best;
      const c = this.canvas.getContext("2d");
      for (const s of this.scene.shapes) {
        for (const face of s.faces) {
          const area = new Path2D();
          face.forEach((i, k) => (k ? area.lineTo(flat[3 * i], flat[3 * i + 1]) : area.moveTo(flat[3 * i], flat[3 * i + 1])));
          if (c.isPointInPath(area, x * this.ratio, y * this.ratio)) return { item: s, point: null, kind: s.kind };
        }
      }
      return null;
    }

    describe(found) {
      const { item, point } = found;
      if (!item.lines) return `${item.name}\nbody (${item.kind})`;
      const lines = [item.name, item.kind === "point" ? "named point" : item.kind === "spring" ? "spring" : `${item.kind} joint`];
      lines[1] += ` of ${item.bodies.join(", ")}`;
      if (item.driven) lines.push("driven");
      if (item.torsion) lines.push("with a torsional spring");
      if (point !== null) {
        const p = this.motion.points, d = this.scene.dimension;
        lines.push("xyz".slice(0, d).split("").map((n, k) => `${n} = ${show(p[3 * point + k])} m`).join(", "));
      }
      return lines.join("\n");
    }

    listen() {
      const canvas = this.canvas, box = tip();
      let drag = null, taken = false, pinch = null;
      const fingers = new Map();
      const here = (e) => { const r = canvas.getBoundingClientRect(); return [e.clientX - r.left, e.clientY - r.top]; };
      // two fingers: how far they are apart, and the place between them
      const spread = () => {
        const r = canvas.getBoundingClientRect(), [[x1, y1], [x2, y2]] = [...fingers.values()];
        return { apart: Math.max(Math.hypot(x2 - x1, y2 - y1), 1), x: (x1 + x2) / 2 - r.left, y: (y1 + y2) / 2 - r.top };
      };
      const lift = (e) => { fingers.delete(e.pointerId); if (!fingers.size) pinch = null; };
      canvas.addEventListener("pointerdown", (e) => {
        canvas.setPointerCapture(e.pointerId);
        fingers.set(e.pointerId, [e.clientX, e.clientY]);
        if (fingers.size === 2) {
          // what one finger began was meant for two
          if (taken && this.tool.stop) this.tool.stop();
          taken = false; drag = null; pinch = spread();
        }
        if (fingers.size > 1) return;
        taken = Boolean(this.tool && this.tool.down(this.find(...here(e)), here(e), e));
        box.style.display = "none";
        if (!taken) drag = { x: e.clientX, y: e.clientY, moved: 0 };
      });
      canvas.addEventListener("pointerup", (e) => {
        const pinched = pinch !== null;
        lift(e);
        if (pinched) return;
        if (taken) { taken = false; this.tool.up(here(e), e); return; }
        // without a way it was a click, or a tap
        if (drag && drag.moved < 5) {
          const r = canvas.getBoundingClientRect(), found = this.find(e.clientX - r.left, e.clientY - r.top);
          this.choose(found ? found.item.name : null);
        }
        drag = null;
      });
      canvas.addEventListener("pointercancel", (e) => {
        lift(e);
        if (taken) this.tool.up(here(e), e);
        taken = false; drag = null;
      });
      canvas.addEventListener("pointerleave", () => { box.style.display = "none"; this.point(null); });
      canvas.addEventListener("pointermove", (e) => {
        if (fingers.has(e.pointerId)) fingers.set(e.pointerId, [e.clientX, e.clientY]);
        if (pinch) {
          if (fingers.size !== 2) return;
          const now = spread();
          this.shift = [this.shift[0] + now.x - pinch.x, this.shift[1] + now.y - pinch.y];
          this.zoom(now.apart / pinch.apart, now.x, now.y);
          pinch = now;
          return;
        }
        if (this.tool && !drag && this.tool.move(here(e), e, taken)) return;
        if (drag) {
          const dx = e.clientX - drag.x, dy = e.clientY - drag.y;
          drag = { x: e.clientX, y: e.clientY, moved: drag.moved + Math.hypot(dx, dy) };
          if (drag.moved < 5) return;
          this.viewed = true;
          if (this.scene.dimension > 2 && !e.shiftKey) {
            this.turn -= 0.5 * dx; this.tilt = Math.min(Math.max(this.tilt + 0.5 * dy, -89), 89);
          } else { this.shift[0] += dx; this.shift[1] += dy; }
          box.style.display = "none";
          this.draw();
          return;
        }
        const r = canvas.getBoundingClientRect();
        this.point(this.find(e.clientX - r.left, e.clientY - r.top));
        box.style.display = this.hovered ? "block" : "none";
        if (!this.hovered) return;
        box.textContent = this.describe(this.hovered);
        const left = Math.min(e.clientX + 14, window.innerWidth - box.offsetWidth - 8);
        box.style.left = `${left}px`;
        box.style.top = `${Math.min(e.clientY + 14, window.innerHeight - box.offsetHeight - 8)}px`;
      });
      canvas.addEventListener("wheel", (e) => {
        // plain scrolling belongs to the page
        if (!e.ctrlKey) return;
        e.preventDefault();
        this.zoom(Math.exp(-0.002 * e.deltaY), ...here(e));
      }, { passive: false });
    }
  }

  // play, pause, speed and a time line with its marks
  // returns what shows another run: its end and marks
  function transport(host, clock, end, marks) {
    host.classList.add("transport");
    const play = document.createElement("button");
    play.type = "button"; play.className = "play";
    play.addEventListener("click", () => clock.toggle());
    const line = document.createElement("div");
    line.className = "timeline";
    const slider = document.createElement("input");
    Object.assign(slider, { type: "range", min: 0, max: clock.duration, step: "any", value: 0 });
    slider.setAttribute("aria-label", "time [s]");
    slider.addEventListener("input", () => {
      // pausing reports the old time, this slider too
      const time = Number(slider.value);
      clock.pause(); clock.set(time);
    });
    const left = (time) => `calc(8px + (100% - 16px) * ${time / clock.duration})`;
    const fill = (end, marks) => {
      slider.max = clock.duration;
      line.replaceChildren(slider);
      if (end < clock.duration * (1 - 1e-9)) line.append(element("div", { className: "missing", style: `left: ${left(end)}` }));
      for (const mark of marks) {
        const title = `${mark.word} at ${show(mark.time)} s`;
        line.append(element("button", { type: "button", className: mark.word === "crossing" ? "mark" : "mark near", title,
          "aria-label": title, style: `left: ${left(mark.time)}`, onclick: () => { clock.pause(); clock.set(mark.time); } }));
      }
    };
    fill(end, marks);
    const readout = document.createElement("output");
    const speed = document.createElement("select");
    speed.setAttribute("aria-label", "speed");
    for (const x of [0.1, 0.25, 0.5, 1, 2, 5, 10]) {
      const option = document.createElement("option");
      option.value = x; option.textContent = x === 1 ? "real time" : `${x} × speed`; option.selected = x === 1;
      speed.append(option);
    }
    speed.addEventListener("change", () => { clock.speed = Number(speed.value); });
    host.append(play, line, readout, speed);
    clock.onChange(() => {
      const word = clock.playing ? "❚❚ pause" : "▶ play";
      if (play.textContent !== word) play.textContent = word;
      slider.value = clock.time;
      readout.textContent = `${clock.time.toFixed(2)} of ${show(clock.duration)} s`;
    });
    return fill;
  }

  function element(kind, attributes, ...children) {
    const made = document.createElement(kind);
    for (const [name, value] of Object.entries(attributes)) {
      if (name.startsWith("on")) made.addEventListener(name.slice(2), value);
      else if (name in made && name !== "list") made[name] = value;
      else made.setAttribute(name, value);
    }
    made.append(...children);
    return made;
  }

  // what the picture shows: a part of it, traces, view, arrows; and the picture as a file
  function options(host, player, files = []) {
    host.classList.add("options");
    const { signs, shapes, dimension } = player.scene;
    const check = (text, checked, change) => {
      const box = element("input", { type: "checkbox", checked, onchange: () => { change(box.checked); player.draw(); } });
      return element("label", {}, box, ` ${text}`);
    };
    const part = element("select", { "aria-label": "part of the mechanism", onchange: () => player.choose(part.value || null) },
      element("option", { value: "" }, "choose a part"));
    const group = (title, items) => {
      const names = [...new Set(items.map((item) => item.name))];
      if (names.length) part.append(element("optgroup", { label: title }, ...names.map((name) => element("option", { value: name }, name))));
    };
    group("points", signs.filter((s) => s.kind === "point"));
    group("joints", signs.filter((s) => s.kind !== "point" && s.kind !== "spring"));
    group("springs", signs.filter((s) => s.kind === "spring"));
    group("bodies", shapes);
    const trace = element("button", { type: "button", onclick: () => { player.toggleTrace(player.followed()); tell(); } }, "trace");
    const kinds = ["velocities"];
    if (player.values && player.values.has(".ax [m/s^2]")) kinds.push("accelerations");
    if (dimension < 3) kinds.push("centres");
    if (player.values && player.values.has(".Fx [N]")) kinds.push("reactions");
    if (signs.some((s) => s.kind === "spring") && player.values) kinds.push("forces");
    const words = { velocities: "velocities", accelerations: "accelerations", centres: "instant centres", reactions: "reactions", forces: "spring forces" };
    const length = element("input", { type: "range", min: 0.2, max: 4, step: 0.1, value: 1, disabled: true, "aria-label": "length of the arrows",
      oninput: () => { player.arrowLength = Number(length.value); player.draw(); } });
    const on = element("select", { "aria-label": "body that reactions act on", hidden: true,
      onchange: () => { player.onBody = on.value; player.draw(); } },
      element("option", { value: "" }, "on every body"), ...shapes.map((s) => element("option", { value: s.name }, `on ${s.name}`)));
    const arrows = element("select", { "aria-label": "arrows", onchange: () => {
      player.arrows = arrows.value; length.disabled = !arrows.value; on.hidden = arrows.value !== "reactions"; player.draw(); } },
      element("option", { value: "" }, "no arrows"), ...kinds.map((k) => element("option", { value: k }, words[k])));
    const button = (text, title, onclick) => element("button", { type: "button", title, onclick }, text);
    const name = player.scene.name;
    const tell = () => {
      const on = player.traced.some((t) => t.point === player.followed());
      trace.textContent = on ? "no trace" : "trace";
    };
    player.onChoice((chosen) => { part.value = chosen || ""; tell(); });
    tell();
    host.append(part, trace, check("follow", false, (on) => { player.follow = on; if (!on) player.fit(false); }));
    host.append(check("names", player.names, (on) => { player.names = player.named = on; }));
    if (dimension < 3) host.append(check("grid", player.grid, (on) => { player.grid = on; }));
    host.append(element("span", { className: "pair" }, arrows, on, length),
      element("span", { className: "files" },
        button("SVG", "the picture as SVG", () => download(`${name}.svg`, player.svgText(), "image/svg+xml")),
        button("PNG", "the picture as PNG", () => player.canvas.toBlob((blob) => download(`${name}.png`, blob))),
        ...files.map(([text, title, get]) => button(text, title, () => { const file = get(); if (file) download(...file); }))));
  }

  function theme() {
    const dark = window.matchMedia("(prefers-color-scheme: dark)");
    const apply = (word) => { document.documentElement.dataset.theme = word; };
    apply(dark.matches ? "dark" : "light");
    return { apply, dark };
  }

  return { Clock, Player, download, element, floats, options, show, theme, transport };
})();
