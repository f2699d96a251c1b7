// Draws the parts of the page below the verdict from the data in the element `plan` (data.cc). Texts of the model go
// into the page as text nodes alone: nothing here makes markup of a string.
'use strict';

const plan = JSON.parse(document.getElementById('plan').textContent);

// ---------------------------------------------------------------- elements

function append(node, children) {
  for (const child of children.flat(3)) {
    if (child !== null && child !== undefined && child !== false && child !== '') node.append(child);
  }
  return node;
}

function withAttributes(node, attributes) {
  for (const [name, value] of Object.entries(attributes || {})) {
    if (value === null || value === undefined || value === false) continue;
    if (name.startsWith('on')) node.addEventListener(name.slice(2), value);
    else node.setAttribute(name, value === true ? '' : value);
  }
  return node;
}

const h = (tag, attributes, ...children) =>
  append(withAttributes(document.createElement(tag), attributes), children);
const s = (tag, attributes, ...children) =>
  append(withAttributes(document.createElementNS('http://www.w3.org/2000/svg', tag), attributes), children);

// ---------------------------------------------------------------- numbers, as base/units writes them

function bytes(value) {
  const units = ['B', 'KiB', 'MiB', 'GiB', 'TiB', 'PiB'];
  if (Math.abs(value) < 1024) return `${Math.round(value)} B`;
  let unit = 0;
  while (Math.abs(value) >= 1023.95 && unit + 1 < units.length) {
    value /= 1024;
    ++unit;
  }
  return `${value.toFixed(1)} ${units[unit]}`;
}

function seconds(value) {
  const size = Math.abs(value);
  if (size < 1e-6) return `${(value * 1e9).toFixed(0)} ns`;
  if (size < 1e-3) return `${(value * 1e6).toFixed(1)} us`;
  if (size < 1) return `${(value * 1e3).toFixed(2)} ms`;
  return `${value.toFixed(2)} s`;
}

function percent(part, whole) {
  if (!(whole > 0)) return '–';
  const share = 100 * part / whole;
  return share > 0 && share < 0.05 ? '< 0.1%' : `${share.toFixed(share < 9.95 ? 1 : 0)}%`;
}

function operations(value) {
  const units = ['FLOP', 'kFLOP', 'MFLOP', 'GFLOP', 'TFLOP', 'PFLOP', 'EFLOP'];
  let unit = 0;
  while (value >= 999.5 && unit + 1 < units.length) {
    value /= 1000;
    ++unit;
  }
  return `${value.toFixed(unit ? 1 : 0)} ${units[unit]}`;
}

const count = (value) => value.toLocaleString('en-US');
const sum = (list, of) => list.reduce((all, item) => all + of(item), 0);
const words = (name) => name.replaceAll('_', ' ');

// ---------------------------------------------------------------- what occurs in many parts

const axisChip = (axis) => h('span', {class: `axis axis-${axis % 8}`}, plan.mesh[axis].name);
const axisChips = (axes) => axes && axes.length ? h('span', {class: 'axes'}, axes.map(axisChip)) : null;
const times = (number) => number > 1 ? h('span', {class: 'times'}, `× ${count(number)}`) : null;
const named = (name, number) => h('span', {class: 'name'}, name, times(number));
const lineLink = (line) => line > 0 ? h('a', {href: `#line-${line}`}, `${line}`) : '';

// "f32[256 m0, 784]": the size of each dimension with the axes that cut it.
function layoutOf(value) {
  const layout = plan.layouts[value.layout];
  const dimensions = value.shape.map((size, d) => {
    const axes = layout.dimensions[d];
    const comma = d + 1 < value.shape.length ? ', ' : '';
    return [h('span', {class: 'dimension'}, `${size}`, axes.length ? [' ', axisChips(axes)] : ''), comma];
  });
  const partial = [...new Set(layout.partial.map(([, how]) => how))].map((how) => h('span',
    {class: 'partial', title: `Each rank along these axes holds a part: their ${how} is the value`},
    how === 'sum' ? 'Σ ' : `${how} `, axisChips(layout.partial.filter((own) => own[1] === how).map(([axis]) => axis))));
  return h('span', {class: 'layout'}, value.dtype, '[', dimensions, ']', partial);
}

function meter(part, whole) {
  const bar = h('i');
  bar.style.width = `${Math.min(100, whole > 0 ? 100 * part / whole : 0)}%`;
  return h('span', {class: 'meter', 'aria-hidden': 'true'}, bar);
}

// Columns: {name, cell(row), numeric, sort(row)}. Rows beyond `most` wait for a button.
function table(columns, rows, {caption, most = 25, chosen} = {}) {
  let order = rows.slice(), by = null, descending = true, shown = most;
  const body = h('tbody');
  const more = h('button', {class: 'more', type: 'button', onclick: () => { shown = Infinity; draw(); }});
  const heads = columns.map((column, i) => {
    if (!column.sort) return h('th', {scope: 'col', class: column.numeric ? 'numeric' : null}, column.name);
    return h('th', {scope: 'col', class: column.numeric ? 'numeric' : null},
      h('button', {type: 'button', onclick: () => sortBy(i)}, column.name));
  });
  function sortBy(i) {
    descending = by === i ? !descending : columns[i].numeric === true;
    by = i;
    const key = columns[i].sort, sign = descending ? -1 : 1;
    order.sort((a, b) => {
      const x = key(a), y = key(b);
      return sign * (x < y ? -1 : x > y ? 1 : 0);
    });
    heads.forEach((head, j) => {
      if (j === i) head.setAttribute('aria-sort', descending ? 'descending' : 'ascending');
      else head.removeAttribute('aria-sort');
    });
    draw();
  }
  function draw() {
    body.replaceChildren(...order.slice(0, shown).map((row) =>
      h('tr', {class: chosen && chosen(row) ? 'chosen' : null}, columns.map((column) =>
        h('td', {class: column.numeric ? 'numeric' : null, 'data-label': column.name}, h('div', {}, column.cell(row)))))));
    more.textContent = `Show all ${count(order.length)}`;
    more.hidden = order.length <= shown;
  }
  draw();
  return [h('table', {class: 'cards'}, caption ? h('caption', {}, caption) : null,
    h('thead', {}, h('tr', {}, heads)), body), more];
}

