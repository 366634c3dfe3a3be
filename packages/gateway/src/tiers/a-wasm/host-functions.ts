import type { Channels, Seat } from '../../channels/channels.ts';
import type { SecretGrant, WasmGrants } from '../../core/wasm.ts';
import type { Space } from '../../storage/space.ts';
import type { CallNetwork } from './call-network.ts';
import {
  ABI_ERRORS,
  ABI_FUNCTIONS,
  type AbiName,
  CAPABILITY_KINDS,
  type CapabilityKind,
} from './engine/abi.table.ts';
import type { Question, Reply } from './engine-process.ts';
import { answerWith, DONE, refuseWith, withHead } from './host-answer.ts';
import { type HttpTerms, type OperatorSecrets, requestFor, secretHosts } from './host-http.ts';
import { deleteStored, getStored, listStored, putStored } from './host-storage.ts';
import type { WasmTierOptions, Who } from './index.ts';
import type { Recorder } from './recorder.ts';

/**
 * What the gateway does for a guest. A question comes from an engine process beside which hostile code runs, so nothing
 * of it is taken on trust: the function must be one that was granted, the handle one of this call, the lengths those of
 * the bytes. Whatever does not hold is an error of the ABI, and is counted.
 */

export type HostRooms = {
  readonly http: Omit<HttpTerms, 'secretOf' | 'mostBytes'>;
  /** One for each capability of storage. */
  readonly spaces: readonly Space[];
  /** Null where the tenant has no room for one more. */
  readonly seat: Seat | null;
  /** The value of a secret; null where there is none. */
  readonly secret: (granted: SecretGrant) => Promise<string | null>;
  /** Where the operator lets secrets go. */
  readonly operatorSecrets: OperatorSecrets;
  readonly signal: AbortSignal;
  /** Told of each question that was refused because the guest has no right to ask it. */
  readonly onDenied: (name: string) => void;
};

/** The longest answer that a guest is given. */
const MOST_ANSWER_BYTES = 32 * 1024 * 1024;
const MOST_WAIT_MS = 60_000;

/** A question whose form is sound, with its texts taken apart. */
type Sound = {
  readonly name: AbiName;
  readonly numbers: readonly number[];
  readonly texts: readonly Uint8Array[];
};

/** The functions that a call with these grants has. */
export function functionsFor(grants: WasmGrants): readonly AbiName[] {
  const has = (needs: (typeof ABI_FUNCTIONS)[number]['needs']) => {
    if (needs === null) return true;
    if (needs === 'config') return grants.config !== null;
    if (needs === 'log' || needs === 'clock' || needs === 'random') return grants[needs];
    return countOf(grants, needs) > 0;
  };
  return ABI_FUNCTIONS.filter((row) => has(row.needs)).map(({ name }) => name);
}

export function countOf(grants: WasmGrants, kind: CapabilityKind): number {
  const lists = {
    http: grants.http,
    secret: grants.secrets,
    storage: grants.storage,
    channel: grants.channels,
  };
  return lists[kind].length;
}

/** Answers the questions of one call. */
export function newHostCalls(grants: WasmGrants, rooms: HostRooms): (question: Question) => Promise<Reply> {
  const granted = new Set<string>(functionsFor(grants));
  return async (question) => {
    const sound = readQuestion(question);
    if (sound === null) return refuseWith('invalid');
    const { name, numbers } = sound;
    const row = ABI_FUNCTIONS.find((each) => each.name === name);
    const [handle = -1] = numbers;
    // Boundary: a function that was not granted, or a handle that is none of this call.
    const index = row === undefined || !granted.has(name) ? null : indexOf(row.needs, handle, grants);
    const reply = index === null ? refuseWith('denied') : await act(sound, index, { grants, rooms });
    if (reply.result === ABI_ERRORS.denied.code) rooms.onDenied(name);
    return reply;
  };
}

function indexOf(needs: string | null, handle: number, grants: WasmGrants): number | null {
  if (needs === null || !(needs in CAPABILITY_KINDS)) return null;
  const kind = needs as CapabilityKind;
  const index = handle - CAPABILITY_KINDS[kind].firstHandle;
  return index >= 0 && index < countOf(grants, kind) ? index : null;
}

type Means = { readonly grants: WasmGrants; readonly rooms: HostRooms };

async function act({ name, numbers, texts }: Sound, index: number, means: Means): Promise<Reply> {
  const { rooms } = means;
  const [, first = 0] = numbers;
  const [one = NOTHING, two = NOTHING] = texts;
  const space = rooms.spaces[index];
  switch (name) {
    case 'http_request':
      return request(index, one, two, means);
    case 'secret_read':
      return revealed(index, means);
    case 'channel_publish':
      return publish(index, one, means);
    case 'channel_receive':
      return receive(index, first, means);
    default:
      break;
  }
  if (space === undefined) return refuseWith('denied');
  if (!areTexts(name === 'storage_put' ? [one] : texts)) return refuseWith('invalid');
  switch (name) {
    case 'storage_get':
      return getStored(space, textOf(one), MOST_ANSWER_BYTES);
    case 'storage_put':
      return putStored(space, textOf(one), two, first);
    case 'storage_delete':
      return deleteStored(space, textOf(one), first);
    case 'storage_list':
      return listStored(space, { prefix: textOf(one), after: textOf(two), limit: first }, MOST_ANSWER_BYTES);
    default:
      return refuseWith('invalid');
  }
}

