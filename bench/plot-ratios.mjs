/** Draws what metering costs: a row for each program, a bar for each form, from 1 (as fast as bare) to the right. */

const [WIDTH, ROW, LEFT, TOP, UNIT] = [1000, 30, 210, 64, 620];
const MOST = 2.1;
const COLOURS = { local: '#4a6fa5', thread: '#3a7d44' };
const NAME = /^(.*), (local|thread) \/ bare$/;

/** An SVG of all figures named `… , local / bare` and `… , thread / bare`; undefined when there are none. */
export function ratioPlotOf(figures) {
  const rows = new Map();
  for (const { name, spread } of figures) {
    const [, item, form] = NAME.exec(name) ?? [];
    if (form !== undefined) rows.set(item, { ...rows.get(item), [form]: spread });
  }
  if (rows.size === 0) return undefined;
  const height = TOP + rows.size * ROW + 12;
  return `<svg xmlns="http://www.w3.org/2000/svg" width="${WIDTH}" height="${height}" font-family="sans-serif" font-size="12">
<rect width="100%" height="100%" fill="white"/>
<text x="12" y="22" font-size="14">Time metered / bare: local <tspan fill="${COLOURS.local}">■</tspan> thread <tspan fill="${COLOURS.thread}">■</tspan> (median, tenth to ninetieth percentile)</text>
${[1, 1.1, 1.25, 1.5, 2].map((ratio) => gridLine(ratio, height)).join('\n')}
${[...rows].map(([item, spreads], index) => rowOf(item, spreads, TOP + index * ROW)).join('\n')}
</svg>
`;
}

function x(ratio) {
  return LEFT + (Math.max(0.9, Math.min(MOST, ratio)) - 0.9) * UNIT;
}

function gridLine(ratio, height) {
  return [
    `<line x1="${x(ratio)}" y1="${TOP - 8}" x2="${x(ratio)}" y2="${height - 8}" stroke="${ratio === 1 ? 'black' : '#ccc'}"/>`,
    `<text x="${x(ratio)}" y="${TOP - 14}" text-anchor="middle">${ratio}</text>`,
  ].join('\n');
}

function rowOf(item, spreads, y) {
  const bars = Object.keys(COLOURS)
    .filter((form) => spreads[form] !== undefined)
    .map((form, index) => barOf(form, spreads[form], y + index * 11));
  return [`<text x="${LEFT - 8}" y="${y + 16}" text-anchor="end">${item}</text>`, ...bars].join('\n');
}

function barOf(form, { p10, median, p90 }, y) {
  const [from, to] = [x(1), x(median)].sort((a, b) => a - b);
  return [
    `<rect x="${from}" y="${y + 2}" width="${Math.max(1, to - from)}" height="9" fill="${COLOURS[form]}"/>`,
    `<line x1="${x(p10)}" y1="${y + 6.5}" x2="${x(p90)}" y2="${y + 6.5}" stroke="black"/>`,
    `<text x="${Math.max(to, x(p90)) + 5}" y="${y + 10}" font-size="9">${median.toFixed(2)}</text>`,
  ].join('\n');
}
