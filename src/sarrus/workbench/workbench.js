"use strict";
// The workbench: the document with its history, requests to the server, sliders, the hand, and drawing.
(() => {
  const el = Sarrus.element, get = (id) => document.getElementById(id);
  const begin = JSON.parse(get("document").textContent);
  const { apply, dark } = Sarrus.theme();
  const clock = new Sarrus.Clock(1);
  const plots = new SarrusPlots.Plots(clock);
  const page = Math.random().toString(36).slice(2);
  let player = null, fill = null, answer = null, mode = "look";

  // ---- the document and its history: data of a model file, values of sliders by path, and options of the problem that
  // the data were made of, null where they were drawn since

  const past = [{ data: begin.data, values: {}, options: begin.problem ? {} : null }];
  let now = 0, saved = past[0], duration = begin.duration;
  const doc = () => past[now];
  let moving = null;
  const current = () => moving || doc();

  function keep(next) {
    moving = null;
    past.splice(now + 1, past.length, next);
    now = past.length - 1;
    pose = null;
    changed();
  }

  function travel(step) {
    if (!past[now + step]) return;
    now += step; moving = null; pose = null;
    changed();
  }

  function changed() {
    get("title").textContent = document.title = doc().data.name || "mechanism";
    get("undo").disabled = now === 0; get("redo").disabled = now === past.length - 1;
    get("save").disabled = !begin.file || doc() === saved;
    refreshSliders();
    solve(false, true);
  }

  // ---- questions: one at a time on each way, the newest waits, those between are forgotten

  // a question that takes longer than this is given up for a newer one [ms]
  const LONG = 1000;
  let number = 0;
  class Way {
    constructor(target) { this.target = target; this.busy = false; this.next = null; this.sent = 0; }
    ask(question, then) {
      if (!this.busy) { this.send(question, then); return; }
      this.next = [question, then];
      clearTimeout(this.timer);
      this.timer = setTimeout(() => {
        const next = this.next;
        this.next = null;
        if (next) this.send(...next);
      }, Math.max(0, this.since + LONG - performance.now()));
    }
    send(question, then) {
      const mine = ++this.sent;
      this.busy = true; this.since = performance.now();
      const body = JSON.stringify({ page, number: ++number, ...question });
      fetch(this.target, { method: "POST", body, headers: { "Content-Type": "application/json" } })
        .then((found) => found.json())
        .catch(() => ({ errors: ["the server does not answer; was `sarrus view` ended?"] }))
        .then((found) => {
          if (mine !== this.sent) return;
          this.busy = false;
          const next = this.next;
          this.next = null;
          // an answer shows where things go, also where a newer question waits
          if (!found.stale) then(found, Boolean(next));
          if (next) this.send(...next);
        });
    }
  }
  const ways = Object.fromEntries(["solve", "pull", "edit", "from-here", "problem", "text", "save", "design"].map((word) => [word, new Way(`/${word}`)]));
  // what takes longer does not keep the quick ones waiting
  ways.full = new Way("/solve");

  let wanted = 0, listed = null;
  function solve(full, parameters) {
    const mine = ++wanted;
    status("solving", "wait");
    const request = { ...current(), duration, full, parameters: parameters && listed !== doc().data };
    const data = doc().data;
    ways[full ? "full" : "solve"].ask(request, (found, older) => {
      if (full && mine !== wanted) return;
      if (found.parameters) { listed = data; showSliders([...(doc().options ? begin.problem.sliders : []), ...found.parameters]); }
      show(found, full);
      if (full) showDesign();
      // reactions, crossings and the verdict follow as soon as nothing moves
      if (!full && !older && mine === wanted && !found.errors.length && !found.empty) solve(true);
    });
  }

  // ---- what is shown

  function status(word, css) { get("status").textContent = word; get("status").className = `badge ${css}`; }

  function show(found, full) {
    answer = found;
    const good = !found.errors.length;
    if (found.empty) status("empty", "wait");
    else if (!good) status("cannot run", "fail");
    else status(found.status, found.status === "done" ? "pass" : "fail");
    showMessages(found, full);
    if (found.picture) showPicture(found.picture);
    if (good) showPlots(found, full);
    // what is drawn is of the last model that ran
    get("outdated").hidden = good || !cards.size;
    get("plots").classList.toggle("outdated", !good);
    document.documentElement.dataset.solved = String(wanted);
    if (full || !good || found.empty) document.documentElement.dataset.ready = "yes";
  }

  function showPicture(scene) {
    const values = scene.values ? new SarrusPlots.Values(scene.values) : null;
    clock.duration = Math.max(scene.duration, 1e-9);
    clock.time = Math.min(clock.time, clock.duration);
    get("bar").hidden = scene.duration === 0;
    if (!player) {
      const height = (w) => Math.round(Math.max(220, Math.min(0.7 * w, window.innerHeight - 260)));
      player = new Sarrus.Player(get("picture"), scene, clock, height);
      player.values = values;
      if (values) SarrusPlots.chooseOver(get("over"), plots, [values]);
      player.canvas.tabIndex = 0;
      for (const word of ["focus", "blur"]) player.canvas.addEventListener(word, () => { if (mode === "edit") hint(); });
      fill = Sarrus.transport(get("bar"), clock, scene.end, scene.marks);
      showOptions();
      setMode(begin.data.bodies && Object.keys(begin.data.bodies).length ? "look" : "edit");
      return;
    }
    if (!pose) player.show(scene, values);
    showOptions();
    if (values) SarrusPlots.chooseOver(get("over"), plots, [values]);
    fill(scene.end, scene.marks);
    clock.tell();
    if (drawn && [...scene.signs, ...scene.shapes].some((item) => item.name === drawn)) { player.choose(drawn); drawn = null; }
    else if (player.chosen) { showChosen(player.chosen.name); showPart(player.chosen.name); }
  }

  // what can be chosen and drawn besides, made again when the parts change
  let offered = "";
  function showOptions() {
    const { signs, shapes } = player.scene, names = [...signs, ...shapes].map((item) => item.name);
    const known = JSON.stringify([names, Boolean(player.values && player.values.has(".Fx [N]"))]);
    if (known === offered) return;
    offered = known;
    get("options").replaceChildren();
    player.listeners = [showChosen, showPart];
    SarrusPlots.link([player], plots);
    Sarrus.options(get("options"), player, [
      ["CSV", "all curves", () => player.values && [`${player.scene.name}.csv`, player.values.csv(player.values.names), "text/csv"]]]);
  }

  // a moving picture of a branch: in grey where the branches meet, in colour along it
  function ghost(branch) {
    const make = (name, values) => {
      const node = document.createElementNS("http://www.w3.org/2000/svg", name);
      Object.entries(values).forEach(([key, value]) => node.setAttribute(key, value));
      return node;
    };
    const svg = make("svg", { viewBox: `0 0 ${branch.width} ${branch.height}`, width: branch.width, height: branch.height });
    for (const [still, moving] of branch.lines) {
      svg.append(make("polyline", { points: still, fill: "none", stroke: "#bbbbbb", "stroke-width": 2 }));
      const line = make("polyline", { points: still, fill: "none", stroke: branch.colour, "stroke-width": 2, "stroke-opacity": 0.8 });
      line.append(make("animate", { attributeName: "points", values: moving, dur: `${branch.seconds}s`, repeatCount: "indefinite" }));
      svg.append(line);
    }
    return el("figure", {}, svg, el("figcaption", {}, branch.caption));
  }

  let verdict = [];
  function showMessages(found, full) {
    const lines = (texts, className) => texts.map((text) => el("p", { className }, text));
    if (found.mobility) verdict = found.mobility;
    const out = lines(found.errors, "error");
    if (found.empty) out.push(...lines(["Nothing here yet: choose ground or bar and draw."], "said"));
    if (found.status && found.status !== "done") out.push(...lines([`${found.status}: ${found.message}.`], "error"));
    if (verdict.length && !found.empty) {
      out.push(el("p", {}, el("b", {}, verdict[0])));
      if (verdict.length > 1) out.push(el("details", {}, el("summary", {}, "why"), ...lines(verdict.slice(1), "")));
    }
    out.push(...lines(messages, "said"), ...lines(found.notes || [], ""));
    if ((found.marks || []).length) out.push(el("details", {}, el("summary", {}, "crossings in numbers"), ...lines(found.marks.slice(0, 20), "")));
    if ((found.ghosts || []).length) out.push(el("details", {}, el("summary", {}, "branches at the first crossing"), el("div", { className: "ghosts" }, ...found.ghosts.map(ghost))));
    // what was unfolded stays so
    const open = new Set([...get("messages").querySelectorAll("details[open] > summary")].map((e) => e.textContent));
    get("messages").replaceChildren(...out);
    get("messages").querySelectorAll("summary").forEach((e) => { e.parentElement.open = open.has(e.textContent); });
  }
  // messages of the last action, until the next
  let messages = [];
  function tell(lines, wrong) {
    messages = wrong ? [] : lines;
    if (wrong) get("messages").prepend(...lines.map((text) => el("p", { className: "error" }, text)));
    else if (answer) showMessages(answer, true);
  }

  const cards = new Map();
  let plotting = 0;
  function showPlots(found, full) {
    const mine = ++plotting, titles = new Set(found.figures.map((figure) => figure.title));
    for (const [title, card] of cards) {
      card.root.classList.toggle("old", !titles.has(title));
      if (full && !titles.has(title)) { plots.forget(card.root); card.root.remove(); cards.delete(title); }
    }
    found.figures.reduce((done, figure) => done.then(() => {
      // a newer answer draws them
      if (mine !== plotting) return null;
      let card = cards.get(figure.title);
      if (!card) {
        const host = el("div", { className: "plot" }), note = el("p", { className: "note" });
        const root = el("div", { className: "card" }, el("h3", {}, figure.title), el("div", { className: "figure" }, host), note);
        cards.set(figure.title, card = { root, host, note });
        const after = found.figures.slice(0, found.figures.indexOf(figure)).reverse().map((f) => cards.get(f.title)).find(Boolean);
        if (after) after.root.after(root); else get("plots").prepend(root);
      }
      card.note.textContent = figure.notes.join(" ");
      return plots.draw(card.host, figure);
    }).then(() => new Promise((go) => { setTimeout(go, 0); })), Promise.resolve());
  }

  // the designer's quantities, as long as they are unfolded
  const designed = get("design");
  function showDesign() {
    if (!designed.open || !answer || answer.empty) return;
    ways.design.ask({ ...doc(), duration }, (found) => {
      const lines = found.errors || found.lines, hosts = (found.figures || []).map((figure) => [figure, el("div", { className: "plot" })]);
      plots.forget(designed);
      designed.replaceChildren(designed.querySelector("summary"), el("ul", { className: "said" }, ...lines.map((text) => el("li", {}, text))),
        ...hosts.flatMap(([figure, host]) => [el("h3", {}, figure.title), el("div", { className: "figure" }, host)]));
      hosts.forEach(([figure, host]) => plots.draw(host, figure));
    });
  }
  designed.addEventListener("toggle", showDesign);

  // the curves of what was clicked
  function showChosen(name) {
    const card = get("chosen"), v = player.values;
    plots.forget(card);
    card.replaceChildren();
    card.hidden = !name || mode === "edit";
    if (card.hidden || !v) return;
    const picks = SarrusPlots.picksOf(name, v, "", 0);
    card.append(el("div", { className: "picked" }, el("h2", {}, name),
      el("button", { type: "button", onclick: () => Sarrus.download(`${name}.csv`, v.csv(v.items[name] || []), "text/csv") }, "CSV"),
      el("button", { type: "button", onclick: () => player.choose(null) }, "close")));
    if (!picks.length) { card.append(el("p", {}, "Nothing is kept of it here.")); return; }
    const host = el("div", { className: "plot" });
    card.append(el("div", { className: "figure" }, host));
    plots.draw(host, SarrusPlots.figureOf(picks, clock.duration));
  }

  // ---- sliders

  const seen = new Set();
  function showSliders(list) {
    const groups = get("groups"), open = new Set([...groups.querySelectorAll("details[open]")].map((d) => d.dataset.group));
    const names = [...new Set(list.map((p) => p.group))];
    groups.replaceChildren(...names.map((group, k) => {
      const mine = list.filter((p) => p.group === group);
      const details = el("details", {}, el("summary", {}, `${group} (${mine.length})`));
      details.dataset.group = group;
      // thousands of sliders are made when they are looked at
      const make = () => { if (details.open && details.childElementCount === 1) details.append(...mine.map(makeSlider)); };
      details.addEventListener("toggle", make);
      details.open = seen.has(group) ? open.has(group) : k < 2 && mine.length <= 60;
      seen.add(group);
      make();
      return details;
    }));
    filter();
  }

  function makeSlider(p) {
    const shown = () => valueOf(current(), p.path, p.whole !== undefined) ?? p.value;
    const range = el("input", { type: "range", min: p.low, max: p.high, step: p.whole ? 1 : "any", value: shown(), "aria-label": `${p.label} [${p.unit}]` });
    const field = el("input", { type: "number", step: "any", value: Sarrus.show(shown()), inputMode: "decimal", "aria-label": `${p.label} [${p.unit}], typed` });
    const name = el("span", { className: "name", title: p.path }, `${p.label}${p.unit ? ` [${p.unit}]` : ""}`);
    if (p.meaning) name.append(el("small", {}, ` ${p.meaning}`));
    name.classList.toggle("changed", valueOf(current(), p.path, p.whole !== undefined) !== undefined);
    const set = (value, finished) => {
      if (!Number.isFinite(value)) return;
      name.classList.add("changed");
      if (p.whole !== undefined) { setOption(p.path, value, finished); return; }
      const next = { data: doc().data, values: { ...doc().values, [p.path]: value }, options: doc().options };
      if (finished) { keep(next); return; }
      moving = next; pose = null;
      solve(false);
    };
    const read = () => Number(Number(range.value).toPrecision(4));
    range.addEventListener("input", () => { field.value = read(); set(read(), false); });
    range.addEventListener("change", () => set(read(), true));
    field.addEventListener("change", () => {
      const value = field.valueAsNumber;
      // a typed value may lie beyond the slider
      range.min = Math.min(range.min, value); range.max = Math.max(range.max, value); range.value = value;
      set(value, true);
    });
    const row = el("div", { className: "slider" }, name, range, field);
    row.dataset.path = p.path; row.dataset.base = p.value; row.dataset.words = `${p.label} ${p.path}`.toLowerCase();
    if (p.whole !== undefined) row.dataset.option = "yes";
    return row;
  }

  const valueOf = (document, path, option) => ((option ? document.options : document.values) || {})[path];

  // another option of the problem: the mechanism is built again, and what still exists in it is kept
  function setOption(name, value, finished) {
    const options = { ...doc().options, [name]: value };
    ways.problem.ask({ options, values: doc().values }, (found) => {
      if (found.errors) { tell(found.errors, true); return; }
      const next = { data: found.data, values: found.values, options };
      if (finished) { keep(next); return; }
      moving = next; pose = null;
      solve(false);
    });
  }

  function refreshSliders() {
    get("groups").querySelectorAll(".slider").forEach((row) => {
      const value = valueOf(doc(), row.dataset.path, row.dataset.option === "yes"), [name, range, field] = row.children;
      name.classList.toggle("changed", value !== undefined);
      range.value = value ?? row.dataset.base; field.value = Sarrus.show(value ?? row.dataset.base);
    });
  }

  function filter() {
    const word = get("filter").value.trim().toLowerCase();
    get("groups").querySelectorAll("details").forEach((details) => { if (word) details.open = true; });
    get("groups").querySelectorAll(".slider").forEach((row) => { row.hidden = !row.dataset.words.includes(word); });
  }
  get("filter").addEventListener("input", filter);
  get("duration").addEventListener("change", () => {
    duration = get("duration").valueAsNumber > 0 ? get("duration").valueAsNumber : null;
    solve(false);
  });

  // ---- the hand: a part is pulled, the server says where everything goes

  let pose = null;
  const coordinates = (place) => place.slice(0, player.scene.dimension);

  // a body and a place of it under the pointer
  function grabbed(found, [x, y]) {
    if (!found) return null;
    const item = found.item, p = player.motion.points, at = (i) => [p[3 * i], p[3 * i + 1], p[3 * i + 2]];
    if (item.lines) {
      const i = found.point ?? item.points.at(item.named ?? -1);
      const body = item.bodies.find((name) => name !== "ground");
      return player.scene.moves[i] && body ? { body, at: at(i) } : null;
    }
    const [a, b] = item.points, flat = player.flat;
    if (b === undefined) return { body: item.name, at: at(a) };
    const dx = flat[3 * b] - flat[3 * a], dy = flat[3 * b + 1] - flat[3 * a + 1];
    const s = Math.min(Math.max(((x - flat[3 * a]) * dx + (y - flat[3 * a + 1]) * dy) / (dx * dx + dy * dy || 1), 0), 1);
    return { body: item.name, at: at(a).map((v, k) => (1 - s) * v + s * at(b)[k]) };
  }

  function hand() {
    let grip = null;
    return {
      down(found, place) {
        clock.pause();
        grip = grabbed(found, place);
        return Boolean(grip);
      },
      move([x, y], e, taken) {
        if (!taken || !grip) return false;
        const to = player.unplace(x, y, grip.at);
        player.ghost = { line: [grip.at, to] };
        ways.pull.ask({ ...doc(), body: grip.body, at: coordinates(grip.at), to: coordinates(to), pose, time: clock.time }, (found) => {
          if (found.errors) { tell(found.errors, true); return; }
          pose = found.pose;
          if (grip) { grip.at = [...found.at, 0, 0].slice(0, 3); player.ghost = { line: [grip.at, to] }; }
          player.motion.hold(found.points);
          get("posed").hidden = false;
          player.draw();
        });
        return true;
      },
      up() { grip = null; player.ghost = null; player.draw(); },
      stop() { grip = null; player.ghost = null; },
    };
  }

  get("from-here").addEventListener("click", () => {
    ways["from-here"].ask({ ...doc(), pose }, (found) => {
      if (found.errors) { tell(found.errors, true); return; }
      letGo();
      clock.set(0);
      tell(found.notes);
      keep({ data: found.data, values: {} });
      clock.play();
    });
  });
  function letGo() { pose = null; get("posed").hidden = true; if (player) { player.motion.hold(null); player.draw(); } }
  get("let-go").addEventListener("click", () => { letGo(); if (answer.picture) player.show(answer.picture, player.values); clock.set(0); });

  // ---- drawing

  function edit(change, then = (data) => keepDrawn(data, null)) {
    messages = [];
    ways.edit.ask({ ...doc(), change }, (found) => {
      if (found.errors) tell(found.errors, true);
      else then(found.data);
    });
  }
  // what was drawn is selected as soon as it is in the picture
  let drawn = null;
  function keepDrawn(data, name) { drawn = name; keep({ data, values: {} }); }
  const drawing = SarrusDrawing({
    player: () => player, doc, edit, keep: keepDrawn, tell, showNumbers,
    preview: (data) => { moving = { data, values: {} }; solve(false); },
    setValue: (path, value) => keep({ data: doc().data, values: { ...doc().values, [path]: value }, options: doc().options }),
  }, get("typed"), get("part"));
  const showPart = (name) => drawing.showPart(name, mode === "edit");
  function showNumbers(name) { get("filter").value = name; filter(); get("filter").scrollIntoView({ block: "nearest" }); }

  // ---- modes and keys

  function setMode(word) {
    if (!player) return;
    if (word === "edit" && begin.data.gravity.length !== 2) { tell(["only mechanisms in the plane can be drawn; change the file of this one"], true); return; }
    mode = word;
    if (player.tool && player.tool.stop) player.tool.stop();
    if (word === "edit") { clock.pause(); clock.set(0); letGo(); }
    player.tool = word === "drag" ? hand() : word === "edit" ? drawing.pencil() : null;
    get("picture").classList.toggle("owned", word !== "look");
    get("tools").hidden = word !== "edit";
    get("typing").hidden = word !== "edit";
    player.names = word === "edit" || player.named; player.plain = word === "edit";
    hint();
    press();
    showPart(player.chosen && player.chosen.name);
  }
  const keyed = (kind, word) => document.querySelector(`[data-${kind}="${word}"]`).title;
  function hint() {
    const keys = player.canvas.matches(":focus-visible") ? "; arrow keys move a cross, Enter clicks there, n goes to the next point" : "";
    player.says = mode === "edit" ? keyed("tool", drawing.tool()) + keys : mode === "drag" ? keyed("mode", mode) : "";
    player.explain(false);
  }
  function setTool(word) { drawing.setTool(word); hint(); press(); }
  function press() {
    document.querySelectorAll("[data-mode]").forEach((b) => b.setAttribute("aria-pressed", b.dataset.mode === mode));
    document.querySelectorAll("[data-tool]").forEach((b) => b.setAttribute("aria-pressed", b.dataset.tool === drawing.tool()));
  }
  document.querySelectorAll("[data-mode]").forEach((b) => b.addEventListener("click", () => setMode(b.dataset.mode)));
  document.querySelectorAll("[data-tool]").forEach((b) => b.addEventListener("click", () => setTool(b.dataset.tool)));

  document.addEventListener("keydown", (e) => {
    const typing = ["INPUT", "SELECT", "TEXTAREA"].includes(e.target.tagName);
    const key = e.key.toLowerCase();
    if (e.ctrlKey || e.metaKey) {
      if (typing && e.target.type !== "range") return;
      if (key === "z") { e.preventDefault(); travel(e.shiftKey ? 1 : -1); }
      if (key === "y") { e.preventDefault(); travel(1); }
      if (key === "s") { e.preventDefault(); save(); }
      return;
    }
    if (typing || !player) return;
    if (e.target === player.canvas && mode === "edit" && drawing.key(e)) { e.preventDefault(); return; }
    if (e.key === "Escape") { player.choose(null); if (player.tool && player.tool.stop) player.tool.stop(); }
    if ((e.key === "Delete" || e.key === "Backspace") && mode === "edit") { e.preventDefault(); drawing.remove(); }
    if (e.key === " " && e.target.tagName !== "BUTTON") { e.preventDefault(); clock.toggle(); }
    if (e.key === "ArrowRight" || e.key === "ArrowLeft") { clock.pause(); clock.set(clock.time + (e.key === "ArrowRight" ? 1 : -1) * clock.duration / 200); }
    const button = document.querySelector(mode === "edit" ? `[data-tool][data-key="${key}"]` : "none") || document.querySelector(`[data-mode][data-key="${key}"]`);
    if (button) button.click();
    if (key === "+" || key === "-") player.zoom(key === "+" ? 1.3 : 1 / 1.3);
  });

  // ---- files and theme

  let force = false;
  function save() {
    if (!begin.file) return;
    const kept = doc();
    ways.save.ask({ ...kept, force }, (found) => {
      force = Boolean(found.errors && found.errors[0].includes("once more"));
      if (found.errors) { tell(found.errors, true); return; }
      saved = kept;
      get("save").disabled = doc() === saved;
      tell(found.notes);
    });
  }
  get("save").addEventListener("click", save);
  get("undo").addEventListener("click", () => travel(-1));
  get("redo").addEventListener("click", () => travel(1));
  get("download").addEventListener("click", () => ways.text.ask(doc(), (found) => {
    if (found.errors) tell(found.errors, true);
    else Sarrus.download(begin.file || `${doc().data.name}.yaml`, found.text, "text/yaml");
  }));
  window.addEventListener("beforeunload", (e) => { if (begin.file && doc() !== saved) e.preventDefault(); });
  const word = () => { get("theme").textContent = document.documentElement.dataset.theme === "dark" ? "light" : "dark"; };
  const paint = (name) => { apply(name); word(); if (player) player.recolor(); plots.recolor(); if (player && player.chosen) showChosen(player.chosen.name); };
  get("theme").addEventListener("click", () => paint(document.documentElement.dataset.theme === "dark" ? "light" : "dark"));
  dark.addEventListener("change", () => paint(dark.matches ? "dark" : "light"));
  word();

  clock.onChange(() => plots.placeAll());
  get("duration").value = begin.duration ?? (begin.data.simulate || {}).duration ?? 10;
  document.querySelector("[data-mode=edit]").disabled = begin.data.gravity.length !== 2;
  if (!begin.file) get("save").title = "no file is opened; take the YAML";
  changed();
  // for tests and for the curious
  window.sarrusBench = { clock, plots, way: ways, doc, get player() { return player; }, get answer() { return answer; }, setMode, setTool };
})();
