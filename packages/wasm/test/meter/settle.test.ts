/** What must hold of the payments whatever the flow: every way pays its work, and no check asks for work that may not come. */
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { volume } from '../../../../tests/volume/volume.ts';
import { MOST_UNCHECKED } from '../../src/costs.table.ts';
import { Flow, GROUND } from '../../src/meter/flow.ts';
import { Settler } from '../../src/meter/settle.ts';

/** A step from one node: how far ahead it leads (0: to the ground), its work, its heat, whether a trap or a tie. */
type Step = { readonly ahead: number; readonly cost: number; readonly heat: number; readonly kind: number };
type Shape = readonly { readonly isCheck: boolean; readonly steps: readonly Step[] }[];

const step: fc.Arbitrary<Step> = fc.record({
  ahead: fc.integer({ min: 0, max: 4 }),
  cost: fc.oneof({ weight: 9, arbitrary: fc.nat(60) }, { weight: 1, arbitrary: fc.nat(2 * MOST_UNCHECKED) }),
  heat: fc.nat(255),
  kind: fc.integer({ min: 0, max: 9 }),
});

const TIE = 0;

/** Long enough that the arrays of a flow grow, more than once. */
const shape: fc.Arbitrary<Shape> = fc.array(
  fc.record({ isCheck: fc.boolean(), steps: fc.array(step, { minLength: 1, maxLength: 3 }) }),
  { minLength: 1, maxLength: 240, size: 'max' },
);

/** Node 2n + 1 stands before the n-th place and node 2n + 2 after it; at a check nothing joins the two. */
function build(places: Shape): Flow {
  const flow = new Flow();
  flow.reset();
  for (const { isCheck } of places) {
    flow.isTerminal[flow.addNode()] = isCheck ? 1 : 0;
    flow.isCheck[flow.addNode()] = isCheck ? 1 : 0;
  }
  places.forEach(({ isCheck, steps }, place) => {
    if (!isCheck) flow.addEdge(2 * place + 1, 2 * place + 2, 0, 200);
    for (const { ahead, cost, heat, kind } of steps) {
      const to = place + ahead;
      const target = ahead === 0 || to >= places.length ? GROUND : 2 * to + 1;
      if (kind === TIE && target !== GROUND && !isCheck) flow.tie(2 * place + 2, target);
      else if (kind === 1) {
        const trap = flow.addEdge(2 * place + 2, GROUND, cost, heat);
        flow.isHard[trap] = 2;
      } else flow.addEdge(2 * place + 2, target, cost, heat);
    }
  });
  return flow;
}

/** How many ties a shape has, and how many of them its flow holds. */
function tiesOf(places: Shape): number {
  const isTie = (place: number, { ahead, kind }: Step) =>
    kind === TIE && ahead > 0 && place + ahead < places.length;
  const counts = places.map(({ isCheck, steps }, place) =>
    isCheck ? 0 : steps.filter((each) => isTie(place, each)).length,
  );
  return counts.reduce((sum, each) => sum + each, 0);
}

function tiesIn({ isHard, edges }: Flow): number {
  return isHard.subarray(0, edges).filter((each) => each === 1).length;
}

/** The least work from each node to the next check or the ground, by the definition. */
function leastWork(flow: Flow): number[] {
  const least = new Array<number>(flow.nodes).fill(Number.POSITIVE_INFINITY);
  least[GROUND] = 0;
  for (let edge = flow.edges - 1; edge >= 0; edge -= 1) {
    if (flow.isHard[edge] === 2) continue;
    const to = flow.to[edge] ?? 0;
    const rest = flow.isTerminal[to] === 1 ? 0 : (least[to] ?? 0);
    const from = flow.from[edge] ?? 0;
    least[from] = Math.min(least[from] ?? 0, rest + (flow.cost[edge] ?? 0));
  }
  return least;
}

test('every edge pays the work between the debts of its ends, and the ground has none', () => {
  fc.assert(
    fc.property(shape, (places) => {
      const flow = build(places);
      const settler = new Settler();
      settler.settle(flow);
      expect(settler.debtOf(GROUND)).toBe(0);
      for (let edge = 0; edge < flow.edges; edge += 1) {
        const [from, to] = [flow.from[edge] ?? 0, flow.to[edge] ?? 0];
        const paid = flow.payment[edge] ?? Number.NaN;
        expect(settler.debtOf(from) + (flow.cost[edge] ?? 0) - paid).toBe(settler.debtOf(to));
        if (flow.isHard[edge] === 1) expect(paid).toBe(0);
      }
      expect(tiesIn(flow)).toBe(tiesOf(places));
    }),
    { numRuns: volume(500, 30) },
  );
});

test('a check never asks for more in advance than is certain to be done', () => {
  fc.assert(
    fc.property(shape, (places) => {
      const flow = build(places);
      const settler = new Settler();
      settler.settle(flow);
      const least = leastWork(flow);
      for (let node = 1; node < flow.nodes; node += 1) {
        if (flow.isCheck[node] === 1) expect(-settler.debtOf(node)).toBeLessThanOrEqual(least[node] ?? 0);
      }
    }),
    { numRuns: volume(500, 30) },
  );
});

test('no debt grows past what may go unchecked', () => {
  fc.assert(
    fc.property(shape, (places) => {
      const flow = build(
        places.map((place) => ({ ...place, steps: place.steps.filter(({ kind }) => kind !== 0) })),
      );
      const settler = new Settler();
      settler.settle(flow);
      for (let node = 0; node < flow.nodes; node += 1) {
        expect(Math.abs(settler.debtOf(node))).toBeLessThanOrEqual(2 * MOST_UNCHECKED);
      }
    }),
    { numRuns: volume(500, 30) },
  );
});
