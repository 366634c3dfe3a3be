import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { PEER_LIMITS, Peer, PeerError } from '../../../src/executors/upstream/peer.ts';

function open() {
  const sent: Record<string, unknown>[] = [];
  const heard: string[] = [];
  const broken: string[] = [];
  const peer = new Peer({
    write: (bytes) => {
      sent.push(JSON.parse(Buffer.from(bytes).toString()));
      return 0;
    },
    onNotification: (method) => heard.push(method),
    onBroken: (why) => broken.push(why),
  });
  const say = (message: object) =>
    peer.take(Buffer.from(`${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`));
  return { peer, sent, heard, broken, say };
}

describe('a peer', () => {
  test('matches answers with questions, however the bytes are cut', async () => {
    const { peer } = open();
    const requested = [peer.request('a', {}), peer.request('b', {})];
    const text =
      '{"jsonrpc":"2.0","id":2,"result":{"is":"zwei €"}}\n{"jsonrpc":"2.0","id":1,"result":{"is":"eins"}}\n';
    for (const byte of Buffer.from(text)) peer.take(Uint8Array.of(byte));
    expect(await Promise.all(requested)).toEqual([{ is: 'eins' }, { is: 'zwei €' }]);
  });

  test('passes errors on as such, without what a terminal would obey', async () => {
    const { peer, say } = open();
    const requested = peer.request('a', {});
    say({ id: 1, error: { code: -32602, message: 'no\u001b[2J' } });
    await expect(requested).rejects.toThrow(PeerError);
    await expect(requested).rejects.toThrow(/no\\u\{1b\}/);
  });

  test('takes a bound of 2^63 in a list of tools, and refuses such a number in an answer', async () => {
    const { peer, broken } = open();
    const requested = [peer.request('tools/list', {}), peer.request('tools/call', {})] as const;
    for (const id of [1, 2])
      peer.take(Buffer.from(`{"jsonrpc":"2.0","id":${id},"result":{"maximum":9223372036854775807}}\n`));
    expect(await requested[0]).toEqual({ maximum: Number.MAX_SAFE_INTEGER });
    await expect(requested[1]).rejects.toThrow(PeerError);
    expect(broken).toEqual([]);
  });

  test('reports the end of the connection to waiting and to later requests', async () => {
    const { peer } = open();
    const requested = peer.request('a', {});
    peer.end('it is gone');
    await expect(requested).rejects.toThrow('it is gone');
    await expect(peer.request('b', {})).rejects.toThrow('it is gone');
  });

  test('answers requests with errors, and hears notices', () => {
    const { sent, heard, say } = open();
    say({ id: 'x', method: 'sampling/createMessage', params: {} });
    say({ method: 'notifications/tools/list_changed' });
    expect(sent).toEqual([
      expect.objectContaining({ id: 'x', error: expect.objectContaining({ code: -32601 }) }),
    ]);
    expect(heard).toEqual(['notifications/tools/list_changed']);
  });

  test('counts what nobody asked for anew after each answer', async () => {
    const { peer, broken, say } = open();
    for (let round = 1; round <= 3; round++) {
      const requested = peer.request('a', {});
      for (let i = 0; i < PEER_LIMITS.unsolicited; i++) say({ method: 'notifications/message' });
      say({ id: round, result: {} });
      await requested;
    }
    expect(broken).toEqual([]);
    for (let i = 0; i <= PEER_LIMITS.unsolicited; i++) say({ id: 99, result: {} });
    expect(broken).toHaveLength(1);
  });

  test('never throws, whatever bytes come', () => {
    fc.assert(
      fc.property(fc.array(fc.uint8Array({ maxLength: 64 })), (chunks) => {
        const { peer } = open();
        for (const chunk of chunks) peer.take(chunk);
        peer.take(Buffer.from('\n{"id":1}\n{"id":{},"method":1}\n{}\n'));
      }),
    );
  });
});
