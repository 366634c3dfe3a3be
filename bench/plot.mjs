/** Draws each figure that has a goal as a bar: how much of the goal it uses. Shorter is better; the line is the goal. */
import { format, goalText, reached } from './table.mjs';

const [WIDTH, ROW, LEFT, TOP, GOAL_AT] = [1000, 30, 330, 40, 300];
const LONGEST = 460;

export function plotOf(figures) {
  const rows = figures.filter(({ goal }) => goal !== undefined);
  const height = TOP + rows.length * ROW + 16;
  const goalX = LEFT + GOAL_AT;
  return `<svg xmlns="http://www.w3.org/2000/svg" width="${WIDTH}" height="${height}" font-family="sans-serif" font-size="12">
<rect width="100%" height="100%" fill="white"/>
<text x="12" y="22" font-size="14">Share of each goal that is used; left of the line is within the goal</text>
${rows.map((figure, index) => barOf(figure, TOP + index * ROW)).join('\n')}
<line x1="${goalX}" y1="${TOP - 6}" x2="${goalX}" y2="${height - 10}" stroke="black" stroke-dasharray="4 3"/>
</svg>
`;
}

function barOf(figure, y) {
  const { name, unit, spread, goal } = figure;
  const share = (value) => ('atMost' in goal ? value / goal.atMost : goal.atLeast / value);
  const x = (value) => LEFT + Math.min(LONGEST, share(value) * GOAL_AT);
  const [low, high] = [x(spread.p10), x(spread.p90)].sort((a, b) => a - b);
  const colour = reached(figure) ? '#3a7d44' : '#b3402a';
  const value = `${format(spread.median)} ${unit === 'x' ? '×' : unit} (goal ${goalText(goal)})`;
  return [
    `<text x="${LEFT - 8}" y="${y + 15}" text-anchor="end">${escaped(name)}</text>`,
    `<rect x="${LEFT}" y="${y + 3}" width="${x(spread.median) - LEFT}" height="16" fill="${colour}"/>`,
    `<line x1="${low}" y1="${y + 11}" x2="${high}" y2="${y + 11}" stroke="black"/>`,
    `<text x="${Math.max(x(spread.median), high) + 8}" y="${y + 15}">${escaped(value)}</text>`,
  ].join('\n');
}

function escaped(text) {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;');
}
