"use strict";
// Everything on this page is in the data below; names are written as text, never as HTML.
(() => {
  const data = JSON.parse(document.getElementById("data").textContent);
  const at = (id) => document.getElementById(id);
  const SVG = "http://www.w3.org/2000/svg";
  const MOST_SHOWN = 200;
  const place = new Map(data.arms.map((arm, number) => [arm, number]));

  function element(name, text, attributes) {
    const made = document.createElement(name);
    if (text !== undefined) made.textContent = text;
    for (const [key, value] of Object.entries(attributes || {})) made.setAttribute(key, value);
    return made;
  }
  function drawn(name, attributes, text) {
    const made = document.createElementNS(SVG, name);
    for (const [key, value] of Object.entries(attributes || {})) made.setAttribute(key, value);
    if (text !== undefined) made.textContent = text;
    return made;
  }
  function picture(width, height, label) {
    const made = drawn("svg", { viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": label });
    made.append(drawn("title", {}, label));
    return made;
  }
  const short = (text, most) => (text.length <= most ? text : `${text.slice(0, most - 4)}…${text.slice(-3)}`);
  const count = (number) => number.toLocaleString("en");

  // ------------------------------------------------------------------ top
  for (const [name, value] of data.about) at("about").append(element("dt", name), element("dd", value));
  for (const note of data.notes) at("notes").append(element("p", note, { class: "warn" }));
  at("xlabel").textContent = data.xlabel;
  data.kind_counts.forEach((number, kind) => {
    if (!number) return;
    const row = element("li");
    row.append(element("span", "", { class: `dot kind-${kind}` }));
    row.append(`${kind ? "out: " : ""}${data.kind_names[kind]} (${count(number)})`);
    at("legend").append(row);
  });

  // ------------------------------------------------------------------ density of all arms
  const WIDTH = 900, TALL = 110, TICKS = 18;
  const density = picture(WIDTH, TALL + TICKS + 12, "all arms along a line, candidates marked above");
  const bins = data.density[0].length;
  const total = Array.from({ length: bins }, (_, bin) => data.density.reduce((sum, row) => sum + row[bin], 0));
  const most = Math.max(1, ...total);
  for (let bin = 0; bin < bins; bin++) {
    let base = TALL + TICKS;
    data.density.forEach((row, kind) => {
      const height = (TALL * row[bin]) / most;
      if (!height) return;
      base -= height;
      density.append(drawn("rect", {
        x: (bin * WIDTH) / bins, y: base, width: WIDTH / bins - 0.8, height, class: `kind-${kind}`,
      }));
    });
  }
  data.candidates.forEach((arm) => {
    if (!place.has(arm)) return;
    const x = Math.min(data.x[place.get(arm)] * WIDTH, WIDTH - 2);
    const tick = drawn("rect", { x, y: 2, width: 2, height: TICKS - 6, class: "kind-0 clickable" });
    tick.append(drawn("title", {}, data.names[place.get(arm)]));
    tick.addEventListener("click", () => choose(arm));
    density.append(tick);
  });
  density.append(drawn("line", { x1: 0, x2: WIDTH, y1: TALL + TICKS, y2: TALL + TICKS, class: "axis" }));
  const marker = drawn("path", { class: "marker", visibility: "hidden" });
  density.append(marker);
  const ends = element("div", undefined, { class: "ends" });
  ends.append(...data.ends.map((end) => element("span", Number(end.toPrecision(4)).toString())));
  at("density").append(density, ends);

  // ------------------------------------------------------------------ list and search
  let show = "all", chosen = null;
  const lower = data.names.map((name) => name.toLowerCase());
  function refresh() {
    const wanted = at("find").value.trim().toLowerCase();
    const rows = [];
    let matches = 0;
    for (let number = 0; number < lower.length; number++) {
      const isIn = data.kinds[number] === 0;
      if ((show === "in" && !isIn) || (show === "out" && isIn)) continue;
      if (wanted && !lower[number].includes(wanted)) continue;
      matches++;
      if (rows.length < MOST_SHOWN) rows.push(number);
    }
    at("list").replaceChildren(...rows.map((number) => {
      const row = element("li"), button = element("button", undefined, { type: "button" });
      button.append(element("span", "", { class: `dot kind-${data.kinds[number]}` }), element("bdi", data.names[number]));
      button.dataset.arm = data.arms[number];
      if (data.arms[number] === chosen) button.setAttribute("aria-current", "true");
      button.addEventListener("click", () => choose(data.arms[number]));
      row.append(button);
      return row;
    }));
    const left = data.n_arms - data.arms.length;
    at("more").textContent = [
      matches > rows.length ? `${count(matches)} arms match, the first ${MOST_SHOWN} are listed.` : "",
      matches ? "" : "No arm on this page has this in its name.",
      left ? `${count(left)} more arms are not on this page; lsdt candidates ${data.source} --explain=ARM explains any.` : "",
    ].filter(Boolean).join(" ");
  }
  at("find").addEventListener("input", refresh);
  document.querySelectorAll("[data-show]").forEach((button) => button.addEventListener("click", () => {
    show = button.dataset.show;
    document.querySelectorAll("[data-show]").forEach((each) => each.setAttribute("aria-pressed", String(each === button)));
    refresh();
  }));
  document.addEventListener("keydown", (event) => {
    const typing = document.activeElement === at("find");
    if (event.key === "/" && !typing) {
      event.preventDefault();
      at("find").focus();
    }
    if (event.key !== "ArrowDown" && event.key !== "ArrowUp") return;
    const buttons = [...at("list").querySelectorAll("button")];
    const here = buttons.indexOf(document.activeElement);
    if (here < 0 && !typing) return;
    event.preventDefault();
    const next = here + (event.key === "ArrowDown" ? 1 : -1);
    if (next < 0) at("find").focus();
    else if (buttons[next]) buttons[next].focus();
  });

  // ------------------------------------------------------------------ one arm
  function nameOf(arm, proof) {
    if (place.has(arm)) return data.names[place.get(arm)];
    return (proof && proof.names && proof.names[arm]) || String(arm);
  }
  function choose(arm) {
    chosen = arm;
    const proof = data.proofs[arm], number = place.get(arm), isIn = data.kinds[number] === 0;
    at("arm-title").textContent = nameOf(arm);
    at("verdict").textContent = isIn ? `It ${data.kind_names[0]}.` : `It cannot be the best: ${data.kind_names[data.kinds[number]]}.`;
    at("proof").replaceChildren(...(proof ? proofParts(arm, proof) : missing(arm)));
    at("list").querySelectorAll("button").forEach((button) => {
      if (Number(button.dataset.arm) === arm) button.setAttribute("aria-current", "true");
      else button.removeAttribute("aria-current");
    });
    const x = data.x[number] * WIDTH, y = TALL + TICKS;
    marker.setAttribute("d", `M${x} ${y}l-6 10h12z`);
    marker.setAttribute("visibility", "visible");
    if (location.hash !== `#arm-${arm}`) history.replaceState(null, "", `#arm-${arm}`);
    if (matchMedia("(max-width: 46rem)").matches) at("detail").scrollIntoView();
  }
  function missing(arm) {
    const words = element("p", "Its proof is not on this page, to keep the page small. This command gives it:");
    const command = data.commands[arm] || `lsdt candidates ${data.source || "FILE"} --explain=ARM`;
    const line = element("p");
    line.append(element("code", command));
    return [words, line];
  }
  function proofParts(arm, proof) {
    const parts = [element("p", proof.text, { class: "text" })], arcs = [];
    const graph = proof.relations.length ? arcDiagram(arm, proof, arcs) : null;
    const words = new Set(proof.relations.map(([, , word]) => word));
    const keys = { similar: "lines join similar arms", dissimilar: "dashes dissimilar ones", better: "an arrow leads to the worse arm", range: "dots join arms whose difference has a known range" };
    const legend = Object.keys(keys).filter((word) => words.has(word)).map((word) => keys[word]).join(", ");
    if (graph) parts.push(graph, element("p", `${legend.charAt(0).toUpperCase()}${legend.slice(1)}.`, { class: "dim" }));
    if (proof.steps && proof.steps.length > 1 && arcs.length) parts.push(...stepList(proof, arcs));
    if (proof.more) parts.push(element("p", `It rests on ${count(proof.more)} more relations, which are not drawn.`, { class: "dim" }));
    return parts;
  }
  function stepList(proof, arcs) {
    const list = element("ol");
    const words = { order: "order", supposition: "supposed order", contradiction: "contradiction", between: "order" };
    proof.steps.forEach((step) => {
      const [above, below] = step.pair.map((arm) => nameOf(arm, proof));
      const text = step.kind === "contradiction" ? "a contradiction" : `${words[step.kind]}: ${above} above ${below}`;
      const button = element("button", text, { type: "button", "aria-pressed": "false" });
      button.addEventListener("click", () => {
        const on = button.getAttribute("aria-pressed") !== "true";
        list.querySelectorAll("button").forEach((each) => each.setAttribute("aria-pressed", "false"));
        button.setAttribute("aria-pressed", String(on));
        const pairs = [step.pair, ...step.links];
        arcs.forEach(({ a, b, line }) => {
          const used = pairs.some(([p, q]) => (p === a && q === b) || (p === b && q === a));
          line.classList.toggle("faint", on && !used);
        });
      });
      const row = element("li");
      row.append(button);
      list.append(row);
    });
    return [element("p", "The steps; click one to see the relations it rests on.", { class: "dim" }), list];
  }
  // Arms on a line from left to right: similar pairs as arcs above, dissimilar ones as dashes below.
  function arcDiagram(arm, proof, arcs) {
    const arms = [...new Set(proof.relations.flatMap(([a, b]) => [a, b]))];
    if (arms.length > 24) return null;
    const order = (one) => (place.has(one) ? data.x[place.get(one)] : 2);
    arms.sort((a, b) => order(a) - order(b) || a - b);
    const step = Math.max(34, Math.min(120, 560 / arms.length));
    const width = step * arms.length + 40;
    const x = new Map(arms.map((one, number) => [one, 20 + step * (number + 0.5)]));
    const label = `arm ${nameOf(arm, proof)} and the arms that its proof is about`;
    const slanted = step < 100;
    const rise = (a, b) => Math.min(110, 12 + Math.abs(x.get(b) - x.get(a)) * 0.28);
    const highest = (below) => Math.max(14, ...proof.relations
      .filter(([, , word]) => (word === "dissimilar") === below).map(([a, b]) => rise(a, b)));
    const middle = highest(false) + 12, height = middle + Math.max(highest(true) + 8, slanted ? 90 : 34);
    const graph = picture(width, height, label);
    graph.setAttribute("width", width);
    proof.relations.forEach(([a, b, word]) => {
      const [from, to] = [x.get(a), x.get(b)];
      const peak = middle + 2 * rise(a, b) * (word === "dissimilar" ? 1 : -1);
      const line = drawn("path", { d: `M${from} ${middle}Q${(from + to) / 2} ${peak} ${to} ${middle}`, class: word });
      line.append(drawn("title", {}, `${nameOf(a, proof)} and ${nameOf(b, proof)}: ${word}`));
      graph.append(line);
      arcs.push({ a, b, line });
      if (word === "better") {
        const turn = Math.sign(to - from);
        graph.append(drawn("path", { d: `M${to - turn * 7} ${middle - 12}l${turn * -4} -9l${turn * 11} 4z`, class: "tip" }));
      }
    });
    arms.forEach((one) => {
      const number = place.get(one), kind = number === undefined ? 1 : data.kinds[number];
      const node = drawn("circle", { cx: x.get(one), cy: middle, r: 7, class: `node kind-${kind}${one === arm ? " asked" : ""}` });
      node.append(drawn("title", {}, nameOf(one, proof)));
      const turned = slanted ? { transform: `rotate(35 ${x.get(one)} ${middle + 22})`, "text-anchor": "start" } : { "text-anchor": "middle" };
      const words = drawn("text", { x: x.get(one), y: middle + 22, ...turned }, short(nameOf(one, proof), 16));
      if (place.has(one) && one !== arm) {
        for (const each of [node, words]) {
          each.classList.add("clickable");
          each.addEventListener("click", () => choose(one));
        }
      }
      graph.append(node, words);
    });
    return graph;
  }

  // ------------------------------------------------------------------ the playground of the examples
  function startPlaying(play) {
    const sliders = [at("epsilon"), at("share")];
    const grids = [play.epsilons, play.shares];
    let asked = null;
    sliders.forEach((slider, number) => {
      slider.max = grids[number].length - 1;
      slider.value = play.start[number];
      slider.addEventListener("input", update);
    });
    const state = () => play.states[Number(sliders[0].value) * play.shares.length + Number(sliders[1].value)];
    function update() {
      const [epsilon, share] = sliders.map((slider, number) => grids[number][Number(slider.value)]);
      at("epsilon-value").textContent = epsilon.toFixed(2);
      at("share-value").textContent = `${Math.round(100 * share)}%`;
      const [left, signs, pairs] = state();
      const known = [...signs].filter((sign) => sign !== ".").length;
      at("play-answer").textContent =
        `${left.length} of ${play.arms.length} arms may be the best: ${left.map((arm) => play.arms[arm]).join(", ")}. ` +
        `${known} of ${signs.length} pairs are known.`;
      at("play-answer").dataset.candidates = left.join(",");
      bars(epsilon, left, pairs);
      squares(signs);
      explain(left, pairs);
    }
    function bars(epsilon, left, pairs) {
      const width = 560, row = 22, low = Math.min(...play.means), reach = Math.max(...play.means) + epsilon - low;
      const graph = picture(width, row * play.means.length + 6, "arms as bars, candidates in colour");
      const reason = asked === null ? [] : pairs[asked] || [];
      play.means.forEach((mean, arm) => {
        const x = 30 + ((width - 40) * (mean - low)) / reach, size = ((width - 40) * epsilon) / reach;
        const isIn = left.includes(arm);
        const ask = () => { asked = arm; update(); };
        const bar = drawn("rect", { tabindex: 0, role: "button", "aria-label": `arm ${play.arms[arm]}`, id: `bar-${arm}`, x, y: row * arm + 4, width: size, height: row - 8, rx: 3, class: `clickable ${isIn ? "kind-0" : "kind-1"}${arm === asked ? " node asked" : reason.includes(arm) ? " node" : ""}` });
        bar.append(drawn("title", {}, `arm ${play.arms[arm]}, mean ${mean}`));
        const label = drawn("text", { x: 24, y: row * arm + row - 7, "text-anchor": "end", class: "clickable" }, play.arms[arm]);
        for (const each of [bar, label]) each.addEventListener("click", ask);
        bar.addEventListener("keydown", (event) => {
          if (event.key !== "Enter" && event.key !== " ") return;
          event.preventDefault();
          ask();
          at(`bar-${arm}`).focus();
        });
        graph.append(bar, label);
      });
      at("play-bars").replaceChildren(graph);
    }
    function squares(signs) {
      const size = 20, width = size * (play.arms.length + 1);
      const graph = picture(width, width, "known pairs, arms by arms");
      play.arms.forEach((name, arm) => {
        graph.append(drawn("text", { x: size * (arm + 1.5), y: size - 6, "text-anchor": "middle" }, name));
        graph.append(drawn("text", { x: size - 5, y: size * (arm + 2) - 5, "text-anchor": "end" }, name));
      });
      let number = 0;
      for (let b = 1; b < play.arms.length; b++) for (let a = 0; a < b; a++) {
        const sign = signs[number++];
        if (sign === ".") continue;
        for (const [column, line] of [[a, b], [b, a]]) graph.append(drawn("rect", {
          x: size * (column + 1) + 1, y: size * (line + 1) + 1, width: size - 2, height: size - 2, class: sign === "s" ? "near" : "apart",
        }));
      }
      at("play-pairs").replaceChildren(graph);
    }
    function explain(left, pairs) {
      const words = at("play-why");
      if (asked === null) words.textContent = "";
      else if (left.includes(asked)) words.textContent = `Arm ${play.arms[asked]} may be the best: nothing that is known rules it out.`;
      else if (pairs[asked]) {
        const [first, second] = pairs[asked].map((arm) => play.arms[arm]);
        const name = play.arms[asked];
        words.textContent = `Arm ${name} cannot be the best: it is similar to ${first} and ${second}, which are dissimilar. Were ${name} the best, both would lie less than epsilon below it, and be similar.`;
      } else words.textContent = `Arm ${play.arms[asked]} cannot be the best: a longer derivation excludes it.`;
    }
    update();
  }
  if (data.play) startPlaying(data.play);

  refresh();
  function fromAddress() {
    const arm = Number(location.hash.replace("#arm-", ""));
    if (location.hash.startsWith("#arm-") && place.has(arm) && arm !== chosen) choose(arm);
  }
  addEventListener("hashchange", fromAddress);
  fromAddress();
})();
