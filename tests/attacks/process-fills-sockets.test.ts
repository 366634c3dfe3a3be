import { describe, expect, test } from 'vitest';
import { sharedGateway } from '../fixtures/commands/index.ts';
import { printedBy, proberOf, runBare } from '../fixtures/commands/probe.ts';

/*
 * A command keeps data in the buffers of TCP connections to itself. Control groups of version 2 count them as memory;
 * version 1 counts them beside it, and only where it is told to.
 */

const MIB = 1024 * 1024;
const probe = proberOf(sharedGateway('[process]\negress = "none"\n'));
const ATTACK = `
import json, socket
server = socket.socket(); server.bind(('127.0.0.1', 0)); server.listen(200)
held, kept = 0, []
for i in range(40):
    client = socket.socket()
    client.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 4 << 20)
    client.connect(server.getsockname())
    accepted, _ = server.accept()
    accepted.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4 << 20)
    kept += [client, accepted]
    for end in (client, accepted):
        end.setblocking(False)
        try:
            while True: held += end.send(b'x' * 65536)
        except BlockingIOError: pass
print(json.dumps({'heldMib': held >> 20}))
`;

const EXPECTED = {
  v1: ['ok', 'control group, except for buffers of TCP'],
  v2: ['tier/out-of-memory', 'control group'],
  none: ['ok', 'not held: only the data of each process'],
};

describe.each(['b', 'c'])('in tier %s', (tier) => {
  const run = (memoryBytes: number) =>
    probe(ATTACK, { tier, egress: tier === 'b' ? 'none' : 'strict', limits: { memory_bytes: memoryBytes } });

  test('a command keeps no more in connections than it may have of memory, and the receipt says what counts', async () => {
    const end = await run(64 * MIB);
    const { limit_memory, tcp_max_bytes, memory_max_bytes } = end.execution?.isolation ?? {};
    const kind = memory_max_bytes === undefined ? 'none' : tcp_max_bytes === undefined ? 'v2' : 'v1';
    expect([end.code, limit_memory]).toEqual(EXPECTED[kind]);
    const heldMib = end.code === 'ok' ? Number(printedBy(end).heldMib) : 0;
    expect(heldMib).toBeLessThan(kind === 'none' ? Number.POSITIVE_INFINITY : 64);
  });

  test('connections work under the limit', async () => {
    const small = ATTACK.replace('range(40)', 'range(2)');
    const end = await probe(small, { tier, egress: tier === 'b' ? 'none' : 'strict' });
    expect(printedBy(end).heldMib).toBeGreaterThan(0);
  });
});

test('without a limit the same program keeps hundreds of megabytes', () => {
  expect(JSON.parse(runBare(ATTACK)).heldMib).toBeGreaterThan(200);
});
