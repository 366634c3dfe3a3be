/* What a server answered to a call, as far as it may go on: known kinds of content, known fields, so many bytes. */
import { CodedError } from '../../core/coded-error.ts';
import type { Json, JsonObject } from '../../core/json.ts';

/** A result of MCP, with nothing in it that nobody reads. */
export type McpResult = {
  readonly content: readonly JsonObject[];
  readonly structuredContent?: Json;
  readonly isError?: true;
};

export type ReadResult = { readonly result: McpResult; readonly bytes: number; readonly isCut: boolean };

/** The fields of each kind of content, all of them texts but `resource`. */
const FIELDS: Readonly<Record<string, readonly string[]>> = {
  text: ['text'],
  image: ['data', 'mimeType'],
  audio: ['data', 'mimeType'],
  resource_link: ['uri', 'name', 'title', 'description', 'mimeType'],
};
export const RESOURCE_FIELDS = ['uri', 'mimeType', 'text', 'blob'];
const MOST_BLOCKS = 1_000;

/** Reads a result; throws where it is none. What is past the bytes that a call may give is left out, and told. */
export function readResult(raw: JsonObject, maxBytes: number): ReadResult {
  if (raw.resultType === 'input_required') throw broken('it asks for more input, which nobody gives here');
  if (!Array.isArray(raw.content)) throw broken('it answered without content');
  const blocks = raw.content.slice(0, MOST_BLOCKS).flatMap((block) => blockOf(block));
  const { structuredContent } = raw;
  const isError = raw.isError === true ? ({ isError: true } as const) : {};
  const whole: McpResult = {
    content: blocks,
    ...(structuredContent === undefined ? {} : { structuredContent }),
    ...isError,
  };
  const bytes = Buffer.byteLength(JSON.stringify(whole));
  if (bytes <= maxBytes && raw.content.length <= MOST_BLOCKS) return { result: whole, bytes, isCut: false };
  const content = firstBlocks(blocks, maxBytes);
  const cut = { content, ...isError };
  return { result: cut, bytes: Buffer.byteLength(JSON.stringify(cut)), isCut: true };
}

/** Boundary: a kind that nobody knows, and a field that nobody reads, do not reach a model. */
export function blockOf(block: Json): readonly JsonObject[] {
  if (!isObject(block) || typeof block.type !== 'string') return [];
  const { type, resource } = block;
  if (type === 'resource' && isObject(resource))
    return [{ type, resource: textsOf(resource, RESOURCE_FIELDS) }];
  const fields = Object.hasOwn(FIELDS, type) ? FIELDS[type] : undefined;
  return fields === undefined ? [] : [{ type, ...textsOf(block, fields) }];
}

/** Those of the fields that are texts. */
export function textsOf(from: JsonObject, fields: readonly string[]): JsonObject {
  const texts = fields.flatMap((name) => {
    const value = from[name];
    return typeof value === 'string' ? [[name, value] as const] : [];
  });
  return Object.fromEntries(texts);
}

/** Of what stands around the blocks, and around a text that is cut. */
const FRAME_BYTES = 64;
/** A character takes at most so many in JSON. */
const CHAR_BYTES = 6;

/** As many blocks as have room, the last text cut where it has none. */
function firstBlocks(blocks: readonly JsonObject[], maxBytes: number): readonly JsonObject[] {
  const kept: JsonObject[] = [];
  let left = maxBytes - FRAME_BYTES;
  for (const block of blocks) {
    const bytes = Buffer.byteLength(JSON.stringify(block)) + 1;
    if (bytes > left) {
      const chars = Math.floor((left - FRAME_BYTES) / CHAR_BYTES);
      if (typeof block.text === 'string' && chars > 0)
        kept.push({ type: 'text', text: wellFormed(block.text.slice(0, chars)) });
      break;
    }
    left -= bytes;
    kept.push(block);
  }
  return kept;
}

/** Without half of a character at its end. */
function wellFormed(text: string): string {
  return /[\ud800-\udbff]$/.test(text) ? text.slice(0, -1) : text;
}

function broken(why: string): CodedError {
  return new CodedError('tier/upstream-failed', why);
}

function isObject(value: Json | undefined): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
