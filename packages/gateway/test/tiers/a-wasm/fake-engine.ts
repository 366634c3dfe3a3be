import { Duplex, PassThrough } from 'node:stream';
import {
  type Frame,
  type FrameKind,
  frameOf,
  parseFrame,
} from '../../../src/tiers/a-wasm/engine/protocol.ts';
import type { EngineEnds } from '../../../src/tiers/a-wasm/engine-process.ts';

/** An engine that a guest has taken over: it says what it likes, and hears what a test lets it hear. */
export type FakeEngine = {
  readonly ends: EngineEnds;
  readonly say: (kind: FrameKind, head: unknown, bytes?: Uint8Array) => void;
  readonly sayBytes: (bytes: Uint8Array) => void;
  /** What it was told, as far as it listened. */
  readonly heard: readonly Frame[];
  readonly isKilled: () => boolean;
  /** From now on it takes in nothing. */
  readonly stopListening: () => void;
};

export function fakeEngine(): FakeEngine {
  const heard: Frame[] = [];
  let isListening = true;
  let isKilled = false;
  let end: () => void = () => undefined;
  const ended = new Promise<void>((resolve) => {
    end = resolve;
  });
  const send = new Duplex({
    read: () => undefined,
    write: (piece: Buffer, _encoding, taken) => {
      if (!isListening) return;
      const frame = parseFrame(piece);
      if (frame !== null) heard.push(frame);
      taken();
    },
  });
  const receive = new PassThrough();
  const kill = () => {
    isKilled = true;
    end();
  };
  const sayBytes = (bytes: Uint8Array) => {
    receive.write(bytes);
  };
  return {
    ends: { send, receive, ended, kill, isolation: { tier: 'c' } },
    say: (kind, head, bytes) => sayBytes(frameOf(kind, head, bytes)),
    sayBytes,
    heard,
    isKilled: () => isKilled,
    stopListening: () => {
      isListening = false;
    },
  };
}

/** The head of a call that ended well. */
export const DONE = {
  ...{ ending: 'returned', fuelUsed: 1, isExact: true, peakMemoryBytes: 0, isLogCut: false },
  engine: { meter: 1, form: 'thread', isDeterministic: true },
};
