// Filters, the search, the choice of two releases and the maps. Every page says all it has to say without this.
"use strict";
(() => {
  const root = document.currentScript ? document.currentScript.getAttribute("src").replace(/site\.js$/, "") : "";
  const one = (selector, within = document) => within.querySelector(selector);
  const all = (selector, within = document) => Array.from(within.querySelectorAll(selector));
  const made = (tag, attributes = {}, ...inside) => {
    const element = document.createElement(tag);
    for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
    element.append(...inside);
    return element;
  };
  const counted = (number, noun) => `${number} ${noun}${number === 1 ? "" : "s"}`;

  // Rows or cases that have every word and every choice of a form; a topic without one left is hidden.
  const filtered = (form) => {
    const place = document.getElementById(form.dataset.filter);
    const rows = all("tbody tr, .case", place);
    const texts = rows.map((row) => `${row.textContent} ${row.dataset.words || ""}`.toLowerCase());
    const said = one("output", form);
    const kept = new URLSearchParams(location.search);
    for (const field of form.elements) if (field.name && kept.has(field.name)) field.value = kept.get(field.name);
    const update = () => {
      const words = form.elements.words.value.toLowerCase().split(/\s+/).filter(Boolean);
      const choices = all("select", form).filter((field) => field.value);
      let shown = 0;
      rows.forEach((row, index) => {
        const fits = words.every((word) => texts[index].includes(word)) &&
          choices.every((field) => (row.dataset[field.name] || "").split(" ").includes(field.value));
        row.hidden = !fits;
        shown += fits ? 1 : 0;
      });
      for (const topic of all(".topic", place)) topic.hidden = !one(".case:not([hidden])", topic);
      said.textContent = `${shown} of ${rows.length}`;
    };
    form.addEventListener("input", update);
    form.addEventListener("submit", (event) => event.preventDefault());
    form.hidden = false;
    update();
  };

  const search = (form) => {
    const index = window.INDEX || [];
    const texts = index.map(([, name, words]) => `${name} ${words}`.toLowerCase());
    const list = document.getElementById("found");
    const said = one("output", form);
    const most = 100;
    const query = new URLSearchParams(location.search);
    form.elements.q.value = query.get("q") || "";
    const update = () => {
      const words = form.elements.q.value.toLowerCase().split(/\s+/).filter(Boolean);
      const kind = form.elements.kind.value;
      const hits = [];
      if (words.length || kind) {
        index.forEach((entry, place) => {
          if ((!kind || entry[0] === kind) && words.every((word) => texts[place].includes(word))) {
            const name = entry[1].toLowerCase();
            hits.push([words.every((word) => name.includes(word)) ? 0 : 1, place]);
          }
        });
      }
      hits.sort((a, b) => a[0] - b[0] || a[1] - b[1]);
      list.replaceChildren(...hits.slice(0, most).map(([, place]) => {
        const [what, name, text, where] = index[place];
        return made("li", {}, made("a", { href: root + where, class: "name" }, name), " ", made("span", { class: "dim" }, what), made("br"), text);
      }));
      said.textContent = words.length || kind ? counted(hits.length, "hit") + (hits.length > most ? `, the first ${most} are shown` : "") : "";
    };
    form.addEventListener("input", update);
    form.addEventListener("submit", (event) => event.preventDefault());
    form.hidden = false;
    update();
    form.elements.q.focus();
  };

  const pick = (form) => {
    const data = window.UPGRADE;
    const verdict = document.getElementById("verdict");
    const from = form.elements.from;
    const to = form.elements.to;
    const show = () => {
      const [a, b] = [data.releases.indexOf(from.value), data.releases.indexOf(to.value)];
      const answers = data.pairs[a * data.releases.length + b];
      const list = made("dl", { class: "answers" });
      answers.forEach((number, place) => {
        const [tone, chip, words, where] = data.answers[number];
        const shown = where ? made("a", { class: `chip ${tone}`, href: root + where }, chip) : made("span", { class: `chip ${tone}` }, chip);
        list.append(made("dt", {}, data.titles[place]), made("dd", {}, shown, " ", words));
      });
      const more = made("p", {}, made("a", { href: `${root}upgrade/${from.value}.html#to-${to.value}` }, `All about ${from.value} to ${to.value}`));
      verdict.replaceChildren(...(answers.length ? [list, more] : [made("p", {}, "The same release: nothing changes.")]));
      verdict.hidden = false;
      history.replaceState(null, "", `#from=${from.value}&to=${to.value}`);
    };
    const kept = new URLSearchParams(location.hash.slice(1));
    for (const field of [from, to]) if (data.releases.includes(kept.get(field.name))) field.value = kept.get(field.name);
    form.addEventListener("change", show);
    form.addEventListener("submit", (event) => event.preventDefault());
    document.getElementById("swap").addEventListener("click", () => {
      [from.value, to.value] = [to.value, from.value];
      show();
    });
    form.hidden = false;
    const before = location.hash;
    show();
    if (!before.startsWith("#from=")) history.replaceState(null, "", before || location.pathname + location.search);
  };

  // A map is one stop of the tab key; arrows walk in it, and what is chosen is told below it.
  const walk = (table) => {
    const data = window.MAP;
    const detail = document.getElementById("detail");
    const rows = all("tbody tr", table).map((row) => all("td a", row));
    const columns = all("thead th", table).slice(1).map((head) => head.textContent.trim());
    const names = all("tbody th", table).map((head) => head.textContent.trim());
    let chosen = null;
    const key = (link) => /client-([^#]+)\.html#server-(.+)$/.exec(link.getAttribute("href"));
    const show = (y, x) => {
      const link = rows[y][x];
      if (chosen) { chosen.classList.remove("chosen"); chosen.tabIndex = -1; }
      chosen = link;
      link.classList.add("chosen");
      link.tabIndex = 0;
      const place = key(link);
      const [parts, numbers, more] = data.cells[`${place[1]} ${place[2]}`];
      const head = made("h2", {}, `client ${names[y]}, server ${columns[x]} `);
      const line = made("p");
      for (const [part, letter, words, tone] of parts) {
        line.append(made("span", { class: `cell ${tone}` }, letter), " ", made("strong", {}, part), ` ${words}. `);
      }
      const list = made("ul", {}, ...numbers.map((number) => made("li", {}, made("span", { class: "dim" }, `${data.reasons[number][0]}: `), data.reasons[number][1])));
      detail.replaceChildren(head, line, ...(numbers.length ? [list] : []), ...(more ? [made("p", { class: "dim" }, `${more}.`)] : []),
        made("p", {}, made("a", { href: link.getAttribute("href") }, numbers.length ? "Reasons and evidence" : "This pair")));
      detail.hidden = false;
    };
    rows.forEach((row, y) => row.forEach((link, x) => {
      link.tabIndex = -1;
      link.addEventListener("focus", () => show(y, x));
      link.addEventListener("click", (event) => {
        if (event.detail && !event.ctrlKey && !event.metaKey && !event.shiftKey) { event.preventDefault(); link.focus(); }
      });
    }));
    const last = [rows.length - 1, rows[0].length - 1];
    rows[last[0]][last[1]].tabIndex = 0;
    table.addEventListener("keydown", (event) => {
      const y = rows.findIndex((row) => row.includes(document.activeElement));
      if (y < 0) return;
      const x = rows[y].indexOf(document.activeElement);
      const step = { ArrowLeft: [0, -1], ArrowRight: [0, 1], ArrowUp: [-1, 0], ArrowDown: [1, 0], Home: [0, -x], End: [0, last[1] - x] }[event.key];
      if (!step) return;
      event.preventDefault();
      const next = (rows[y + step[0]] || [])[x + step[1]];
      if (next) { next.focus(); next.scrollIntoView({ block: "nearest", inline: "nearest" }); }
    });
  };

  for (const form of all("[data-filter]")) filtered(form);
  const here = one(".nav [aria-current], .nav .here");
  if (here) {
    const list = here.closest("ul");
    list.scrollLeft = here.offsetLeft - list.offsetLeft;
  }
  const find = document.getElementById("find");
  const choice = document.getElementById("pick");
  const map = one("[data-map]");
  document.addEventListener("DOMContentLoaded", () => {
    if (find) search(find);
    if (choice && window.UPGRADE) pick(choice);
    if (map && window.MAP) walk(map);
  });
  document.addEventListener("keydown", (event) => {
    const typing = /^(INPUT|SELECT|TEXTAREA)$/.test(document.activeElement.tagName);
    if (event.key === "/" && !typing && !event.ctrlKey && !event.metaKey) { event.preventDefault(); one(".search input").focus(); }
  });
})();
