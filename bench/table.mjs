/** Prints the figures of one bench: the middle, its spread, and whether the goal was reached. */

const NAME_WIDTH = 46;

export function printFigures(bench, figures) {
  console.log(`\n${bench}`);
  for (const figure of figures) {
    const { name, unit, spread, goal, note } = figure;
    const { p10, median, p90 } = spread;
    const range = p10 === p90 ? '' : `(${format(p10)}–${format(p90)})`;
    const middle = `${format(median)} ${unit === 'x' ? '×' : unit}`;
    const verdict =
      goal === undefined ? '' : `goal ${goalText(goal)}  ${reached(figure) ? 'reached' : 'MISSED'}`;
    const words = [verdict, note ?? ''].filter((word) => word !== '').join('  ');
    console.log(`  ${name.padEnd(NAME_WIDTH)} ${middle.padStart(14)} ${range.padEnd(20)} ${words}`.trimEnd());
  }
}

/** Whether a figure keeps its goal, judged by its median. */
export function reached({ spread, goal }) {
  return 'atMost' in goal ? spread.median <= goal.atMost : spread.median >= goal.atLeast;
}

export function goalText(goal) {
  return 'atMost' in goal ? `≤ ${goal.atMost}` : `≥ ${goal.atLeast}`;
}

export function format(value) {
  if (value >= 1000) return Math.round(value).toLocaleString('en-US');
  return value >= 100 ? value.toFixed(0) : value >= 10 ? value.toFixed(1) : value.toFixed(value >= 1 ? 2 : 3);
}