// A choice of one of several buttons.
function switchOf(label, options, onpick) {
  const buttons = options.map(([value, text], i) => h('button', {
    type: 'button', 'aria-pressed': i === 0 ? 'true' : 'false',
    onclick: () => {
      buttons.forEach((button, j) => button.setAttribute('aria-pressed', i === j ? 'true' : 'false'));
      onpick(value);
    }}, text));
  return h('span', {class: 'switch', role: 'group', 'aria-label': label}, buttons);
}

const legend = (entries) =>
  h('ul', {class: 'legend'}, entries.map(([mark, text]) => h('li', {}, mark, h('span', {}, text))));
const swatch = (name) => h('i', {class: `swatch ${name}`, 'aria-hidden': 'true'});

// Draws now, and again whenever its width changes.
function drawing(draw) {
  const place = h('div');
  let last = 0;
  new ResizeObserver(() => {
    const width = Math.floor(place.clientWidth);
    if (width > 0 && width !== last) {
      last = width;
      draw(place, width);
    }
  }).observe(place);
  place.redraw = () => { if (last > 0) draw(place, last); };
  return place;
}

const parts = [];
function part(id, shortTitle, title, lead, ...children) {
  const section = h('section', {id, 'aria-labelledby': `${id}-title`},
    h('h2', {id: `${id}-title`}, title), lead ? h('p', {class: 'lead'}, lead) : null, children);
  document.querySelector('main').append(section);
  parts.push([id, shortTitle]);
}

// A text of which as much is shown as there is room for.
function clippedText(text, x, y, room, attributes) {
  const fits = Math.floor(room / 6.6);
  if (fits < 3) return null;
  return s('text', {x, y, ...attributes}, text.length <= fits ? text : `${text.slice(0, fits - 1)}…`);
}

// ---------------------------------------------------------------- head

function drawMesh() {
  const place = document.getElementById('mesh');
  if (!plan.mesh.length) return;
  plan.mesh.forEach((axis, i) => place.append(
    h('span', {}, axisChip(i), ` ${count(axis.size)} ranks over ${axis.link}`)));
  if (plan.micro_batches > 1) place.append(h('span', {}, `${count(plan.micro_batches)} micro-batches`));
}

function drawWarnings() {
  if (!plan.warnings.length) return;
  document.getElementById('warnings').append(h('ul', {}, plan.warnings.map((warning) =>
    h('li', {}, h('code', {}, warning.code), ' ', warning.message))));
}

// ---------------------------------------------------------------- the model with its cuts

const keywords = new Set(['model', 'train', 'parallel', 'input', 'let', 'mut', 'loss', 'metric', 'for', 'in', 'fn', 'return',
  'import', 'param', 'if', 'else', 'region', 'manual', 'op', 'print', 'true', 'false', 'state', 'constant']);

function highlighted(text) {
  const pieces = [];
  const pattern = /\/\/.*$|"(?:[^"\\]|\\.)*"|[A-Za-z_][A-Za-z_0-9]*/g;
  let end = 0;
  for (const match of text.matchAll(pattern)) {
    pieces.push(text.slice(end, match.index));
    end = match.index + match[0].length;
    if (match[0].startsWith('//')) pieces.push(h('span', {class: 'comment'}, match[0]));
    else if (keywords.has(match[0])) pieces.push(h('span', {class: 'keyword'}, match[0]));
    else pieces.push(match[0]);
  }
  pieces.push(text.slice(end));
  return pieces;
}

const workSeconds = (row) => row.each * row.runs;
const sentBytes = (row) => (row.sent || 0) * row.runs;
const isSent = (row) => row.kind === 'collectives';

function cutsOf(line, values, work) {
  const forward = values.filter((value) => value.phase === 'forward');
  const later = values.filter((value) => value.phase !== 'forward');
  const rows = (list) => list.map((value) => h('div', {class: 'value'}, named(value.name, value.count), layoutOf(value)));
  const most = 6;
  const sends = new Map();
  for (const row of work.filter(isSent)) {
    const key = `${row.what} ${row.axes}`;
    const own = sends.get(key) || {what: row.what, axes: row.axes, runs: 0, sent: 0, seconds: 0};
    sends.set(key, {...own, runs: own.runs + row.runs, sent: own.sent + sentBytes(row), seconds: own.seconds + workSeconds(row)});
  }
  const time = sum(work, workSeconds);
  return [
    rows(forward.slice(0, most)),
    forward.length > most
      ? h('details', {}, h('summary', {}, `${forward.length - most} more values`), rows(forward.slice(most))) : null,
    later.length
      ? h('details', {}, h('summary', {}, `${later.length} of the backward pass, the update and metrics`), rows(later)) : null,
    [...sends.values()].map((own) => h('div', {class: 'sends'}, h('span', {class: 'what'}, words(own.what), ' ', axisChips(own.axes), times(own.runs)),
      h('span', {class: 'numeric soft'}, `${bytes(own.sent)}, ${seconds(own.seconds)}`))),
    time > 0 ? h('div', {class: 'share', title: 'Time of the kernels and collectives of this line, those of the backward pass and the update included'},
      meter(time, allSeconds), h('span', {}, `${seconds(time)}, ${percent(time, allSeconds)}`)) : null,
  ];
}

const allSeconds = sum(plan.work, workSeconds);

function drawModel() {
  const byLine = (list) => {
    const lines = new Map();
    for (const item of list) {
      if (!lines.has(item.line)) lines.set(item.line, []);
      lines.get(item.line).push(item);
    }
    return lines;
  };
  const values = byLine(plan.values), work = byLine(plan.work);
  const text = plan.source.replace(/\n$/, '').split('\n');
  const rows = text.map((line, i) => {
    const number = i + 1;
    const own = values.get(number) || [], costs = work.get(number) || [];
    const has = own.length + costs.length > 0;
    return h('div', {class: has ? 'row has' : 'row', id: `line-${number}`},
      h('span', {class: 'number'}, `${number}`), h('code', {}, highlighted(line)),
      has ? h('div', {class: 'cuts'}, cutsOf(number, own, costs)) : null);
  });
  const unplaced = (values.get(0) || []).length;
  part('model', 'Model', 'The model and its cuts',
    'With each line the values that it makes. A mark behind a size names the mesh axis that cuts this dimension; Σ marks parts that are still to be added up. ' +
    'Then what the line makes ranks send in a step, and the time of all that it causes.',
    h('div', {class: 'model'}, rows),
    unplaced ? h('p', {class: 'note'}, `${count(unplaced)} values belong to no line of this file.`) : null);
}

