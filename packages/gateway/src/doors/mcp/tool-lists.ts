import type { Tool as WireTool } from '@modelcontextprotocol/server';
import { cached } from '../../core/cached.ts';
import type { Caller } from '../../core/caller.ts';
import { safeLine, safeText } from '../../core/hostile-text.ts';
import type { Json } from '../../core/json.ts';
import { isToolName } from '../../core/principal.ts';
import type { JsonSchema, Tool } from '../../core/tool.ts';
import type { Gateway } from '../../invoke/gateway.ts';
import { toolsVersion, visibleTools } from '../../invoke/visible-tools.ts';
import { ownerOf } from './door.ts';
import { isIdOnly, toolName } from './tool-name.ts';

/** How many tools come at a time: more than most clients ever see, and still a message of about a megabyte. */
const PAGE_TOOLS = 1_000;
/** Lists that are cached; beyond that the oldest is rebuilt when it is needed. */
const MOST_LISTS = 64;
/** Checking the policies and the skills for changes takes longer than finding a tool. */
const LOOK_EVERY_MS = 100;
const MAX_TITLE_CHARS = 200;
const MAX_DESCRIPTION_CHARS = 8_192;

/** A tool as it is called by clients, with the record behind it. */
export type ListedTool = { readonly tool: Tool; readonly wire: WireTool };

type ToolPage = { readonly tools: WireTool[]; readonly nextCursor?: string };

type ToolList = {
  readonly version: string;
  readonly byName: ReadonlyMap<string, ListedTool>;
  readonly listed: readonly ListedTool[];
  lookedAtMs: number;
  /** By the cursor that leads to it; the first one has none. */
  readonly pages: Map<string | undefined, ToolPage>;
};

/** The tools that each caller sees, made once and kept until something changes. */
export class ToolLists {
  readonly #gateway: Gateway;
  readonly #lists = new Map<string, ToolList>();
  readonly #texts = new WeakMap<object, string>();

  constructor(gateway: Gateway) {
    this.#gateway = gateway;
  }

  /** A page of what this caller sees, in the order of ids; null for a cursor that cannot be ours. */
  page(caller: Caller, cursor: string | undefined): ToolPage | null {
    const list = this.#list(caller);
    const kept = list.pages.get(cursor);
    if (kept !== undefined) return kept;
    // The list has changed since the previous page: continue after the same tool.
    const after = cursor === undefined ? '' : toolBefore(cursor);
    return after === null ? null : this.#addPage(list, cursor, after);
  }

  /**
   * The tool of that name or id, if this caller sees it, as of a moment ago: whether the call may be made is decided
   * again by the line; this only affects how a refusal is shown.
   */
  find(caller: Caller, name: string): ListedTool | undefined {
    const recent = this.#lists.get(ownerOf(caller));
    const isRecent = recent !== undefined && this.#nowMs() - recent.lookedAtMs < LOOK_EVERY_MS;
    const { byName } = isRecent ? recent : this.#list(caller);
    // Boundary: what could be the name of one tool is never read as the id of another.
    return byName.get(isIdOnly(name) ? toolName(name) : name);
  }

  /** The text of the tools of a page, made once; undefined for what is not a page of ours. */
  textOf(tools: object): string | undefined {
    const text = this.#texts.get(tools);
    if (text !== '') return text;
    const made = JSON.stringify(tools);
    this.#texts.set(tools, made);
    return made;
  }

