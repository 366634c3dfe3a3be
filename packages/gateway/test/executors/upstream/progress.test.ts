import { describe, expect, it } from 'vitest';
import type { Json, JsonObject } from '../../../src/core/json.ts';
import { PEER_LIMITS, Peer } from '../../../src/executors/upstream/peer.ts';

function open() {
  const sent: { readonly id: number; readonly params: { readonly _meta?: JsonObject } }[] = [];
  const broken: string[] = [];
  const peer = new Peer({
    write: (bytes) => {
      sent.push(JSON.parse(Buffer.from(bytes).toString()));
      return 0;
    },
    onNotification: () => undefined,
    onBroken: (why) => broken.push(why),
  });
  const say = (message: object) =>
    peer.take(Buffer.from(`${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`));
  const progress = (progressToken: Json, value: number) =>
    say({ method: 'notifications/progress', params: { progressToken, progress: value } });
  return { peer, sent, broken, say, progress };
}

describe('progress of an upstream server', () => {
  it('is requested only if there is a listener, beside the meta data of the request itself', () => {
    const { peer, sent } = open();
    void peer.request('a', { _meta: { era: 'x' } }, { onProgress: () => undefined });
    void peer.request('b', {});
    expect(sent[0]?.params._meta).toEqual({ era: 'x', progressToken: 1 });
    expect(sent[1]?.params._meta).toBeUndefined();
  });

  it('reaches who asked, and nobody by a number that is not theirs or no longer', async () => {
    const { peer, say, progress } = open();
    const received: Json[] = [];
    const listen = (name: string) => ({
      onProgress: (params: JsonObject) => void received.push([name, params.progress ?? null]),
    });
    const first = peer.request('a', {}, listen('first'));
    void peer.request('b', {}, listen('second'));
    progress(1, 10);
    progress(2, 20);
    for (const other of ['1', 3, null, [1]]) progress(other, 99);
    say({ id: 1, result: {} });
    await first;
    progress(1, 30);
    expect(received).toEqual([
      ['first', 10],
      ['second', 20],
    ]);
  });

  it('is no way to write without end', () => {
    const { peer, broken, progress } = open();
    let received = 0;
    const onProgress = () => {
      received += 1;
    };
    void peer.request('a', {}, { onProgress });
    for (let i = 0; i < PEER_LIMITS.about; i++) progress(1, i);
    expect([received, broken.length]).toEqual([PEER_LIMITS.about, 0]);
    for (let i = 0; i <= PEER_LIMITS.unsolicited; i++) progress(1, i);
    expect([received, broken.length]).toEqual([PEER_LIMITS.about, 1]);
  });
});