// ---------------------------------------------------------------- module tree

// Squarified tiles (Bruls, Huizing, van Wijk 2000): [{item, x, y, width, height}].
function tilesOf(items, sizeOf, x, y, width, height) {
  const tiles = [];
  const all = sum(items, sizeOf);
  if (!(all > 0)) return tiles;
  const scale = width * height / all;
  let rest = items.map((item) => ({item, area: sizeOf(item) * scale})).filter((own) => own.area > 0)
    .sort((a, b) => b.area - a.area);
  const worst = (row, side) => {
    const total = sum(row, (own) => own.area);
    return Math.max(...row.map((own) => Math.max(side * side * own.area / (total * total), total * total / (side * side * own.area))));
  };
  while (rest.length) {
    const side = Math.min(width, height);
    let row = [rest[0]];
    while (row.length < rest.length && worst([...row, rest[row.length]], side) <= worst(row, side)) row.push(rest[row.length]);
    rest = rest.slice(row.length);
    const thickness = sum(row, (own) => own.area) / side;
    let offset = 0;
    for (const own of row) {
      const length = own.area / thickness;
      tiles.push(width >= height
        ? {item: own.item, x, y: y + offset, width: thickness, height: length}
        : {item: own.item, x: x + offset, y, width: length, height: thickness});
      offset += length;
    }
    if (width >= height) { x += thickness; width -= thickness; } else { y += thickness; height -= thickness; }
  }
  return tiles;
}

// A module with one part is shown as that part, under the names of both.
function joined(node) {
  let own = node;
  while (own.parts && own.parts.length === 1 && own.name) {
    own = {...own.parts[0], name: `${own.name}.${own.parts[0].name}`};
  }
  return own;
}

function drawTree() {
  const measures = {
    seconds: {name: 'Time', text: seconds, of: 'time of the kernels and collectives of a step'},
    bytes: {name: 'Memory', text: bytes, of: 'memory where a step needs most'},
    sent: {name: 'Sent', text: bytes, of: 'bytes that a rank sends in a step'},
  };
  let measure = 'seconds', way = [plan.tree];
  const crumbs = h('span', {class: 'crumbs'});
  const list = h('div');
  const place = drawing((into, width) => {
    const height = Math.round(Math.max(260, Math.min(420, width * 0.42)));
    const node = way[way.length - 1];
    const all = node[measure];
    const svg = s('svg', {width, height, role: 'group', 'aria-label': `Modules by ${measures[measure].of}`});
    const inside = (node.parts || []).map(joined);
    for (const tile of tilesOf(inside, (item) => item[measure], 0, 0, width, height)) {
      const opens = Boolean(tile.item.parts);
      const text = `${tile.item.name}: ${measures[measure].text(tile.item[measure])}, ${percent(tile.item[measure], all)}`;
      const group = s('g', {class: 'tile', ...(opens ? {role: 'button', tabindex: 0} : {}), 'aria-label': text},
        s('title', {}, text), s('rect', {x: tile.x, y: tile.y, width: tile.width, height: tile.height}));
      if (tile.height > 20) append(group, [clippedText(tile.item.name, tile.x + 8, tile.y + 18, tile.width - 14)]);
      if (tile.height > 38) append(group, [clippedText(`${measures[measure].text(tile.item[measure])}  ${percent(tile.item[measure], all)}`, tile.x + 8, tile.y + 34, tile.width - 14, {class: 'sum'})]);
      if (opens && tile.height > 70 && tile.width > 70) {
        for (const inner of tilesOf(tile.item.parts, (item) => item[measure], tile.x + 7, tile.y + 42, tile.width - 14, tile.height - 49)) {
          group.append(s('rect', {x: inner.x, y: inner.y, width: inner.width, height: inner.height, class: 'inner'}));
          if (inner.height > 16) append(group, [clippedText(inner.item.name, inner.x + 5, inner.y + 14, inner.width - 9, {class: 'sum'})]);
        }
      }
      if (opens) {
        const open = () => { way.push(tile.item); redraw(); };
        group.addEventListener('click', open);
        group.addEventListener('keydown', (event) => {
          if (event.key !== 'Enter' && event.key !== ' ') return;
          event.preventDefault();
          open();
          (place.querySelector('.tile[tabindex]') || crumbs.querySelector('button')).focus();
        });
      }
      svg.append(group);
    }
    if (!(all > 0)) svg.append(s('text', {x: 8, y: 22}, 'Nothing here.'));
    into.replaceChildren(svg);
  });
  function redraw() {
    crumbs.replaceChildren(...way.flatMap((node, i) => {
      const name = i === 0 ? plan.model : node.name;
      const last = i + 1 === way.length;
      return [i ? h('span', {'aria-hidden': 'true'}, '/') : null,
        last ? h('span', {}, name) : h('button', {type: 'button', onclick: () => { way = way.slice(0, i + 1); redraw(); }}, name)];
    }).filter(Boolean));
    const node = way[way.length - 1];
    const rows = (node.parts || []).map(joined).sort((a, b) => b[measure] - a[measure]);
    list.replaceChildren(...table([
      {name: 'Module', cell: (row) => named(row.name), sort: (row) => row.name},
      {name: 'Time', numeric: true, cell: (row) => row.seconds ? seconds(row.seconds) : '', sort: (row) => row.seconds},
      {name: 'Share', numeric: true, cell: (row) => row.seconds ? percent(row.seconds, plan.tree.seconds) : ''},
      {name: 'Memory at the peak', numeric: true, cell: (row) => row.bytes ? bytes(row.bytes) : '', sort: (row) => row.bytes},
      {name: 'Sent', numeric: true, cell: (row) => row.sent ? bytes(row.sent) : '', sort: (row) => row.sent},
    ], rows, {most: 8}));
    place.redraw();
  }
  part('modules', 'Modules', 'Modules',
    'Names are joined by dots, and their parts are the modules; equal layers are one. Open a tile to see what is in it.' +
    (plan.pipeline ? ' Times and bytes are those of one rank of each part of the pipeline together; memory is that of the fullest rank.' : ''),
    h('div', {class: 'controls'},
      switchOf('What tiles show', Object.entries(measures).map(([key, own]) => [key, own.name]), (key) => { measure = key; redraw(); }),
      crumbs),
    place, list);
  redraw();
}

