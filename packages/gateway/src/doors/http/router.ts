import type { HttpMethod, Operation } from '../../operations/operation.ts';
import { type Binding, bind } from './binding.ts';

/*
 * Finds the operation for a request in one pass over the segments of its path. Fixed parts are compared as they were
 * sent: a path that is spelled otherwise (`%63alls`, `a/../b`, `//`) is another path and does not exist. Only the value
 * of a parameter in braces is decoded, and then it is one value, whatever is in it: it never becomes a second segment.
 */

type Params = Readonly<Record<string, string>>;
export type Found = { readonly binding: Binding; readonly params: Params };
/** The address exists, and takes these methods only. */
type OtherMethod = { readonly allowed: readonly HttpMethod[] };

type Node = {
  readonly fixed: Map<string, Node>;
  any: Node | null;
  readonly rows: Map<HttpMethod, Binding>;
};

export type Router = (method: string, path: string) => Found | OtherMethod | null;

const PARAMETER = /^\{[A-Za-z]+\}$/;
/** More parts than any address has; a longer path is not examined. */
const MAX_PARTS = 16;

/** Makes the tree once; two rows for one method and address are a programming error. */
export function makeRouter(operations: readonly Operation[]): Router {
  const root = makeNode();
  for (const operation of operations) add(root, bind(operation));
  return (method, path) => find(root, method, path);
}

function makeNode(): Node {
  return { fixed: new Map(), any: null, rows: new Map() };
}

function add(root: Node, binding: Binding): void {
  const { method, path } = binding.operation.http;
  let node = root;
  for (const part of partsOf(path)) node = childOf(node, part);
  if (node.rows.has(method)) throw new TypeError(`Cannot route ${method} ${path}: two operations have it`);
  node.rows.set(method, binding);
}

function childOf(node: Node, part: string): Node {
  const isAny = PARAMETER.test(part);
  const child = (isAny ? node.any : node.fixed.get(part)) ?? makeNode();
  if (isAny) node.any = child;
  else node.fixed.set(part, child);
  return child;
}

function partsOf(path: string): string[] {
  return path.split('/', MAX_PARTS + 1).slice(1);
}

function find(root: Node, method: string, path: string): Found | OtherMethod | null {
  const raw: string[] = [];
  let node = root;
  for (const part of partsOf(path)) {
    const fixed = node.fixed.get(part);
    const next: Node | null = fixed ?? node.any;
    if (next === null) return null;
    if (fixed === undefined) raw.push(part);
    node = next;
  }
  if (node.rows.size === 0) return null;
  const values = raw.map(decode);
  if (values.includes(null)) return null;
  const row = node.rows.get(method === 'HEAD' ? 'GET' : (method as HttpMethod));
  if (row === undefined) return { allowed: [...node.rows.keys()].sort() };
  return { binding: row, params: Object.fromEntries(row.path.map((name, i) => [name, values[i] ?? ''])) };
}

/** Boundary: an empty value, a dot or two, a control character or bad UTF-8 names nothing, however it is encoded. */
function decode(part: string): string | null {
  try {
    const value = part.includes('%') ? decodeURIComponent(part) : part;
    return value === '' || value === '.' || value === '..' || /[\p{Cc}\\]/u.test(value) ? null : value;
  } catch {
    return null;
  }
}
