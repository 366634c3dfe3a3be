/**
 * Chooses where the fuel is paid. The debt of a node is the work done so far and not yet paid; it may be negative, which
 * is work paid in advance. An edge needs no payment when the debts of its ends differ by exactly its work. Joining nodes
 * along the hottest edges first gives the spanning forest that leaves only the coldest edges with a payment.
 *
 * Work paid in advance must not make a check stop a call that has just enough fuel: at a check the debt is never below
 * minus the least work to the next node without debt.
 */
import { MOST_UNCHECKED } from '../costs.table.ts';
import { doubled, type Flow, GROUND } from './flow.ts';

const FAR = 2 ** 30;
const HEATS = 256;

/** Settles one function after the other, in arrays that it reuses. */
export class Settler {
  /** By node: its parent in the forest, and its debt relative to the parent. */
  #parent = new Int32Array(256);
  #beyond = new Float64Array(256);
  /** By root: the least debt it may have; the least and the most debt of its tree relative to it. */
  #least = new Float64Array(256);
  #low = new Float64Array(256);
  #high = new Float64Array(256);
  #distance = new Float64Array(256);
  #order = new Int32Array(256);
  readonly #buckets = new Int32Array(HEATS + 1);

  /** Fills in `flow.payment`; `debtOf` answers for its nodes until the next call. */
  settle(flow: Flow): void {
    this.#prepare(flow);
    this.#measure(flow);
    this.#joinTied(flow);
    this.#joinByHeat(flow);
    for (let edge = 0; edge < flow.edges; edge += 1) {
      const owed = this.debtOf(flow.from[edge] ?? 0) + (flow.cost[edge] ?? 0);
      flow.payment[edge] = owed - this.debtOf(flow.to[edge] ?? 0);
    }
  }

  debtOf(node: number): number {
    const root = this.#find(node);
    const beyond = root === node ? 0 : (this.#beyond[node] ?? 0);
    return beyond + this.#rootDebt(root);
  }

  #rootDebt(root: number): number {
    const ground = this.#find(GROUND);
    if (root === ground) return root === GROUND ? 0 : -(this.#beyond[GROUND] ?? 0);
    const least = this.#least[root] ?? 0;
    return least <= -FAR ? 0 : least;
  }

  #prepare(flow: Flow): void {
    while (this.#parent.length < flow.nodes) this.#grow();
    while (this.#order.length < flow.edges) this.#order = doubled(this.#order);
    for (let node = 0; node < flow.nodes; node += 1) {
      this.#parent[node] = node;
      this.#beyond[node] = 0;
      this.#low[node] = 0;
      this.#high[node] = 0;
      this.#distance[node] = FAR;
    }
    this.#distance[GROUND] = 0;
  }

  /** Finds the least work from each node to the next ground or check. Edges lead forward, so one backward pass is enough. */
  #measure(flow: Flow): void {
    for (let edge = flow.edges - 1; edge >= 0; edge -= 1) {
      if (flow.isHard[edge] === 2) continue;
      const to = flow.to[edge] ?? 0;
      const from = flow.from[edge] ?? 0;
      const rest = flow.isTerminal[to] === 1 ? 0 : (this.#distance[to] ?? 0);
      const distance = rest + (flow.cost[edge] ?? 0);
      if (distance < (this.#distance[from] ?? 0)) this.#distance[from] = distance;
    }
    this.#distance[GROUND] = 0;
    for (let node = 0; node < flow.nodes; node += 1) {
      const distance = Math.min(this.#distance[node] ?? 0, MOST_UNCHECKED);
      this.#least[node] = flow.isCheck[node] === 1 ? -distance : -2 * FAR;
    }
  }

  #joinTied(flow: Flow): void {
    for (let edge = 0; edge < flow.edges; edge += 1) {
      if (flow.isHard[edge] === 1) this.#join(flow.from[edge] ?? 0, flow.to[edge] ?? 0, 0, FAR);
    }
  }

  #joinByHeat(flow: Flow): void {
    this.#sort(flow);
    for (let index = 0; index < flow.edges; index += 1) {
      const edge = this.#order[index] ?? 0;
      if (flow.isHard[edge] === 2) continue;
      this.#join(flow.from[edge] ?? 0, flow.to[edge] ?? 0, flow.cost[edge] ?? 0, MOST_UNCHECKED);
    }
  }

  /** Orders the edges from hot to cold, and equal ones from last to first, so that remaining payments come early. */
  #sort(flow: Flow): void {
    const buckets = this.#buckets;
    let [first, last] = [HEATS, 0];
    for (let edge = 0; edge < flow.edges; edge += 1) {
      const slot = HEATS - (flow.heat[edge] ?? 0);
      buckets[slot] = (buckets[slot] ?? 0) + 1;
      if (slot < first) first = slot;
      if (slot > last) last = slot;
    }
    for (let slot = first + 1; slot <= last; slot += 1) {
      buckets[slot] = (buckets[slot] ?? 0) + (buckets[slot - 1] ?? 0);
    }
    for (let edge = 0; edge < flow.edges; edge += 1) {
      const slot = HEATS - (flow.heat[edge] ?? 0);
      const position = (buckets[slot] ?? 0) - 1;
      buckets[slot] = position;
      this.#order[position] = edge;
    }
    buckets.fill(0, first, last + 1);
  }

  /** Makes the debt of `to` that of `from` plus `cost`, unless a bound forbids it or they are joined already. */
  #join(from: number, to: number, cost: number, span: number): void {
    const a = this.#find(from);
    const b = this.#find(to);
    if (a === b) return;
    const fromBeyond = a === from ? 0 : (this.#beyond[from] ?? 0);
    const toBeyond = b === to ? 0 : (this.#beyond[to] ?? 0);
    // The debt of root b relative to root a.
    const shift = fromBeyond + cost - toBeyond;
    const low = Math.min(this.#low[a] ?? 0, (this.#low[b] ?? 0) + shift);
    const high = Math.max(this.#high[a] ?? 0, (this.#high[b] ?? 0) + shift);
    if (high - low > span) return;
    const least = Math.max(this.#least[a] ?? 0, (this.#least[b] ?? 0) - shift);
    if (!this.#fitsGround(a, b, least, shift)) return;
    this.#parent[b] = a;
    this.#beyond[b] = shift;
    this.#low[a] = low;
    this.#high[a] = high;
    this.#least[a] = least;
  }

  /** Whether the tree of the ground, whose debt is fixed, satisfies that bound. */
  #fitsGround(a: number, b: number, least: number, shift: number): boolean {
    const ground = this.#find(GROUND);
    const beyond = ground === GROUND ? 0 : (this.#beyond[GROUND] ?? 0);
    if (ground === a) return least <= -beyond;
    if (ground === b) return least <= -beyond - shift;
    return true;
  }

  #find(node: number): number {
    let root = node;
    let total = 0;
    while (this.#parent[root] !== root) {
      total += this.#beyond[root] ?? 0;
      root = this.#parent[root] ?? root;
    }
    // The second pass makes the root the parent of every node of the path.
    let step = node;
    while (step !== root) {
      const next = this.#parent[step] ?? root;
      const own = this.#beyond[step] ?? 0;
      this.#parent[step] = root;
      this.#beyond[step] = total;
      total -= own;
      step = next;
    }
    return root;
  }

  #grow(): void {
    this.#parent = doubled(this.#parent);
    this.#beyond = doubled(this.#beyond);
    this.#least = doubled(this.#least);
    this.#low = doubled(this.#low);
    this.#high = doubled(this.#high);
    this.#distance = doubled(this.#distance);
  }
}