// ---------------------------------------------------------------- collectives

function drawCollectives() {
  const rows = plan.work.filter(isSent).sort((a, b) => workSeconds(b) - workSeconds(a));
  if (!rows.length) {
    part('collectives', 'Collectives', 'Collectives', 'Ranks send each other nothing in a step.');
    return;
  }
  part('collectives', 'Collectives', 'Collectives',
    `What ranks send each other in a step, and why: ${bytes(sum(rows, sentBytes))} in ${count(sum(rows, (row) => row.runs))} calls` +
    (plan.pipeline ? ' of one rank of each part of the pipeline.' : ' of each rank.'),
    table([
      {name: 'Collective', cell: (row) => [words(row.what), ' ', axisChips(row.axes)], sort: (row) => row.what},
      {name: 'Time', numeric: true, cell: (row) => seconds(workSeconds(row)), sort: workSeconds},
      {name: 'Of the step', numeric: true, cell: (row) => percent(workSeconds(row), plan.step)},
      {name: 'Times', numeric: true, cell: (row) => count(row.runs), sort: (row) => row.runs},
      {name: 'Sent', numeric: true, cell: (row) => bytes(sentBytes(row)), sort: sentBytes},
      {name: 'Phase', cell: (row) => row.phase, sort: (row) => row.phase},
      {name: 'Line', numeric: true, cell: (row) => lineLink(row.line), sort: (row) => row.line},
      {name: 'Why', cell: (row) => h('span', {class: 'wordy'}, row.why)},
    ], rows));
}

// ---------------------------------------------------------------- timeline

const margin = 112;

function ticksOf(end, width, text) {
  const about = end / Math.max(2, Math.floor(width / 110));
  const power = Math.pow(10, Math.floor(Math.log10(about)));
  const step = [1, 2, 5, 10].map((by) => by * power).find((by) => by >= about);
  const ticks = [];
  for (let at = 0; at <= end * 1.0001; at += step) ticks.push([at, at > 0 ? text(at) : '0']);
  return ticks;
}

function hatch() {
  return s('defs', {}, s('pattern', {id: 'hatch', width: 6, height: 6, patternUnits: 'userSpaceOnUse', patternTransform: 'rotate(45)'},
    s('line', {x1: 0, y1: 0, x2: 0, y2: 6, class: 'hatch-line'})));
}

// Lanes of bars: lanes [{name, bars: [{begin, duration, text, label, labelMark, marks}]}], times in nanoseconds.
function lanes(list, end, reading, lost) {
  let zoom = 1;
  const scroll = h('div', {class: 'scroll', tabindex: 0, role: 'group', 'aria-label': 'Timeline; arrow keys move it'});
  const place = drawing((into, width) => {
    const left = width < 600 ? 84 : margin;
    const inner = (width - left - 2) * zoom;
    const height = width < 600 ? 24 : 28, gap = 6, top = 22;
    const svg = s('svg', {width: left + inner + 2, height: top + list.length * (height + gap) + 4, role: 'img', 'aria-label': 'Timeline of a step'}, hatch());
    const at = (time) => left + time / end * inner;
    for (const [time, text] of ticksOf(end, inner, (time) => seconds(time * 1e-9))) {
      const x = at(time);
      svg.append(s('line', {class: 'tick', x1: x, y1: 16, x2: x, y2: top + list.length * (height + gap)}));
      svg.append(s('text', {class: 'small', x: x > left + inner - 40 ? x - 2 : x, y: 11, 'text-anchor': x > left + inner - 40 ? 'end' : 'start'}, text));
    }
    list.forEach((lane, i) => {
      const y = top + i * (height + gap);
      svg.append(s('rect', {class: 'lane', x: left, y, width: inner, height}));
      append(svg, [clippedText(lane.name, 0, y + height / 2 + 4, left - 4)]);
      // Neighbours that would be thinner than a pixel are one bar.
      let drawn = null;
      for (const bar of lane.bars) {
        const x = at(bar.begin), x2 = at(bar.begin + bar.duration);
        const key = `${bar.marks}`;
        if (drawn && key === drawn.key && x2 - drawn.x < 1.2 && x - drawn.x2 < 0.6) {
          drawn.x2 = x2;
          for (const rect of drawn.rects) rect.setAttribute('width', Math.max(0.6, x2 - drawn.x));
          continue;
        }
        // A stripe for each mark.
        const tall = height / bar.marks.length;
        const rects = bar.marks.map((mark, j) =>
          s('rect', {class: mark, x, y: y + j * tall, width: Math.max(0.6, x2 - x - (x2 - x > 3 ? 0.75 : 0)), height: tall}));
        for (const rect of rects) rect.bar = bar;
        svg.append(...rects);
        drawn = {key, x, x2, rects};
        if (bar.label && x2 - x > 12) svg.append(s('text', {class: `pass ${bar.labelMark}`, x: (x + x2) / 2, y: y + height / 2 + 4, 'text-anchor': 'middle', 'pointer-events': 'none'}, bar.label));
      }
    });
    if (lost > 0) {
      svg.append(s('rect', {class: 'loss', x: at(end - lost), y: top, width: Math.max(1, at(end) - at(end - lost)), height: list.length * (height + gap) - gap}));
    }
    svg.addEventListener('pointermove', (event) => {
      if (event.target.bar) reading.replaceChildren(...append(h('span'), event.target.bar.text()).childNodes);
    });
    scroll.replaceChildren(svg);
    into.replaceChildren(scroll);
  });
  const zoomBy = (by) => { zoom = Math.max(1, Math.min(64, zoom * by)); place.redraw(); };
  return [h('div', {class: 'controls'}, h('span', {class: 'switch', role: 'group', 'aria-label': 'Scale'},
    h('button', {type: 'button', onclick: () => zoomBy(2), 'aria-label': 'Larger'}, '+'),
    h('button', {type: 'button', onclick: () => zoomBy(0.5), 'aria-label': 'Smaller'}, '−'),
    h('button', {type: 'button', onclick: () => zoomBy(0)}, 'All'))), place];
}

