/**
 * What the gateway does for a guest. A request comes from an engine process with hostile code beside it, so nothing in
 * it is trusted: the function must be one that was granted, the handle one of this call, the lengths those of the
 * bytes. Anything else is an error of the ABI, and is counted. Each function that the table of the ABI leaves to the
 * gateway has its handler in `GATEWAY_HANDLERS`.
 */
import type { CallChannels, Channels } from '../../channels/channels.ts';
import {
  type AnswerRequest,
  CAPABILITY_KINDS,
  countOf,
  isCapabilityKind,
  type SecretGrant,
  type WasmGrants,
} from '../../core/wasm.ts';
import type { Space } from '../../storage/space.ts';
import type { CallNetwork } from './call-network.ts';
import type { Denials } from './denials.ts';
import { ABI_ERRORS, ABI_FUNCTIONS, type GatewayFunctionName } from './engine/abi.table.ts';
import type { GuestRequest, HostReply } from './engine-process.ts';
import { answerWith, DONE, denyWith, refuseWith, withHead } from './host-answer.ts';
import { type HttpTerms, type OperatorSecrets, requestFor, secretHosts, targetOf } from './host-http.ts';
import { storageHandlers } from './host-storage.ts';
import type { CallIdentity, WasmTierOptions } from './index.ts';
import { functionsFor } from './plan.ts';
import type { Recorder } from './recorder.ts';

/** What one call can reach through the gateway, under the grants of its tool. */
type HostContext = {
  readonly grants: WasmGrants;
  readonly signal: AbortSignal;
  /** Null where it may send no request. */
  readonly http: Omit<HttpTerms, 'secretOf'> | null;
  readonly spaces: readonly Space[];
  /** Null where it has none, or the tenant has too many channels. */
  readonly channels: CallChannels | null;
  readonly secret: (granted: SecretGrant) => Promise<string | null>;
  readonly operatorSecrets: OperatorSecrets;
};

/** A well-formed request for a granted function and capability. */
type HostRequest = {
  /** The position of the capability in its list. */
  readonly index: number;
  /** The numbers after the handle. */
  readonly numbers: readonly number[];
  readonly texts: readonly Uint8Array[];
};

export type GatewayHandler = (request: HostRequest, context: HostContext) => HostReply | Promise<HostReply>;

type HostFunctions = {
  readonly answer: (request: GuestRequest) => Promise<HostReply>;
  readonly close: () => void;
};

type HostOptions = {
  readonly identity: CallIdentity;
  readonly signal: AbortSignal;
  readonly egressBytes: number;
  readonly network: CallNetwork;
  readonly recorder: Recorder;
  readonly denials: Denials;
  readonly answerRequest: AnswerRequest | null;
  readonly onDenied: () => void;
  /** A value that the guest could get to know. */
  readonly onSecret: (name: string, value: string) => void;
};

const LOOKUP_MS = 5_000;
const MOST_WAIT_MS = 60_000;
const NO_BYTES = new Uint8Array(0);

const GATEWAY_HANDLERS: Readonly<Record<GatewayFunctionName, GatewayHandler>> = {
  http_request: sendRequest,
  secret_read: readSecret,
  ...storageHandlers,
  channel_publish: publish,
  channel_receive: receive,
};

const NEEDS: ReadonlyMap<string, string | null> = new Map(
  ABI_FUNCTIONS.map(({ name, needs }) => [name, needs]),
);

/** Opens what the guest of one call can reach, and answers its requests until it is closed. */
export function openHostFunctions(
  options: WasmTierOptions,
  grants: WasmGrants,
  host: HostOptions,
): HostFunctions {
  const { identity, signal, network, recorder, denials } = host;
  const { openSpace, secret, operatorSecrets } = options;
  const channels = joinChannels(options.channels, identity, grants.channels);
  const spaces = grants.storage.map((each) => openSpace(identity, each));
  const context: HostContext = {
    grants,
    signal,
    http: grants.http.length === 0 ? null : httpTerms(options, host),
    spaces,
    channels,
    operatorSecrets,
    secret: async (granted) => {
      const value = await secret(granted, identity);
      const mayReveal = grants.secrets.some((each) => each.name === granted.name && each.mayReveal);
      if (value !== null) host.onSecret(granted.name, value);
      if (value !== null && mayReveal) {
        denials.hideArguments();
        recorder.giveUp('it read a secret');
        network.hideNames();
      }
      return value;
    },
  };
  const close = () => {
    channels?.close();
    for (const space of spaces) space.close();
  };
  return { answer: recorder.around(answering(context, host)), close };
}

function httpTerms(
  { clock, random, newLookup, own, trust }: WasmTierOptions,
  { signal, egressBytes, network, answerRequest }: HostOptions,
): Omit<HttpTerms, 'secretOf'> {
  return {
    signal,
    clock,
    random,
    network,
    answerRequest,
    resolve: { lookup: newLookup(), own: own(), lookupMs: LOOKUP_MS },
    ...(trust === undefined ? {} : { trust }),
    // Boundary: each request gets what the others of the call have left.
    get limits() {
      return { wireBytes: egressBytes - network.bytes };
    },
  };
}

