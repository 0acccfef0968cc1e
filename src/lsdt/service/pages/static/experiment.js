"use strict";
// One stream keeps the page up to date: parts that the server rendered, and points for three charts.
const live = document.getElementById("live");
const state = document.getElementById("state");
const style = getComputedStyle(document.documentElement);
const text = style.getPropertyValue("--soft").trim();
const grid = style.getPropertyValue("--line").trim();
const green = style.getPropertyValue("--best").trim();
const dark = matchMedia("(prefers-color-scheme: dark)").matches;
const colours = dark
  ? ["#4fc49a", "#f08a6d", "#7fa8f5", "#e0b050", "#c79be8", "#9fb0c0"]
  : ["#0b6e4f", "#b8472a", "#2f55a4", "#8f6400", "#7a3ea0", "#566273"];
const most = 720;
const span = Number(live.dataset.span); // seconds that decisions and rewards per second are averaged over
const points = [];

// Times of day as they are read, without a second line that would run into its neighbour.
function times(_, splits, __, ___, step) {
  const form =
    step < 60
      ? { hour: "2-digit", minute: "2-digit", second: "2-digit", hourCycle: "h23" }
      : step < 86400
        ? { hour: "2-digit", minute: "2-digit", hourCycle: "h23" }
        : { day: "numeric", month: "short" };
  const made = new Intl.DateTimeFormat(undefined, form);
  return splits.map((second) => made.format(1000 * second));
}

// uPlot cannot be loaded where the browser's language is none that Intl knows, such as "en-US@posix".
const hasCharts = typeof uPlot !== "undefined";

function chart(id, series, range, bands) {
  const place = document.getElementById(id);
  if (!hasCharts) {
    place.textContent = `No chart: this browser's language, "${navigator.language}", is not a valid one.`;
    return { setData() {}, destroy() {} };
  }
  const axis = { stroke: text, grid: { stroke: grid, width: 1 }, ticks: { stroke: grid } };
  const options = {
    width: place.clientWidth || 400,
    height: 260,
    series: [{}, ...series],
    axes: [{ ...axis, values: times, space: 64 }, axis],
    legend: { live: false },
    scales: { y: { range } },
    bands,
    cursor: { drag: { x: true, y: false } },
  };
  const made = new uPlot(options, [[], ...series.map(() => [])], place);
  new ResizeObserver(() => made.setSize({ width: place.clientWidth, height: 260 })).observe(place);
  return made;
}

const line = (label, colour, width = 2) => ({ label, stroke: colour, width, points: { show: false } });
const rate = chart(
  "rate",
  [line("rate", green), line("low", green, 0.5), line("high", green, 0.5)],
  // As large as the data: a click rate of 5% is not a flat line at the bottom.
  (_, low, high) =>
    low === null ? [0, 1] : [Math.min(0, 1.1 * low), high <= 1 ? Math.min(1, 1.1 * high || 1) : 1.1 * high],
  [{ series: [3, 2], fill: dark ? "#275f4c66" : "#b9ddcf66" }],
);
const speed = chart(
  "speed",
  // What a point says holds since the one before it, however long the service was silent or down.
  [line("decisions/s", colours[2]), line("rewards/s", colours[3])].map((each) => ({
    ...each,
    paths: hasCharts ? uPlot.paths.stepped({ align: -1 }) : undefined,
  })),
  (_, low, high) => [0, Math.max(1, high ?? 1)],
);
let shares = null;
let names = [];

function draw() {
  const time = points.map((point) => point[0]);
  rate.setData([
    time,
    points.map((point) => point[3]),
    points.map((point) => point[4]),
    points.map((point) => point[5]),
  ]);
  // Over a window: decisions expire in bursts.
  const per = (place) => {
    let first = 0;
    return points.map((point, at) => {
      while (first + 1 < at && point[0] - points[first + 1][0] >= span) first += 1;
      return at === 0 ? null : (point[place] - points[first][place]) / (point[0] - points[first][0]);
    });
  };
  speed.setData([time, per(1), per(2)]);
  const totals = new Map();
  for (const point of points) {
    for (const [arm, share] of Object.entries(point[6])) totals.set(arm, (totals.get(arm) ?? 0) + share);
  }
  const top = [...totals].sort((one, other) => other[1] - one[1]).slice(0, 5).map(([arm]) => arm);
  if (shares === null || top.join("\n") !== names.join("\n")) {
    shares?.destroy();
    names = top;
    shares = names.length
      ? chart("shares", names.map((arm, at) => line(arm, colours[at])), () => [0, 1])
      : null;
  }
  shares?.setData([time, ...names.map((arm) => points.map((point) => point[6][arm] ?? 0))]);
}

const arms = document.getElementById("line");
arms.scrollLeft = arms.scrollWidth; // where it does not fit, the best arms are the ones to see

const stream = new EventSource(live.dataset.url);
stream.onopen = () => {
  state.textContent = "● live";
  state.className = "state";
};
stream.onerror = () => {
  state.textContent = "○ not connected";
  state.className = "state lost";
};
stream.onmessage = (event) => {
  const news = JSON.parse(event.data);
  for (const [name, part] of Object.entries(news.parts)) {
    const place = document.getElementById(name);
    if (!place.contains(document.activeElement)) place.innerHTML = part; // rendered and escaped by the server
  }
  const last = points.length ? points[points.length - 1][0] : 0;
  points.push(...news.points.filter((point) => point[0] > last));
  // Older points become fewer, newer ones stay: the curves reach back as far as the server's.
  if (points.length > most) {
    const half = most / 2;
    points.splice(0, half, ...points.slice(0, half).filter((_, at) => at % 2 === 0));
  }
  draw();
};
addEventListener("pagehide", () => stream.close());
