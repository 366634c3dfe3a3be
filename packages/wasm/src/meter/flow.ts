/**
 * The flow of one function, as the meter sees it. A node is a point where the counter and the work done may differ by an
 * amount that is known in advance, its debt; an edge is the work between two nodes, with a point in the code where a
 * payment can be inserted. `settle` chooses the debts so that payments are where the code is cold.
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
  /** By node: 1 where the counter is checked immediately after a payment of any size. */
  isCheck = new Uint8Array(FIRST_CAPACITY);
  /** By node: 1 where paths end before the next check. */
  isTerminal = new Uint8Array(FIRST_CAPACITY);
  from = new Int32Array(FIRST_CAPACITY);
  to = new Int32Array(FIRST_CAPACITY);
  cost = new Float64Array(FIRST_CAPACITY);
  /** An estimate of how often the edge is taken: 0 to 255. */
  heat = new Uint8Array(FIRST_CAPACITY);
  /** 1 where no payment can be inserted; 2 where a trap follows, which is paid for but not planned for. */
  isHard = new Uint8Array(FIRST_CAPACITY);
  /** What is paid on the edge, once settled. */
  payment = new Float64Array(FIRST_CAPACITY);
  siteAt = new Uint32Array(FIRST_CAPACITY);
  siteEnd = new Uint32Array(FIRST_CAPACITY);
  siteKind = new Uint8Array(FIRST_CAPACITY);
  /** An edge; for a check, the node before it. */
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

  /** Ties two nodes: their debts are the same. */
  tie(from: number, to: number): void {
    // The edge is added first: adding it may replace this array by a longer one.
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
    this.isCheck = doubled(this.isCheck);
    this.isTerminal = doubled(this.isTerminal);
  }

  #growEdges(): void {
    this.from = doubled(this.from);
    this.to = doubled(this.to);
    this.cost = doubled(this.cost);
    this.heat = doubled(this.heat);
    this.isHard = doubled(this.isHard);
    this.payment = doubled(this.payment);
  }

  #growSites(): void {
    this.siteAt = doubled(this.siteAt);
    this.siteEnd = doubled(this.siteEnd);
    this.siteKind = doubled(this.siteKind);
    this.siteLink = doubled(this.siteLink);
    this.siteExtra = doubled(this.siteExtra);
  }
}

type Growable =
  | Uint8Array<ArrayBuffer>
  | Int32Array<ArrayBuffer>
  | Uint32Array<ArrayBuffer>
  | Float64Array<ArrayBuffer>;

/** The same values in an array of twice the length. */
export function doubled<T extends Growable>(array: T): T {
  const larger = new (array.constructor as new (length: number) => T)(array.length * 2);
  larger.set(array as never);
  return larger;
}
