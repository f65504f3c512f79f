"use strict";
(() => {
  const data = JSON.parse(document.getElementById("data").textContent);
  const NAME = 0, COLUMN = 1, VARIANT = 2, VERDICT = 3, TIME = 4, REASON = 5, CAUSE = 6;
  const FILTERS = ["q", "verdict", "topic", "release", "target", "requirement", "judges", "cause"];
  const GROUPS = { failing: "everything that failed", missed: "requirement not met" };
  const MISSED = new Set(["fail", "hang", "crash", "shortfall", "known-failure"]);
  const NAMES_AT_ONCE = 300, RUNS_AT_ONCE = 100;
  const cases = data.cases, names = data.names, columns = data.columns, verdicts = data.verdicts;
  const one = (selector) => document.querySelector(selector);
  const all = (selector, within = document) => [...within.querySelectorAll(selector)];

  function make(tag, members = {}, ...children) {
    const made = document.createElement(tag);
    for (const [name, value] of Object.entries(members)) {
      if (name === "class") made.className = value;
      else if (name.startsWith("on")) made.addEventListener(name.slice(2), value);
      else if (value === true) made.setAttribute(name, "");
      else if (value !== false && value !== undefined) made.setAttribute(name, value);
    }
    made.append(...children.filter((child) => child !== ""));
    return made;
  }

  // Explanations were escaped when the page was written; only those strings of ours are ever taken for markup.
  function fragment(html) {
    const holder = document.createElement("template");
    holder.innerHTML = html;
    return holder.content;
  }

  const where = (row) => {
    const [release, target] = columns[row[COLUMN]];
    return row[VARIANT] < 0 ? `${release}-${target}` : `${release}-${target}-${data.variants[row[VARIANT]]}`;
  };
  const nameOf = (row) => `${names[row[NAME]][0]}.${names[row[NAME]][1]}`;
  const idOf = (place) => data.ids[place] ?? `${nameOf(cases[place])}[${where(cases[place])}]`;
  const reasonOf = (row) => (row[REASON] < 0 ? "" : data.reasons[row[REASON]]);
  const chip = (verdict, text) => make("span", { class: `chip ${verdicts[verdict][1]}` }, text ?? verdicts[verdict][0]);
  const prose = (text) => text.split(/``?/).map((part, index) => (index % 2 ? make("code", {}, part) : part));
  const seconds = (ms) => (ms < 1000 ? `${ms} ms` : `${(ms / 1000).toFixed(1)} s`);
  const plural = (number, noun) => `${number} ${noun}${number === 1 ? "" : "s"}`;

  // The part of the address behind '#' is the view: filters, and the case that is open.
  let view = {};
  const read = () => Object.fromEntries(new URLSearchParams(location.hash.slice(1)));
  const written = (of) => `#${new URLSearchParams(Object.entries(of).filter(([, value]) => value))}`;
  const same = (a, b) => FILTERS.every((name) => (a[name] ?? "") === (b[name] ?? ""));
  const active = () => FILTERS.some((name) => view[name]);

  function change(members) {
    view = { ...view, ...members };
    history.replaceState(null, "", written(view));
    show();
  }

  const haystacks = names.map(([topic, name, title, cited]) =>
    `${topic}.${name} ${title} ${cited.map((place) => data.requirements[place][0]).join(" ")}`.toLowerCase());
  const reasons = data.reasons.map((text) => text.toLowerCase());

  function wantedReleases(text) {
    const [first, last] = text.split("~");
    const from = data.releases.indexOf(first), to = data.releases.indexOf(last ?? first);
    return new Set(from < 0 ? [first] : data.releases.slice(from, to + 1));
  }

  function matching() {
    const terms = (view.q ?? "").toLowerCase().split(/\s+/).filter(Boolean);
    const releases = view.release ? wantedReleases(view.release) : null;
    const allowed = columns.map(([release, target]) => (!releases || releases.has(release)) && (!view.target || view.target === target));
    const fits = verdicts.map(([word, , look]) => !view.verdict || view.verdict === word ||
      (view.verdict === "failing" && look === 1) || (view.verdict === "missed" && MISSED.has(word)));
    const named = names.map(([topic, , , cited, judges]) => (!view.topic || view.topic === topic) && (!view.judges || view.judges === judges) &&
      (!view.requirement || cited.some((place) => data.requirements[place][0] === view.requirement)));
    const found = [];
    for (let place = 0; place < cases.length; place++) {
      const row = cases[place];
      if (!allowed[row[COLUMN]] || !fits[row[VERDICT]] || !named[row[NAME]] || (view.cause && view.cause !== String(row[CAUSE]))) continue;
      if (terms.every((term) => haystacks[row[NAME]].includes(term) || (row[REASON] >= 0 && reasons[row[REASON]].includes(term)) ||
        idOf(place).toLowerCase().includes(term))) found.push(place);
    }
    return found;
  }

  // Causes: those in the page, and those that are only in the data.
  const causes = one("#causes");
  function addCauses() {
    if (!causes) return;
    data.causes.forEach(([line, place], index) => {
      const summary = make("summary");
      summary.append(fragment(line));
      const made = make("details", { class: "cause", "data-cause": data.shown + index }, summary);
      made.addEventListener("toggle", () => {
        if (made.open && made.children.length === 1) {
          made.append(explanation(place));
          const others = cases.filter((row) => row[CAUSE] === data.shown + index).length - 1;
          if (others) made.append(make("p", { class: "others" }, `The same in ${plural(others, "more case")}. `,
            make("a", { href: written({ cause: data.shown + index }) }, "Show all of them")));
          addCopying(made);
        }
      });
      causes.append(made);
    });
    if (data.unnamed) causes.append(make("p", { class: "dim" }, `${plural(data.unnamed, "more cause")}: see the list of all cases, which has each of them.`));
  }

  function explanation(place) {
    const shown = data.firsts.indexOf(place);
    const there = shown < 0 ? null : one(`.cause[data-cause="${shown}"] > .told`);
    if (there) {
      const copy = there.cloneNode(true);
      all(".copied > button", copy).forEach((button) => button.remove());
      all(".copied", copy).forEach((box) => box.replaceWith(...box.childNodes));
      return copy;
    }
    if (data.told[place]) return fragment(data.told[place]);
    const row = cases[place], said = reasonOf(row), holder = make("div", { class: "told" });
    if (said) holder.append(make("p", { class: "sum" }, said));
    if (row[CAUSE] >= 0) {
      const first = cases.findIndex((other) => other[CAUSE] === row[CAUSE]);
      holder.append(first === place
        ? make("p", { class: "dim" }, "Left out here to keep the page small; results.jsonl has all of it.")
        : make("p", {}, "It failed as ", make("a", { href: written({ ...view, case: idOf(first) }) }, idOf(first)), " did, which is explained there."));
    }
    return holder;
  }

  // The list of all cases, by name.
  const list = one("#list");
  function fill(found) {
    // What a case cites may differ between releases, so that one name has several places in the table of names.
    const byName = new Map();
    for (const place of found) {
      const name = nameOf(cases[place]);
      if (!byName.has(name)) byName.set(name, [cases[place][NAME], []]);
      byName.get(name)[1].push(place);
    }
    const entries = [...byName.values()];
    list.replaceChildren();
    const more = (from) => {
      list.append(...entries.slice(from, from + NAMES_AT_ONCE).map(([name, places]) => nameRow(name, places, active() && entries.length < 3)));
      if (entries.length > from + NAMES_AT_ONCE) {
        const left = entries.length - from - NAMES_AT_ONCE;
        const button = make("button", { type: "button", onclick: () => { button.remove(); more(from + NAMES_AT_ONCE); } }, `Show ${plural(Math.min(left, NAMES_AT_ONCE), "more name")} of ${left}`);
        list.append(button);
      }
    };
    more(0);
    if (!entries.length) list.append(make("p", { class: "dim" }, "No case matches the filters."));
  }

  function nameRow(name, places, open) {
    const [topic, short, title] = names[name];
    const counts = new Map();
    for (const place of places) counts.set(cases[place][VERDICT], (counts.get(cases[place][VERDICT]) ?? 0) + 1);
    const chips = [...counts].sort((a, b) => a[0] - b[0]).map(([verdict, number]) => chip(verdict, `${number} ${verdicts[verdict][0]}`));
    const made = make("details", { class: "name" }, make("summary", {},
      make("span", { class: "what" }, make("b", {}, `${topic}.${short}`), " ", make("span", { class: "dim" }, ...prose(title))), make("span", { class: "rest" }, ...chips)));
    made.addEventListener("toggle", () => { if (made.open && made.children.length === 1) made.append(runs(places)); });
    made.open = open;
    return made;
  }

  function runs(places) {
    const body = make("tbody");
    const holder = make("div", { class: "wide" }, make("table", { class: "runs" }, body));
    const add = (from) => {
      for (const place of places.slice(from, from + RUNS_AT_ONCE)) {
        const row = cases[place];
        body.append(make("tr", {}, make("td", {}, chip(row[VERDICT])),
          make("th", { scope: "row" }, make("a", { href: written({ ...view, case: idOf(place) }) }, where(row))),
          make("td", { class: "number" }, seconds(row[TIME])), make("td", { class: "why" }, reasonOf(row))));
      }
      const left = places.length - from - RUNS_AT_ONCE;
      if (left > 0) {
        const button = make("button", { type: "button", onclick: () => { button.remove(); add(from + RUNS_AT_ONCE); } }, `Show ${Math.min(left, RUNS_AT_ONCE)} of ${plural(left, "more case")}`);
        holder.append(button);
      }
    };
    add(0);
    return holder;
  }

  // One case, over the page.
  const places = new Map();
  const dialog = make("dialog", { "aria-labelledby": "case-id" });
  // the address may name the next case already, which may even be open by the time that the browser says so
  dialog.addEventListener("close", () => { if (!dialog.open && view.case && read().case === view.case) change({ case: "" }); });
  dialog.addEventListener("click", (event) => { if (event.target === dialog) dialog.close(); });
  let shownCases = [];

  function placeOf(id) {
    if (!places.size) for (let place = 0; place < cases.length; place++) places.set(idOf(place), place);
    return places.get(id);
  }

  function neighbour(place, step) {
    const failed = verdicts[cases[place][VERDICT]][2];
    const among = failed ? shownCases.filter((other) => verdicts[cases[other][VERDICT]][2]) : shownCases;
    return among[among.indexOf(place) + step];
  }

  function step(by) {
    const next = neighbour(placeOf(view.case), by);
    if (next !== undefined) change({ case: idOf(next) });
  }

  function open(id) {
    const place = placeOf(id);
    const close = make("button", { type: "button", onclick: () => dialog.close() }, "Close");
    if (place === undefined) {
      dialog.replaceChildren(make("div", { class: "bar" }, make("h2", { id: "case-id" }, id), close), make("p", { class: "inside" }, "This run has no such case."));
    } else {
      const row = cases[place], [, , title, cited] = names[row[NAME]];
      const previous = make("button", { type: "button", onclick: () => step(-1), "aria-label": "Previous case" }, "\u2039");
      const next = make("button", { type: "button", onclick: () => step(1), "aria-label": "Next case" }, "\u203a");
      previous.disabled = neighbour(place, -1) === undefined;
      next.disabled = neighbour(place, 1) === undefined;
      const inside = make("div", { class: "inside" }, make("p", {}, chip(row[VERDICT]), ` ${seconds(row[TIME])}`));
      const told = explanation(place);
      if (!(told.querySelector(".rule"))) {
        inside.append(make("p", {}, ...prose(title)));
        for (const [name, level, statement, why] of cited.map((number) => data.requirements[number])) {
          inside.append(make("div", { class: "rule" }, make("p", {}, make("a", { href: written({ requirement: name }) }, name), level ? make("b", {}, ` ${level}`) : "", ...(statement ? [": ", ...prose(statement)] : [])),
            why ? make("p", { class: "dim" }, "Why it matters: ", ...prose(why)) : ""));
        }
      }
      inside.append(told);
      addCopying(inside);
      dialog.replaceChildren(make("div", { class: "bar" }, make("h2", { id: "case-id", class: "mono" }, id), previous, next, close), inside);
    }
    dialog.scrollTop = 0;
    if (!dialog.open) dialog.showModal();
    close.focus({ preventScroll: true });
  }

  // Copying a command.
  function addCopying(within) {
    for (const command of all("pre.command", within)) {
      if (command.parentElement.className === "copied") continue;
      const button = make("button", { type: "button" }, "Copy");
      button.addEventListener("click", async () => {
        try {
          await navigator.clipboard.writeText(command.textContent);
        } catch {
          getSelection().selectAllChildren(command);
          document.execCommand("copy");
        }
        button.textContent = "Copied";
        setTimeout(() => { button.textContent = "Copy"; }, 1500);
      });
      const box = make("div", { class: "copied" });
      command.replaceWith(box);
      box.append(command, button);
    }
  }

  // The filters.
  const tools = one("#tools");
  const inputs = {};
  const shownText = make("span", { class: "shown", role: "status" });
  const keys = make("input", { type: "checkbox", id: "keys", checked: true });
  const help = make("details", {}, make("summary", {}, "Keys"), make("dl", { class: "keys" }, ...[
    ["/", "search"], ["j k", "next and previous failure, or case where one is open"], ["Enter", "open or close it"], ["Esc", "close it, or empty the search"], ["?", "this help"],
  ].flatMap(([key, does]) => [make("dt", {}, ...key.split(" ").flatMap((part) => [make("kbd", {}, part), " "])), make("dd", {}, does)])),
  make("label", { class: "small" }, keys, " use these keys"));

  function select(name, nothing, options) {
    if (options.length < 2) return "";
    inputs[name] = make("select", { "aria-label": nothing, onchange: (event) => change({ [name]: event.target.value }) },
      make("option", { value: "" }, nothing), ...options.map(([value, text]) => make("option", { value }, text)));
    return inputs[name];
  }

  function addTools() {
    const used = new Set(cases.map((row) => row[VERDICT]));
    const plain = (values) => [...new Set(values)].map((value) => [value, value]);
    const looks = [...used].some((verdict) => verdicts[verdict][2]);
    const byVerdict = verdicts.filter((_, index) => used.has(index)).map(([word]) => [word, word]);
    const releases = data.releases.filter((release) => columns.some(([other]) => other === release));
    let waiting;
    inputs.q = make("input", { type: "search", placeholder: "Search cases  /", "aria-label": "Search cases", oninput: () => {
      clearTimeout(waiting);
      waiting = setTimeout(() => change({ q: inputs.q.value }), cases.length > 20000 ? 200 : 60);
    } });
    tools.append(make("div", { class: "bar" }, inputs.q,
      select("verdict", "all verdicts", [...(looks ? [["failing", GROUPS.failing]] : []), ...byVerdict]),
      select("topic", "all topics", plain(names.map(([topic]) => topic))),
      select("release", "all releases", plain(releases)),
      select("target", "all targets", plain(columns.map(([, target]) => target))),
      select("requirement", "all requirements", plain(data.requirements.map(([name]) => name).sort())),
      select("judges", "whoever is judged", plain(names.map((name) => name[4])).map(([value]) => [value, `about the ${value}`])),
      make("button", { type: "button", class: "clear", onclick: () => change(Object.fromEntries(FILTERS.map((name) => [name, ""]))) }, "Clear")),
      make("div", { class: "bar" }, shownText, help));
  }

  function mirror() {
    for (const [name, input] of Object.entries(inputs)) {
      const value = view[name] ?? "";
      if (name !== "q" && value && ![...input.options].some((option) => option.value === value)) {
        input.append(make("option", { value }, GROUPS[value] ?? value.replace("~", " to ")));
      }
      if (input.value !== value && !(name === "q" && input === document.activeElement)) input.value = value;
    }
    const here = written({ ...view, case: "" });
    for (const link of all(".grid a, .counts a")) {
      if (active() && link.getAttribute("href") === here) link.setAttribute("aria-current", "true");
      else link.removeAttribute("aria-current");
    }
  }

  let before = null;
  function show() {
    if (!before || !same(before, view)) {
      before = view;
      shownCases = matching();
      const failing = new Set(shownCases.map((place) => cases[place][CAUSE]));
      let left = 0;
      for (const cause of all(".cause")) {
        cause.hidden = active() && !failing.has(Number(cause.dataset.cause));
        left += !cause.hidden;
      }
      const section = causes && causes.parentElement;
      if (section) section.hidden = active() && left === 0;
      for (const apart of all(".apart")) apart.hidden = active();
      fill(shownCases);
      const of = active() ? ` of ${cases.length}` : "";
      const why = view.cause ? `, those of one cause` : "";
      shownText.textContent = `${active() ? shownCases.length : ""}${of || cases.length} cases${why}${causes ? `, ${plural(left, "cause")} of failure` : ""}`;
      one("#cases > .dim").textContent = active() ? `${shownCases.length} of ${cases.length}` : cases.length;
      one(".clear").hidden = !active();
      mirror();
    }
    if (view.case) open(view.case);
    else if (dialog.open) dialog.close();
  }

  function moved() {
    const hash = location.hash.slice(1);
    if (hash && !hash.includes("=")) {
      if (Object.keys(view).length) history.replaceState(null, "", written(view));
      return;
    }
    const old = view;
    view = read();
    show();
    if (!same(old, view) && active()) tools.scrollIntoView();
  }

  // Keys, of which none keeps the focus: they only move it.
  function walk(selector, by) {
    const there = all(selector).filter((summary) => summary.offsetParent !== null);
    const at = there.findIndex((summary) => summary === document.activeElement || summary.parentElement.contains(document.activeElement));
    const next = there[at < 0 ? (by > 0 ? 0 : there.length - 1) : at + by];
    if (next) {
      next.focus({ preventScroll: true });
      next.scrollIntoView({ block: "center" });
    }
  }

  document.addEventListener("keydown", (event) => {
    const typing = event.target.matches("input[type=search], select");
    if (event.key === "Escape" && !dialog.open) {
      const around = event.target.closest("details[open]");
      if (event.target === inputs.q) inputs.q.value ? (inputs.q.value = "", change({ q: "" })) : inputs.q.blur();
      else if (around) { around.open = false; around.firstElementChild.focus(); }
      return;
    }
    if (event.ctrlKey || event.metaKey || event.altKey || typing) return;
    const focused = event.target.matches(".cause > summary") ? ".cause > summary" : event.target.matches(".name > summary") ? ".name > summary" : "";
    const arrow = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (arrow && focused && !dialog.open) { event.preventDefault(); walk(focused, arrow); return; }
    if (!keys.checked) return;
    const by = { j: 1, k: -1 }[event.key];
    if (by) { event.preventDefault(); dialog.open ? step(by) : walk(causes && !causes.parentElement.hidden ? ".cause > summary" : ".name > summary", by); }
    else if (event.key === "/" && !dialog.open) { event.preventDefault(); inputs.q.focus(); inputs.q.select(); }
    else if (event.key === "?" && !dialog.open) { event.preventDefault(); help.open = !help.open; if (help.open) help.firstElementChild.focus(); }
  });

  // Topics in which nothing failed are folded where others did.
  function foldTopics() {
    const first = one(".grid thead th");
    if (first) one(".grid").style.setProperty("--first", `${first.offsetWidth}px`);
    const quiet = all(".grid tr.quiet"), loud = all(".grid tbody tr:not(.quiet)");
    if (!loud.length || quiet.length < 4) return;
    const words = () => (quiet[0].hidden ? `Show ${plural(quiet.length, "more topic")}, in which nothing failed` : "Show only topics with failures");
    const button = make("button", { type: "button", class: "no-print small", onclick: () => { quiet.forEach((row) => { row.hidden = !row.hidden; }); button.textContent = words(); } });
    quiet.forEach((row) => { row.hidden = true; });
    button.textContent = words();
    one(".grid").after(button);
    addEventListener("beforeprint", () => quiet.forEach((row) => { row.hidden = false; }));
  }

  document.body.append(dialog);
  addTools();
  addCauses();
  addCopying(document);
  foldTopics();
  if (location.hash.includes("=")) view = read();
  show();
  addEventListener("hashchange", moved);
})();