function workText(row, begin, duration) {
  return [h('b', {}, row.name), ` ${row.what ? words(row.what) : ''} `, axisChips(row.axes),
    ` ${seconds(duration * 1e-9)} from ${seconds(begin * 1e-9)}, ${row.phase}, limited by ${row.limit}`];
}

function drawTimeline() {
  const reading = h('p', {class: 'reading', 'aria-live': 'polite'}, 'Point at a bar to read what it is.');
  if (plan.pipeline) drawPasses(reading);
  else drawStreams(reading);
}

function drawStreams(reading) {
  const end = plan.step * 1e9;
  const streams = [['Kernels', []], ['Collectives', []], ['Host copies', []]];
  let last = 0;
  for (const [index, begin, duration] of plan.timeline) {
    const row = plan.work[index];
    const stream = isSent(row) ? 1 : row.kind === 'copies' ? 2 : 0;
    const marks = stream === 1 && row.axes ? row.axes.map((axis) => `axis-${axis % 8}`) : [stream === 2 ? 'copy' : row.phase];
    streams[stream][1].push({begin, duration, marks, text: () => workText(row, begin, duration)});
    last = Math.max(last, begin + duration);
  }
  const used = streams.filter(([, bars]) => bars.length).map(([name, bars]) => ({name, bars: bars.sort((a, b) => a.begin - b.begin)}));
  const axes = [...new Set(plan.work.filter(isSent).flatMap((row) => row.axes || []))].sort((a, b) => a - b);
  const lost = end - last;
  const phases = new Set(plan.work.filter((row) => !isSent(row)).map((row) => row.phase));
  const kernels = plan.work.filter((row) => !isSent(row)).sort((a, b) => workSeconds(b) - workSeconds(a));
  part('timeline', 'Timeline', 'The step in time',
    'What rank 0 does in a predicted step.' + (plan.micro_batches > 1 ? ` The ${count(plan.micro_batches)} runs of what is done for each micro-batch are one bar.` : ''),
    lanes(used, end, reading, lost > end * 1e-6 ? lost : 0),
    legend([
      ...['forward', 'backward', 'weights', 'update'].filter((phase) => phases.has(phase)).map((phase) => [swatch(phase), phase === 'update' ? phase : `${phase} pass`]),
      ...axes.map((axis) => [axisChip(axis), 'sent along this axis']),
      ...(lost > end * 1e-6 ? [[swatch('lost'), `${seconds(lost * 1e-9)} lost by kernels while collectives run`]] : []),
    ]), reading,
    h('details', {}, h('summary', {}, 'All kernels'), kernelTable(kernels)));
}

function kernelTable(rows) {
  return table([
    {name: 'Kernel', cell: (row) => [named(row.name), row.ops ? h('span', {class: 'times'}, `${row.ops} ops`) : ''], sort: (row) => row.name},
    {name: 'Kind', cell: (row) => row.kind, sort: (row) => row.kind},
    {name: 'Phase', cell: (row) => row.phase, sort: (row) => row.phase},
    {name: 'Times', numeric: true, cell: (row) => count(row.runs), sort: (row) => row.runs},
    {name: 'Each', numeric: true, cell: (row) => seconds(row.each), sort: (row) => row.each},
    {name: 'Work', numeric: true, cell: (row) => row.flops ? operations(row.flops) : '', sort: (row) => row.flops || 0},
    {name: 'Memory', numeric: true, cell: (row) => row.bytes ? bytes(row.bytes) : '', sort: (row) => row.bytes || 0},
    {name: 'Limit', cell: (row) => row.limit, sort: (row) => row.limit},
    {name: 'Time', numeric: true, cell: (row) => seconds(workSeconds(row)), sort: workSeconds},
    {name: 'Line', numeric: true, cell: (row) => lineLink(row.line), sort: (row) => row.line},
  ], rows);
}

function drawPasses(reading) {
  const pipeline = plan.pipeline;
  const kinds = [['forward', 'forward pass'], ['backward', 'backward pass'], ['weights', 'gradients of weights']];
  const end = plan.step * 1e9;
  const rows = Array.from({length: pipeline.parts}, (_, i) => ({name: pipeline.stages > pipeline.parts ? `Ranks ${i}` : `Stage ${i}`, bars: []}));
  const seen = new Set();
  for (const [row, stage, microBatch, kind, begin, duration] of pipeline.passes) {
    seen.add(kind);
    rows[row].bars.push({begin, duration, marks: [kinds[kind][0]], label: `${microBatch}`, labelMark: kind === 1 ? 'on-backward' : 'on-forward',
      text: () => [h('b', {}, `Micro-batch ${microBatch}`), ` ${kinds[kind][1]} in stage ${stage}: ${seconds(duration * 1e-9)} from ${seconds(begin * 1e-9)}`]});
  }
  rows.forEach((row, i) => {
    const last = row.bars.reduce((latest, bar) => Math.max(latest, bar.begin + bar.duration), 0);
    if (pipeline.once[i] > 0) {
      row.bars.push({begin: last, duration: pipeline.once[i], marks: ['update'],
        text: () => [h('b', {}, 'Once in a step'), ` what is not done for each micro-batch, such as the update: ${seconds(pipeline.once[i] * 1e-9)}`]});
    }
  });
  part('timeline', 'Timeline', 'The step in time',
    `Micro-batches in the stages of the pipeline, in the order ${pipeline.schedule}. Ranks are idle for ${percent(pipeline.bubble, 1)} of the passes.`,
    lanes(rows, end, reading, 0),
    legend([...[...seen].sort().map((kind) => [swatch(kinds[kind][0]), `${kinds[kind][1]} of the micro-batch with this number`]),
      [swatch('update'), 'once in a step'], [swatch('idle'), 'idle']]), reading,
    h('details', {}, h('summary', {}, 'All kernels of one rank of each stage'),
      kernelTable(plan.work.filter((row) => !isSent(row)).sort((a, b) => workSeconds(b) - workSeconds(a)))));
}