async function request(index: number, head: Uint8Array, body: Uint8Array, means: Means): Promise<Reply> {
  const { grants, rooms } = means;
  const entry = grants.http[index];
  // Boundary: one that was asked for and not granted has a handle, and nothing behind it.
  if (entry === undefined || entry === null) return refuseWith('denied');
  const secretOf = (handle: number) => {
    const secret = grants.secrets[handle - CAPABILITY_KINDS.secret.firstHandle];
    if (secret === undefined) return null;
    const { name, mayReveal } = secret;
    const isFor = secretHosts(secret, rooms.operatorSecrets);
    return { name, mayReveal, isFor, read: () => rooms.secret(secret) };
  };
  return requestFor(entry, head, body, { ...rooms.http, secretOf, mostBytes: MOST_ANSWER_BYTES });
}

/** Boundary: a secret that may only be used is never told, whatever handle asks for it. */
async function revealed(index: number, { grants, rooms }: Means): Promise<Reply> {
  const secret = grants.secrets[index];
  if (secret === undefined || !secret.mayReveal) return refuseWith('denied');
  const value = await rooms.secret(secret);
  return value === null ? refuseWith('missing') : answerWith(Buffer.from(value), MOST_ANSWER_BYTES);
}

function publish(index: number, message: Uint8Array, { grants, rooms }: Means): Reply {
  const channel = grants.channels[index];
  if (channel === undefined || !channel.publish || rooms.seat === null) return refuseWith('denied');
  const published = rooms.seat.publish(channel.name, message);
  if (published === 'ok') return DONE;
  return refuseWith(published === 'full' ? 'full' : published === 'too-large' ? 'tooLarge' : 'denied');
}

async function receive(index: number, waitMs: number, { grants, rooms }: Means): Promise<Reply> {
  const channel = grants.channels[index];
  if (channel === undefined || !channel.receive || rooms.seat === null) return refuseWith('denied');
  const patience = Math.max(0, Math.min(waitMs, MOST_WAIT_MS));
  const message = await rooms.seat.wait(channel.name, rooms.signal, patience);
  if (message === null || message === 'denied') return refuseWith('missing');
  const { bytes, sender, missed } = message;
  return answerWith(withHead({ sender, missed }, bytes), MOST_ANSWER_BYTES);
}

const NOTHING = new Uint8Array(0);

const DECODER = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

/** Boundary: what is not UTF-8 would be bent to it, and two keys could become one. */
function areTexts(texts: readonly Uint8Array[]): boolean {
  try {
    for (const text of texts) DECODER.decode(text);
    return true;
  } catch {
    return false;
  }
}

function textOf(bytes: Uint8Array): string {
  return DECODER.decode(bytes);
}

/** Boundary: the head of a question is what an engine says; its lengths have to be those of its bytes. */
function readQuestion({ head, bytes }: Question): Sound | null {
  const { name, numbers, lengths } = (head ?? {}) as Partial<Question['head']>;
  if (typeof name !== 'string' || !isNumbers(numbers) || !isNumbers(lengths)) return null;
  const texts: Uint8Array[] = [];
  let at = 0;
  for (const length of lengths) {
    if (!Number.isSafeInteger(length) || length < 0 || at + length > bytes.length) return null;
    texts.push(bytes.subarray(at, at + length));
    at += length;
  }
  return at === bytes.length ? { name, numbers, texts } : null;
}

function isNumbers(value: unknown): value is readonly number[] {
  return Array.isArray(value) && value.every((each) => typeof each === 'number');
}

/** The rooms of the gateway that the guest of one call reaches, each under the grants of its tool. */

export type CallRooms = {
  readonly answer: (question: Question) => Promise<Reply>;
  readonly close: () => void;
};

export type CallTies = {
  readonly who: Who;
  readonly signal: AbortSignal;
  readonly egressBytes: number;
  readonly network: CallNetwork;
  readonly recorder: Recorder;
  readonly onDenied: () => void;
};

const LOOKUP_MS = 5_000;

export function openRooms(options: WasmTierOptions, grants: WasmGrants, ties: CallTies): CallRooms {
  const { clock, random, newLookup, own, channels, openSpace, secret, trust, operatorSecrets } = options;
  const { who, signal, egressBytes, network, recorder, onDenied } = ties;
  const seat = joinChannels(channels, who, grants.channels);
  const spaces = grants.storage.map((each) => openSpace(who, each));
  const answer = newHostCalls(grants, {
    http: {
      ...{ signal, clock, random, network },
      ...{ resolve: { lookup: newLookup(), own: own(), lookupMs: LOOKUP_MS } },
      ...(trust === undefined ? {} : { trust }),
      // Boundary: each request has what the others of the call have left.
      get limits() {
        return { wireBytes: egressBytes - network.bytes };
      },
    },
    ...{ spaces, seat, signal, onDenied, operatorSecrets },
    secret: async (granted) => {
      const value = await secret(granted, who);
      const mayReveal = grants.secrets.some((each) => each.name === granted.name && each.mayReveal);
      if (value !== null && mayReveal) {
        recorder.giveUp('it read a secret');
        network.hideNames();
      }
      return value;
    },
  });
  const close = () => {
    seat?.close();
    for (const space of spaces) space.close();
  };
  return { answer: recorder.around(answer), close };
}

function joinChannels(channels: Channels, who: Who, granted: WasmGrants['channels']) {
  const { tenant, principal, skill } = who;
  const named = (act: 'publish' | 'receive') => granted.filter((each) => each[act]).map(({ name }) => name);
  return channels.join({
    ...{ tenant, sender: { principal, skill } },
    ...{ publish: named('publish'), receive: named('receive') },
  });
}