function joinChannels(channels: Channels, identity: CallIdentity, granted: WasmGrants['channels']) {
  if (granted.length === 0) return null;
  const { tenant, principal, skill, isAlone } = identity;
  const named = (use: 'publish' | 'receive') => granted.filter((each) => each[use]).map(({ name }) => name);
  return channels.join({
    // No tenant has a space in its name.
    tenant: isAlone ? `${tenant} ${skill}` : tenant,
    sender: { principal, skill },
    publish: named('publish'),
    receive: named('receive'),
  });
}

function answering(
  context: HostContext,
  { denials, onDenied }: Pick<HostOptions, 'denials' | 'onDenied'>,
): HostFunctions['answer'] {
  const granted = new Set<string>(functionsFor(context.grants));
  return async (request) => {
    const parts = readRequest(request);
    if (parts === null) return refuseWith('invalid');
    const [handle = -1, ...numbers] = parts.numbers;
    // Boundary: a function that was not granted, or a handle that does not belong to this call.
    const isGranted = granted.has(parts.name);
    const index = isGranted ? indexOf(parts.name, handle, context.grants) : null;
    const handler = index === null ? undefined : GATEWAY_HANDLERS[parts.name as GatewayFunctionName];
    const reply =
      index === null || handler === undefined
        ? denyWith(isGranted ? 'unknown-handle' : 'not-granted', isGranted ? String(handle) : null)
        : await handler({ index, numbers, texts: parts.texts }, context);
    if (reply.denial !== undefined) denials.add(parts.name, reply.denial);
    if (reply.result === ABI_ERRORS.denied.code) onDenied();
    return reply;
  };
}

function indexOf(name: string, handle: number, grants: WasmGrants): number | null {
  const kind = NEEDS.get(name);
  if (kind === undefined || kind === null || !isCapabilityKind(kind)) return null;
  const index = handle - CAPABILITY_KINDS[kind].firstHandle;
  return index >= 0 && index < countOf(grants, kind) ? index : null;
}

function sendRequest({ index, texts }: HostRequest, context: HostContext): HostReply | Promise<HostReply> {
  const { grants, http, operatorSecrets } = context;
  const [head = NO_BYTES, body = NO_BYTES] = texts;
  const entry = grants.http[index];
  // Boundary: a capability that was requested but not granted has a handle with nothing behind it.
  if (entry === undefined || entry === null || http === null) return denyWith('withheld', targetOf(head));
  const secretOf = (handle: number) => {
    const secret = grants.secrets[handle - CAPABILITY_KINDS.secret.firstHandle];
    if (secret === undefined) return null;
    const { name, mayReveal } = secret;
    const isFor = secretHosts(secret, operatorSecrets);
    return { name, mayReveal, isFor, read: () => context.secret(secret) };
  };
  return requestFor(entry, head, body, { ...http, secretOf });
}

/** Boundary: a secret that may only be used is never returned, whichever handle is passed. */
async function readSecret({ index }: HostRequest, { grants, secret }: HostContext): Promise<HostReply> {
  const granted = grants.secrets[index];
  if (granted === undefined || !granted.mayReveal)
    return denyWith('secret-not-readable', granted?.name ?? null);
  const value = await secret(granted);
  return value === null
    ? denyWith('secret-missing', granted.name, 'missing')
    : answerWith(Buffer.from(value));
}

function publish({ index, texts: [message = NO_BYTES] }: HostRequest, context: HostContext): HostReply {
  const channel = context.grants.channels[index];
  if (channel === undefined || !channel.publish) return denyWith('channel-direction', channel?.name ?? null);
  if (context.channels === null) return denyWith('quota', channel.name);
  const published = context.channels.publish(channel.name, message);
  if (published === 'ok') return DONE;
  if (published === 'full') return denyWith('quota', channel.name, 'full');
  return published === 'too-large' ? refuseWith('tooLarge') : denyWith('channel-direction', channel.name);
}

async function receive(
  { index, numbers: [waitMs = 0] }: HostRequest,
  context: HostContext,
): Promise<HostReply> {
  const channel = context.grants.channels[index];
  if (channel === undefined || !channel.receive) return denyWith('channel-direction', channel?.name ?? null);
  if (context.channels === null) return denyWith('quota', channel.name);
  const patienceMs = Math.max(0, Math.min(waitMs, MOST_WAIT_MS));
  const message = await context.channels.wait(channel.name, context.signal, patienceMs);
  if (message === null || message === 'denied') return refuseWith('missing');
  const { bytes, sender, missed } = message;
  return answerWith(withHead({ sender, missed }, bytes));
}

type RequestParts = { readonly name: string } & Omit<HostRequest, 'index'>;

/** Boundary: the head of a request is untrusted; its lengths must match its bytes. */
function readRequest({ head, bytes }: GuestRequest): RequestParts | null {
  const { name, numbers, lengths } = (head ?? {}) as Partial<GuestRequest['head']>;
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