  #list(caller: Caller): ToolList {
    const version = toolsVersion(this.#gateway);
    const owner = ownerOf(caller);
    const kept = this.#lists.get(owner);
    if (kept?.version === version) {
      kept.lookedAtMs = this.#nowMs();
      return kept;
    }
    const tools = visibleTools(this.#gateway, caller.principal, caller.tenant);
    const list = { ...makeList(version, tools), lookedAtMs: this.#nowMs() };
    this.#lists.delete(owner);
    if (this.#lists.size >= MOST_LISTS) this.#lists.delete(this.#lists.keys().next().value ?? '');
    this.#lists.set(owner, list);
    return list;
  }

  #nowMs(): number {
    return this.#gateway.clock.monotonicMs();
  }

  #addPage(list: ToolList, cursor: string | undefined, after: string): ToolPage {
    const found = list.listed.findIndex(({ tool }) => tool.id > after);
    const start = found === -1 ? list.listed.length : found;
    const shown = list.listed.slice(start, start + PAGE_TOOLS);
    const last = start + PAGE_TOOLS < list.listed.length ? shown.at(-1) : undefined;
    const tools = shown.map(({ wire }) => wire);
    const page = { tools, ...(last === undefined ? {} : { nextCursor: cursorAfter(last.tool.id) }) };
    this.#texts.set(tools, '');
    // Boundary: clients can invent cursors; only those of real pages are kept.
    if (list.pages.size <= list.listed.length / PAGE_TOOLS + 1) list.pages.set(cursor, page);
    return page;
  }
}

const wires: WeakMap<Tool, WireTool> = new WeakMap();

function makeList(version: string, tools: readonly Tool[]): Omit<ToolList, 'lookedAtMs'> {
  const byName = new Map<string, ListedTool>();
  for (const tool of tools) {
    const wire = cached(wires, tool, () => makeWire(tool));
    // Boundary: should two digests be equal, the first tool is shown and the other cannot be called.
    if (!byName.has(wire.name)) byName.set(wire.name, { tool, wire });
  }
  return { version, byName, listed: [...byName.values()], pages: new Map() };
}

function cursorAfter(id: string): string {
  return Buffer.from(id).toString('base64url');
}

function toolBefore(cursor: string): string | null {
  const id = Buffer.from(cursor, 'base64url').toString();
  return isToolName(id) && cursorAfter(id) === cursor ? id : null;
}

function makeWire(tool: Tool): WireTool {
  const { inputSchema, outputSchema: promised } = tool.published ?? tool;
  const outputSchema = promised === null ? null : outputSchemaOf(promised);
  return {
    name: toolName(tool.id),
    ...(tool.title === undefined ? {} : { title: safeLine(tool.title, MAX_TITLE_CHARS) }),
    description: safeText(tool.description, MAX_DESCRIPTION_CHARS),
    inputSchema: inputSchemaOf(inputSchema) as WireTool['inputSchema'],
    ...(outputSchema === null ? {} : { outputSchema: outputSchema as WireTool['outputSchema'] }),
    annotations: annotationsOf(tool),
  } as WireTool;
}

/** The hints about a tool for clients: what its record says, else the worst case. */
function annotationsOf({ annotations, risk, tier }: Tool): NonNullable<WireTool['annotations']> {
  // Boundary: whatever a tool says of itself, one of high risk is never marked harmless.
  const isHigh = risk === 'high';
  return {
    readOnlyHint: !isHigh && (annotations?.readOnly ?? false),
    destructiveHint: isHigh || (annotations?.destructive ?? risk !== 'low'),
    idempotentHint: annotations?.idempotent ?? false,
    openWorldHint: annotations?.openWorld ?? tier !== 'builtin',
  };
}

/** Tells a client that this is not the tool's output, but the reason why there is none. */
export const FAILURE_SCHEMA: JsonSchema = {
  type: 'object',
  properties: { status: { enum: ['refused', 'failed', 'approval_required'] }, code: { type: 'string' } },
  required: ['status', 'code'],
};

/** A keyword that has a client copy an argument into a header, where proxies read and log it. */
const HEADER_KEYWORD = 'x-mcp-header';
/** With one of these, a part of a schema means something else in another place. */
const PLACE_BOUND = new Set(['$id', '$anchor', '$dynamicRef', '$dynamicAnchor', '$recursiveRef']);
const IN_DEFS = '#/$defs/';

/** The schema of an input as clients see it: always of an object, without keywords that copy arguments. */
export function inputSchemaOf(schema: JsonSchema): JsonSchema {
  const isKept = (key: string, value: Json) => (key === HEADER_KEYWORD ? undefined : value);
  return { ...(JSON.parse(JSON.stringify(schema), isKept) as JsonSchema), type: 'object' };
}

/**
 * The schema of a result as clients see it: that of the tool, or of a failure, since clients validate failed results
 * against it too. Null if the tool declares none, or if its schema cannot be combined with another.
 */
export function outputSchemaOf(schema: JsonSchema): JsonSchema | null {
  if (Object.keys(schema).length === 0 || !canMove(schema)) return null;
  const { $schema, $defs, ...own } = schema;
  return {
    ...($schema === undefined ? {} : { $schema }),
    ...(own.type === 'object' ? { type: 'object' } : {}),
    anyOf: [own, FAILURE_SCHEMA],
    ...($defs === undefined ? {} : { $defs }),
  };
}

function canMove(node: Json): boolean {
  if (Array.isArray(node)) return node.every(canMove);
  if (node === null || typeof node !== 'object') return true;
  return Object.entries(node).every(([key, value]) => {
    if (PLACE_BOUND.has(key)) return false;
    if (key === '$ref' && typeof value === 'string') return value.startsWith(IN_DEFS);
    return canMove(value);
  });
}