// ---------------------------------------------------------------- memory

function drawMemory() {
  const memory = plan.memory;
  const totals = memory.points.map((point) => sum(point.slice(1), (own) => own));
  const most = Math.max(...totals), at = totals.indexOf(most);
  const inTime = !plan.pipeline;
  const end = inTime ? plan.step * 1e9 : memory.points.length;
  const roles = memory.roles.map((name, i) => i).filter((role) => memory.points.some((point) => point[role + 1] > 0));
  const shownLimit = memory.limit !== null && memory.limit < 3 * memory.peak;
  const top = Math.max(memory.peak, shownLimit ? memory.limit : 0) * 1.04;
  const place = drawing((into, width) => {
    const left = width < 600 ? 74 : margin, inner = width - left - 2, height = width < 600 ? 190 : 230;
    const svg = s('svg', {width, height: height + 26, role: 'img', 'aria-label': `Memory over a step, at most ${bytes(memory.peak)}`});
    const x = (i) => left + (inTime ? memory.points[i][0] : i) / end * inner;
    const y = (value) => 8 + (1 - value / top) * (height - 8);
    const power = Math.pow(2, Math.floor(Math.log2(top / 3)));
    for (let value = 0; value <= top; value += power) {
      svg.append(s('line', {class: 'tick', x1: left, x2: left + inner, y1: y(value), y2: y(value)}));
      svg.append(s('text', {class: 'small', x: left - 8, y: y(value) + 4, 'text-anchor': 'end'}, bytes(value)));
    }
    const below = memory.points.map(() => 0);
    for (const role of roles) {
      let path = '';
      const upper = [], lower = [];
      memory.points.forEach((point, i) => {
        const x1 = x(i), x2 = i + 1 < memory.points.length ? x(i + 1) : left + inner;
        const from = below[i], to = from + point[role + 1];
        upper.push([x1, y(to)], [x2, y(to)]);
        lower.push([x1, y(from)], [x2, y(from)]);
        below[i] = to;
      });
      path = [...upper, ...lower.reverse()].map(([px, py], i) => `${i ? 'L' : 'M'}${px.toFixed(1)} ${py.toFixed(1)}`).join('') + 'Z';
      svg.append(s('path', {class: `band role-${role}`, d: path}, s('title', {}, memory.roles[role])));
    }
    if (shownLimit) svg.append(s('line', {class: 'limit', x1: left, x2: left + inner, y1: y(memory.limit), y2: y(memory.limit)}));
    const px = x(at);
    svg.append(s('line', {class: 'peak', x1: px, x2: px, y1: y(most) - 6, y2: y(0)}));
    svg.append(s('text', {x: px > left + inner / 2 ? px - 5 : px + 5, y: Math.max(12, y(most) - 3), 'text-anchor': px > left + inner / 2 ? 'end' : 'start'}, `peak ${bytes(most)}`));
    if (inTime) {
      for (const [time, text] of ticksOf(end, inner, (time) => seconds(time * 1e-9))) {
        const tx = left + time / end * inner;
        svg.append(s('text', {class: 'small', x: tx, y: height + 18, 'text-anchor': tx > left + inner - 40 ? 'end' : 'start'}, text));
      }
    } else {
      svg.append(s('text', {class: 'small', x: left, y: height + 18}, 'in the order of the program'));
    }
    into.replaceChildren(svg);
  });
  const beside = memory.peak - most;
  part('memory', 'Memory', 'Memory over the step',
    `What the fullest rank holds. ${bytes(memory.peak)} in all: ${bytes(most)} of tensors at the peak, and ${bytes(beside)} of workspace and gaps` +
    (memory.checkpoint > 0 ? ', with the copy of a checkpoint' : '') + '.' +
    (memory.host > 0 ? ` In addition ${bytes(memory.host)} in the host's memory.` : '') +
    (memory.waiting > 0 ? ` ${bytes(memory.waiting)} of the peak only wait for the backward pass.` : ''),
    place,
    legend([...roles.map((role) => [swatch(`role-${role}`), memory.roles[role]]),
      ...(shownLimit ? [[swatch('limit'), `limit, ${bytes(memory.limit)}`]] : [])]),
    h('h3', {}, 'Held at the peak'),
    table([
      {name: 'Tensor', cell: (row) => named(row.name, row.count), sort: (row) => row.name},
      {name: 'For', cell: (row) => memory.roles[row.role], sort: (row) => row.role},
      {name: 'Each', numeric: true, cell: (row) => bytes(row.bytes), sort: (row) => row.bytes},
      {name: 'All', numeric: true, cell: (row) => bytes(row.bytes * row.count), sort: (row) => row.bytes * row.count},
      {name: 'Of the peak', numeric: true, cell: (row) => percent(row.bytes * row.count, memory.peak)},
      {name: 'Line', numeric: true, cell: (row) => lineLink(row.line), sort: (row) => row.line},
    ], memory.held, {most: 10}));
}

// ---------------------------------------------------------------- slices of a tensor

