/** The rooms of the gateway that the guest of one call reaches, each under the grants of its tool. */
import type { Channels } from '../../channels/channels.ts';
import type { WasmGrants } from '../../core/wasm.ts';
import type { CallNetwork } from './call-network.ts';
import type { Question, Reply } from './engine-process.ts';
import { newHostCalls } from './host-calls.ts';
import type { WasmTierOptions, Who } from './index.ts';
import type { Recorder } from './recorder.ts';

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
