"use strict";
// The page of a report: plots, playback and theme, all from the data in the page.
(() => {
  const data = JSON.parse(document.getElementById("data").textContent);
  const { apply, dark } = Sarrus.theme();
  const players = [];

  function recolor() {
    players.forEach((player) => player.recolor());
    plots.recolor();
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

  // the curves of what was clicked
  function showChosen(name) {
    const card = document.getElementById("chosen");
    plots.forget(card);
    card.replaceChildren();
    card.hidden = !name;
    players.forEach((player) => {
      if ((player.chosen ? player.chosen.name : null) !== name) {
        player.chosen = [...player.scene.signs, ...player.scene.shapes].find((item) => item.name === name) || null;
        player.draw();
      }
    });
    if (!name) return;
    const picks = players.flatMap((player, r) =>
      SarrusPlots.picksOf(name, player.values, players.length > 1 ? data.labels[r] : "", r));
    const el = Sarrus.element, close = el("button", { type: "button", onclick: () => players[0].choose(null) }, "close");
    const save = el("button", { type: "button", title: "these curves as CSV", onclick: () => saveColumns(name, (v) => v.items[name] || []) }, "CSV");
    card.append(el("div", { className: "picked" }, el("h2", {}, name), save, close));
    if (!picks.length) { card.append(el("p", {}, "Nothing is kept of it here.")); return; }
    const figure = SarrusPlots.figureOf(picks, clock.duration), host = el("div", { className: "plot" });
    host.style.height = `${figure.layout.height}px`;
    card.append(el("div", { className: "figure" }, host));
    if (players.some((p) => (p.values.exerted[name] || []).some((label) => p.values.shared.has(label))))
      card.append(el("p", { className: "note" }, "Dotted reactions are shared with other joints: rigid bodies do not determine them."));
    plots.draw(host, figure);
    if (window.innerWidth < 1100) card.scrollIntoView({ behavior: "smooth", block: "nearest" });
    else card.scrollIntoView({ block: "nearest" });
  }

  function saveColumns(title, pick) {
    players.forEach((player, r) => {
      const v = player.values, names = pick(v).filter((n) => v.column(n));
      const which = players.length > 1 ? `-${r + 1}` : "";
      Sarrus.download(`${player.scene.name}-${title}${which}.csv`, v.csv(names), "text/csv");
    });
  }

  const scenes = data.scenes;
  const clock = new Sarrus.Clock(Math.max(...scenes.map((s) => s.duration), 1e-9));
  const plots = new SarrusPlots.Plots(clock);
  scenes.forEach((scene, i) => {
    const room = Math.max(300, window.innerHeight - 300);
    const height = (w) => Math.round(Math.max(220, Math.min(1.05 * w * scene.slope + 90, scenes.length > 1 ? 460 : Math.max(460, Math.min(room, 640)))));
    const player = new Sarrus.Player(document.getElementById(`picture-${i}`), scene, clock, height);
    players.push(player);
    if (!scene.values) return;
    player.values = new SarrusPlots.Values(scene.values);
    const files = [];
    if (i === 0) {
      files.push(["CSV", "all curves of this page", () => { saveColumns("curves", (v) => v.names); return null; }]);
    }
    if (player.values.model) files.push(["model", "the model file (YAML)", () => [`${scene.name}.yaml`, player.values.model, "text/yaml"]]);
    Sarrus.options(document.getElementById(`options-${i}`), player, files);
    player.onChoice(showChosen);
  });
  SarrusPlots.link(players, plots);
  const over = document.getElementById("over"), readouts = players.map((player) => player.values).filter(Boolean);
  if (over && readouts.length) SarrusPlots.chooseOver(over, plots, readouts);
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
  const draw = (host) => plots.draw(host, data.figures[Number(host.dataset.figure)]);
  const folded = (host) => host.closest("details:not([open])") !== null;
  const hosts = [...document.querySelectorAll(".plot")].filter((host) => !folded(host));
  // what is folded is drawn when it is unfolded
  document.querySelectorAll("details").forEach((details) => details.addEventListener("toggle", () => {
    details.querySelectorAll(".plot:not(.js-plotly-plot)").forEach((host) => { if (!folded(host)) draw(host); });
  }));
  const pause = () => new Promise((go) => { setTimeout(go, 0); });
  hosts.reduce((done, host) => done.then(pause).then(() => draw(host)), Promise.resolve()).then(() => {
    document.documentElement.dataset.ready = "yes";
    clock.onChange(() => plots.placeAll());
  });
  // for tests and for the curious
  window.sarrusReport = { clock, players, plots, showChosen };
})();
