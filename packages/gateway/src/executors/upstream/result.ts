import { CodedError } from '../../core/coded-error.ts';
import { isJsonObject, type Json, type JsonObject } from '../../core/json.ts';
import type { UpstreamMethod } from '../../core/tool.ts';

/* Which parts of a server's answer are forwarded: known kinds of content, known fields, and limited bytes. */

/** An MCP result with its known fields only. */
type McpResult = {
  readonly content: readonly JsonObject[];
  readonly structuredContent?: Json;
  readonly isError?: true;
};

type ReadResult = { readonly result: McpResult; readonly bytes: number; readonly isCut: boolean };

/** The fields of each kind of content, all of them texts except `resource`. */
const FIELDS: Readonly<Record<string, readonly string[]>> = {
  text: ['text'],
  image: ['data', 'mimeType'],
  audio: ['data', 'mimeType'],
  resource_link: ['uri', 'name', 'title', 'description', 'mimeType'],
};
const RESOURCE_FIELDS = ['uri', 'mimeType', 'text', 'blob'];
const MAX_BLOCKS = 1_000;

/** Reads a result; throws where it is invalid. What exceeds `maxBytes` is left out, and `isCut` is set. */
export function readResult(raw: JsonObject, maxBytes: number): ReadResult {
  if (raw.resultType === 'input_required')
    throw badAnswer('with a request for more input, which is not supported');
  if (!Array.isArray(raw.content)) throw badAnswer('without content');
  const blocks = raw.content.slice(0, MAX_BLOCKS).flatMap((block) => blockOf(block));
  const { structuredContent } = raw;
  const isError = raw.isError === true ? ({ isError: true } as const) : {};
  const whole: McpResult = {
    content: blocks,
    ...(structuredContent === undefined ? {} : { structuredContent }),
    ...isError,
  };
  const bytes = Buffer.byteLength(JSON.stringify(whole));
  if (bytes <= maxBytes && raw.content.length <= MAX_BLOCKS) return { result: whole, bytes, isCut: false };
  const content = firstBlocks(blocks, maxBytes);
  const cut = { content, ...isError };
  return { result: cut, bytes: Buffer.byteLength(JSON.stringify(cut)), isCut: true };
}

/** Boundary: unknown kinds of content and unknown fields do not reach a model. */
function blockOf(block: Json): readonly JsonObject[] {
  if (!isJsonObject(block) || typeof block.type !== 'string') return [];
  const { type, resource } = block;
  if (type === 'resource' && isJsonObject(resource))
    return [{ type, resource: textsOf(resource, RESOURCE_FIELDS) }];
  const fields = Object.hasOwn(FIELDS, type) ? FIELDS[type] : undefined;
  return fields === undefined ? [] : [{ type, ...textsOf(block, fields) }];
}

/** Those of the fields that are texts. */
function textsOf(from: JsonObject, fields: readonly string[]): JsonObject {
  const texts = fields.flatMap((name) => {
    const value = from[name];
    return typeof value === 'string' ? [[name, value] as const] : [];
  });
  return Object.fromEntries(texts);
}

/** For the JSON around the blocks, and around a text that is cut. */
const FRAME_BYTES = 64;
/** The most that a character takes in JSON. */
const CHAR_BYTES = 6;

/** As many blocks as fit, the last text cut to the remaining space. */
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

/** Without a lone surrogate at its end. */
function wellFormed(text: string): string {
  return /[\ud800-\udbff]$/.test(text) ? text.slice(0, -1) : text;
}

const MAX_PARTS = 1_000;
/** The maximum of completions that MCP allows. */
const MAX_VALUES = 100;
const ROLES: readonly Json[] = ['user', 'assistant'];

const READERS: Readonly<Record<UpstreamMethod, (raw: JsonObject) => JsonObject>> = {
  'resources/read': ({ contents }) => {
    if (!Array.isArray(contents)) throw badAnswer('without contents');
    return {
      contents: contents
        .slice(0, MAX_PARTS)
        .filter(isJsonObject)
        .map((each) => textsOf(each, RESOURCE_FIELDS)),
    };
  },
  'prompts/get': ({ description, messages }) => {
    if (!Array.isArray(messages)) throw badAnswer('without messages');
    const read = messages.slice(0, MAX_PARTS).flatMap(messageOf);
    return { ...(typeof description === 'string' ? { description } : {}), messages: read };
  },
  'completion/complete': ({ completion }) => {
    if (!isJsonObject(completion) || !Array.isArray(completion.values))
      throw badAnswer('without completions');
    const { total, hasMore } = completion;
    const values = completion.values.filter((each) => typeof each === 'string').slice(0, MAX_VALUES);
    const isTotal = typeof total === 'number' && Number.isSafeInteger(total) && total >= 0;
    return { completion: { values, ...(isTotal ? { total } : {}), hasMore: hasMore === true } };
  },
};

/** Reads the answer to a method other than `tools/call`; throws where it is invalid or exceeds `maxBytes`. */
export function readMethodResult(method: UpstreamMethod, raw: JsonObject, maxBytes: number) {
  if (raw.resultType === 'input_required')
    throw badAnswer('with a request for more input, which is not supported');
  const output = READERS[method](raw);
  const bytes = Buffer.byteLength(JSON.stringify(output));
  // Boundary: a resource is forwarded whole or not at all.
  if (bytes > maxBytes) throw badAnswer(`with ${bytes} bytes, expected at most ${maxBytes}`);
  return { output, bytes };
}

function messageOf(message: Json): readonly JsonObject[] {
  if (!isJsonObject(message) || !ROLES.includes(message.role ?? null)) return [];
  const [content] = blockOf(message.content ?? null);
  return content === undefined ? [] : [{ role: message.role ?? 'user', content }];
}

function badAnswer(how: string): CodedError {
  return new CodedError('tier/upstream-failed', `it answered ${how}`);
}
