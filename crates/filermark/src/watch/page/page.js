'use strict';
// Reads /state.json once a second and draws it. Text goes into the page as text only.
const INTERVAL_MS = 1000;
const GAP_S = 2.5;
const SVG = 'http://www.w3.org/2000/svg';
const byId = id => document.getElementById(id);
const figure = (value, digits) =>
  value === null || value === undefined ? '' : value.toLocaleString('en', {maximumFractionDigits: digits});

// A load point, or a step of a search.
const place = row => row.search_step ? `search ${row.search_step}` : figure(row.point, 0);

function setText(element, text) {
  if (element.textContent !== text) element.textContent = text;
}

function fill(id, rows) {
  const body = byId(id);
  body.replaceChildren(...rows.map(cells => {
    const row = document.createElement('tr');
    cells.forEach((text, at) => {
      const cell = document.createElement(at === 0 ? 'th' : 'td');
      if (at === 0) cell.scope = 'row';
      cell.textContent = text;
      row.append(cell);
    });
    return row;
  }));
}

function part(name, attributes, text) {
  const element = document.createElementNS(SVG, name);
  for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
  if (text !== undefined) element.textContent = text;
  return element;
}

// Pairs without a gap: between load points there are no seconds.
function runs(pairs, whole) {
  const all = [];
  pairs.forEach((pair, at) => {
    if (at === 0 || (!whole && pair[0] - pairs[at - 1][0] > GAP_S)) all.push([]);
    all[all.length - 1].push(pair);
  });
  return all;
}

// A mark of a load point; its title has the figures. It is hollow if the point does not count.
function mark(point, cx, cy) {
  const circle = part('circle', {class: point.counts ? 'dot' : 'dot void', cx, cy, r: 4});
  circle.append(part('title', {}, `Load point ${point.point}, ${point.verdict}: ` +
    `${figure(point.achieved, 0)} op/s, mean ${figure(point.mean_ms, 3)} ms`));
  return circle;
}

// A line through [x, y] pairs, with the largest values at the ends of the axes. With dots, which are
// the load points of the pairs, the line has only those that count.
function chart(id, pairs, units, dots) {
  const svg = byId(id);
  const [, , width, height] = svg.getAttribute('viewBox').split(' ').map(Number);
  const [left, right, top, bottom] = [60, width - 10, 20, height - 30];
  const xs = pairs.map(p => p[0]), ys = pairs.map(p => p[1]);
  const xMin = dots || !xs.length ? 0 : Math.min(...xs);
  const xMax = Math.max(...xs, xMin + 1e-9), yMax = Math.max(...ys, 1e-9);
  const x = v => left + (v - xMin) / (xMax - xMin) * (right - left);
  const y = v => bottom - v / yMax * (bottom - top);
  const parts = [
    part('path', {class: 'axis', d: `M${left} ${top}V${bottom}H${right}`}),
    part('text', {x: left, y: 13}, units[1]),
    part('text', {x: right, y: height - 8, 'text-anchor': 'end'},
      pairs.length ? `${figure(xMax, 0)} ${units[0]}` : units[0]),
    part('text', {x: left - 5, y: bottom, 'text-anchor': 'end'}, '0'),
  ];
  if (pairs.length) {
    parts.push(part('text', {x: left - 5, y: top + 8, 'text-anchor': 'end'}, figure(yMax, yMax < 10 ? 2 : 0)));
    const lined = dots ? pairs.filter((_, at) => dots[at].counts) : pairs;
    for (const run of runs(lined, dots)) {
      // A single value is a short line.
      const places = run.length > 1 ? run.map(p => [x(p[0]), y(p[1])]) : [[x(run[0][0]) - 2, y(run[0][1])], [x(run[0][0]) + 2, y(run[0][1])]];
      const points = places.map(p => `${p[0].toFixed(1)},${p[1].toFixed(1)}`).join(' ');
      parts.push(part('polyline', {class: 'line', points}));
    }
    if (dots) pairs.forEach((p, at) => parts.push(mark(dots[at], x(p[0]), y(p[1]))));
  }
  svg.replaceChildren(...parts);
}

function draw(state) {
  const title = state.benchmark ? `${state.benchmark} ${state.suffix}` : 'Filermark run';
  setText(byId('title'), title);
  if (document.title !== title) document.title = title;
  setText(byId('status'), state.status || 'no data yet');
  setText(byId('clients'), `${state.connected_count} of ${state.client_count} clients connected`);
  const phase = state.phases[state.phases.length - 1];
  const progress = p => state.is_over ? 'not run' : phase && phase.point === p.point ? 'running' : 'to come';
  fill('points', state.points.map(p => [figure(p.point, 0), p.name, figure(p.achieved, 0),
    figure(p.mean_ms, 3), figure(p.p99_ms, 3), p.verdict || progress(p)]));
  const measured = state.points.filter(p => p.achieved !== null && p.mean_ms !== null);
  measured.sort((a, b) => a.achieved - b.achieved);
  chart('curve', measured.map(p => [p.achieved, p.mean_ms]), ['op/s', 'mean ms'], measured);
  chart('rate', state.seconds.map(s => [s.at_s, s.rate]), ['s since the run began', 'op/s']);
  const timed = state.seconds.filter(s => s.mean_ms !== null);
  chart('latency', timed.map(s => [s.at_s, s.mean_ms]), ['s since the run began', 'mean ms']);
  fill('seconds', state.seconds.slice(-30).reverse().map(s => [figure(s.at_s, 0), place(s),
    figure(s.rate, 0), figure(s.errors, 0), figure(s.mean_ms, 3), figure(s.max_ms, 3), figure(s.open, 0)]));
  fill('phases', state.phases.slice().reverse().map(p => [figure(p.at_s, 0), place(p), p.phase]));
  const texts = state.points.flatMap(p => p.findings.map(f => `Load point ${p.point}: ${f}`)).concat(state.remarks);
  byId('findings').replaceChildren(...(texts.length ? texts : ['none so far']).map(text => {
    const item = document.createElement('li');
    item.textContent = text;
    return item;
  }));
}

async function update() {
  let isOver = false;
  try {
    const answer = await fetch('/state.json', {cache: 'no-store'});
    const state = await answer.json();
    draw(state);
    isOver = state.is_over;
  } catch {
    setText(byId('status'), 'filermark watch does not answer; it has ended or was stopped');
  }
  if (!isOver) setTimeout(update, INTERVAL_MS);
}

update();
