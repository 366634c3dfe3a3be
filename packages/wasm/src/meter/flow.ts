/**
 * The flow of one function, as the meter sees it. A node is a place where the counter and the work done may differ by an
 * amount that is known in advance, its debt; an edge is a stretch of work from one node to another, with a place in the
 * code where a payment fits. `settle` chooses the debts, so that payments fall where the code is cold.
 */

/** The node whose debt is zero: calls and the ends of the function. */
export const GROUND = 0;

/** What the code needs at a site. See `emit.ts` for what each becomes. */
export const SITES = {
  pay: 1,
  loop: 2,
  checkpoint: 3,
  branchIf: 4,
  implicitElse: 5,
  call: 6,
  checkedCall: 7,
  tailCall: 8,
  prepaidCall: 9,
  byLength: 10,
  leave: 11,
  stop: 12,
  drop: 13,
  dropDeaf: 14,
  movedLocal: 15,
  canonicalNan: 16,
} as const;

const FIRST_CAPACITY = 256;

export class Flow {
  nodes = 0;
  edges = 0;
  sites = 0;
  /** By node: 1 where the counter is checked right after a payment of any size. */
  isCheck = new Uint8Array(FIRST_CAPACITY);
  /** By node: 1 where paths are cut before the next check. */
  isTerminal = new Uint8Array(FIRST_CAPACITY);
  from = new Int32Array(FIRST_CAPACITY);
  to = new Int32Array(FIRST_CAPACITY);
  cost = new Float64Array(FIRST_CAPACITY);
  /** How often the edge is taken, as a guess: 0 to 255. */
  heat = new Uint8Array(FIRST_CAPACITY);
  /** 1 where no payment fits; 2 where a trap follows, which is paid for but not planned for. */
  isHard = new Uint8Array(FIRST_CAPACITY);
  /** What is paid on the edge, once settled. */
  payment = new Float64Array(FIRST_CAPACITY);
  siteAt = new Uint32Array(FIRST_CAPACITY);
  siteEnd = new Uint32Array(FIRST_CAPACITY);
  siteKind = new Uint8Array(FIRST_CAPACITY);
  /** An edge, or of a check the node before it. */
  siteLink = new Int32Array(FIRST_CAPACITY);
  siteExtra = new Int32Array(FIRST_CAPACITY);

  reset(): void {
    this.nodes = 0;
    this.edges = 0;
    this.sites = 0;
    this.addNode();
  }

  addNode(): number {
    const node = this.nodes;
    if (node === this.isCheck.length) this.#growNodes();
    this.isCheck[node] = 0;
    this.isTerminal[node] = 0;
    this.nodes = node + 1;
    return node;
  }

  addEdge(from: number, to: number, cost: number, heat: number): number {
    const edge = this.edges;
    if (edge === this.from.length) this.#growEdges();
    this.from[edge] = from;
    this.to[edge] = to;
    this.cost[edge] = cost;
    this.heat[edge] = heat;
    this.isHard[edge] = 0;
    this.edges = edge + 1;
    return edge;
  }

  /** Joins two nodes for good: their debts are the same. */
  tie(from: number, to: number): void {
    // The edge is made first: making it may put a longer array in the place of this one.
    const edge = this.addEdge(from, to, 0, 0);
    this.isHard[edge] = 1;
  }

  /** Adds a site that replaces the bytes from `at` to `end`. Sites come in code order. */
  addSite(kind: number, at: number, end: number, link: number): number {
    const site = this.sites;
    if (site === this.siteAt.length) this.#growSites();
    this.siteAt[site] = at;
    this.siteEnd[site] = end;
    this.siteKind[site] = kind;
    this.siteLink[site] = link;
    this.siteExtra[site] = 0;
    this.sites = site + 1;
    return site;
  }

  #growNodes(): void {
    this.isCheck = twice(this.isCheck);
    this.isTerminal = twice(this.isTerminal);
  }

  #growEdges(): void {
    this.from = twice(this.from);
    this.to = twice(this.to);
    this.cost = twice(this.cost);
    this.heat = twice(this.heat);
    this.isHard = twice(this.isHard);
    this.payment = twice(this.payment);
  }

  #growSites(): void {
    this.siteAt = twice(this.siteAt);
    this.siteEnd = twice(this.siteEnd);
    this.siteKind = twice(this.siteKind);
    this.siteLink = twice(this.siteLink);
    this.siteExtra = twice(this.siteExtra);
  }
}

type Growable =
  | Uint8Array<ArrayBuffer>
  | Int32Array<ArrayBuffer>
  | Uint32Array<ArrayBuffer>
  | Float64Array<ArrayBuffer>;

/** The same values in an array of twice the length. */
export function twice<T extends Growable>(array: T): T {
  const larger = new (array.constructor as new (length: number) => T)(array.length * 2);
  larger.set(array as never);
  return larger;
}
