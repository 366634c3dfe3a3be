import {
  type InputRequiredResult,
  type ListResourcesResult,
  type ListResourceTemplatesResult,
  ProtocolError,
  ProtocolErrorCode,
  type ReadResourceResult,
  ResourceNotFoundError,
} from '@modelcontextprotocol/server';
import type { Caller } from '../../core/caller.ts';
import { isoTime } from '../../core/clock.ts';
import { safeJson, safeLine, safeText } from '../../core/hostile-text.ts';
import type { Json } from '../../core/json.ts';
import {
  type CallReader,
  isHiddenFrom,
  keptCall,
  listEndedCalls,
  logOf,
  ownCallReader,
  receiptFor,
} from '../../operations/call-view.ts';
import type { KeptResult } from '../../results/results.ts';
import type { Asking } from './asking.ts';
import { CALL_PARTS, type CallPart, callUri, parseCallUri } from './call-result.ts';
import type { Door } from './door.ts';
import { readUpstream } from './upstream-methods.ts';
import type { OfferedResource } from './upstream-offers.ts';

/*
 * What a client can read: the receipts and outputs of calls of its own principal alone; and what upstream servers offer
 * it.
 */

const JSON_TYPE = 'application/json';
const PAGE_CALLS = 50;
const CURSOR = /^call_[0-9a-z]{25}$/;
const SHOWN_URI_CHARS = 200;
const MAX_DESCRIPTION_CHARS = 8_192;

/** Most calls have no log; a result names the address of one. */
const LISTED_PARTS: readonly CallPart[] = ['receipt', 'output'];

const SENTENCES: Readonly<Record<CallPart, string>> = {
  receipt: 'The signed receipt of a call: a DSSE envelope around an in-toto statement.',
  output: 'How a call ended, and all of its output that is kept.',
  log: 'What the guest of a call logged, why host calls were denied, and where it trapped.',
};

/** What upstream servers have for this caller, and then its recent calls, the newest first. */
export function listResources(door: Door, caller: Caller, cursor: string | undefined): ListResourcesResult {
  if (cursor !== undefined && !CURSOR.test(cursor))
    throw new ProtocolError(ProtocolErrorCode.InvalidParams, 'Invalid cursor');
  const reader = ownCallReader({ gateway: door.gateway, caller });
  const found = listEndedCalls(reader, { cursor, limit: PAGE_CALLS + 1 });
  const shown = found.slice(0, PAGE_CALLS);
  const last = found.length > PAGE_CALLS ? shown.at(-1) : undefined;
  return {
    resources: [
      ...(cursor === undefined ? [...door.offers.of(caller).resources.values()].map(upstreamResource) : []),
      ...shown.flatMap((kept) => partsOf(reader, kept).map((part) => resourceOf(kept, part))),
    ],
    ...(last === undefined ? {} : { nextCursor: last.callId }),
  };
}

export function listTemplates({ offers }: Door, caller: Caller): ListResourceTemplatesResult {
  const own = CALL_PARTS.map((part) => ({
    uriTemplate: `palisade://calls/{id}/${part}`,
    name: `call-${part}`,
    description: SENTENCES[part],
    mimeType: JSON_TYPE,
  }));
  const others = [...offers.of(caller).templates.values()].map((offered) => {
    const { uri, ...facts } = upstreamResource(offered);
    return { uriTemplate: uri, ...facts };
  });
  return { resourceTemplates: [...own, ...others] };
}

/** What is at an address: a part of a call of this caller, or what an upstream server has there. */
export async function readResource(
  asking: Asking,
  uri: string,
): Promise<ReadResourceResult | InputRequiredResult> {
  const { door, client } = asking;
  const offered = door.offers.at(client.caller, uri);
  return offered === null ? readCall(door, client.caller, uri) : readUpstream(asking, offered, uri);
}

function readCall({ gateway }: Door, caller: Caller, uri: string): ReadResourceResult {
  const parsed = parseCallUri(uri);
  const reader = ownCallReader({ gateway, caller });
  // Boundary: a call of another principal is answered like one that does not exist.
  const kept = parsed === null ? null : keptCall(reader, parsed.callId);
  if (parsed === null || kept === null) throw notFound(uri);
  const text = textOf(reader, kept, parsed.part);
  if (text === null) throw notFound(uri);
  return { contents: [{ uri, mimeType: JSON_TYPE, text }] };
}

function textOf(reader: CallReader, kept: KeptResult, part: CallPart): string | null {
  if (part === 'receipt') return receiptFor(reader, kept);
  return safeJson(part === 'log' ? logOf(reader.gateway.store, kept.callId) : documentOf(kept));
}

/** Boundary: a receipt contains the decision verbatim, so a call of a tool that does not exist has none. */
function partsOf(reader: CallReader, kept: KeptResult): readonly CallPart[] {
  return isHiddenFrom(reader, kept) ? ['output'] : LISTED_PARTS;
}

function upstreamResource({ resource }: OfferedResource) {
  const { uri, name, title, description, mimeType } = resource;
  return {
    uri,
    name: safeLine(name, SHOWN_URI_CHARS),
    ...(title === null ? {} : { title: safeLine(title, SHOWN_URI_CHARS) }),
    description: safeText(description, MAX_DESCRIPTION_CHARS),
    ...(mimeType === null ? {} : { mimeType }),
  };
}

function resourceOf({ callId, tool, status, atMs }: KeptResult, part: CallPart) {
  return {
    uri: callUri(callId, part),
    name: `${callId}-${part}`,
    title: `${part} of ${tool} (${status}, ${isoTime(atMs)})`,
    description: SENTENCES[part],
    mimeType: JSON_TYPE,
  };
}

function documentOf(kept: KeptResult): Json {
  const {
    callId,
    tool,
    run,
    session,
    status,
    code,
    message,
    remedy,
    output,
    isOutputKept,
    truncated,
    usage,
  } = kept;
  const facts = { callId, tool, run, session, status, code, message, remedy, at: isoTime(kept.atMs) };
  return { ...facts, output, isOutputKept, truncated, usage: { ...usage } };
}

/** The error for an address at which there is nothing that this caller may read. */
export function notFound(uri: string): ResourceNotFoundError {
  return new ResourceNotFoundError(safeLine(uri, SHOWN_URI_CHARS));
}
