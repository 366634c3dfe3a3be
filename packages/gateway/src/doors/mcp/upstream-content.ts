import type { CallToolResult } from '@modelcontextprotocol/server';
import { MAX_TEXT_CHARS, safeLine, safeText } from '../../core/hostile-text.ts';
import { isJsonObject, type Json, type JsonObject } from '../../core/json.ts';

/*
 * The result of an upstream MCP server as passed to a client. The server is not trusted: its text is sanitised, binary
 * data must be base64, links are kept as text, and content of an unknown kind is left out with a note.
 */

type Block = CallToolResult['content'][number];
type Fields = Partial<JsonObject>;

const MAX_BLOCKS = 1_000;
const MAX_NAME_CHARS = 1_024;
const MIME = /^[a-z0-9][a-z0-9!#$&^_.+-]{0,126}\/[a-z0-9][a-z0-9!#$&^_.+-]{0,126}$/i;
const BASE64 = /^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$/;
/** Schemes that a client might open by itself, or run. */
const LINK = /^(?:https?|file|git|urn|[a-z][a-z0-9+.-]{0,31}):[^\s\p{Cc}\p{Cf}]{1,2000}$/iu;
const RUNS = /^(?:javascript|data|vbscript|blob):/i;

/** The result of an upstream tool as a client may have it. */
export function mcpContentOf(output: Json): CallToolResult {
  const { content, structuredContent, isError } = fieldsOf(output);
  const blocks = Array.isArray(content) ? content.slice(0, MAX_BLOCKS) : [];
  return {
    content: blocks.map(safeBlock),
    ...(structuredContent === undefined
      ? {}
      : { structuredContent: structuredContent as CallToolResult['structuredContent'] }),
    ...(isError === true ? { isError: true } : {}),
  };
}

/** One block of content as a client may have it. */
export function safeBlock(raw: Json): Block {
  const block = fieldsOf(raw);
  switch (block.type) {
    case 'text':
      return { type: 'text', text: safeText(wordsOf(block.text), MAX_TEXT_CHARS) };
    case 'image':
    case 'audio':
      return bytesOf(block.type, block);
    case 'resource_link':
      return linkOf(block);
    case 'resource':
      return resourceOf(fieldsOf(block.resource ?? null));
    default:
      return leftOut('content of a kind that is not known');
  }
}

function bytesOf(type: 'image' | 'audio', { data, mimeType }: Fields): Block {
  // Boundary: what is not base64 of a named type could be anything to a client that decodes it.
  if (typeof data !== 'string' || !BASE64.test(data) || !isMime(mimeType)) return leftOut(`an ${type}`);
  return { type, data, mimeType };
}

function linkOf({ uri, name, description, mimeType }: Fields): Block {
  if (!isLink(uri)) return leftOut('a link');
  return {
    type: 'resource_link',
    uri,
    name: safeLine(wordsOf(name), MAX_NAME_CHARS),
    ...(typeof description === 'string' ? { description: safeText(description, MAX_NAME_CHARS) } : {}),
    ...(isMime(mimeType) ? { mimeType } : {}),
  };
}

function resourceOf({ uri, text, blob, mimeType }: Fields): Block {
  if (!isLink(uri)) return leftOut('a resource');
  const facts = { uri, ...(isMime(mimeType) ? { mimeType } : {}) };
  if (typeof text === 'string')
    return { type: 'resource', resource: { ...facts, text: safeText(text, MAX_TEXT_CHARS) } };
  if (typeof blob === 'string' && BASE64.test(blob))
    return { type: 'resource', resource: { ...facts, blob } };
  return leftOut('a resource');
}

function leftOut(what: string): Block {
  return { type: 'text', text: `(Palisade left out ${what} that the upstream server sent.)` };
}

function isMime(value: Json | undefined): value is string {
  return typeof value === 'string' && MIME.test(value);
}

function isLink(value: Json | undefined): value is string {
  return typeof value === 'string' && LINK.test(value) && !RUNS.test(value);
}

function wordsOf(value: Json | undefined): string {
  return typeof value === 'string' ? value : '';
}

function fieldsOf(value: Json): Fields {
  return isJsonObject(value) ? value : {};
}
