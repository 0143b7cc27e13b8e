"use strict";
// Drawing in the plane: tools for mouse, fingers and keys, typed places, and the numbers of what is selected.
// bench: what the workbench lends: player(), doc(), edit(change, then), preview(data), setValue(path, number), tell(lines,
// wrong), showNumbers(name)
function SarrusDrawing(bench, typed, card) {
  const el = Sarrus.element, TWO = ["bar", "spring", "cylinder"];
  // pixels: this near to something it is meant; a pointer that went farther has dragged
  const NEAR = 14, ON_BAR = 9, DRAGGED = 8, TURN = Math.PI / 12;
  let tool = "select", from = null, corners = [], cross = null;
  const degrees = (dx, dy) => Math.atan2(dy, dx) * 180 / Math.PI;
  const space = (place) => [place[0], place[1], 0];
  const apart = (a, b) => Math.hypot(b[0] - a[0], b[1] - a[1]);
  // rounding is not shown: neither below twelve digits nor below a picometre
  const tidy = (x) => (Math.abs(x) < 1e-12 ? 0 : Number(x.toPrecision(12)));

  // ---- the place that is meant: a point, a crossing of bars, a place on a bar, else one of the grid

  const grid = () => {
    const raw = 11 / bench.player().scale, ten = 10 ** Math.floor(Math.log10(raw));
    return (raw / ten > 5 ? 10 : raw / ten > 2 ? 5 : 2) * ten;
  };

  // straight edges of bodies, each with the number of its body
  function edges() {
    const { shapes, places } = bench.player().scene, out = [];
    shapes.forEach((shape, n) => {
      const ring = shape.kind === "plate" && shape.faces[0] ? shape.faces[0] : shape.points;
      if (ring.length < 2 || shape.kind === "block") return;
      const count = ring.length > 2 ? ring.length : 1;
      for (let k = 0; k < count; k++) out.push([n, places[ring[k]], places[ring[(k + 1) % ring.length]]]);
    });
    return out;
  }

  // where edges of different bodies cross
  function crossings() {
    const all = edges(), out = [];
    all.forEach(([n, a, b], i) => all.slice(i + 1).forEach(([m, c, d]) => {
      if (n === m) return;
      const u = [b[0] - a[0], b[1] - a[1]], v = [d[0] - c[0], d[1] - c[1]], det = u[0] * v[1] - u[1] * v[0];
      if (Math.abs(det) < 1e-9 * Math.hypot(...u) * Math.hypot(...v)) return;
      const w = [c[0] - a[0], c[1] - a[1]], s = (w[0] * v[1] - w[1] * v[0]) / det, t = (w[0] * u[1] - w[1] * u[0]) / det;
      if (s >= 0 && s <= 1 && t >= 0 && t <= 1) out.push([a[0] + s * u[0], a[1] + s * u[1]]);
    }));
    return out;
  }

  function known() {
    const { scene } = bench.player(), seen = new Set();
    for (const item of [...scene.signs, ...scene.shapes]) for (const i of item.points) seen.add(i);
    return [...seen].map((i) => scene.places[i].slice(0, 2));
  }

  function snapped([x, y], also = () => true) {
    const player = bench.player(), at = player.unplace(x, y).slice(0, 2);
    const best = (places, reach) => places.filter(also).map((p) => [apart(p, at) * player.scale, p])
      .filter(([far]) => far < reach).sort((a, b) => a[0] - b[0])[0];
    const feet = edges().map(([, p, q]) => {
      const d = [q[0] - p[0], q[1] - p[1]];
      const s = Math.min(Math.max(((at[0] - p[0]) * d[0] + (at[1] - p[1]) * d[1]) / (d[0] ** 2 + d[1] ** 2 || 1), 0), 1);
      return [p[0] + s * d[0], p[1] + s * d[1]];
    });
    const found = best([...known(), ...corners], NEAR) || best(crossings(), NEAR) || best(feet, ON_BAR);
    if (found) return [...found[1]];
    const step = grid();
    return at.map((v) => tidy(Math.round(v / step) * step));
  }

  // ---- what a tool does at a place

  // the parts that a change has made are selected
  function change(what) {
    const before = bench.doc().data;
    bench.edit(what, (data) => bench.keep(data, made(before, data)));
  }
  function made(before, data) {
    for (const block of ["joints", "bodies", "springs", "points"])
      for (const name of Object.keys(data[block] || {})) if (!(name in (before[block] || {}))) return name;
    return null;
  }

  function press(at, found) {
    if (TWO.includes(tool)) {
      if (!from) { from = at; show(at); return; }
      if (apart(from, at) > 0) { change({ do: tool, from, to: at }); stop(); }
    } else if (tool === "plate") {
      if (corners.length > 2 && apart(corners[0], at) === 0) close();
      else if (!corners.some((c) => apart(c, at) === 0)) { corners.push(at); show(at); }
    } else if (tool === "motor") {
      if (found && found.item.lines && blockOf(found.item) === "joints") bench.edit({ do: "drive", name: found.item.name });
      else bench.tell(["a motor drives a joint; click a pin or a slider"], true);
    } else if (tool === "select") bench.player().choose(found ? found.item.name : null);
    else change({ do: tool, at });
  }

  function close() {
    if (corners.length < 3) { bench.tell(["a plate needs three corners or more"], true); return; }
    change({ do: "plate", corners });
    stop();
  }

  // ghost of what is about to be drawn, and the typed fields follow the pointer
  function show(at) {
    const player = bench.player(), start = from || corners.at(-1);
    player.ghost = { at: space(at), line: start ? [space(start), space(at)] : null, path: corners.map(space) };
    player.draw();
    fill(at);
  }

  function stop() {
    from = null; corners = [];
    const player = bench.player();
    // who draws by keys sees where the next one acts
    if (cross && player && player.tool && player.canvas.matches(":focus-visible")) { show(cross); return; }
    if (player) { player.ghost = null; player.draw(); }
    fill(null);
  }

  function pencil() {
    let dragged = null, began = null, meant = null;
    const far = (place) => began && Math.hypot(place[0] - began[0], place[1] - began[1]) > DRAGGED;
    const other = (p) => p[0] !== dragged[0] || p[1] !== dragged[1];
    return {
      down(found, place) {
        began = place;
        if (tool === "select") {
          const player = bench.player(), point = found && found.item.lines ? found.point : null;
          player.choose(found ? found.item.name : null);
          dragged = point === null ? null : player.scene.places[point];
          return Boolean(found);
        }
        // done when it is let go: a second finger would make it a pinch
        meant = { found, at: snapped(place) };
        return true;
      },
      move(place, e, taken) {
        if (tool === "select") {
          if (!taken || !dragged || !far(place)) return taken;
          const to = snapped(place, other), player = bench.player();
          player.ghost = { line: [space(dragged), space(to)], at: space(to) };
          bench.edit({ do: "move", from: dragged, to }, bench.preview);
          player.draw();
          return true;
        }
        const at = snapped(place);
        if (taken && meant && far(place) && (TWO.includes(tool) || tool === "slider") && !from) {
          const player = bench.player(), to = tool === "slider" ? along(meant.at, at) : at;
          player.ghost = { at: space(to), line: [space(meant.at), space(to)] };
          player.draw();
          fill(to, meant.at);
        } else show(at);
        return true;
      },
      up(place) {
        if (tool === "select") {
          if (dragged && far(place)) bench.edit({ do: "move", from: dragged, to: snapped(place, other) });
        } else if (meant && !far(place)) press(meant.at, meant.found);
        else if (meant && TWO.includes(tool)) { if (!from) from = meant.at; press(snapped(place)); }
        else if (meant && tool === "slider") {
          const to = along(meant.at, snapped(place));
          change({ do: "slider", at: meant.at, axis: [to[0] - meant.at[0], to[1] - meant.at[1]] });
          stop();
        }
        dragged = null; meant = null;
        bench.player().draw();
      },
      stop() { dragged = null; meant = null; stop(); },
    };
  }

  // the end of a direction: towards what is there, else in steps of 15 degrees
  function along(start, at) {
    if (known().some((p) => apart(p, at) === 0)) return at;
    const angle = Math.round(Math.atan2(at[1] - start[1], at[0] - start[0]) / TURN) * TURN, long = apart(start, at);
    return [start[0] + long * Math.cos(angle), start[1] + long * Math.sin(angle)];
  }

  // ---- typed places

  const boxes = {};
  function box(key, label, unit, enter) {
    const field = el("input", { type: "number", step: "any", inputMode: "decimal", "aria-label": `${label} [${unit}]`,
      onkeydown: (e) => { if (e.key === "Enter") { e.preventDefault(); enter(); } if (e.key === "Escape") { stop(); field.blur(); } } });
    boxes[key] = field;
    return el("label", {}, `${label} `, field, ` ${unit}`);
  }
  function typedPlace() {
    const at = [boxes.x.valueAsNumber, boxes.y.valueAsNumber];
    if (!at.every(Number.isFinite)) { bench.tell(["type x and y, both in metres"], true); return; }
    const player = bench.player();
    press(at, player.find(...player.place(space(at))));
    if (from || corners.length) boxes.long.focus();
  }
  function typedWay() {
    const start = from || corners.at(-1), long = boxes.long.valueAsNumber, turn = boxes.turn.valueAsNumber * Math.PI / 180;
    if (!start) { bench.tell(["length and angle count from the first place; type its x and y, or click it"], true); return; }
    if (!(long > 0) || !Number.isFinite(turn)) { bench.tell(["type a positive length and an angle"], true); return; }
    press([tidy(start[0] + long * Math.cos(turn)), tidy(start[1] + long * Math.sin(turn))]);
    if (from || corners.length) boxes.long.focus();
  }
  typed.append(el("span", { className: "pair" }, box("x", "x", "m", typedPlace), box("y", "y", "m", typedPlace),
    el("button", { type: "button", title: "the same as a click at this place (Enter)", onclick: typedPlace }, "place")));
  const way = el("span", { className: "pair" }, box("long", "length", "m", typedWay), box("turn", "angle", "°", typedWay),
    el("button", { type: "button", title: "a place at this distance and angle from the last one (Enter)", onclick: typedWay }, "go"));
  const closing = el("button", { type: "button", title: "the plate is complete (click its first corner)", onclick: close }, "close the plate");
  typed.append(way, closing);

  function fill(at, start = from || corners.at(-1)) {
    const put = (key, value) => { if (document.activeElement !== boxes[key]) boxes[key].value = value === null ? "" : Number(tidy(value).toPrecision(6)); };
    put("x", at && at[0]); put("y", at && at[1]);
    const long = at && start ? apart(start, at) : 0;
    put("long", long ? long : null); put("turn", long ? degrees(at[0] - start[0], at[1] - start[1]) : null);
    way.hidden = !(TWO.includes(tool) || tool === "plate");
    closing.hidden = tool !== "plate";
    closing.disabled = corners.length < 3;
    typed.hidden = tool === "select" || tool === "motor";
  }

  // ---- the keys of those without a pointer: arrows move a cross, n takes it to the next place, Enter presses

  function key(e) {
    const player = bench.player(), arrows = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, 1], ArrowDown: [0, -1] };
    // without a cross, Enter shows it where it begins
    const step = arrows[e.key] || (e.key === "Enter" && !cross ? [0, 0] : null);
    if (step) {
      const size = grid() * (e.shiftKey ? 10 : 1), middle = player.unplace(player.w / 2, player.h / 2).slice(0, 2);
      cross = (cross || middle).map((v, k) => tidy(Math.round((v + step[k] * size) / size) * size));
    } else if (e.key.toLowerCase() === "n") {
      const all = [...known(), ...crossings()].filter((p, k, list) => list.findIndex((q) => apart(p, q) < 1e-9) === k);
      if (!all.length) return true;
      const at = cross ? all.findIndex((p) => apart(p, cross) < 1e-9) : -1;
      cross = all[(at + (e.shiftKey ? all.length - 1 : 1) + (at < 0 && e.shiftKey ? 1 : 0)) % all.length];
    } else if (e.key === "Enter") {
      const at = player.place(space(cross));
      press(snapped(at), player.find(...at));
      return true;
    } else return false;
    show(cross);
    return true;
  }

  // ---- what is selected: its name, its numbers, what it does

  // the block of a model file in which a part of the picture stands
  function blockOf(item) {
    if (!item.lines) return "bodies";
    return item.kind === "spring" ? "springs" : item.kind === "point" ? "points" : "joints";
  }
  const quoted = (part) => (/[.'"]/.test(part) || !part ? (part.includes('"') ? `'${part}'` : `"${part}"`) : part);

  function number(label, unit, value, set) {
    const field = el("input", { type: "number", step: "any", inputMode: "decimal", value: Number(tidy(value).toPrecision(10)),
      "aria-label": `${label} [${unit}]`, onchange: () => { if (Number.isFinite(field.valueAsNumber)) set(field.valueAsNumber); } });
    return el("label", {}, `${label} `, field, unit ? ` ${unit}` : "");
  }
  function choice(label, names, value, set) {
    const list = el("select", { "aria-label": label, onchange: () => set(list.value) },
      ...names.map((name) => el("option", { value: name, selected: name === value }, name)));
    return el("label", {}, `${label} `, list);
  }
  // x and y of a place; what is there goes along
  const place = (word, at) => [0, 1].map((k) => number(`${word} ${"xy"[k]}`.trim(), "m", at[k], (value) =>
    bench.edit({ do: "move", from: at, to: at.map((v, i) => (i === k ? value : v)) })));

  function fieldsOf(item, block, name) {
    const { scene } = bench.player(), data = bench.doc().data, entry = (data[block] || {})[name], at = (i) => scene.places[i].slice(0, 2);
    if (!entry) return [];
    if (block === "bodies" && entry.rod) {
      const [a, b] = item.points.map(at), long = apart(a, b);
      return [...place("from", a), ...place("to", b),
        number("length", "m", long, (value) => bench.setValue(`bodies.${quoted(name)}.length`, value)),
        number("angle", "°", degrees(b[0] - a[0], b[1] - a[1]), (value) => {
          const turn = value * Math.PI / 180;
          bench.edit({ do: "move", from: b, to: [tidy(a[0] + long * Math.cos(turn)), tidy(a[1] + long * Math.sin(turn))] });
        })];
    }
    if (block === "bodies") return (entry.plate || []).flatMap((corner, k) => place(`corner ${k + 1}`, corner));
    if (block === "springs") return [...place("start", at(item.points[0])), ...place("end", at(item.points[1]))];
    const fields = place("", at(item.points.at(item.named ?? -1)));
    const kind = ["point-on-line", "prismatic"].find((word) => entry[word]);
    return kind ? [...fields, ...slides(name, entry, kind, Object.keys(data.bodies))] : fields;
  }

  function slides(name, entry, kind, bodies) {
    const [guide, body] = entry[kind], set = (more) => bench.edit({ do: "slide", name, ...more });
    const turns = el("input", { type: "checkbox", checked: kind === "point-on-line",
      onchange: () => set({ kind: turns.checked ? "point-on-line" : "prismatic" }) });
    return [choice("slides on", ["ground", ...bodies], guide, (value) => set({ guide: value })),
      choice("body", bodies, body, (value) => set({ body: value })),
      number("angle", "°", degrees(...entry.axis), (value) => set({ angle: value * Math.PI / 180 })),
      el("label", {}, turns, " turns freely")];
  }

  function showPart(name, editing) {
    const player = bench.player(), item = player && player.chosen;
    card.hidden = !item;
    card.replaceChildren();
    if (!item) return;
    const block = blockOf(item), button = (text, onclick) => el("button", { type: "button", onclick }, text);
    const word = item.lines ? item.kind : "body";
    if (editing) {
      const field = el("input", { type: "text", value: name, "aria-label": `name of ${name}`, onchange: () => {
        const to = field.value.trim();
        if (to && to !== name) bench.edit({ do: "rename", block, name, to }, (data) => bench.keep(data, to));
      } });
      card.append(el("span", {}, word), field, button("delete", remove));
    } else card.append(el("span", {}, `${word} ${name}`));
    card.append(button("its numbers", () => bench.showNumbers(name)));
    if (!editing) return;
    const driven = Object.entries(bench.doc().data.drives || {}).find(([, drive]) => drive.joint === name);
    if (driven) card.append(button("delete motor", () => bench.edit({ do: "delete", block: "drives", name: driven[0] })));
    else if (block === "joints") card.append(button("motor", () => bench.edit({ do: "drive", name })));
    if (item.lines && item.bodies.length) card.append(el("span", {}, `of ${item.bodies.join(", ")}`));
    card.append(el("div", { className: "fields" }, ...fieldsOf(item, block, name)));
  }

  function remove() {
    const item = bench.player().chosen;
    if (!item) return;
    bench.player().choose(null);
    bench.edit({ do: "delete", block: blockOf(item), name: item.name });
  }

  function setTool(word) { tool = word; stop(); }
  fill(null);
  return { pencil, key, setTool, showPart, remove, stop, tool: () => tool };
}
