"use strict";
(() => {
  const root = document.documentElement;
  const form = document.getElementById("filters");
  const byId = (id) => document.getElementById(id);
  const NAMES = ["q", "level", "dimension", "task", "system", "change", "criterion"];

  // ---- theme: the system's, unless the reader chose another

  const theme = byId("theme");
  const stored = () => { try { return localStorage.getItem("sciagent-theme"); } catch { return null; } };
  const isDark = () => (root.dataset.theme || (matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light")) === "dark";
  const paint = (name) => {
    if (name === "dark" || name === "light") root.dataset.theme = name;
    theme.textContent = isDark() ? "Light" : "Dark";
    theme.setAttribute("aria-label", isDark() ? "Use light colours" : "Use dark colours");
  };
  paint(stored());
  theme.hidden = false;
  theme.addEventListener("click", () => {
    const name = isDark() ? "light" : "dark";
    try { localStorage.setItem("sciagent-theme", name); } catch { /* the choice holds for this page only */ }
    paint(name);
  });

  // ---- what the address says

  const parse = () => {
    const text = location.hash.slice(1);
    if (!text.includes("=")) {
      try { return { at: decodeURIComponent(text) }; } catch { return {}; }
    }
    return Object.fromEntries(new URLSearchParams(text));
  };
  const address = (wanted) => {
    const kept = Object.entries(wanted).filter(([, value]) => value);
    return kept.length ? "#" + new URLSearchParams(kept) : location.pathname.split("/").pop() + location.search;
  };

  // ---- filters

  const fits = (level, outcome) => !level || outcome === level || (level === "lost" && outcome !== "full");
  const items = [...document.querySelectorAll("details.item")];
  let texts = null;
  let extra = {};

  // Places that are cited more than once stand apart: what is searched holds them all the same.
  const apart = (item) => [...item.querySelectorAll(".there a")].map((link) => [link.parentElement, byId(link.hash.slice(1))]);
  const textOf = (item) => [item.textContent, item.id, ...apart(item).map(([, place]) => place.textContent)].join(" ");

  const wanted = () => {
    const found = { ...extra };
    for (const control of form.elements) if (control.name && control.value) found[control.name] = control.value;
    return found;
  };

  const show = (w) => {
    const words = (w.q || "").toLowerCase().split(/\s+/).filter(Boolean);
    if (words.length && !texts) texts = new Map(items.map((item) => [item, textOf(item).toLowerCase()]));
    const active = NAMES.some((name) => w[name]);
    let shown = 0;
    for (const item of items) {
      const run = item.closest(".run").dataset;
      const ok = fits(w.level, item.dataset.o) && (!w.dimension || item.dataset.d === w.dimension)
        && (!w.task || run.task === w.task) && (!w.system || run.system === w.system)
        && (!w.change || item.dataset.c === w.change)
        && (!w.criterion || item.dataset.k === w.criterion)
        && words.every((word) => texts.get(item).includes(word));
      item.hidden = !ok;
      shown += ok;
    }
    for (const box of document.querySelectorAll(".group, .finding, .run")) {
      const mine = active && !box.querySelector("details.item:not([hidden])");
      box.hidden = mine;
      const fold = box.querySelector(":scope > details.fold");
      if (fold && active && !mine) fold.open = true;
    }
    byId("count").textContent = `${shown.toLocaleString("en")} of ${items.length.toLocaleString("en")} criteria`;
  };

  // ---- an index without the items themselves: a list that leads to the pages of the runs

  const data = byId("items") && JSON.parse(byId("items").textContent);
  const MOST = 200;

  const row = ([r, f, c, o, change, reason]) => {
    const run = data.runs[r], criterion = data.criteria[c];
    const link = document.createElement("a");
    link.href = `${run.href}#${run.anchor}--${f === null ? "run" : "finding_" + f}--${criterion.id}`;
    const badge = document.createElement("span");
    badge.className = `lv lv-${data.outcomes[o]}`;
    badge.textContent = data.signs[o];
    const what = document.createElement("span");
    what.className = "what";
    const name = document.createElement("b");
    name.textContent = `${criterion.number} ${criterion.title}`;
    const where = document.createElement("span");
    where.className = "muted";
    where.textContent = ` ${run.label} · ${f === null ? "the run" : "Finding " + f}`;
    const why = document.createElement("span");
    why.className = "why";
    why.textContent = reason;
    what.append(name, where, why);
    link.append(badge, what);
    const entry = document.createElement("li");
    entry.append(link);
    return entry;
  };

  const list = (w) => {
    const words = (w.q || "").toLowerCase().split(/\s+/).filter(Boolean);
    const hits = data.rows.filter(([r, f, c, o, change, reason]) => {
      const run = data.runs[r], criterion = data.criteria[c];
      if (!fits(w.level, data.outcomes[o]) || (w.dimension && criterion.dimension !== w.dimension)) return false;
      if ((w.task && run.task !== w.task) || (w.system && run.system !== w.system)) return false;
      if ((w.change && data.changes[change] !== w.change) || (w.criterion && criterion.id !== w.criterion)) return false;
      if (!words.length) return true;
      const text = `${criterion.id} ${criterion.number} ${criterion.title} ${run.label} finding ${f} ${reason}`.toLowerCase();
      return words.every((word) => text.includes(word));
    });
    byId("hits").replaceChildren(...hits.slice(0, MOST).map(row));
    byId("more-hits").textContent = hits.length > MOST ? `${(hits.length - MOST).toLocaleString("en")} more: narrow the filters` : "";
    byId("count").textContent = `${hits.length.toLocaleString("en")} of ${data.rows.length.toLocaleString("en")} criteria`;
  };

  const apply = (w) => {
    byId("also").textContent = w.criterion ? `only ${w.criterion}` : "";
    (data ? list : show)(w);
  };

  // ---- going there

  const goTo = (id) => {
    const place = id && byId(id);
    if (!place) return;
    for (let box = place; box; box = box.parentElement) {
      box.hidden = false;
      if (box.tagName === "DETAILS") box.open = true;
    }
    const fold = place.querySelector(":scope > details.fold");
    if (fold) fold.open = true;
    for (const old of document.querySelectorAll(".here")) old.classList.remove("here");
    place.classList.add("here");
    place.scrollIntoView();
    const focus = place.matches("details") ? place.querySelector("summary") : place;
    if (!focus.matches("summary, [tabindex], a")) focus.tabIndex = -1;
    focus.focus({ preventScroll: true });
  };

  const follow = () => {
    const w = parse();
    if (NAMES.some((name) => w[name])) {
      for (const control of form.elements) if (control.name) control.value = w[control.name] || "";
      extra = w.criterion ? { criterion: w.criterion } : {};
      apply(w);
      if (!w.at) byId("find").scrollIntoView();
    }
    goTo(w.at);
  };

  let timer = 0;
  form.hidden = false;
  form.addEventListener("submit", (event) => event.preventDefault());
  form.addEventListener("input", () => {
    clearTimeout(timer);
    timer = setTimeout(() => {
      const w = wanted();
      history.replaceState(null, "", address(w));
      apply(w);
    }, 120);
  });
  byId("clear").addEventListener("click", () => {
    form.reset();
    extra = {};
    history.replaceState(null, "", address({}));
    apply({});
  });
  const each = (open) => {
    for (const item of items) if (!item.hidden && item.offsetParent !== null) item.open = open;
  };
  if (byId("open-all")) {
    byId("open-all").addEventListener("click", () => each(true));
    byId("close-all").addEventListener("click", () => each(false));
  }
  addEventListener("hashchange", follow);
  // ---- what a level asks for, and a place that several cite, stand once on the page: an item shows them when it is opened

  const caption = (text, gain) => {
    const line = document.createElement("p");
    line.className = "cap";
    line.textContent = text;
    if (gain) {
      const more = document.createElement("span");
      more.className = "gain";
      more.textContent = gain;
      line.append(more);
    }
    return line;
  };
  const SIGNS = { zero: "0", half: "½", full: "1" };
  const fill = (item) => {
    for (const [link, place] of apart(item)) link.replaceWith(...[...place.children].slice(1).map((child) => child.cloneNode(true)));
    const box = item.querySelector(".conds");
    if (!box || box.dataset.filled) return;
    const text = byId(item.querySelector(".ids .full").hash.slice(1));
    if (!text) return;
    const { met, next, gain } = box.dataset;
    const shown = [];
    for (const [level, words, more] of [[next, "What would raise this to " + SIGNS[next], gain], [met, "The condition it met: level " + SIGNS[met], ""]]) {
      const found = level && text.querySelector(`[data-level="${level}"]`);
      if (!found) continue;
      const copy = found.cloneNode(true);
      copy.classList.toggle("next", level === next);
      copy.querySelector(".cap").replaceWith(caption(words, more));
      shown.push(copy);
    }
    box.replaceChildren(...shown);
    box.dataset.filled = "yes";
  };

  // The address may be that of a place, which keeps its filters: remember the item that is opened last.
  document.addEventListener("toggle", (event) => {
    if (!event.target.matches("details.item") || !event.target.open) return;
    fill(event.target);
    const w = wanted();
    history.replaceState(null, "", Object.keys(w).length ? address({ ...w, at: event.target.id }) : "#" + event.target.id);
  }, true);

  // ---- print: everything that is shown, whether it is folded or not

  let folded = [];
  addEventListener("beforeprint", () => {
    folded = [...document.querySelectorAll("details:not([open])")].filter((d) => d.matches(".fold") || (d.matches(".item[data-o='zero']") && !d.hidden));
    for (const box of folded) {
      box.open = true;
      fill(box);
    }
  });
  addEventListener("afterprint", () => { for (const box of folded) box.open = false; });

  apply({});
  follow();
  // Once all is loaded the browser goes to the address itself, which takes the focus away: go there again after it.
  addEventListener("load", () => setTimeout(() => goTo(parse().at), 50));
})();