function drawSlices() {
  const values = plan.values.filter((value) => value.shape.length > 0);
  if (plan.rank_count < 2 || !values.length) return;
  const isCut = (value) => plan.layouts[value.layout].dimensions.some((axes) => axes.length > 0);
  const groups = new Map();
  values.forEach((value, i) => {
    const name = value.kind === 'parameter' ? 'Parameters' : value.kind === 'input' ? 'Inputs' : `${value.phase[0].toUpperCase()}${value.phase.slice(1)}`;
    if (!groups.has(name)) groups.set(name, []);
    groups.get(name).push([value, i]);
  });
  const select = h('select', {onchange: () => show(values[Number(select.value)])},
    [...groups].map(([name, list]) => h('optgroup', {label: name}, list.map(([value, i]) =>
      h('option', {value: i}, `${value.name}${value.count > 1 ? ` × ${value.count}` : ''}`)))));
  const out = h('div');
  function show(value) {
    const layout = plan.layouts[value.layout];
    // In a pipeline a value lies on the ranks of its stage.
    const holds = (rank) => value.part === undefined || plan.coordinates[rank][plan.pipeline.axis] === value.part;
    let picked = Math.max(0, layout.ranks.findIndex((_, rank) => holds(rank)));
    const begins = value.cuts.map((cut) => plan.cuts[cut]);
    const cut = value.shape.map((_, d) => d).filter((d) => layout.dimensions[d].length > 0);
    // Two dimensions are drawn: those that are cut, else the first ones, rows before columns.
    const drawn = [...cut, ...value.shape.map((_, d) => d).filter((d) => !cut.includes(d))].slice(0, 2).sort((a, b) => a - b);
    const rows = drawn.length > 1 ? drawn[0] : null, columns = drawn.length > 1 ? drawn[1] : drawn[0];
    const range = (rank, d) => {
      const piece = layout.ranks[rank][d];
      return [begins[d][piece], begins[d][piece + 1]];
    };
    const picture = drawing((into, width) => {
      const wide = Math.min(width - 44, 330);
      const ratio = rows === null ? 0.12 : Math.max(0.35, Math.min(1.1, value.shape[rows] / value.shape[columns]));
      const tall = Math.round(wide * ratio);
      const svg = s('svg', {width: Math.min(width, wide + 44), height: tall + 24, role: 'img', 'aria-label': `Pieces of ${value.name}; the piece of rank ${picked} is marked`});
      const cells = rows === null ? [[0, 1]] : begins[rows].slice(0, -1).map((_, i) => [i, begins[rows].length - 1]);
      const holders = new Map();
      layout.ranks.forEach((pieces, rank) => {
        if (!holds(rank)) return;
        const key = `${rows === null ? 0 : pieces[rows]},${pieces[columns]}`;
        if (!holders.has(key)) holders.set(key, []);
        holders.get(key).push(rank);
      });
      const yOf = (value2) => rows === null ? value2 * tall : value2 / Math.max(1, value.shape[rows]) * tall;
      const xOf = (value2) => value2 / Math.max(1, value.shape[columns]) * wide;
      cells.forEach(([i]) => {
        const y1 = rows === null ? 0 : yOf(begins[rows][i]), y2 = rows === null ? tall : yOf(begins[rows][i + 1]);
        for (let j = 0; j + 1 < begins[columns].length; ++j) {
          const x1 = xOf(begins[columns][j]), x2 = xOf(begins[columns][j + 1]);
          const ranks = holders.get(`${i},${j}`) || [];
          const own = holds(picked) && ranks.includes(picked);
          svg.append(s('rect', {class: own ? 'cell own' : 'cell', x: x1 + 42, y: y1 + 20, width: x2 - x1, height: y2 - y1},
            s('title', {}, `ranks ${ranks.join(', ')}`)));
          if (y2 - y1 > 15) {
            const text = clippedText(ranks.length > 1 && ranks[ranks.length - 1] - ranks[0] === ranks.length - 1 ? `${ranks[0]}–${ranks[ranks.length - 1]}` : ranks.join(', '), x1 + 48, y1 + 34, x2 - x1 - 10, {'pointer-events': 'none'});
            if (text) { if (own) text.classList.add('on-own'); svg.append(text); }
          }
        }
      });
      svg.append(s('text', {class: 'small', x: 42, y: 13}, `${count(value.shape[columns])}`));
      if (rows !== null) svg.append(s('text', {class: 'small', x: 36, y: 32, 'text-anchor': 'end'}, `${count(value.shape[rows])}`));
      into.replaceChildren(svg);
    });
    const lines = layout.ranks.map((pieces, rank) => h('tr', {tabindex: 0, class: rank === picked ? 'picked' : null,
      onclick: () => choose(rank), onfocus: () => choose(rank)},
      h('td', {class: 'numeric'}, `${rank}`),
      plan.mesh.map((_, axis) => h('td', {class: 'numeric soft'}, `${plan.coordinates[rank][axis]}`)),
      value.shape.map((_, d) => {
        if (!holds(rank)) return h('td', {class: 'numeric soft'}, 'not here');
        const [begin, end] = range(rank, d);
        return h('td', {class: 'numeric'}, end > begin ? `${count(begin)} … ${count(end - 1)}` : 'none');
      })));
    function choose(rank) {
      if (rank === picked) return;
      lines[picked].classList.remove('picked');
      picked = rank;
      lines[rank].classList.add('picked');
      picture.redraw();
    }
    out.replaceChildren(
      h('dl', {class: 'facts'},
        h('dt', {}, 'Lies as'), h('dd', {}, layoutOf(value)),
        h('dt', {}, 'Made by'), h('dd', {}, words(value.kind), value.line > 0 ? [', line ', lineLink(value.line)] : '', value.stage !== undefined ? `, stage ${value.stage}` : plan.pipeline ? ', on each stage that reads it' : ''),
        h('dt', {}, 'Cut by'), h('dd', {}, words(value.by), value.reason ? `: ${value.reason}` : '')),
      h('div', {class: 'slices'},
        h('div', {}, picture, h('p', {class: 'soft reading'},
          value.shape.length > 2 ? `Dimensions ${drawn.map((d) => d).join(' and ')} of ${value.shape.length}; the numbers in the pieces are ranks.` : 'The numbers in the pieces are ranks.')),
        h('div', {class: 'scroll tall', tabindex: 0, role: 'group', 'aria-label': 'Slices of the ranks'}, h('table', {},
          h('thead', {}, h('tr', {}, h('th', {class: 'numeric', scope: 'col'}, 'Rank'), plan.mesh.map((_, axis) => h('th', {class: 'numeric', scope: 'col'}, axisChip(axis))),
            value.shape.map((size, d) => h('th', {class: 'numeric', scope: 'col'}, `dim ${d} of ${count(size)}`)))),
          h('tbody', {}, lines)),
          plan.rank_count > layout.ranks.length ? h('p', {class: 'note'}, `Only the first ${layout.ranks.length} of ${count(plan.rank_count)} ranks are listed.`) : null)));
  }
  const first = Math.max(0, values.findIndex((value) => value.kind === 'parameter' && isCut(value)));
  select.value = `${first}`;
  part('slices', 'Slices', 'Slices of a tensor', 'Which rank holds which rows and columns. Choose a tensor, then a rank.',
    h('div', {class: 'controls'}, h('label', {}, 'Tensor', select)), out);
  show(values[first]);
}

