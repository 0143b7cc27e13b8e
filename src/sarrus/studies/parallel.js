"use strict";
// Parallel coordinates: a line a run over axes that are moved by their names and brushed along their length.
// Drawn without a library: the one for plots would write programs of its own, which the page's policy forbids.
const Parallel = (() => {
  const SVG = "http://www.w3.org/2000/svg";
  const TICKS = 5, REACH = 14, BOTTOM = 26;

  function make(parent, tag, attributes = {}, text = "") {
    const element = parent.appendChild(document.createElementNS(SVG, tag));
    for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
    element.textContent = text;
    return element;
  }

  // a colour between the stops of a scale, at a share from 0 to 1
  function mix(stops, share) {
    const at = Math.min(Math.max(share, 0), 1) * (stops.length - 1), k = Math.min(Math.floor(at), stops.length - 2);
    const parts = stops[k].map((from, i) => Math.round(from + (at - k) * (stops[k + 1][i] - from)));
    return `rgb(${parts.join(",")})`;
  }

  const range = (values) => values.reduce(([a, b], x) => [Math.min(a, x), Math.max(b, x)], [Infinity, -Infinity]);
  const share = ([low, high], value) => (high > low ? (value - low) / (high - low) : 0.5);
  const shown = (value) => String(Number(value.toPrecision(3)));

  class Plot {
    // axes: [{ name, label, values }]; the runs are the entries of all values
    constructor(place, axes, color, style) {
      Object.assign(this, { place, axes, color, style, brushes: new Map() });
      for (const axis of [...axes, color]) axis.range = range(axis.values);
      place.replaceChildren();
      Object.assign(place.style, { position: "relative", overflowX: "auto", overflowY: "hidden" });
      this.canvas = place.appendChild(document.createElement("canvas"));
      this.svg = make(place, "svg", { style: "position:absolute;left:0;top:0;touch-action:pan-x pan-y" });
      new ResizeObserver(() => this.draw()).observe(place);
      this.draw();
    }

    draw() {
      // numbers at the axes need some room: where there is less, the plot scrolls in its frame
      const room = this.place.clientWidth, wide = Math.max(room, 60 * this.axes.length + 120);
      const close = wide < 170 * this.axes.length;
      this.top = close ? 140 : 34;
      this.high = 300;
      const height = this.top + this.high + BOTTOM, legend = room > 500 ? 90 : 0;
      const left = close ? 40 : 90, inner = wide - left - Math.max(legend + 30, close ? 125 : 80);
      this.x = (k) => left + (this.axes.length > 1 ? (k * inner) / (this.axes.length - 1) : inner / 2);
      this.y = (axis, value) => this.top + (1 - share(axis.range, value)) * this.high;
      this.place.style.height = `${height + (wide > room ? 16 : 0)}px`;
      this.drawLines(wide, height);
      const focus = this.svg.contains(document.activeElement) ? document.activeElement.dataset : null;
      this.svg.replaceChildren();
      this.svg.setAttribute("width", wide);
      this.svg.setAttribute("height", height);
      this.axes.forEach((axis, k) => this.drawAxis(axis, this.x(k), close));
      if (legend) this.drawLegend(wide - legend + 20);
      // what had the focus has been drawn again
      const same = (e) => e.dataset.axis === focus.axis && e.dataset.part === focus.part;
      if (focus) [...this.svg.querySelectorAll("[data-axis]")].find(same)?.focus();
    }

    kept(i) {
      for (const [axis, [low, high]] of this.brushes) {
        if (axis.values[i] < low || axis.values[i] > high) return false;
      }
      return true;
    }

    drawLines(wide, height) {
      const ratio = window.devicePixelRatio || 1, pen = this.canvas.getContext("2d");
      this.canvas.width = wide * ratio;
      this.canvas.height = height * ratio;
      this.canvas.style.width = `${wide}px`;
      pen.scale(ratio, ratio);
      const runs = this.color.values.map((_, i) => i), inside = runs.filter((i) => this.kept(i));
      this.place.dataset.kept = inside.length;
      const stroke = (i) => {
        pen.beginPath();
        this.axes.forEach((axis, k) => pen[k ? "lineTo" : "moveTo"](this.x(k), this.y(axis, axis.values[i])));
        if (this.axes.length === 1) pen.lineTo(this.x(0) + 12, this.y(this.axes[0], this.axes[0].values[i]));
        pen.stroke();
      };
      if (inside.length < runs.length) {
        pen.strokeStyle = this.style.line;
        pen.globalAlpha = 0.25;
        runs.forEach(stroke);
      }
      pen.globalAlpha = Math.max(0.15, Math.min(0.9, 60 / Math.sqrt(inside.length + 1) / 8));
      for (const i of inside) {
        pen.strokeStyle = mix(this.style.scale, share(this.color.range, this.color.values[i]));
        stroke(i);
      }
    }

    drawAxis(axis, x, close) {
      const group = make(this.svg, "g", { class: "axis" }), { ink } = this.style;
      const low = this.top, high = this.top + this.high;
      make(group, "line", { x1: x, x2: x, y1: low, y2: high, stroke: ink });
      for (let k = 0; k < TICKS; k++) {
        const value = axis.range[0] + ((axis.range[1] - axis.range[0]) * k) / (TICKS - 1);
        make(group, "text", { x: x + 5, y: this.y(axis, value) + 4, "font-size": 11, fill: ink,
          stroke: this.style.paper, "stroke-width": 3, "paint-order": "stroke" }, shown(value));
      }
      const turn = close ? `rotate(-45 ${x} ${low - 14})` : "";
      const anchor = close ? "start" : "middle";
      const title = make(group, "text", { x, y: low - 14, class: "axis-title", "text-anchor": anchor, transform: turn,
        fill: ink, "font-size": 12, style: "cursor:ew-resize;touch-action:none", tabindex: 0, role: "button",
        "data-axis": axis.name, "data-part": "name", "aria-label": `${axis.label}: arrows move this axis` }, axis.label);
      title.addEventListener("keydown", (event) => this.shift(axis, event));
      if (this.brushes.has(axis)) {
        const [from, to] = this.brushes.get(axis).map((value) => this.y(axis, value));
        make(group, "rect", { class: "brush", x: x - 5, width: 10, y: to, height: Math.max(from - to, 1), fill: ink,
          opacity: 0.4 });
      }
      const touch = make(group, "rect", { class: "touch", x: x - REACH, width: 2 * REACH, y: low - 6, height: this.high + 12,
        fill: "transparent", style: "cursor:ns-resize;touch-action:none", tabindex: 0, role: "slider",
        "data-axis": axis.name, "data-part": "range", "aria-valuetext": this.says(axis), "aria-valuenow": this.ends(axis)[0],
        "aria-label": `${axis.label}: runs that are kept` });
      touch.addEventListener("keydown", (event) => this.narrow(axis, event));
      this.follow(title, (event) => this.move(axis, event), () => {});
      this.follow(touch, (event, start) => this.brush(axis, start, event), () => this.brushes.delete(axis));
    }

    ends(axis) {
      return this.brushes.get(axis) || axis.range;
    }

    says(axis) {
      return this.ends(axis).map(shown).join(" to ");
    }

    // keys on the name of an axis: it changes places with its neighbour
    shift(axis, event) {
      const at = this.axes.indexOf(axis), to = at + ({ ArrowLeft: -1, ArrowRight: 1 }[event.key] || 0);
      if (to === at || to < 0 || to >= this.axes.length) return;
      event.preventDefault();
      [this.axes[at], this.axes[to]] = [this.axes[to], this.axes[at]];
      this.draw();
    }

    // keys on an axis: a tenth of its range up or down, of the lower end, or of the upper one with Shift
    narrow(axis, event) {
      const way = { ArrowUp: 0.1, ArrowDown: -0.1 }[event.key], [low, high] = axis.range;
      if (event.key === "Escape") this.brushes.delete(axis);
      else if (way) {
        const ends = [...this.ends(axis)], k = event.shiftKey ? 1 : 0;
        ends[k] = Math.min(Math.max(ends[k] + way * (high - low), k ? ends[0] : low), k ? high : ends[1]);
        this.brushes.set(axis, ends);
      } else return;
      event.preventDefault();
      this.draw();
    }

    // a pointer that is dragged, or only pressed
    follow(element, drag, press) {
      element.addEventListener("pointerdown", (down) => {
        down.preventDefault();
        let dragged = false;
        const move = (event) => {
          dragged ||= Math.hypot(event.clientX - down.clientX, event.clientY - down.clientY) > 3;
          if (!dragged) return;
          drag(event, down);
          this.draw();
        };
        const up = () => {
          window.removeEventListener("pointermove", move);
          window.removeEventListener("pointerup", up);
          if (!dragged) press();
          this.draw();
        };
        window.addEventListener("pointermove", move);
        window.addEventListener("pointerup", up);
      });
    }

    value(axis, event) {
      const y = event.clientY - this.svg.getBoundingClientRect().top;
      const part = Math.min(Math.max(1 - (y - this.top) / this.high, 0), 1);
      return axis.range[0] + part * (axis.range[1] - axis.range[0]);
    }

    brush(axis, start, event) {
      const ends = [this.value(axis, start), this.value(axis, event)];
      this.brushes.set(axis, range(ends));
    }

    move(axis, event) {
      const x = event.clientX - this.svg.getBoundingClientRect().left;
      const others = this.axes.filter((other) => other !== axis);
      const places = this.axes.map((_, k) => Math.abs(this.x(k) - x));
      others.splice(places.indexOf(Math.min(...places)), 0, axis);
      this.axes = others;
    }

    drawLegend(x) {
      const id = "parallel-colours", { scale, ink } = this.style, [low, high] = this.color.range;
      const fade = make(make(this.svg, "defs"), "linearGradient", { id, x1: 0, x2: 0, y1: 1, y2: 0 });
      scale.forEach((_, k) => make(fade, "stop", { offset: k / (scale.length - 1),
        "stop-color": mix(scale, k / (scale.length - 1)) }));
      make(this.svg, "rect", { x, y: this.top, width: 12, height: this.high, fill: `url(#${id})` });
      make(this.svg, "text", { x: x + 16, y: this.top + 8, fill: ink, "font-size": 11 }, shown(high));
      make(this.svg, "text", { x: x + 16, y: this.top + this.high, fill: ink, "font-size": 11 }, shown(low));
      make(this.svg, "text", { x: x + 66, y: this.top + this.high + 20, fill: ink, "font-size": 11, "text-anchor": "end" }, this.color.label);
    }
  }

  return { Plot };
})();
