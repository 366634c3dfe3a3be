/* What a server answered to something else than a call of a tool, as far as it may go on: known fields, so many bytes. */
import { CodedError } from '../../core/coded-error.ts';
import type { Json, JsonObject } from '../../core/json.ts';
import type { UpstreamMethod } from '../../core/tool.ts';
import { blockOf, RESOURCE_FIELDS, textsOf } from './result.ts';

const MOST_PARTS = 1_000;
/** As many as a client may be given. */
const MOST_VALUES = 100;
const ROLES: readonly Json[] = ['user', 'assistant'];

const READERS: Readonly<Record<UpstreamMethod, (raw: JsonObject) => JsonObject>> = {
  'resources/read': ({ contents }) => {
    if (!Array.isArray(contents)) throw broken('without contents');
    return { contents: contents.slice(0, MOST_PARTS).filter(isObject).map(contentOf) };
  },
  'prompts/get': ({ description, messages }) => {
    if (!Array.isArray(messages)) throw broken('without messages');
    const read = messages.slice(0, MOST_PARTS).flatMap(messageOf);
    return { ...(typeof description === 'string' ? { description } : {}), messages: read };
  },
  'completion/complete': ({ completion }) => {
    if (!isObject(completion) || !Array.isArray(completion.values)) throw broken('without completions');
    const { total, hasMore } = completion;
    const values = completion.values.filter((each) => typeof each === 'string').slice(0, MOST_VALUES);
    const isTotal = typeof total === 'number' && Number.isSafeInteger(total) && total >= 0;
    return { completion: { values, ...(isTotal ? { total } : {}), hasMore: hasMore === true } };
  },
};

/** Reads an answer; throws where it is none, or has more bytes than a call may give. */
export function readMethodResult(method: UpstreamMethod, raw: JsonObject, maxBytes: number) {
  if (raw.resultType === 'input_required') throw broken('with a question, which nobody answers here');
  const output = READERS[method](raw);
  const bytes = Buffer.byteLength(JSON.stringify(output));
  // Boundary: part of a resource is no resource.
  if (bytes > maxBytes) throw broken(`with ${bytes} bytes, expected at most ${maxBytes}`);
  return { output, bytes };
}

function contentOf(content: JsonObject): JsonObject {
  return textsOf(content, RESOURCE_FIELDS);
}

function messageOf(message: Json): readonly JsonObject[] {
  if (!isObject(message) || !ROLES.includes(message.role ?? null)) return [];
  const [content] = blockOf(message.content ?? null);
  return content === undefined ? [] : [{ role: message.role ?? 'user', content }];
}

function broken(how: string): CodedError {
  return new CodedError('tier/upstream-failed', `it answered ${how}`);
}

function isObject(value: Json | undefined): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