// ---------------------------------------------------------------- choices

function drawDecisions() {
  if (!plan.decisions.length) return;
  const all = sum(plan.decisions, (own) => own.sum);
  const rows = plan.decisions.slice().sort((a, b) => b.sum - a.sum).map((own) => h('details', {class: 'decision'},
    h('summary', {}, named(own.name, own.count), h('span', {class: 'mono'}, own.cuts), h('span', {class: 'numeric'}, own.cost), h('span', {class: 'numeric soft'}, percent(own.sum, all))),
    h('div', {},
      h('p', {}, `By ${words(own.by)}`, own.line > 0 ? [', line ', lineLink(own.line)] : '', `: ${own.reason}`),
      h('p', {class: 'soft'}, `${words(own.kind)} `, h('code', {}, own.rule)),
      own.choices.length > 1 ? table([
        {name: 'Choice', cell: (row) => h('span', {class: 'mono'}, row.cuts)},
        {name: 'Cost', numeric: true, cell: (row) => row.cost},
        {name: 'Against the chosen', numeric: true, cell: (row) => row.chosen ? 'chosen' : row.ratio !== undefined ? `× ${row.ratio.toFixed(2)}` : ''},
        {name: 'Made of', cell: (row) => row.parts || ''},
      ], own.choices, {chosen: (row) => row.chosen}) : null,
      own.others === null ? h('p', {class: 'soft'}, 'What would have to change is not known: this plan does not follow from its forward ops alone.') : null,
      own.others && own.others.length ? [h('h3', {}, 'What would have to change'), h('ul', {}, own.others.map((other) =>
        h('li', {}, h('code', {}, other.cuts), ` costs less ${other.costs_less}`)))] : null)));
  const most = 20;
  const more = h('button', {type: 'button', class: 'more', onclick: () => { rows.slice(most).forEach((row) => { row.hidden = false; }); more.hidden = true; }}, `Show all ${count(rows.length)}`);
  rows.slice(most).forEach((row) => { row.hidden = true; });
  more.hidden = rows.length <= most;
  part('choices', 'Choices', 'Choices',
    `Each op that was decided by itself, with what it costs (${plan.price === 'time' ? 'seconds' : 'weighted bytes'} of the search) and its share. Open one for the other choices, and for what would have to change for one of them to win. All other ops follow from these.`,
    h('div', {class: 'decision-head', 'aria-hidden': 'true'}, ['Op', 'Cuts: factor of its formula and the axes that cut it', 'Cost of each', 'Share'].map((name) => h('span', {}, name))),
    rows, more);
}

// ---------------------------------------------------------------- other plans

function drawPlans() {
  if (plan.plans === null) {
    part('plans', 'Other plans', 'Other plans', 'What other settings give takes a search for each: cleave explain MODEL plans --html FILE adds them to this page.');
    return;
  }
  part('plans', 'Other plans', 'Other plans', 'What other settings give, fastest first. Settings are those of the command line; plans with equal predictions are one row.',
    table([
      {name: 'Settings', cell: (row) => h('span', {class: 'name'}, row.settings)},
      {name: 'Step', numeric: true, cell: (row) => seconds(row.step), sort: (row) => row.step},
      {name: 'Compute', numeric: true, cell: (row) => seconds(row.compute), sort: (row) => row.compute},
      {name: 'Communication', numeric: true, cell: (row) => seconds(row.communication), sort: (row) => row.communication},
      {name: 'Memory', numeric: true, cell: (row) => bytes(row.memory), sort: (row) => row.memory},
      {name: 'Sent', numeric: true, cell: (row) => bytes(row.sent), sort: (row) => row.sent},
      {name: 'Against this plan', cell: (row) => row.chosen ? 'this plan' : row.why},
    ], plan.plans.plans, {chosen: (row) => row.chosen}),
    plan.plans.refused.length ? [h('h3', {}, 'Without a plan'), table([
      {name: 'Settings', cell: (row) => h('span', {class: 'name'}, row.settings)},
      {name: 'Why', cell: (row) => row.why},
    ], plan.plans.refused)] : null);
}

// ---------------------------------------------------------------- the page

function drawContents() {
  const nav = document.getElementById('contents');
  const links = new Map(parts.map(([id, title]) => [id, h('a', {href: `#${id}`}, title)]));
  nav.append(h('ul', {}, [...links.values()].map((link) => h('li', {}, link))));
  nav.hidden = false;
  const seen = new Set();
  const observer = new IntersectionObserver((changes) => {
    for (const change of changes) {
      if (change.isIntersecting) seen.add(change.target.id);
      else seen.delete(change.target.id);
    }
    const here = parts.find(([id]) => seen.has(id));
    for (const [id, link] of links) {
      if (here && here[0] === id) link.setAttribute('aria-current', 'true');
      else link.removeAttribute('aria-current');
    }
  }, {rootMargin: '-60px 0px -40% 0px'});
  for (const [id] of parts) observer.observe(document.getElementById(id));
}

parts.push(['verdict', 'Verdict']);
drawMesh();
drawWarnings();
drawModel();
drawTree();
drawCollectives();
drawTimeline();
drawMemory();
drawSlices();
drawDecisions();
drawPlans();
drawContents();

window.addEventListener('beforeprint', () => {
  for (const details of document.querySelectorAll('details')) details.open = true;
});
